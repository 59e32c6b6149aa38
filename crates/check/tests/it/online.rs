//! Events one at a time must lead to the verdict that the whole history gets, and violations must show on the
//! way.

use linpoint_check::online::{Online, Promise, Status};
use linpoint_check::{Budget, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Spec, Value, Verdict};

use crate::small::{self, Taste};

/// The events of a history in order of time: calls before returns at equal stamps.
fn events(history: &History) -> Vec<(i64, bool, usize)> {
    let mut events = Vec::new();
    for (index, op) in history.operations.iter().enumerate() {
        events.push((op.call, false, index));
        if !op.is_pending() {
            events.push((op.ret, true, index));
        }
    }
    events.sort();
    events
}

fn stream(spec: &Builtin, history: &History, promise: Promise) -> Verdict {
    let mut online = Online::new(spec.clone(), promise, Budget::unlimited());
    for (_, returned, index) in events(history) {
        let op = &history.operations[index];
        // Each operation by a process of its own: touching operations are another test's matter.
        let process = Value::Int(index as i64);
        let status = if returned {
            online.ret(&process, &history.symbols.value(op.result))
        } else {
            let name = spec.signature().decl(op.op()).name;
            online.call(&process, name, &history.symbols.value(op.arg))
        };
        match status.expect("a sound stream") {
            Status::Fine { .. } => {}
            Status::Decided(verdict) => return *verdict,
        }
    }
    online.finish()
}

#[test]
fn a_stream_gets_the_verdict_of_the_history() {
    for kind in Kind::all().filter(|kind| !matches!(kind, Kind::Lock | Kind::RwLock | Kind::Semaphore)) {
        for distinct in [false, true] {
            let promise = if distinct && kind.is_collection() { Promise::Distinct } else { Promise::None };
            let spec = Builtin::new(kind);
            let mut rng = Rng::new(5);
            for _ in 0..200 {
                let taste = Taste { stamps: 1000, ..Taste::random(&mut rng, 9, distinct) };
                let mut history = small::history(&spec, &taste, &mut rng);
                // Processes of their own: give every row one.
                for (index, op) in history.operations.iter_mut().enumerate() {
                    let process = history.symbols.process(&Value::Int(index as i64 + 10_000));
                    let mut row = linpoint_history::Operation::new(process, op.op());
                    (row.call, row.ret, row.arg, row.result) = (op.call, op.ret, op.arg, op.result);
                    *op = row;
                }
                let oracle =
                    brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
                let oracle = oracle.expect("no limit").holds();
                match stream(&spec, &history, promise) {
                    Verdict::Holds(_) => assert!(oracle, "{} {:#?}", kind.name(), history.operations),
                    Verdict::Violated(_) => assert!(!oracle, "{} {:#?}", kind.name(), history.operations),
                    Verdict::Unknown(why) => {
                        let is_fair = promise == Promise::Distinct || !small::has_returns(&history);
                        assert!(is_fair, "{}: {why:?}", kind.name());
                    }
                }
            }
        }
    }
}

#[test]
fn a_violation_shows_before_the_end() {
    let mut online = Online::new(Builtin::new(Kind::Queue), Promise::None, Budget::unlimited());
    let (p, q) = (Value::Int(1), Value::Int(2));
    let fine = |status| matches!(status, Ok(Status::Fine { .. }));
    assert!(fine(online.call(&p, "enqueue", &Value::Int(1))));
    assert!(fine(online.ret(&p, &Value::Null)));
    assert!(fine(online.call(&q, "dequeue", &Value::Null)));
    let status = online.ret(&q, &Value::Int(2)).expect("a sound stream");
    assert!(matches!(status, Status::Decided(verdict) if matches!(*verdict, Verdict::Violated(_))));
}

#[test]
fn streams_that_make_no_sense_are_refused() {
    let mut online = Online::new(Builtin::new(Kind::Queue), Promise::None, Budget::unlimited());
    let p = Value::Int(1);
    assert!(online.ret(&p, &Value::Null).is_err());
    assert!(online.call(&p, "enqueue", &Value::Null).is_err());
    assert!(online.call(&p, "shove", &Value::Int(1)).is_err());
    assert!(online.call(&p, "enqueue", &Value::Int(1)).is_ok());
    assert!(online.call(&p, "enqueue", &Value::Int(2)).is_err());
    assert!(online.lost(&p).is_ok());
}

/// Operations that the first engine does not know come late, when most of the past is forgotten.
#[test]
fn a_rare_operation_may_come_late() {
    let process = Value::Int(0);
    let pair = |a: Value, b: Value| Value::list([a, b]);
    let step = |online: &mut Online, op: &str, arg: Value, result: Value| {
        online.call(&process, op, &arg).expect("a call");
        online.ret(&process, &result).expect("a return")
    };
    for (found, holds) in [(Value::Int(2), true), (Value::Int(1), false)] {
        let mut online = Online::new(Builtin::new(Kind::PriorityQueue), Promise::None, Budget::unlimited());
        for round in 0..2000 {
            step(&mut online, "insert", Value::Int(5 + round % 7), Value::Null);
            step(&mut online, "insert", Value::Int(4), Value::Null);
            step(&mut online, "remove_min", Value::Null, Value::Int(4));
        }
        step(&mut online, "insert", Value::Int(1), Value::Null);
        step(&mut online, "change_key", pair(Value::Int(1), Value::Int(2)), Value::Bool(true));
        step(&mut online, "remove_min", Value::Null, found);
        step(&mut online, "insert", Value::text("b"), Value::Null);
        match online.finish() {
            Verdict::Holds(linpoint_history::Basis::Witness { operations }) => {
                assert!(holds);
                assert_eq!(operations, 6004);
            }
            Verdict::Violated(example) => {
                assert!(!holds);
                assert!(example.evidence.start.is_some_and(|start| start.operations > 5000));
            }
            Verdict::Unknown(why) => panic!("{why:?}"),
        }
    }
    let mut online = Online::new(Builtin::new(Kind::Multiset), Promise::None, Budget::unlimited());
    for round in 0..2000 {
        step(&mut online, "add", Value::Int(round), Value::Null);
        step(&mut online, "remove", Value::Int(round), Value::Bool(true));
    }
    step(&mut online, "insert_pair", pair(Value::text("a"), Value::Int(-1)), Value::Bool(true));
    step(&mut online, "contains", Value::text("a"), Value::Bool(true));
    step(&mut online, "remove", Value::Int(-1), Value::Bool(true));
    assert!(matches!(online.finish(), Verdict::Holds(_)));
}

//! The one search for orders against brute force, and against a plain enumeration of everything it reports.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use linpoint_check::orders::{Event, RowsQuestion, Walked, walk};
use linpoint_check::{Budget, attempts, brute};
use linpoint_history::rng::Rng;
use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, History, Kind, Operation, Spec, Symbols};

use crate::small::{self, Taste};

/// What must come before what: real time, and the order within a process.
fn precedes(rows: &[Operation], a: usize, b: usize) -> bool {
    let touches = rows[a].process() == rows[b].process() && rows[a].ret == rows[b].call;
    rows[a].ret < rows[b].call || touches && (rows[a].call, a) < (rows[b].call, b)
}

/// Where orders of all completed operations end, how far the longest order goes, and whether any explains
/// all.
fn reported(spec: &Builtin, rows: &[Operation], symbols: &Symbols) -> (HashSet<State>, usize) {
    let question = RowsQuestion::new(spec, rows, symbols, |a, b| precedes(rows, a, b));
    let (mut explained, mut longest) = (HashSet::new(), 0);
    let walked = walk(&question, [spec.initial()], |event| {
        match event {
            Event::Explained(way) => drop(explained.insert(way.end().expect("a start").clone())),
            Event::End(way) => {
                assert_eq!(way.states().count(), way.order().count() + 1);
                longest = longest.max(way.order().count());
            }
            Event::Step(_) | Event::Refused { .. } => {}
        }
        ControlFlow::Continue(())
    });
    assert_eq!(walked, Walked::Whole);
    (explained, longest)
}

/// The same by trying everything, and remembering nothing.
fn enumerated(
    (spec, rows, symbols): (&Builtin, &[Operation], &Symbols),
    (state, placed): (&State, &mut Vec<usize>),
    (explained, longest): (&mut HashSet<State>, &mut usize),
) {
    *longest = (*longest).max(placed.len());
    if (0..rows.len()).all(|op| rows[op].is_pending() || placed.contains(&op)) {
        explained.insert(state.clone());
    }
    for op in 0..rows.len() {
        let is_free = |other: usize| other == op || placed.contains(&other) || !precedes(rows, other, op);
        if placed.contains(&op) || !(0..rows.len()).all(is_free) {
            continue;
        }
        let (arg, result) = (symbols.value(rows[op].arg), symbols.value(rows[op].result));
        let call = Call { op: rows[op].op(), process: rows[op].process(), arg: &arg };
        let mut next = Vec::new();
        match rows[op].is_pending() {
            true => spec.step_pending(state, call, &mut next),
            false => next.extend(spec.step(state, call, &result)),
        }
        for state in next {
            placed.push(op);
            enumerated((spec, rows, symbols), (&state, placed), (explained, longest));
            placed.pop();
        }
    }
}

#[track_caller]
fn agree(spec: &Builtin, history: &History) -> bool {
    let (rows, symbols) = (history.operations.as_slice(), &history.symbols);
    let (explained, longest) = reported(spec, rows, symbols);
    let oracle = brute::search(spec, rows, symbols, &Budget::unlimited()).expect("no limit").holds();
    assert_eq!(!explained.is_empty(), oracle, "{rows:#?}");
    let (mut all, mut most) = (HashSet::new(), 0);
    enumerated((spec, rows, symbols), (&spec.initial(), &mut Vec::new()), (&mut all, &mut most));
    assert_eq!((&explained, longest), (&all, most), "{rows:#?}");
    oracle
}

#[test]
fn it_reports_what_there_is() {
    for spec in Kind::all().map(Builtin::new) {
        let (mut rng, mut holds) = (Rng::new(5), 0);
        for _ in 0..300 {
            let taste = Taste::random(&mut rng, 6, false);
            holds += u32::from(agree(&spec, &small::history(&spec, &taste, &mut rng)));
        }
        assert!(holds > 20 && holds < 300, "{spec:?}: {holds} of 300 hold");
    }
}

/// More operations than a word has bits.
#[test]
fn many_operations() {
    let spec = Builtin::new(Kind::Counter);
    let mut history = String::new();
    for n in 0..200 {
        history += &format!(
            "{{\"process\":{},\"op\":\"increment\",\"call\":{},\"return\":{}}}\n",
            n % 2,
            10 * n,
            10 * n + 15 - 6 * (n % 2)
        );
    }
    let read = |found: u32| {
        format!("{{\"process\":9,\"op\":\"read\",\"ret\":{found},\"call\":5000,\"return\":5001}}\n")
    };
    for (found, holds) in [(200, true), (199, false)] {
        let bytes = (history.clone() + &read(found)).into_bytes();
        let from = linpoint_history::formats::Input::Bytes(bytes);
        let history =
            linpoint_history::formats::read_all(&from, &spec, &Default::default()).expect("a history");
        let (explained, longest) = reported(&spec, &history.operations, &history.symbols);
        assert_eq!((explained.len(), longest), if holds { (1, 201) } else { (0, 200) });
    }
}

/// Who asks may end it, at any step.
#[test]
fn it_ends_when_it_is_told() {
    let spec = Builtin::new(Kind::Queue);
    let mut rng = Rng::new(3);
    let taste = Taste::random(&mut rng, 6, false);
    let history = small::history(&spec, &taste, &mut rng);
    let (rows, symbols) = (history.operations.as_slice(), &history.symbols);
    let question = RowsQuestion::new(&spec, rows, symbols, |a, b| precedes(rows, a, b));
    let mut heard = 0;
    let walked = walk(&question, [spec.initial()], |_| {
        heard += 1;
        if heard == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((walked, heard), (Walked::Ended, 3));
}

/// The longest attempts are orders that can be replayed, and go no further.
#[test]
fn attempts_go_as_far_as_they_can() {
    let mut seen = 0;
    for spec in Kind::all().map(Builtin::new) {
        let mut rng = Rng::new(17);
        for _ in 0..100 {
            let history = small::history(&spec, &Taste::random(&mut rng, 7, false), &mut rng);
            let (rows, symbols) = (history.operations.as_slice(), &history.symbols);
            let found = attempts::longest(&spec, symbols, rows, spec.initial());
            let lengths: Vec<usize> = found.orders.iter().map(|attempt| attempt.order.len()).collect();
            assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
            for attempt in &found.orders {
                let distinct: BTreeSet<_> = attempt.order.iter().collect();
                assert_eq!(distinct.len(), attempt.order.len());
                assert_eq!(attempt.states.len(), attempt.order.len() + 1);
                for (op, answers) in &attempt.next {
                    let result = symbols.value(rows[*op].result);
                    assert!(!attempt.order.contains(op) && !answers.contains(&result), "{rows:#?}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

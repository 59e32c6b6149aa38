//! The recheck must refuse what is no witness, and the fast replay must be the readable specification.

use linpoint_check::recheck::Recheck;
use linpoint_check::replay::Replay;
use linpoint_check::timeline::{OpId, Ties, Timeline};
use linpoint_check::{Budget, brute};
use linpoint_history::history::return_order;
use linpoint_history::rng::Rng;
use linpoint_history::{
    Builtin, Call, Kind, OpCode, Operation, ProcessId, Spec, Symbols, ValueId, notation, specs,
};

use crate::small::{self, Taste};

/// Replays rows (completed ones in order of return) in the order of `order`.
#[track_caller]
fn check(spec: &str, text: &str, order: &[u32], expect: Option<&str>) {
    let spec = specs::parse(spec).expect("a known spec");
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let mut recheck = Recheck::new(&spec, &history.symbols);
    let take =
        |&i: &u32| recheck.take(&spec, &history.symbols, OpId::completed(i), &history.operations[i as usize]);
    let found = order.iter().map(take).collect::<Result<Vec<_>, _>>().map(|_| ());
    let found = found.and_then(|()| recheck.finish(history.operations.len() as u32).map(|_| ()));
    match (found, expect) {
        (Ok(()), None) => {}
        (Err(bad), Some(why)) => assert!(bad.to_string().contains(why), "{bad}"),
        (found, _) => panic!("{text} {order:?}: {found:?}"),
    }
}

#[test]
fn refuses_what_is_no_witness() {
    let text = "enqueue 1 [1,2]; enqueue 2 [3,4]; dequeue -> 1 [3,6]";
    check("queue", text, &[0, 1, 2], None);
    check("queue", text, &[0, 2, 1], None);
    check("queue", text, &[1, 0, 2], Some("already returned"));
    check("queue", text, &[0, 1], Some("missing"));
    check("queue", text, &[0, 0, 1], Some("twice"));
    check(
        "queue",
        "enqueue 1 [1,9]; enqueue 2 [3,10]; dequeue -> 1 [3,11]",
        &[1, 0, 2],
        Some("does not allow"),
    );
    check(
        "register",
        "p1: write 1 [1,5]; p1: write 2 [5,5]; p1: read -> 1 [5,5]",
        &[1, 0, 2],
        Some("of its process"),
    );
}

/// Orders right and wrong, told one by one and in runs: the same verdict.
#[test]
fn runs_are_taken_as_their_operations() {
    let kinds = [
        Kind::Queue,
        Kind::PriorityQueue,
        Kind::Set,
        Kind::Register,
        Kind::Stack,
        Kind::Multiset,
        Kind::Counter,
    ];
    let (mut rng, mut right, mut wrong) = (Rng::new(21), 0, 0);
    for round in 0..20_000 {
        let spec = Builtin::new(*rng.pick(&kinds));
        let taste = Taste { spoil: 0.0, ..Taste::random(&mut rng, 9, false) };
        let mut history = small::history(&spec, &taste, &mut rng);
        history.operations.sort_by_key(return_order);
        let completed = history.operations.iter().filter(|op| !op.is_pending()).count() as u32;
        let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
        let brute::Search::Linearizable(mut order) = found.expect("no limit") else { continue };
        if order.is_empty() {
            continue;
        }
        let (i, j) = (rng.below(order.len() as u64) as usize, rng.below(order.len() as u64) as usize);
        match rng.below(8) {
            0 => order.swap(i, j),
            1 => drop(order.remove(i)),
            2 => order.insert(j, order[i]),
            _ => {}
        }
        let id = |at: usize| match (at as u32).checked_sub(completed) {
            Some(index) => OpId::pending(index),
            None => OpId::completed(at as u32),
        };
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        let mut one_by_one = Recheck::new(&spec, &history.symbols);
        let taken = order
            .iter()
            .try_for_each(|&at| one_by_one.take(&spec, &history.symbols, id(at), &history.operations[at]));
        let expected = taken.and_then(|()| one_by_one.finish(completed));
        let mut in_runs = Recheck::new(&spec, &history.symbols);
        let ids: Vec<OpId> = order.iter().map(|&at| id(at)).collect();
        let taken = ids
            .chunks(1 + rng.below(6) as usize)
            .try_for_each(|run| in_runs.take_all(&spec, &history.symbols, &timeline, run));
        let found = taken.and_then(|()| in_runs.finish(completed));
        assert_eq!(found.is_ok(), expected.is_ok(), "round {round}: {found:?}, {expected:?}: {order:?}");
        right += u32::from(found.is_ok());
        wrong += u32::from(found.is_err());
    }
    assert!(right > 5_000 && wrong > 2_000, "{right} right, {wrong} wrong");
}

#[test]
fn the_fast_replay_is_the_specification() {
    for kind in Kind::all() {
        let spec = Builtin::new(kind);
        let mut rng = Rng::new(3);
        for _ in 0..300 {
            let taste = Taste { lanes: 1, pending: 0.0, ..Taste::random(&mut rng, 30, false) };
            let history = small::history(&spec, &taste, &mut rng);
            let mut replay = Replay::new(&spec, &history.symbols);
            let mut state = spec.initial();
            for op in &history.operations {
                let (arg, result) = (history.symbols.value(op.arg), history.symbols.value(op.result));
                let call = Call { op: op.op(), process: op.process(), arg: &arg };
                let allowed = spec.step(&state, call, &result);
                assert_eq!(
                    replay.step(&spec, &history.symbols, op),
                    allowed.is_some(),
                    "{} {op:?}",
                    kind.name()
                );
                match allowed {
                    Some(next) => state = next,
                    None => break,
                }
            }
        }
    }
}

/// Integers small and large, on both sides of every bound at which a fast form changes, against plain
/// collections.
#[test]
fn the_fast_replay_knows_large_integers() {
    let mut rng = Rng::new(8);
    let edges = [0, 3, 63, 64, 4_095, 4_096, 1 << 18, (1 << 24) + 5, (1 << 26) - 1, 1 << 26, 1 << 27];
    let beyond = [i64::from(ValueId::INLINE) - 1, i64::from(ValueId::INLINE), -5, i64::MAX];
    for (round, kind) in (0..300)
        .flat_map(|round| [Kind::PriorityQueue, Kind::PriorityQueueMax, Kind::Set].map(|kind| (round, kind)))
    {
        let (spec, mut symbols) = (Builtin::new(kind), Symbols::new());
        let mut replay = Replay::new(&spec, &symbols);
        let mut inside: Vec<i64> = Vec::new();
        for step in 0..120 {
            let known = if round % 3 == 0 { &edges[..9] } else { &edges[..] };
            let value = match rng.chance(0.05) && round % 3 == 2 && step > 40 {
                true => *rng.pick(&beyond),
                false => *rng.pick(known) + i64::from(rng.chance(0.1)),
            };
            let id = symbols.intern_int(value);
            let code = rng.below(if kind == Kind::Set { 3 } else { 2 }) as u8;
            let mut op = Operation::new(ProcessId(0), OpCode(code));
            if kind == Kind::Set {
                let at = inside.iter().position(|&other| other == value);
                let answer = match code {
                    0 => at.is_none(),
                    _ => at.is_some(),
                };
                match (code, at) {
                    (0, None) => inside.push(value),
                    (1, Some(at)) => drop(inside.swap_remove(at)),
                    _ => {}
                }
                (op.arg, op.result) = (id, ValueId::from_bool(answer));
            } else if code == 0 {
                inside.push(value);
                op.arg = id;
            } else {
                inside.sort_unstable();
                if kind == Kind::PriorityQueue {
                    inside.reverse();
                }
                op.result = inside.pop().map_or(ValueId::NULL, |first| symbols.intern_int(first));
            }
            let wrong = rng.chance(0.005) && !(kind != Kind::Set && code == 0);
            if wrong {
                op.result = match op.result {
                    ValueId::TRUE => ValueId::FALSE,
                    ValueId::FALSE => ValueId::TRUE,
                    ValueId::NULL => ValueId(1),
                    _ => ValueId::NULL,
                };
            }
            assert_eq!(replay.step(&spec, &symbols, &op), !wrong, "{} {op:?} {inside:?}", kind.name());
            if wrong {
                break;
            }
        }
    }
}

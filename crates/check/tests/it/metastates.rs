//! Queue and priority queue metastates against the oracle: verdicts, witnesses, cores, whole and in small
//! steps.

use linpoint_check::engine::{self, Engine};
use linpoint_check::metastate::priority_queue::PriorityQueueMetastates;
use linpoint_check::metastate::queue::QueueMetastates;
use linpoint_check::metastate::shrink;
use linpoint_check::timeline::{OpId, Ties, Timeline};
use linpoint_check::{Budget, Context, Stop, Violation, Witness, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Kind, Operation, Spec, notation, specs};

use crate::small::{self, Taste};

fn new_engine(kind: Kind) -> Box<dyn Engine> {
    match kind {
        Kind::Queue => Box::new(QueueMetastates::new()),
        Kind::PriorityQueue | Kind::PriorityQueueMax => Box::new(PriorityQueueMetastates::new()),
        _ => unreachable!("no metastates of their own"),
    }
}

/// What an engine says: the rows in the order found, or why there is none.
type Outcome = Result<Vec<Operation>, Violation>;

fn decide(spec: &Builtin, history: &History) -> Outcome {
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    match engine::run(&mut *new_engine(spec.kind), &cx, &timeline) {
        Ok(order) => Ok(order.into_iter().map(|id| *timeline.op(id)).collect()),
        Err(Stop::Violated(violation)) => Err(violation),
        Err(stop) => panic!("{stop:?}"),
    }
}

/// The same through a window: rows arrive as late as the frame allows, in random portions, and leave as early
/// as it allows.
fn decide_in_steps(spec: &Builtin, history: &History, rng: &mut Rng) -> Result<Vec<Operation>, OpId> {
    let whole = Timeline::of(&history.operations, Ties::Strict);
    let mut window = Timeline::new(Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    let mut engine = new_engine(spec.kind);
    let mut witness = Witness::default();
    let mut pending: Vec<usize> = (0..whole.pending().len()).collect();
    pending.sort_by_key(|&j| whole.earliest(OpId::pending(j as u32)));
    let mut pushed = 0;
    let mut upto = 0;
    let stopped = |stop| match stop {
        Stop::Violated(violation) => violation.at,
        stop => panic!("{stop:?}"),
    };
    while upto < whole.end() {
        upto = whole.end().min(upto + 1 + rng.below(3) as u32);
        let called = (0..whole.end()).filter(|&id| whole.earliest(OpId(id)) < upto);
        let load = called.max().unwrap_or(0).max(upto - 1);
        (window.end()..=load).for_each(|id| window.push(*whole.op(OpId(id))));
        while let Some(&j) = pending.get(pushed)
            && whole.earliest(OpId::pending(j as u32)) < upto
        {
            window.push_pending(whole.pending()[j]);
            pushed += 1;
        }
        engine.advance(&cx, &window, upto, &mut witness).map_err(stopped)?;
        let base = window.base();
        window.release(base + rng.below(u64::from(upto - base) + 1) as u32);
    }
    engine.finish(&cx, &window, &mut witness).map_err(stopped)?;
    let row = |id: OpId| match id.as_pending() {
        Some(j) => whole.pending()[pending[j]],
        None => *whole.op(id),
    };
    Ok(witness.order.into_iter().map(row).collect())
}

/// Replays an order through the specification and compares it with the stamps.
fn assert_explains(spec: &Builtin, history: &History, order: &[Operation]) {
    for (at, b) in order.iter().enumerate() {
        assert!(!order[..at].contains(b), "{b:?} stands in the order twice");
        assert!(order[..at].iter().all(|a| b.ret >= a.call), "{b:?} comes too late");
    }
    let completed = history.operations.iter().filter(|op| !op.is_pending());
    assert!(completed.clone().all(|op| order.contains(op)), "an operation is missing");
    let mut state = spec.initial();
    for op in order {
        let (arg, result) = (history.symbols.value(op.arg), history.symbols.value(op.result));
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        if op.is_pending() {
            let mut next = Vec::new();
            spec.step_pending(&state, call, &mut next);
            state = next.pop().unwrap_or(state);
        } else {
            state = spec.step(&state, call, &result).unwrap_or_else(|| panic!("{op:?} is impossible here"));
        }
    }
}

/// Leaves out each block of a linearizable history: the rest must be linearizable.
fn assert_removable(spec: &Builtin, history: &History) {
    for block in shrink::removable(spec, &history.operations) {
        let rows = history.operations.iter().enumerate();
        let rest: Vec<_> = rows.filter(|(i, _)| !block.contains(&(*i as u32))).map(|(_, op)| *op).collect();
        assert!(oracle(spec, history, &rest), "without {block:?} there is no order");
    }
}

fn oracle(spec: &Builtin, history: &History, rows: &[Operation]) -> bool {
    brute::search(spec, rows, &history.symbols, &Budget::unlimited()).expect("no limit").holds()
}

fn compare(spec: &Builtin, history: &History, rng: &mut Rng) {
    let holds = oracle(spec, history, &history.operations);
    match decide(spec, history) {
        Ok(order) => {
            assert!(holds, "the oracle finds no order");
            assert_explains(spec, history, &order);
            assert_removable(spec, history);
        }
        Err(violation) => {
            assert!(!holds, "the oracle finds an order: {violation:?}");
            let timeline = Timeline::of(&history.operations, Ties::Strict);
            let at = Some(*timeline.op(violation.at));
            if let Some(core) =
                shrink::shrink(spec, &history.symbols, &history.operations, at, Budget::unlimited())
            {
                assert!(!oracle(spec, history, &core), "the core can be explained");
            }
        }
    }
    match decide_in_steps(spec, history, rng) {
        Ok(order) => {
            assert!(holds, "the oracle finds no order, step by step");
            assert_explains(spec, history, &order);
        }
        Err(_) => assert!(!holds, "the oracle finds an order, step by step"),
    }
}

fn show(spec: &Builtin, history: &History) -> String {
    let item = |op: &Operation| {
        let name = spec.signature().decl(op.op()).name;
        let ret = if op.is_pending() { "..".into() } else { op.ret.to_string() };
        let (arg, result) = (history.symbols.value(op.arg), history.symbols.value(op.result));
        format!("{name} {arg} -> {result} [{},{ret}]", op.call)
    };
    history.operations.iter().map(item).collect::<Vec<_>>().join("; ")
}

/// Compares so many random histories; the example `stepwise` does more.
pub fn differential(kind: Kind, seed: u64, rounds: u64, max_operations: u64) {
    let mut rng = Rng::new(seed);
    let mut violated = 0;
    for round in 0..rounds {
        let mut spec = Builtin::new(kind);
        if rng.chance(0.1) {
            let contents: Vec<_> = (0..1 + rng.below(3)).map(|_| (rng.below(3) as i64).into()).collect();
            spec = spec.with_initial(linpoint_history::Value::list(contents));
        }
        let taste = Taste::random(&mut rng, max_operations, false);
        let history = small::history_of(&spec, &taste, 2, &mut rng);
        if Timeline::of(&history.operations, Ties::Strict).has_touching() {
            continue;
        }
        let outcome = std::panic::catch_unwind(|| {
            compare(&spec, &history, &mut Rng::new(round));
        });
        if outcome.is_err() {
            panic!("round {round}, starting from {}: {}", spec.initial, show(&spec, &history));
        }
        violated += u64::from(decide(&spec, &history).is_err());
    }
    assert!(violated * 20 > rounds, "only {violated} of {rounds} are wrong");
}

#[track_caller]
fn check(spec: &str, text: &str, holds: bool) {
    let spec = specs::parse(spec).expect("a known spec");
    let history = notation::parse(spec.signature(), text).expect("the notation");
    assert_eq!(oracle(&spec, &history, &history.operations), holds, "the oracle: {text}");
    assert_eq!(decide(&spec, &history).is_ok(), holds, "{text}");
    compare(&spec, &history, &mut Rng::new(1));
}

#[test]
fn queue_takes_the_earliest_return_not_the_earliest_call() {
    let text =
        "enqueue 0 [4,5]; dequeue -> 0 [0,14]; enqueue 0 [1,15]; dequeue -> null [9,17]; enqueue 0 [21,29]";
    check("queue", text, true);
}

#[test]
fn queue_does_not_stop_where_the_dequeue_applies() {
    let text =
        "enqueue 1 [1,100]; enqueue 2 [2,3]; enqueue 1 [5,6]; dequeue -> 2 [7,20]; dequeue -> 1 [7,10];
        enqueue 3 [12,13]; dequeue -> 3 [25,26]; dequeue -> 1 [30,31]";
    check("queue", text, true);
}

#[test]
fn queue_may_be_emptied_before_an_enqueue_returns() {
    let text = "enqueue 0 [3,4]; enqueue 0 [5,9]; dequeue -> 0 [4,12]; dequeue -> null [5,13];
        dequeue -> null [7,21]; dequeue -> 0 [16,17]";
    check("queue", text, true);
}

#[test]
fn queue_small_histories() {
    check("queue", "", true);
    check("queue", "enqueue 1 [1,2]; dequeue -> null [3,4]", false);
    check("queue", "enqueue 1 [1,2]; enqueue 2 [3,4]; dequeue -> 2 [5,6]; dequeue -> 1 [7,8]", false);
    check(
        "queue",
        "enqueue 1 [1,2]; enqueue 1 [3,4]; dequeue -> 1 [5,6]; dequeue -> 1 [7,8]; dequeue -> 1 [9,9]",
        false,
    );
    check("queue", "dequeue [2,..]; enqueue 2 [4,5]; dequeue -> null [6,7]", true);
    check("queue", "dequeue [2,..]; enqueue 2 [4,5]; enqueue 3 [6,7]; dequeue -> null [8,9]", false);
    check("queue", "dequeue [2,..]; enqueue 2 [4,5]; enqueue 3 [6,7]; dequeue -> 3 [8,9]", true);
    check("queue", "enqueue 2 [4,..]; dequeue -> 2 [5,6]; dequeue -> 2 [7,9]", false);
}

#[test]
fn queue_agrees_with_the_oracle() {
    differential(Kind::Queue, 11, 12_000, 10);
    differential(Kind::Queue, 12, 1_500, 14);
}

#[test]
fn priority_queue_removes_before_a_smaller_insertion_returns() {
    let text = "remove_min -> null [0,1]; insert 2 [4,12]; remove_min -> null [3,7]; remove_min -> 2 [8,22];
        insert 1 [14,16]";
    check("priority-queue", text, true);
}

#[test]
fn priority_queue_may_have_to_remove_late() {
    let text = "insert 5 [0,0]; remove_min -> 5 [1,100]; insert 3 [2,3]; remove_min -> 3 [4,5]; remove_min -> 5 [6,7];
        insert 5 [8,9]";
    check("priority-queue", text, true);
}

#[test]
fn priority_queue_agrees_with_the_oracle() {
    differential(Kind::PriorityQueue, 21, 12_000, 10);
    differential(Kind::PriorityQueueMax, 22, 1_500, 14);
}

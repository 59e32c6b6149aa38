//! Engines under the conditions of a stream: rows come late, steps are small, what was explained is taken
//! away. And the checks that every verdict of an engine must pass, with nothing shared with the engine.

use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Engine, OpId, Stop, Timeline, Witness, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Operation, Spec};

use crate::small::Taste;

/// Histories with distinct values, some with values inserted twice, many with many pending operations.
pub fn taste(rng: &mut Rng) -> Taste {
    let mut taste = Taste::random(rng, 9, true);
    if rng.chance(0.2) {
        taste.pending = 0.4;
    }
    if rng.chance(0.1) {
        taste.values = 4;
    }
    taste
}

/// Exchanges the answers of removals: nothing comes out twice, or without having gone in, and yet many such
/// histories are wrong.
pub fn exchange_answers(history: &mut History, rng: &mut Rng) {
    let answers = |op: &Operation| op.op().0 == 1 && !op.is_pending();
    let removals: Vec<usize> =
        (0..history.operations.len()).filter(|&i| answers(&history.operations[i])).collect();
    if removals.len() < 2 {
        return;
    }
    for _ in 0..rng.below(3) {
        let (a, b) = (*rng.pick(&removals), *rng.pick(&removals));
        let answer = history.operations[a].result;
        history.operations[a].result = history.operations[b].result;
        history.operations[b].result = answer;
    }
}

/// Gives values other numbers, so that their order is not that of insertion.
pub fn scramble_values(history: &mut History, rng: &mut Rng) {
    let factor = *rng.pick(&[1, 3, 7, 10]);
    for op in &mut history.operations {
        for value in [&mut op.arg, &mut op.result] {
            if let Some(n @ 1..10) = value.small() {
                value.0 = n * factor % 11;
            }
        }
    }
}

/// Feeds a history to an engine in random steps and gives the order it found.
pub fn drive(
    engine: &mut dyn Engine,
    spec: &Builtin,
    history: &History,
    rng: &mut Rng,
) -> Result<Vec<OpId>, Stop> {
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    let whole = Timeline::of(&history.operations, Ties::Strict);
    let mut timeline = Timeline::new(Ties::Strict);
    let mut witness = Witness::default();
    for (index, op) in whole.pending().iter().enumerate() {
        timeline.push_pending_at(*op, whole.earliest(OpId::pending(index as u32)));
    }
    let mut upto = 0;
    while upto < whole.end() {
        upto += 1 + rng.below(u64::from(whole.end() - upto)) as u32;
        // Everything called before return `upto` is there; perhaps more.
        let called = |id: &u32| whole.earliest(OpId(*id)) < upto;
        let needed = (0..whole.end()).filter(called).max().map_or(0, |id| id + 1).max(upto);
        let more = rng.below(u64::from(whole.end() - needed + 1)) as u32;
        for id in timeline.end()..(needed + more).max(timeline.end()) {
            timeline.push(*whole.op(OpId(id)));
        }
        engine.advance(&cx, &timeline, upto, &mut witness)?;
        timeline.release((rng.below(u64::from(upto) + 1) as u32).max(timeline.base()));
    }
    engine.finish(&cx, &timeline, &mut witness)?;
    Ok(witness.order)
}

/// Panics unless `order` explains the history.
#[track_caller]
pub fn replay(spec: &Builtin, history: &History, order: &[OpId]) {
    let whole = Timeline::of(&history.operations, Ties::Strict);
    let text = show(spec, history, &history.operations);
    let mut state = spec.initial();
    let mut done: Vec<Operation> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for &id in order {
        assert!(seen.insert(id), "{id:?} stands twice in {order:?}\n{text}");
        let op = *whole.op(id);
        let arg = history.symbols.value(op.arg);
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        if op.is_pending() {
            let mut next = Vec::new();
            spec.step_pending(&state, call, &mut next);
            assert!(!next.is_empty(), "pending {op:?} changes nothing in {order:?}\n{text}");
            state = next[0].clone();
        } else {
            let next = spec.step(&state, call, &history.symbols.value(op.result));
            state = next.unwrap_or_else(|| panic!("{id:?} does not fit in {order:?}\n{text}"));
        }
        for before in &done {
            assert!(op.ret >= before.call, "{op:?} precedes {before:?}\n{text}");
        }
        done.push(op);
    }
    assert_eq!(done.iter().filter(|op| !op.is_pending()).count(), whole.rows().len(), "{text}");
}

/// Rows in the notation that tests are written in.
pub fn show(spec: &Builtin, history: &History, rows: &[Operation]) -> String {
    let one = |op: &Operation| {
        let name = spec.signature().decl(op.op()).name;
        let (arg, result) = (history.symbols.value(op.arg), history.symbols.value(op.result));
        let ret = if op.is_pending() { "..".to_owned() } else { op.ret.to_string() };
        format!("p{}: {name} {arg} -> {result} [{},{ret}]", op.process().0, op.call)
    };
    rows.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What a comparison came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Holds,
    Violated,
    Unsupported,
}

/// Runs an engine in random steps and panics unless it agrees with the oracle, its order replays, its core is
/// small and wrong.
#[track_caller]
pub fn compare(engine: &mut dyn Engine, spec: &Builtin, history: &History, rng: &mut Rng) -> Outcome {
    let budget = Budget::unlimited();
    let oracle =
        |rows: &[Operation]| brute::search(spec, rows, &history.symbols, &budget).expect("no limit").holds();
    match drive(engine, spec, history, rng) {
        Ok(order) => {
            replay(spec, history, &order);
            Outcome::Holds
        }
        // Where a value is inserted twice the driver does not ask for more.
        Err(Stop::Violated(_)) if inserts_twice(history) => Outcome::Unsupported,
        Err(Stop::Violated(violation)) => {
            let text = format!(
                "{}: {}\n{}",
                violation.reason,
                show(spec, history, &violation.core),
                show(spec, history, &history.operations)
            );
            assert!(!oracle(&history.operations), "{text}");
            // No core: the engine needs rows for it that were released.
            assert!(violation.core.is_empty() || !oracle(&violation.core), "{text}");
            for (index, op) in violation.core.iter().enumerate() {
                assert!(history.operations.contains(op), "{text}");
                assert!(!violation.core[..index].contains(op), "{text}");
            }
            Outcome::Violated
        }
        Err(Stop::Unsupported(_)) => Outcome::Unsupported,
        Err(Stop::Limit(limit)) => panic!("{limit}"),
    }
}

fn inserts_twice(history: &History) -> bool {
    let inserted: Vec<_> = history.operations.iter().filter(|op| op.op().0 == 0).map(|op| op.arg).collect();
    inserted.iter().enumerate().any(|(index, value)| inserted[..index].contains(value))
}

//! A small driver for differential tests: feeds an engine in random steps, releases explained rows in
//! between, and compares what comes out with the oracle; replays witnesses and re-decides cores.

use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Engine, OpId, Stop, Timeline, Violation, Witness, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Operation, Spec, Symbols, Value, notation, specs};

/// What a comparison found.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub holds: u32,
    pub violated: u32,
    pub unsupported: u32,
    /// Violations with a core.
    pub cores: u32,
    pub longest_core: usize,
}

/// Runs an engine over a history in random steps.
pub fn run(
    engine: &mut dyn Engine,
    spec: &Builtin,
    history: &History,
    rng: &mut Rng,
) -> Result<Vec<OpId>, Stop> {
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    let whole = Timeline::of(&history.operations, Ties::Strict);
    let mut growing = if whole.pending().is_empty() { Timeline::new(Ties::Strict) } else { whole.clone() };
    let mut witness = Witness::default();
    let (mut upto, mut order) = (0, Vec::new());
    while upto < whole.end() {
        upto = (upto + 1 + rng.below(4) as u32).min(whole.end());
        let loaded =
            (0..whole.end()).rev().find(|&id| whole.earliest(OpId(id)) < upto).map_or(0, |id| id + 1);
        for id in growing.end()..loaded.max(upto) {
            growing.push(*whole.op(OpId(id)));
        }
        engine.advance(&cx, &growing, upto, &mut witness)?;
        order.append(&mut witness.order);
        if rng.chance(0.5) {
            growing.release(upto);
        }
    }
    engine.finish(&cx, &growing, &mut witness)?;
    order.append(&mut witness.order);
    Ok(order)
}

/// Compares an engine with the oracle on one history without touching operations.
#[track_caller]
pub fn compare(
    engine: &mut dyn Engine,
    spec: &Builtin,
    history: &History,
    rng: &mut Rng,
    core_limit: usize,
    tally: &mut Tally,
) {
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    if timeline.has_touching() {
        return;
    }
    let oracle = |rows: &[Operation]| {
        brute::search(spec, rows, &history.symbols, &Budget::unlimited()).expect("no limit").holds()
    };
    let found = run(engine, spec, history, rng);
    match &found {
        Err(Stop::Unsupported(_)) => tally.unsupported += 1,
        Err(Stop::Limit(limit)) => panic!("stopped by {limit}"),
        Ok(order) => {
            tally.holds += 1;
            if let Err(why) = replay(spec, &timeline, &history.symbols, order) {
                panic!("{why} in {order:?}\n{}", draw(spec, history));
            }
        }
        Err(Stop::Violated(violation)) => {
            tally.violated += 1;
            assert!(!oracle(&history.operations), "holds, but: {violation:?}\n{}", draw(spec, history));
            check_core(violation, spec, history, core_limit, tally);
        }
    }
}

#[track_caller]
fn check_core(violation: &Violation, spec: &Builtin, history: &History, limit: usize, tally: &mut Tally) {
    let core = &violation.core;
    if core.is_empty() {
        return;
    }
    tally.cores += 1;
    tally.longest_core = tally.longest_core.max(core.len());
    assert!(core.len() <= limit, "{violation:?}\n{}", draw(spec, history));
    // An operation that was open when the contradiction showed may be given as pending.
    let what = |op: &Operation| (op.process(), op.call, op.op(), op.arg);
    let is_known = |row: &Operation| {
        history.operations.contains(row)
            || row.is_pending() && history.operations.iter().any(|op| what(op) == what(row))
    };
    assert!(core.iter().all(is_known), "unknown rows: {violation:?}\n{}", draw(spec, history));
    let search = brute::search(spec, core, &history.symbols, &Budget::unlimited()).expect("no limit");
    assert!(!search.holds(), "the core holds: {violation:?}\n{}", draw(spec, history));
}

/// Replays a witness: every completed operation once, in an order that real time and the specification
/// accept.
fn replay(spec: &Builtin, timeline: &Timeline, symbols: &Symbols, order: &[OpId]) -> Result<(), String> {
    let mut states = vec![spec.initial()];
    let mut latest_call = i64::MIN;
    let mut placed = std::collections::BTreeSet::new();
    for &id in order {
        let op = timeline.op(id);
        if !placed.insert(id) {
            return Err(format!("{id:?} stands twice"));
        }
        if op.ret < latest_call {
            return Err(format!("{id:?} stands after an operation it precedes"));
        }
        latest_call = latest_call.max(op.call);
        let (arg, result) = (symbols.value(op.arg), symbols.value(op.result));
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        let mut next = Vec::new();
        for state in &states {
            if op.is_pending() {
                next.push(state.clone());
                spec.step_pending(state, call, &mut next);
            } else {
                next.extend(spec.step(state, call, &result));
            }
        }
        if next.is_empty() {
            return Err(format!("{id:?} is refused"));
        }
        states = next;
    }
    let completed = placed.iter().filter(|id| id.as_pending().is_none()).count();
    if completed == timeline.end() as usize { Ok(()) } else { Err("operations are missing".into()) }
}

/// A history in the notation of tests.
pub fn draw(spec: &Builtin, history: &History) -> String {
    let line = |op: &Operation| {
        let value = |id| history.symbols.value(id);
        let ret = if op.is_pending() { "..".into() } else { op.ret.to_string() };
        let arg = if op.arg.is_null() { String::new() } else { format!(" {}", value(op.arg)) };
        let result = if op.is_pending() { String::new() } else { format!(" -> {}", value(op.result)) };
        let name = spec.signature().decl(op.op()).name;
        format!("p{}: {name}{arg}{result} [{},{ret}]", op.process().0, op.call)
    };
    history.operations.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Checks one history given in notation, in several random ways of stepping.
#[track_caller]
pub fn check(make: impl Fn() -> Box<dyn Engine>, spec: &str, text: &str, holds: bool) {
    check_from(make, spec, Value::Null, text, holds);
}

/// As [`check`], starting from `initial` unless that is null.
#[track_caller]
pub fn check_from(make: impl Fn() -> Box<dyn Engine>, spec: &str, initial: Value, text: &str, holds: bool) {
    let mut spec = specs::parse(spec).expect("a known spec");
    if !initial.is_null() {
        spec = spec.with_initial(initial);
    }
    let history = notation::parse(spec.signature(), text).expect("the notation");
    for seed in 0..5 {
        let found = run(make().as_mut(), &spec, &history, &mut Rng::new(seed));
        match found {
            Ok(order) => {
                assert!(holds, "wrongly explained: {text}");
                let timeline = Timeline::of(&history.operations, Ties::Strict);
                replay(&spec, &timeline, &history.symbols, &order).expect("a witness");
            }
            Err(Stop::Violated(violation)) => assert!(!holds, "wrongly refused: {text}: {violation:?}"),
            Err(other) => panic!("{other:?}: {text}"),
        }
    }
}

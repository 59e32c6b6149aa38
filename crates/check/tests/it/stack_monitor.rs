//! The stack monitor against the oracle: whole histories, and streams in small steps with rows released in between.

use linpoint_check::engine::{Edit, Stop, Witness, run};
use linpoint_check::monitor::stack::StackMonitor;
use linpoint_check::timeline::{OpId, Ties, Timeline};
use linpoint_check::{Budget, Context, Engine, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Kind, Operation, Spec, Value};

use crate::small::{self, Taste};

/// Replays an order through the specification and the stamps.
fn replay(spec: &Builtin, history: &History, timeline: &Timeline, order: &[OpId]) -> Result<(), String> {
    let rows: Vec<&Operation> = order.iter().map(|id| timeline.op(*id)).collect();
    let completed = order.iter().filter(|id| id.as_pending().is_none()).count();
    let mut distinct = order.to_vec();
    distinct.sort();
    distinct.dedup();
    if distinct.len() != order.len() || completed != timeline.end() as usize {
        return Err(format!("{completed} of {} completed operations, in {order:?}", timeline.end()));
    }
    let mut latest_call = i64::MIN;
    for row in &rows {
        if row.ret < latest_call {
            return Err(format!("{row:?} comes after one that was called after its return"));
        }
        latest_call = latest_call.max(row.call);
    }
    let mut state = spec.initial();
    for row in rows {
        let arg = history.symbols.value(row.arg);
        let call = Call { op: row.op(), process: row.process(), arg: &arg };
        if row.is_pending() {
            let mut next = Vec::new();
            spec.step_pending(&state, call, &mut next);
            state = next.pop().ok_or("a pending operation without effect")?;
        } else {
            let next = spec.step(&state, call, &history.symbols.value(row.result));
            state = next.ok_or_else(|| format!("{row:?} in {}", spec.show(&state)))?;
        }
    }
    Ok(())
}

/// Feeds a history in random steps, keeping the promise of lookahead and releasing what was explained.
fn stream(spec: &Builtin, history: &History, rng: &mut Rng) -> Result<Vec<OpId>, Stop> {
    let whole = Timeline::of(&history.operations, Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    let mut engine = StackMonitor::new();
    let mut timeline = Timeline::new(Ties::Strict);
    let (mut all, mut edits) = (Witness::default(), Vec::new());
    let mut upto = 0;
    while upto < whole.end() {
        upto = (upto + 1 + rng.below(4) as u32).min(whole.end());
        let needed = (0..whole.end()).filter(|&i| i < upto || whole.earliest(OpId(i)) < upto).max();
        let loaded = (needed.map_or(0, |i| i + 1)).max(timeline.end());
        for id in timeline.end()..loaded {
            timeline.push(*whole.op(OpId(id)));
        }
        load_pending(&mut timeline, &whole, upto);
        let mut step = Witness::default();
        engine.advance(&cx, &timeline, upto, &mut step)?;
        append(&mut all, &mut edits, step);
        timeline.release(upto.saturating_sub(rng.below(2) as u32).max(timeline.base()));
    }
    load_pending(&mut timeline, &whole, u32::MAX);
    let mut step = Witness::default();
    engine.finish(&cx, &timeline, &mut step)?;
    append(&mut all, &mut edits, step);
    all.edits = edits;
    Ok(all.into_order())
}

/// Pending operations are in order of call, so those that may take effect before `upto` come first.
fn load_pending(timeline: &mut Timeline, whole: &Timeline, upto: u32) {
    for index in timeline.pending().len()..whole.pending().len() {
        if whole.earliest(OpId::pending(index as u32)) < upto {
            timeline.push_pending(whole.pending()[index]);
        }
    }
}

fn append(all: &mut Witness, edits: &mut Vec<Edit>, step: Witness) {
    let before = all.order.len();
    all.order.extend(step.order);
    all.holes.extend(step.holes.into_iter().map(|mut hole| {
        hole.at += before;
        hole
    }));
    edits.extend(step.edits);
}

fn differential(count: u32, seed: u64, operations: u64) {
    let plain = Builtin::new(Kind::Stack);
    let mut rng = Rng::new(seed);
    let (mut wrong, mut cores, mut unsupported) = (0, 0, 0);
    for round in 0..count {
        let mut taste = Taste::random(&mut rng, operations, true);
        if rng.chance(0.3) {
            taste.pending = 0.0;
        }
        let mut spec = plain.clone();
        if rng.chance(0.1) {
            let contents = (0..1 + rng.below(3)).map(|i| Value::Int(100 + i as i64));
            spec = spec.with_initial(Value::list(contents));
        }
        let history = small::history(&spec, &taste, &mut rng);
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        if timeline.has_touching() {
            continue;
        }
        let budget = Budget::unlimited();
        let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
        let holds = brute::search(&spec, &history.operations, &history.symbols, &budget).unwrap().holds();
        wrong += u32::from(!holds);
        let show = || format!("round {round} {:?}\n{}", spec.initial, show(&spec, &history));
        match run(&mut StackMonitor::new(), &cx, &timeline) {
            Ok(order) => {
                assert!(holds, "accepted: {}", show());
                replay(&spec, &history, &timeline, &order).unwrap_or_else(|why| panic!("{why}: {}", show()));
            }
            Err(Stop::Violated(violation)) => {
                assert!(!holds, "rejected ({}): {}", violation.reason, show());
                if !violation.core.is_empty() {
                    cores += 1;
                    assert!(violation.core.len() <= 8, "{:?}", violation.core);
                    let again = brute::search(&spec, &violation.core, &history.symbols, &budget).unwrap();
                    assert!(!again.holds(), "core {:?} of {}", violation.core, show());
                }
            }
            Err(Stop::Unsupported(why)) if why == "pending pops" => unsupported += 1,
            Err(stop) => panic!("{stop:?}: {}", show()),
        }
        match stream(&spec, &history, &mut rng) {
            Ok(order) => {
                assert!(holds, "stream accepted: {}", show());
                replay(&spec, &history, &timeline, &order).unwrap_or_else(|why| panic!("{why}: {}", show()));
            }
            Err(Stop::Violated(violation)) => {
                assert!(!holds, "stream rejected ({}): {}", violation.reason, show());
                if !violation.core.is_empty() {
                    let again = brute::search(&spec, &violation.core, &history.symbols, &budget).unwrap();
                    assert!(!again.holds(), "stream core {:?} of {}", violation.core, show());
                }
            }
            Err(Stop::Unsupported(why)) if why == "pending pops" => unsupported += 1,
            Err(stop) => panic!("{stop:?}: {}", show()),
        }
    }
    println!("{count} histories, {wrong} wrong, {cores} cores, {unsupported} unsupported");
}

fn show(spec: &Builtin, history: &History) -> String {
    let mut text = String::new();
    for op in &history.operations {
        let name = spec.signature().decl(op.op()).name;
        let (arg, result) = (history.symbols.value(op.arg), history.symbols.value(op.result));
        let ret = if op.is_pending() { "..".into() } else { op.ret.to_string() };
        text += &format!("{name} {arg} -> {result} [{},{ret}]; ", op.call);
    }
    text
}

#[test]
fn agrees_with_the_oracle() {
    let count = std::env::var("STACK_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000);
    let seed = std::env::var("STACK_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    differential(count, seed, 9);
}

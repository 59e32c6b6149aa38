//! The stack monitor against the oracle: whole histories, and streams in small steps with rows released in
//! between.

use linpoint_check::engine::{Edit, Stop, Witness, run};
use linpoint_check::monitor::stack::StackMonitor;
use linpoint_check::recheck::segments::Segments;
use linpoint_check::timeline::{OpId, Ties, Timeline};
use linpoint_check::{Budget, Context, Engine, brute};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes::stack::POP;
use linpoint_history::{Builtin, Call, History, Kind, OpCode, Operation, Spec, Value, notation};

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
    let mut all = Witness::default();
    let mut segments = Segments::new(spec, &history.symbols);
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
        tell(&mut segments, &step, &timeline, &whole);
        all.extend(step);
        timeline.release(upto.saturating_sub(rng.below(2) as u32).max(timeline.base()));
    }
    load_pending(&mut timeline, &whole, u32::MAX);
    let mut step = Witness::default();
    engine.finish(&cx, &timeline, &mut step)?;
    tell(&mut segments, &step, &timeline, &whole);
    segments.finish(whole.end()).unwrap_or_else(|bad| panic!("{bad}: {}", show(spec, history)));
    all.extend(step);
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

/// Rechecks a piece of the order, from the rows the timeline still has and those that come with the piece.
fn tell(segments: &mut Segments, step: &Witness, timeline: &Timeline, whole: &Timeline) {
    let mut holes = step.holes.iter().peekable();
    for (at, id) in step.order.iter().enumerate() {
        while let Some(hole) = holes.next_if(|hole| hole.at == at) {
            segments.hole(hole.name).expect("a new hole");
        }
        let row = if id.0 < timeline.base() { whole.op(*id) } else { timeline.op(*id) };
        segments.push(*id, row).expect("a right order");
    }
    holes.for_each(|hole| segments.hole(hole.name).expect("a new hole"));
    for edit in &step.edits {
        match edit {
            Edit::Fill { hole, op, row } => {
                assert_eq!(row, whole.op(*op));
                segments.fill(*hole, *op, row).expect("a right order");
            }
            Edit::Close { hole } => segments.close(*hole).expect("a right order"),
        }
    }
}

/// Compares so many random histories; the example `stepwise` does more.
pub fn differential(count: u64, seed: u64, operations: u64) {
    let plain = Builtin::new(Kind::Stack);
    let mut rng = Rng::new(seed);
    let (mut wrong, mut cores, mut decided) = (0, 0, 0);
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
        let hard = rng.chance(0.5);
        if hard {
            taste.spoil = 0.0;
        }
        let mut history = small::history(&spec, &taste, &mut rng);
        if hard {
            swap_results(&mut history, &mut rng);
        }
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        if timeline.has_touching() {
            continue;
        }
        let budget = Budget::unlimited();
        let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
        let holds = brute::search(&spec, &history.operations, &history.symbols, &budget).unwrap().holds();
        decided += 1;
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
            Err(stop) => panic!("{stop:?}: {}", show()),
        }
    }
    println!("{decided} histories, {wrong} wrong, {cores} cores");
    assert!(wrong * 20 > decided && cores * 10 > wrong * 9);
}

/// Lets two pops change their answers, so that what is wrong is wrong only by the order.
fn swap_results(history: &mut History, rng: &mut Rng) {
    let is_pop = |op: &Operation| op.op() == POP && !op.is_pending();
    let pops: Vec<usize> =
        (0..history.operations.len()).filter(|&at| is_pop(&history.operations[at])).collect();
    if pops.len() < 2 {
        return;
    }
    let (a, b) = (*rng.pick(&pops), *rng.pick(&pops));
    let result = history.operations[a].result;
    history.operations[a].result = history.operations[b].result;
    history.operations[b].result = result;
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
    differential(20_000, 1, 9);
}

#[track_caller]
fn check(text: &str, expect: &str) {
    check_from(Builtin::new(Kind::Stack), text, expect);
}

/// `holds`, or the reason for a violation, or why it is not decided.
#[track_caller]
fn check_from(spec: Builtin, text: &str, expect: &str) {
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
    let found = match run(&mut StackMonitor::new(), &cx, &timeline) {
        Ok(order) => {
            replay(&spec, &history, &timeline, &order).expect("a right order");
            "holds".to_string()
        }
        Err(Stop::Violated(violation)) => {
            let again = brute::search(&spec, &violation.core, &history.symbols, &budget).expect("no limit");
            assert!(!violation.core.is_empty() && !again.holds(), "{:?}", violation.core);
            violation.reason
        }
        Err(Stop::Unsupported(why)) => why,
        Err(stop) => format!("{stop:?}"),
    };
    assert_eq!(found, expect, "{}", &text[..text.len().min(500)]);
}

#[test]
fn rows_that_are_wrong_by_themselves() {
    check(
        "push 1 [1,2]; pop -> 1 [3,4]; pop -> 1 [5,6]",
        "pop -> 1 is impossible: 1 was popped before, and pushed only once",
    );
    check("pop -> 1 [3,4]", "pop -> 1 is impossible: 1 was never pushed");
    check("pop -> 1 [3,4]; push 1 [5,6]", "pop -> 1 is impossible: 1 was pushed only later");
    check("push 1 [1,2]; push 1 [3,4]", "value 1 is inserted twice");
}

#[test]
fn order_and_emptiness() {
    let above = "pop -> 1 is impossible: 2 was pushed after 1, lay above it and was still inside";
    check("push 1 [1,2]; push 2 [3,4]; pop -> 1 [5,6]; pop -> 2 [7,8]", above);
    check("push 1 [1,2]; push 2 [3,4]; pop -> 1 [5,6]", above);
    check("push 1 [1,2]; push 2 [3,4]; pop -> 1 [5,8]; pop -> 2 [6,7]", "holds");
    check("push 1 [1,4]; push 2 [2,3]; pop -> 1 [5,6]; pop -> 2 [7,8]", "holds");
    check("push 2 [10,17]; pop -> null [19,20]", "pop -> empty is impossible: 2 was inside all the time");
    check("push 1 [1,3]; push 2 [2,4]; pop -> null [2,9]; pop -> 2 [8,10]; pop -> 1 [9,12]", "holds");
}

#[test]
fn pending_operations() {
    // The pending pop takes the value that lies on top, not the oldest.
    check("push 2 [3,7]; push 5 [6,6]; pop [9,..]; push 3 [9,9]; pop -> 5 [22,25]", "holds");
    // It takes the older one, before the stack is found empty.
    check("push 4 [3,6]; pop [5,..]; pop -> null [12,12]; push 2 [13,14]", "holds");
    check("pop [2,..]; push 2 [4,5]; pop -> null [6,7]", "holds");
    check("push 1 [1,..]; pop -> 1 [2,3]", "holds");
    check("push 1 [1,..]; pop -> null [2,3]", "holds");
    check(
        "push 1 [1,2]; push 2 [3,4]; pop -> null [5,6]; pop [7,..]",
        "pop -> empty is impossible: 1 was inside all the time",
    );
}

#[test]
fn initial_contents() {
    let spec = || Builtin::new(Kind::Stack).with_initial(Value::list([Value::Int(1), Value::Int(2)]));
    check_from(spec(), "pop -> 2 [1,2]; pop -> 1 [3,4]; pop -> null [5,6]", "holds");
    let above = "pop -> 1 is impossible: 2 was pushed after 1, lay above it and was still inside";
    check_from(spec(), "pop -> 1 [1,2]; pop -> 2 [3,4]", above);
    check_from(spec().with_capacity(3), "pop -> 2 [1,2]", "the stack is bounded");
}

#[test]
fn first_in_first_out_is_refused_in_time() {
    let mut text = String::new();
    for value in 0..30_000 {
        text +=
            &format!("push {value} [{0},{0}]; pop -> {value} [{1},{1}];", 10 * value, 10 * (value + 30_000));
    }
    let above = "pop -> 0 is impossible: 336 was pushed after 0, lay above it and was still inside";
    check(&text, above);
}

#[test]
fn a_deep_stack_with_no_quiet_moment() {
    // Each pop overlaps the next, so the whole second half is one window, nested five thousand deep.
    let mut history = History::new();
    let depth = 5000;
    for value in 0..2 * depth {
        let process = history.symbols.process(&Value::Int(value % 7));
        let mut row = Operation::new(process, OpCode(u8::from(value >= depth)));
        (row.call, row.ret) = (10 * value, 10 * value + 15);
        let name =
            history.symbols.intern(&Value::Int(if value < depth { value } else { 2 * depth - 1 - value }));
        if value < depth {
            row.arg = name
        } else {
            row.result = name
        }
        history.operations.push(row);
    }
    let spec = Builtin::new(Kind::Stack);
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
    let order = run(&mut StackMonitor::new(), &cx, &timeline).expect("it holds");
    let mut segments = Segments::new(&spec, &history.symbols);
    order.iter().for_each(|id| segments.push(*id, timeline.op(*id)).expect("a right order"));
    assert_eq!(segments.finish(timeline.end()), Ok(2 * depth as u64));
}

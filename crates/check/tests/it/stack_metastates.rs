//! Stack metastates: named traps, random histories against the oracle, small steps with rows released in
//! between.

use linpoint_check::engine::{Stop, run};
use linpoint_check::metastate::stack::StackMetastates;
use linpoint_check::timeline::{Ties, Timeline};
use linpoint_check::{Budget, Context, Engine, OpId, Witness, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, History, Kind, Operation, Spec, Value, notation, specs};

use crate::small::{self, Taste};

#[track_caller]
fn check(spec: &str, text: &str, holds: bool) {
    let spec = specs::parse(spec).expect("a known spec");
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let oracle = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
    assert_eq!(oracle.expect("no limit").holds(), holds, "the oracle on {text}");
    assert_eq!(decide(&spec, &history, &mut Rng::new(1)), holds, "{text}");
}

/// Runs the engine over the whole history at once and in small steps, and replays the witness.
#[track_caller]
fn decide(spec: &Builtin, history: &History, rng: &mut Rng) -> bool {
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let whole = run(&mut StackMetastates::new(), &cx, &timeline);
    let steps = in_steps(&cx, history, rng);
    assert_eq!(whole.is_ok(), steps.is_ok(), "all at once and in steps: {history:?}");
    match (whole, steps) {
        (Ok(whole), Ok(steps)) => {
            replay(spec, history, &timeline, &whole);
            replay(spec, history, &timeline, &steps);
            true
        }
        (Err(Stop::Violated(violation)), _) => {
            if !violation.core.is_empty() {
                let core = brute::search(spec, &violation.core, &history.symbols, &budget).expect("no limit");
                assert!(!core.holds(), "a core that can be explained: {:?} of {history:?}", violation.core);
            }
            false
        }
        (Err(stop), _) | (_, Err(stop)) => panic!("{stop:?} on {history:?}"),
    }
}

/// Rows arrive as they must and leave as soon as they may.
fn in_steps(cx: &Context<'_>, history: &History, rng: &mut Rng) -> Result<Vec<OpId>, Stop> {
    let mut rows: Vec<Operation> = history.operations.clone();
    rows.sort_by_key(|op| (op.ret, op.call));
    let full = Timeline::of(&history.operations, Ties::Strict);
    let completed = full.end();
    let mut timeline = Timeline::new(Ties::Strict);
    for op in rows.iter().filter(|op| !op.is_pending()) {
        timeline.push(*op);
    }
    for op in rows.iter().filter(|op| op.is_pending()) {
        timeline.push_pending(*op);
    }
    let mut engine = StackMetastates::new();
    let mut order = Vec::new();
    let mut upto = 0;
    while upto < completed {
        let explained = upto;
        upto = (upto + 1 + rng.below(3) as u32).min(completed);
        timeline.release(explained);
        let mut witness = Witness::default();
        engine.advance(cx, &timeline, upto, &mut witness)?;
        order.extend(witness.order);
    }
    timeline.release(completed);
    let mut witness = Witness::default();
    engine.finish(cx, &timeline, &mut witness)?;
    order.extend(witness.order);
    Ok(order)
}

/// An order explains a history: it respects real time, every completed operation is in it, and the
/// specification accepts it.
#[track_caller]
fn replay(spec: &Builtin, history: &History, timeline: &Timeline, order: &[OpId]) {
    let rows: Vec<Operation> = order.iter().map(|&id| *timeline.op(id)).collect();
    let completed = history.operations.iter().filter(|op| !op.is_pending()).count();
    assert_eq!(rows.iter().filter(|op| !op.is_pending()).count(), completed, "{order:?} of {history:?}");
    let mut ids = order.to_vec();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), order.len(), "twice in {order:?} of {history:?}");
    let mut latest_call = i64::MIN;
    let mut states = vec![spec.initial()];
    for row in &rows {
        assert!(row.ret >= latest_call, "against real time: {order:?} of {history:?}");
        latest_call = latest_call.max(row.call);
        let (arg, result) = (history.symbols.value(row.arg), history.symbols.value(row.result));
        let call = Call { op: row.op(), process: row.process(), arg: &arg };
        let mut next = Vec::new();
        for state in &states {
            if row.is_pending() {
                spec.step_pending(state, call, &mut next);
            } else {
                next.extend(spec.step(state, call, &result));
            }
        }
        assert!(!next.is_empty(), "{row:?} is refused in {order:?} of {history:?}");
        states = next;
    }
}

#[test]
fn traps() {
    // Pops may come before a push that returns.
    check(
        "stack",
        "pop -> null [0,1]; push 2 [4,12]; pop -> null [3,7]; pop -> 2 [8,22]; push 1 [14,16]",
        true,
    );
    check("stack", "push 1 [1,2]; push 2 [3,4]; pop -> 1 [5,6]; pop -> 2 [7,8]", false);
    check("stack", "push 1 [1,2]; push 2 [3,4]; pop -> 2 [5,6]; pop -> 1 [7,8]", true);
    // A push that is open for long may have gone below what was pushed since.
    check(
        "stack",
        "push 1 [1,20]; push 2 [3,4]; pop -> 2 [21,22]; pop -> 1 [23,24]; pop -> null [25,26]",
        true,
    );
    check("stack", "push 1 [5,20]; push 2 [3,4]; pop -> 2 [21,22]; pop -> 1 [23,24]", false);
    check(
        "stack",
        "push 1 [5,20]; push 2 [3,4]; pop -> 1 [6,7]; push 1 [8,9]; pop -> 1 [10,11]; pop -> 2 [12,13]",
        true,
    );
    // Pops that took effect before a push, with what they took pushed before the push was called.
    check("stack", "push 3 [1,2]; pop -> 3 [3,30]; push 1 [5,6]; pop -> 1 [7,8]; pop -> null [9,10]", true);
    // Pending operations.
    check("stack", "push 1 [1,..]; pop -> 1 [2,3]; pop -> 1 [4,5]", false);
    check("stack", "push 1 [1,2]; push 2 [3,4]; pop [5,..]; pop -> 1 [6,7]", true);
    check("stack", "push 1 [1,2]; push 2 [3,4]; pop [5,..]; pop -> 1 [6,7]; pop -> 2 [8,9]", false);
    check("stack", "pop [1,..]; push 1 [2,3]; pop -> null [4,5]", true);
}

#[test]
fn random_histories_agree_with_the_oracle() {
    let (mut wrong, mut seen) = (0, 0);
    let rounds = 15_000;
    let mut rng = Rng::new(1);
    for _ in 0..rounds {
        let most = *rng.pick(&[6, 9, 14]);
        let mut taste = Taste::random(&mut rng, most, false);
        taste.pending = *rng.pick(&[0.0, 0.0, 0.1, 0.35]);
        let mut spec = Builtin::new(Kind::Stack);
        if rng.chance(0.2) {
            let items = (0..1 + rng.below(3)).map(|_| Value::Int(rng.below(4) as i64));
            spec = spec.with_initial(Value::list(items));
        }
        let history = small::history(&spec, &taste, &mut rng);
        let oracle = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
        let holds = oracle.expect("no limit").holds();
        if Timeline::of(&history.operations, Ties::Strict).has_touching() {
            continue;
        }
        assert_eq!(decide(&spec, &history, &mut rng), holds, "{history:?}");
        if holds && seen % 8 == 0 {
            blocks_may_be_left_out(&spec, &history);
        }
        seen += 1;
        wrong += u32::from(!holds);
    }
    assert!(wrong > seen / 10 && seen > rounds / 3, "{wrong} wrong of {seen}");
}

#[test]
fn what_is_linearizable_by_construction_is_explained() {
    use linpoint_history::generate::{self, Plan, Values};
    let mut rng = Rng::new(2);
    for seed in 0..16 {
        let mut plan = Plan::new(Builtin::new(Kind::Stack));
        plan.processes = 2 + rng.below(6) as u32;
        plan.operations = 600;
        plan.seed = seed;
        plan.values = Values::Repeated(*rng.pick(&[2, 4, 16]));
        plan.add_share = *rng.pick(&[0.4, 0.5, 0.6]);
        plan.empties = *rng.pick(&[0.0, 0.1]);
        plan.pending = *rng.pick(&[0.0, 0.01]);
        let (history, _) = generate::history(&plan, None).expect("a plan that can be played");
        assert!(decide(&plan.spec, &history, &mut rng), "{plan:?}");
        // With no room for the way back, it is computed a second time.
        let budget = Budget::unlimited();
        let cx = Context { symbols: &history.symbols, spec: &plan.spec, budget: &budget };
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        let order = run(&mut StackMetastates::with_room(0), &cx, &timeline).expect("an order");
        replay(&plan.spec, &history, &timeline, &order);
    }
}

/// What cores leave out leaves a right history right.
#[track_caller]
fn blocks_may_be_left_out(spec: &Builtin, history: &History) {
    for block in linpoint_check::metastate::shrink::removable(spec, &history.operations) {
        let rows = history.operations.iter().enumerate().filter(|(i, _)| !block.contains(&(*i as u32)));
        let rest: Vec<Operation> = rows.map(|(_, op)| *op).collect();
        let found = brute::search(spec, &rest, &history.symbols, &Budget::unlimited()).expect("no limit");
        assert!(found.holds(), "{history:?} without {block:?}");
    }
}

#[test]
fn limits_are_honoured() {
    use linpoint_history::generate::{self, Plan, Values};
    let mut plan = Plan::new(Builtin::new(Kind::Stack));
    (plan.processes, plan.operations, plan.values) = (8, 5000, Values::Repeated(2));
    let (history, _) = generate::history(&plan, None).expect("a plan that can be played");
    let budget = Budget { memory_bytes: Some(100_000), ..Budget::default() };
    let cx = Context { symbols: &history.symbols, spec: &plan.spec, budget: &budget };
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let stop = run(&mut StackMetastates::new(), &cx, &timeline).expect_err("too little memory");
    assert!(matches!(stop, Stop::Limit(_)), "{stop:?}");
}

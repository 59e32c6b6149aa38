//! The plain frontier against brute force, and the cores it lets start late.

use linpoint_check::frontier::{self, Decision};
use linpoint_check::{Budget, Options, brute, check_rows};
use linpoint_history::generate::{Plan, Spoil, Values, history};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Call, Counterexample, History, Kind, Operation, Spec, Verdict, specs};

use crate::small::{self, Taste};

#[test]
fn it_agrees_with_brute_force() {
    let kinds = Kind::all().map(Builtin::new);
    let variants = ["queue:capacity=2", "stack:spurious", "semaphore:capacity=2"];
    let variants = variants.map(|name| specs::parse(name).expect("a known spec"));
    for spec in kinds.chain(variants) {
        let mut rng = Rng::new(11);
        for _ in 0..600 {
            let taste = Taste::random(&mut rng, 10, false);
            agree(&spec, &small::history(&spec, &taste, &mut rng));
        }
    }
}

/// The same verdict; and if it is no, an order of operations up to the start that may come first, and nothing
/// that may follow.
#[track_caller]
fn agree(spec: &Builtin, history: &History) {
    let (rows, symbols) = (&history.operations, &history.symbols);
    let budget = Budget::unlimited();
    let oracle = brute::search(spec, rows, symbols, &budget).expect("no limit").holds();
    let decision = frontier::decide(spec, &spec.initial(), rows, symbols, &budget).expect("no limit");
    let Decision::NotLinearizable(refutation) = decision else {
        return assert!(oracle, "{rows:#?}");
    };
    assert!(!oracle, "{rows:#?}");
    let mut state = spec.initial();
    let mut left: Vec<usize> = (0..rows.len()).collect();
    for &row in &refutation.order {
        assert!(left.iter().all(|&other| rows[other].ret >= rows[row].call), "{refutation:?} of {rows:#?}");
        left.retain(|&other| other != row);
        if rows[row].is_pending() {
            state = refutation.state.clone(); // Which of its results it had is not known here.
            break;
        }
        let (arg, result) = (symbols.value(rows[row].arg), symbols.value(rows[row].result));
        let call = Call { op: rows[row].op(), process: rows[row].process(), arg: &arg };
        state = spec.step(&state, call, &result).expect("an order the specification allows");
    }
    assert_eq!(state, refutation.state, "{refutation:?} of {rows:#?}");
    let rest: Vec<Operation> =
        (0..rows.len()).filter(|row| !refutation.order.contains(row)).map(|row| rows[row]).collect();
    let after = brute::search_from(spec, state, &rest, symbols, &budget).expect("no limit");
    assert!(!after.holds(), "{refutation:?} of {rows:#?}");
}

/// What is wrong with a history of 400 operations, rechecked.
fn example(name: &str, processes: u32, values: Values, seed: u64) -> (Builtin, History, Counterexample) {
    let spec = specs::parse(name).expect("a known spec");
    let mut plan = Plan::new(spec.clone());
    (plan.processes, plan.operations, plan.values, plan.seed) = (processes, 400, values, seed);
    let (mut history, _) = history(&plan, Some(Spoil { at: 0.75, flaw: None })).expect("a plan");
    let rows = history.operations.clone();
    let answer = check_rows(rows, &spec, &mut history.symbols, &Options::default()).expect("a verdict");
    match answer.verdict {
        Verdict::Violated(example) => (spec, history, example),
        other => panic!("{name}, seed {seed}: {other:?}"),
    }
}

#[test]
fn every_violation_has_a_small_core_that_was_rechecked() {
    let names =
        ["lock", "rw-lock", "semaphore:capacity=2", "snapshot", "cas-register", "rmw-register", "counter"];
    for name in names {
        for seed in 0..6 {
            let (spec, history, example) = example(name, 4, Values::Distinct, seed);
            assert!(example.rechecked, "{name}: {example:?}");
            assert!(example.core.len() <= 24, "{name}: {example:?}");
            stands_alone(&spec, &history, &example);
        }
    }
}

#[test]
fn few_values_leave_small_cores() {
    for name in ["queue", "stack", "priority-queue"] {
        for seed in 0..6 {
            let (spec, history, example) = example(name, 4, Values::Repeated(2), seed);
            assert!(example.rechecked && example.core.len() <= 24, "{name}: {example:?}");
            stands_alone(&spec, &history, &example);
        }
    }
}

/// The prefix, one operation after another, and then the core have no order.
#[track_caller]
fn stands_alone(spec: &Builtin, history: &History, example: &Counterexample) {
    if example.start.is_some() && example.prefix.is_empty() {
        return; // No short way to the start is known.
    }
    let first = example.core.iter().map(|op| op.call).min().unwrap_or(0) - 2 * example.prefix.len() as i64;
    let mut rows = example.prefix.clone();
    for (index, op) in rows.iter_mut().enumerate() {
        (op.call, op.ret) = (first + 2 * index as i64, first + 2 * index as i64);
    }
    assert!(brute::search(spec, &rows, &history.symbols, &Budget::unlimited()).expect("no limit").holds());
    rows.extend(&example.core);
    let search = brute::search(spec, &rows, &history.symbols, &Budget::unlimited()).expect("no limit");
    assert!(!search.holds(), "{example:?}");
}

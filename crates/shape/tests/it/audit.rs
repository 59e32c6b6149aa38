//! The structures of proofs against the interpreter.

use std::time::Duration;

use linpoint_lang::program::{Action, Expr};
use linpoint_shape::audit::{Amount, Audit, Inside, audit};
use linpoint_shape::budget::Budget;
use linpoint_shape::exec::Points;
use linpoint_shape::initial::initial;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Invariant, Settings, Verdict, prove};
use linpoint_shape::refine::{self, Precision};
use linpoint_shape::run::Steps;
use linpoint_shape::store::{Domain, Store};
use linpoint_shape::threads::{self, Client};

use crate::corpus::program;

fn look(
    layout: &Layout<'_>,
    points: &Points,
    views: &Store<()>,
    states: u64,
    heaps: u64,
) -> Result<Audit, String> {
    audit(layout, points, &Inside::Views(views), 3, &Amount { states, heaps, until: None })
}

#[test]
fn no_step_of_the_interpreter_leads_out_of_a_proof() {
    for name in [
        "treiber",
        "two-lock",
        "michael-scott",
        "dglm",
        "michael-scott-early-empty",
        "treiber-counted",
        "elimination-stack",
        "coarse-set",
        "pessimistic-set",
    ] {
        let program = program(name);
        let Verdict::Holds(proof) = prove(&program, &Settings::default()).verdict else {
            panic!("{name} is proved");
        };
        let Invariant::Views(found) = &proof.invariant else { panic!("of any number of threads") };
        let layout = Layout::new(&program).expect("modelled");
        let views = refine::forget(&layout, &found.views).expect("it fits");
        let heaps = if proof.precision == Precision::default() { 5000 } else { 0 };
        let done = look(&layout, &proof.points, &views, 2000, heaps);
        assert!(done.as_ref().is_ok_and(|done| done.inside >= 2000 && done.steps > 4000), "{name}: {done:?}");
    }
}

/// What one thread alone sees is too little: the first step of another leads out of it.
#[test]
fn missing_views_are_found() {
    for name in ["treiber", "michael-scott", "pessimistic-set"] {
        let program = program(name);
        let layout = Layout::new(&program).expect("modelled");
        let steps = Steps { layout: &layout, points: &Points::Given };
        let start = initial(&layout, 1).expect("it starts");
        let budget = Budget::new(None, 1 << 30, &|_| {});
        let alone = threads::analyse(&steps, start, &Client::general(&layout, 1), Domain::Joined, &budget);
        let done = look(&layout, &Points::Given, &alone.store, 2000, 0);
        assert!(done.is_err(), "{name}: {done:?}");
    }
}

/// Without one view of a small proof some step leads out of the others. A view that only rare states need may
/// stay unnoticed.
#[test]
fn a_missing_view_is_found() {
    let program = program("treiber");
    let Verdict::Holds(proof) = prove(&program, &Settings::default()).verdict else { panic!("it is proved") };
    let Invariant::Views(found) = &proof.invariant else { panic!("of any number of threads") };
    let layout = Layout::new(&program).expect("modelled");
    let mut missed = 0;
    for left_out in 0..found.views.all.len() {
        let mut views = Store::new(Domain::Joined);
        for (_, view) in found.views.all.iter().enumerate().filter(|(number, _)| *number != left_out) {
            views.add(&(), view.clone()).expect("it fits");
        }
        missed += usize::from(look(&layout, &proof.points, &views, 3000, 1000).is_ok());
    }
    assert!(missed * 4 <= found.views.all.len(), "{missed} of {}", found.views.all.len());
}

/// An operation that keeps a lock is linearizable all the same: whoever wants the lock again waits for ever,
/// and no step leads out of the proof.
#[test]
fn a_lock_that_is_kept_past_the_return() {
    // Nothing is ever added, so that a set whose locks exclude nobody is right.
    let mut program = program("pessimistic-set");
    for (op, is_it) in [("add", is_assume as fn(&Action) -> bool), ("contains", is_unlock)] {
        let op = program.operations.iter().position(|found| found.name == op).expect("it is there");
        let nodes = program.nodes.iter_mut().filter(|node| node.op.index() == op).skip(11);
        let mut edges = nodes.flat_map(|node| &mut node.edges);
        let edge = edges.find(|edge| edge.actions.first().is_some_and(is_it)).expect("one after the search");
        match &mut edge.actions[0] {
            Action::Assume(e) => *e = Expr::Not(Box::new(e.clone())),
            _ => drop(edge.actions.remove(0)),
        }
    }
    let settings = Settings { refute: false, second_look: Duration::ZERO, ..Settings::default() };
    let Verdict::Holds(proof) = prove(&program, &settings).verdict else { panic!("it is proved") };
    let Invariant::Views(found) = &proof.invariant else { panic!("of any number of threads") };
    let layout = Layout::new(&program).expect("modelled");
    let views = refine::forget(&layout, &found.views).expect("it fits");
    let done = look(&layout, &proof.points, &views, 2000, 1000);
    assert!(done.as_ref().is_ok_and(|done| done.inside >= 2000), "{done:?}");
}

fn is_assume(action: &Action) -> bool {
    matches!(action, Action::Assume(_))
}

fn is_unlock(action: &Action) -> bool {
    matches!(action, Action::Unlock(_))
}

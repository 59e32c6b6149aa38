//! Programs of the corpus spoiled in one place: what exploring finds wrong must not be proved.
//!
//! A mutant takes one action out of one edge, or swaps two neighbours, or turns a condition around. Most are wrong, some are not; the two engines must not contradict each other.

use std::time::Duration;

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Expr};
use linpoint_model::{Bounds, Mode, Verdict as Explored, Workload, Wrong, explore};
use linpoint_shape::prove::{Choice, Settings, Verdict, prove};

use crate::corpus::program;

/// Every mutant of a program: one action left out, two swapped, one condition turned around or made always true.
fn mutants(program: &Program) -> Vec<(String, Program)> {
    let mut all = Vec::new();
    let operations = program.operations.len();
    for node in 0..program.nodes.len() {
        if program.nodes[node].op.index() >= operations {
            continue;
        }
        for edge in 0..program.nodes[node].edges.len() {
            let actions = program.nodes[node].edges[edge].actions.clone();
            for at in 0..actions.len() {
                let mut keep = |what: &str, change: &dyn Fn(&mut Vec<Action>)| {
                    let mut mutant = program.clone();
                    change(&mut mutant.nodes[node].edges[edge].actions);
                    all.push((format!("node {node} edge {edge} action {at}: {what}"), mutant));
                };
                if !matches!(
                    actions[at],
                    Action::Mark(_)
                        | Action::New { .. }
                        | Action::Assign(linpoint_lang::program::Place::Local(_), _)
                ) {
                    keep("left out", &|actions| {
                        actions.remove(at);
                    });
                }
                // Annotations see the state at their place; where they stand is no matter of the program.
                let mark = |action: Option<&Action>| matches!(action, None | Some(Action::Mark(_)));
                if !mark(actions.get(at)) && !mark(actions.get(at + 1)) {
                    keep("swapped with the next", &|actions| actions.swap(at, at + 1));
                }
                if let Action::Assume(e) = &actions[at] {
                    keep("turned around", &|actions| {
                        actions[at] = Action::Assume(Expr::Not(Box::new(e.clone())))
                    });
                }
            }
        }
    }
    all
}

#[track_caller]
fn attack(name: &str, limit: usize) {
    let program = program(name);
    let (mut proved, mut wrong) = (0, 0);
    for (what, mutant) in mutants(&program).into_iter().take(limit) {
        // The proof first, without the exploration that `prove` makes itself.
        for points in [Choice::Auto, Choice::Inferred] {
            let settings = Settings { points, time: Some(Duration::from_millis(400)), ..Settings::default() };
            let report = prove(&mutant, &settings);
            match report.verdict {
                Verdict::Proved(_) => {
                    proved += 1;
                    let bounds = Bounds { time: Some(Duration::from_secs(1)), ..Bounds::default() };
                    let explored =
                        explore(&mutant, &Workload::general(&mutant, 2, 2), Mode::Anywhere, &bounds);
                    if let Explored::Violated(violation) = &explored.verdict {
                        let harmless =
                            matches!(violation.wrong, Wrong::Deadlock | Wrong::Endless | Wrong::Stuck);
                        assert!(harmless, "{name}, {what}: proved, but {:?}", violation.wrong);
                    }
                    break;
                }
                Verdict::Refuted(_) => {
                    wrong += 1;
                    break;
                }
                Verdict::NotProved(_) => {}
            }
        }
    }
    assert!(proved > 0 && wrong > 0, "{name}: {proved} proved, {wrong} refuted");
}

#[test]
fn treiber() {
    attack("treiber", 1000);
}

#[test]
fn two_lock() {
    attack("two-lock", 1000);
}

#[test]
fn michael_scott() {
    attack("michael-scott", 1000);
}

#[test]
fn dglm() {
    attack("dglm", 1000);
}

//! Several workers meet the same states in the same order as one: same verdict, same counts, same
//! counterexample.

use linpoint_lang::Program;
use linpoint_model::{Bounds, Deciding, Demand, Explored, Mode, Reductions, Verdict, Workload, explore};

use crate::corpus::{programs, workload};

fn summary(explored: &Explored) -> (usize, u64, usize, u64, String) {
    let verdict = match &explored.verdict {
        Verdict::Violated(violation) => {
            let steps: Vec<_> =
                violation.steps.iter().map(|step| (step.thread, &step.what, &step.state)).collect();
            format!("{:?} {} {} {steps:?}", violation.wrong, violation.repeats, violation.rechecked)
        }
        verdict => format!("{verdict:?}"),
    };
    (explored.states, explored.transitions, explored.depth, explored.digest, verdict)
}

#[track_caller]
fn same(program: &Program, workload: &Workload, mode: Mode, bounds: &Bounds, name: &str) -> usize {
    // Levels of a few states are shared, so that there is much to share.
    let run = |workers: usize| {
        explore(program, workload, mode, &Bounds { workers, shared_from: 3, ..bounds.clone() })
    };
    let one = run(1);
    for workers in [2, 3, 5] {
        assert_eq!(summary(&run(workers)), summary(&one), "{name} with {workers} workers");
    }
    one.states
}

#[test]
fn all_meet_the_same_states_in_the_same_order() {
    let mut states = 0;
    for (path, _, program) in programs() {
        let name = path.display().to_string();
        let bounds = Bounds { claims: Deciding::Ignored, ..Bounds::default() };
        for mode in [Mode::Anywhere, Mode::AtPoints] {
            let small = Workload::general(&program, 2, 1);
            states += same(&program, &small, mode, &bounds, &name);
        }
        if path.to_string_lossy().contains("broken") {
            states += same(&program, &workload(&program), Mode::Anywhere, &bounds, &name);
        }
    }
    assert!(states > 10_000, "{states}");
}

#[test]
fn and_the_same_cycles() {
    for (name, demand) in [
        ("treiber", Demand::LockFree),
        ("michael-scott", Demand::LockFree),
        ("mcs-lock-no-wait", Demand::GoodEnd),
        ("mcs-lock", Demand::GoodEnd),
        ("herlihy-wing", Demand::ObstructionFree),
        ("elimination-stack", Demand::LockFree),
    ] {
        let found = programs().into_iter().find(|(path, ..)| path.ends_with(format!("{name}.lin")));
        let (.., program) = found.expect("it is there");
        let bounds = Bounds { progress: demand, ..Bounds::default() };
        same(&program, &Workload::general(&program, 2, 1), Mode::Anywhere, &bounds, name);
    }
}

#[test]
fn and_the_same_preemptions() {
    for name in ["treiber-pop-no-cas", "two-lock-dequeue-gap", "michael-scott"] {
        let found = programs().into_iter().find(|(path, ..)| path.ends_with(format!("{name}.lin")));
        let (.., program) = found.expect("it is there");
        let reductions = Reductions { fusion: true, fixed: true, symmetry: false, data: true };
        let bounds = Bounds { preemptions: Some(2), reductions, ..Bounds::default() };
        same(&program, &Workload::general(&program, 2, 2), Mode::Anywhere, &bounds, name);
    }
}

/// A limit on memory holds for all together.
#[test]
fn limits_hold_for_all() {
    let found = programs().into_iter().find(|(path, ..)| path.ends_with("michael-scott.lin"));
    let (.., program) = found.expect("it is there");
    let bounds = Bounds { workers: 3, memory: 4 << 20, ..Bounds::default() };
    let explored = explore(&program, &Workload::general(&program, 3, 2), Mode::Anywhere, &bounds);
    assert!(matches!(explored.verdict, Verdict::Unknown(_)), "{:?}", explored.verdict);
    assert!(explored.memory < 8 << 20, "{}", explored.memory);
}

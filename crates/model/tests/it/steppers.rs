//! Compiled steps and the interpreter meet the same states, by the same steps, in the same order.

use linpoint_model::{Bounds, Deciding, Explored, Mode, Reductions, Stepper, Verdict, Workload, explore};

use crate::corpus::{programs, workload};

fn summary(explored: &Explored) -> (usize, u64, usize, u64, String) {
    let verdict = match &explored.verdict {
        Verdict::Holds(_) => "holds".into(),
        Verdict::Violated(violation) => {
            let steps: Vec<_> =
                violation.steps.iter().map(|step| (step.thread, &step.what, &step.state)).collect();
            format!("{:?} {} {steps:?}", violation.wrong, violation.rechecked)
        }
        Verdict::Unknown(limit) => format!("{limit:?}"),
    };
    (explored.states, explored.transitions, explored.depth, explored.digest, verdict)
}

#[test]
fn both_meet_the_same_states_in_the_same_order() {
    for (path, _, program) in programs() {
        let small = Workload::general(&program, 2, 1);
        let all = [(true, true), (true, false), (false, true), (false, false)];
        for (mode, (fusion, symmetry)) in
            [Mode::Anywhere, Mode::AtPoints].into_iter().flat_map(|mode| all.map(|pair| (mode, pair)))
        {
            let first = workload(&program);
            let workloads = if fusion && symmetry { vec![&small, &first] } else { vec![&small] };
            for workload in workloads {
                let run = |stepper: Stepper| {
                    let reductions = Reductions { fusion, fixed: symmetry, symmetry, data: symmetry };
                    let bounds = Bounds {
                        reductions,
                        stepper,
                        claims: Deciding::Ignored,
                        // Enough for most; where it is not, both stop at the same state.
                        states: Some(3_000),
                        ..Bounds::default()
                    };
                    summary(&explore(&program, workload, mode, &bounds))
                };
                let name = path.display();
                assert_eq!(
                    run(Stepper::Compiled),
                    run(Stepper::Interpreted),
                    "{name} {mode:?} {fusion} {symmetry}"
                );
            }
        }
    }
}

//! A wrong program gets a run that shows it: found by exploring models, replayed by the interpreter, and
//! rejected by trying every order.
//!
//! An alarm of the analysis has no run: rows were joined, threads forgotten. And an answer that the points do
//! not explain may be explained by others. So a program is refuted only by a history that no order explains,
//! or by a run-time error; small clients are enough for most mistakes.

use std::time::Duration;

use linpoint_lang::Program;
use linpoint_model::{Bounds, Mode, Violation, Workload, Wrong, explore};
use linpoint_verdict::Counterexample;

/// A run that shows what is wrong, and who ran.
#[derive(Debug)]
pub struct Refutation {
    /// The run.
    pub violation: Violation,
    /// States that were met before it was found.
    pub states: usize,
    /// The threads and their calls.
    pub workload: Workload,
}

/// Explores clients in turn for about so long.
pub fn refute(
    program: &Program,
    mode: Mode,
    time: Duration,
    workloads: Vec<Workload>,
    memory: usize,
) -> Option<Counterexample<Refutation>> {
    let start = std::time::Instant::now();
    for workload in workloads {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return None;
        }
        let bounds = Bounds { time: Some(left), memory, deadlocks: false, ..Bounds::default() };
        let explored = explore(program, &workload, mode, &bounds);
        let states = explored.states;
        if let Some(found) = explored.verdict.into_confirmed()
            && matches!(found.wrong, Wrong::NotLinearizable | Wrong::Points | Wrong::Error(_))
        {
            return Some(found.map(|violation| Refutation { violation, states, workload }));
        }
    }
    None
}

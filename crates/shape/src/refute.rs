//! A wrong program gets a run that shows it: found by exploring models, replayed by the interpreter, and rejected by trying every order.
//!
//! An alarm of the analysis has no run: rows were joined, threads forgotten. And an answer that the points do not explain may be explained by others. So a program is refuted only by a
//! history that no order explains, or by a run-time error; small clients are enough for most mistakes.

use std::time::Duration;

use linpoint_history::Kind;
use linpoint_lang::Program;
use linpoint_lang::program::SpecSource;
use linpoint_model::{Bounds, Explored, Mode, Verdict, Workload, Wrong, explore};

/// A run that shows what is wrong, and who ran.
#[derive(Debug)]
pub struct Refutation {
    /// What the explorer found.
    pub explored: Explored,
    /// The threads and their calls.
    pub workload: Workload,
}

/// Explores clients in turn for about so long: first two threads with two calls each, then those of the program, then larger ones. Who uses a lock
/// has duties of its own, which a client that calls anything does not keep: there only those of the program count.
pub fn refute(
    program: &Program,
    mode: Mode,
    time: Duration,
    sizes: &[(usize, u32)],
    memory: usize,
) -> Option<Refutation> {
    let mut workloads: Vec<Workload> = Vec::new();
    let has_duties = matches!(&program.spec, SpecSource::Builtin(spec) if spec.kind == Kind::Lock);
    for (index, (threads, ops)) in sizes.iter().enumerate() {
        if !has_duties {
            workloads.push(Workload::general(program, *threads, *ops));
        }
        if index == 0 {
            workloads.extend(program.clients.iter().map(Workload::of));
        }
    }
    let start = std::time::Instant::now();
    for workload in workloads {
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return None;
        }
        let bounds = Bounds { time: Some(left), memory, deadlocks: false, ..Bounds::default() };
        let explored = explore(program, &workload, mode, &bounds);
        let shows = match &explored.verdict {
            Verdict::Violated(violation) => {
                violation.rechecked
                    && matches!(violation.wrong, Wrong::NotLinearizable | Wrong::Points | Wrong::Error(_))
            }
            _ => false,
        };
        if shows {
            return Some(Refutation { explored, workload });
        }
    }
    None
}

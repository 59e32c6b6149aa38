//! Small runs of a program that is not proved: what they refute, and whether it is only the ghosts that go
//! wrong.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::erase::erase;
use linpoint_model::{
    Bounds, Deciding, Explored, Mode, Plainly, Verdict, Violation, Workload, Wrong, explore, explore_plainly,
    only_ghosts_go_wrong,
};

/// Longest time for all of them.
const SMALL_RUNS_TIME: Duration = Duration::from_secs(5);

/// What small runs say.
#[derive(Clone, Debug)]
pub struct SmallRuns {
    /// Of the program without its ghosts, which is what is proved.
    pub explored: Explored,
    /// A run that only its ghosts make wrong.
    pub ghosts: Option<Violation>,
}

impl SmallRuns {
    /// The run that refutes, if one was found.
    pub fn refutation(&self) -> Option<&Violation> {
        self.explored.verdict.confirmed().map(|found| &found.evidence)
    }
}

/// Every run of a small client, for a few seconds, or for less where less is left.
pub fn small_runs(program: &Program, limit: Option<Duration>) -> SmallRuns {
    let end = Instant::now() + limit.unwrap_or(SMALL_RUNS_TIME).min(SMALL_RUNS_TIME);
    let workload = workload(program);
    let explored = explored(program, &workload, end);
    match &explored.verdict {
        Verdict::Violated(violation) if only_ghosts_go_wrong(program, workload.threads.len(), violation) => {
            let ghosts = Some(violation.evidence.clone());
            SmallRuns { explored: self::explored(&erase(program), &workload, end), ghosts }
        }
        _ => SmallRuns { explored, ghosts: None },
    }
}

/// Proofs say nothing about deadlock, threads that go round for ever, and claims, so these refute nothing.
fn explored(program: &Program, workload: &Workload, end: Instant) -> Explored {
    let left = || Some(end.saturating_duration_since(Instant::now()));
    let bounds = Bounds {
        time: left(),
        memory: 1 << 30,
        deadlocks: false,
        claims: Deciding::Ignored,
        // It has no limit of its own, and "finds nothing wrong" is no verdict.
        second_look: false,
        ..Bounds::default()
    };
    let explored = explore(program, workload, Mode::Anywhere, &bounds);
    match &explored.verdict {
        Verdict::Violated(violation) if !refutes(&violation.wrong) => {
            let plainly = Plainly { time: left(), deadlocks: false, ..Plainly::default() };
            explore_plainly(program, workload, &plainly)
        }
        _ => explored,
    }
}

/// Is it against what a proof says?
fn refutes(wrong: &Wrong) -> bool {
    matches!(wrong, Wrong::NotLinearizable | Wrong::Error(_))
}

/// The first client of the program that keeps the rules that the proof takes callers to keep; two threads
/// with two operations each if it has none.
pub fn workload(program: &Program) -> Workload {
    match program.clients.first().map(Workload::of) {
        Some(client) if client.keeps_rules(program) => client,
        _ => Workload::usual(program, 2, 2),
    }
}

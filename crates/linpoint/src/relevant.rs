//! Which steps of a failing run matter to the failure.
//!
//! Those that happen before it: its *causal past* (Lamport 1978). Without the others the failure is the same, because nothing
//! in its past depends on them. Where the failure is a history that nothing explains, every step may matter.

use linpoint_sched::clocks::Clocks;
use linpoint_sched::{Failure, Run, ThreadId};

/// Of a run that is far too long, so many steps at either end are shown.
const SHOWN: usize = 100;

/// For each step whether it matters.
pub(crate) fn relevant(run: &Run, failure: Option<&Failure>) -> Vec<bool> {
    let steps = run.steps.len();
    if let Some(cycle) = run.cycle {
        // One turn is enough: the others are the same.
        return (0..steps).map(|step| step < cycle.from + cycle.length).collect();
    }
    if let Some(Failure::TooLong { .. }) = failure {
        return (0..steps).map(|step| step < SHOWN || step + SHOWN >= steps).collect();
    }
    let last_of = |thread: ThreadId| run.steps.iter().rposition(|step| step.thread == thread);
    let ends: Vec<usize> = match failure {
        Some(Failure::Panic { thread, .. }) => last_of(*thread).into_iter().collect(),
        Some(Failure::UseAfterFree(freed) | Failure::DoubleFree(freed)) => {
            let places = [freed.used.thread, freed.freed.thread];
            places.into_iter().filter_map(last_of).collect()
        }
        Some(Failure::DataRace { accesses }) => accesses.iter().filter_map(|one| last_of(one.0)).collect(),
        Some(
            Failure::Deadlock { waiting }
            | Failure::Livelock { waiting }
            | Failure::LeakedThreads { waiting },
        ) => waiting.iter().filter_map(|one| last_of(one.thread)).collect(),
        Some(Failure::Claim(claim)) => {
            let terms = claim.terms.iter().flat_map(|term| [term.seen_at, term.fixed_at]);
            let numbers = [claim.made_at, claim.decided_at].into_iter().chain(terms);
            numbers.filter_map(|number| (number as usize).checked_sub(1)).filter(|&at| at < steps).collect()
        }
        _ => return vec![true; steps],
    };
    if ends.is_empty() {
        return vec![true; steps];
    }
    let mut clocks = Clocks::new();
    clocks.update(run, 0);
    (0..steps).map(|step| ends.iter().any(|&end| clocks.before_or_equal(step, end))).collect()
}

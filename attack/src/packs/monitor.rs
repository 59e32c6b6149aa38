//! Attacks on the runtime monitor and its logs.

mod annotated;
mod damaged;
mod late;
/// Shared with the monitor's own tests.
#[path = "../../../crates/monitor/tests/it/locked.rs"]
mod locked;

use linpoint_history::rng::Rng;

use crate::pack::{Pack, Round};

/// The packs of this engine.
pub const PACKS: &[Pack] = &[
    Pack {
        engine: "monitor",
        name: "damaged-logs",
        about: "logs of right and wrong runs, with bytes flipped, cut, doubled, swapped or zeroed; nothing may refine that was not judged",
        round: damaged::round,
    },
    Pack {
        engine: "monitor",
        name: "late-objects",
        about: "objects made, used and dropped while other threads log, filed, streamed, spilled and shared out; all of it is counted",
        round: late::round,
    },
    Pack {
        engine: "monitor",
        name: "annotated-runs",
        about: "event sequences with misplaced commits, versions, views, dropped operations and wrong answers, judged by every order",
        round: annotated::round,
    },
    Pack {
        engine: "monitor",
        name: "writes-under-locks",
        about: "single writes under locks, blocks between them, locks handed on hand over hand, an end while they are held; judged by the whole log of writes",
        round: under_locks,
    },
];

/// Many runs.
fn under_locks(rng: &mut Rng) -> Round {
    const RUNS: u64 = 100;
    for _ in 0..RUNS {
        let seed = rng.below(u64::MAX);
        if let Err(message) = locked::compare(seed) {
            let (said, input) = message.split_once('\n').unwrap_or((&message, ""));
            return Round::disagreed(
                said,
                "the writes with the largest numbers that show",
                input,
                format!("seed {seed}"),
            );
        }
    }
    Round::Agreed(RUNS)
}

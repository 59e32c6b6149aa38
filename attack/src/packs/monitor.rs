//! Attacks on the runtime monitor and its logs.

mod annotated;
mod damaged;
mod late;

use crate::pack::Pack;

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
];

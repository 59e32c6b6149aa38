//! When an exploration stops, and what may be said of it then.

use std::time::{Duration, Instant};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// After so many graphs.
    pub graphs: u64,
    /// After so much time.
    pub time: Duration,
    /// The most events of one thread. A thread that would have more stops there, and its graph counts as cut.
    pub events_per_thread: usize,
}

impl Default for Limits {
    /// None but for threads that do not end.
    fn default() -> Limits {
        Limits { graphs: u64::MAX, time: Duration::MAX, events_per_thread: 1_000 }
    }
}

/// A limit that was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The number of graphs.
    Graphs,
    /// The time.
    Time,
}

/// Why an exploration ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ended {
    /// Nothing was left to do.
    #[default]
    Exhausted,
    /// A limit was reached.
    Limit(Limit),
    /// The caller stopped it.
    Stopped,
    /// Executions were chosen at random.
    Sampled,
    /// The program has more threads than [`MAX_THREADS`](crate::MAX_THREADS); nothing was explored.
    TooManyThreads,
    /// The program did not repeat the steps that it took before: it is not deterministic.
    Diverged,
}

/// How much of a program's executions an exploration has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All of them, whole.
    Everything,
    /// Not all, or not whole.
    Part,
}

/// Watches the limits.
#[derive(Clone, Debug)]
pub(super) struct Clockwork {
    limits: Limits,
    started: Instant,
}

impl Clockwork {
    pub(super) fn start(limits: Limits) -> Clockwork {
        Clockwork { limits, started: Instant::now() }
    }

    /// Which limit is reached after so many graphs?
    pub(super) fn spent(&self, graphs: u64) -> Option<Limit> {
        if graphs >= self.limits.graphs {
            return Some(Limit::Graphs);
        }
        let has_end = self.limits.time != Duration::MAX;
        (has_end && graphs.is_multiple_of(64) && self.started.elapsed() >= self.limits.time)
            .then_some(Limit::Time)
    }
}

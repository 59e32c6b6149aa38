//! How far an analysis may go.

use std::time::{Duration, Instant};

/// How far an analysis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Structures met.
    pub structures: usize,
    /// Of these, structures whose steps are due.
    pub waiting: usize,
    /// Since it began.
    pub elapsed: Duration,
}

/// Time and memory, and who is told how far it is.
#[derive(Clone, Copy)]
pub struct Budget<'w> {
    /// When to give up.
    pub until: Option<Instant>,
    /// Give up beyond this many bytes of structures.
    pub memory: usize,
    start: Instant,
    watch: &'w dyn Fn(Progress),
}

impl<'w> Budget<'w> {
    /// So long from now, and so much.
    pub fn new(time: Option<Duration>, memory: usize, watch: &'w dyn Fn(Progress)) -> Budget<'w> {
        let start = Instant::now();
        Budget { until: time.map(|time| start + time), memory, start, watch }
    }

    /// Is the time up?
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }

    /// What ran out, if something did, with so many structures, so many of them due, in so many bytes.
    pub fn spent(&self, structures: usize, waiting: usize, bytes: usize) -> Option<&'static str> {
        (self.watch)(Progress { structures, waiting, elapsed: self.start.elapsed() });
        if bytes > self.memory {
            return Some("the memory limit came first");
        }
        self.until.is_some_and(|until| Instant::now() > until).then_some("the time limit came first")
    }
}

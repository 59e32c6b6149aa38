//! How far an analysis may go.

use std::time::{Duration, Instant};

/// Time and memory.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// When to give up.
    pub until: Option<Instant>,
    /// Give up beyond this many bytes of structures.
    pub memory: usize,
}

impl Budget {
    /// So long from now, and so much.
    pub fn new(time: Option<Duration>, memory: usize) -> Budget {
        Budget { until: time.map(|time| Instant::now() + time), memory }
    }

    /// What ran out, if something did.
    pub fn spent(&self, bytes: usize) -> Option<&'static str> {
        if bytes > self.memory {
            return Some("the memory limit came first");
        }
        self.until.is_some_and(|until| Instant::now() > until).then_some("the time limit came first")
    }
}

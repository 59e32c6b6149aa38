//! How far ahead of what was judged the rings are read.
//!
//! What waits for one operation to answer takes memory: a place in the order for each number, and each
//! operation with its values. The gate lets in what is at most a window of numbers ahead; the rest stays in
//! the rings ([`crate::unpack`]), and threads whose rings are full wait. So what is held back is at most the
//! window, what fits into the rings, and an operation a thread.
//!
//! A thread that waits because its ring is full may hold a lock that the operation waits for which everybody
//! waits for. So the gate is patient, not stubborn: when nothing moves for a while, it opens by another
//! window, and waits longer the next time. An operation that hangs then costs a window a second, until the
//! checker gives up on it ([`crate::Limits::waiting`]).

use std::time::{Duration, Instant};

use crate::object::Watched;

/// The first wait.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// And the longest.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Says what is too far ahead.
#[derive(Debug)]
pub(crate) struct Gate {
    /// In numbers; `None` lets everything in.
    window: Option<u64>,
    /// How often it was opened by another window since something moved.
    opened: u64,
    /// What was judged when something moved last.
    judged: u64,
    moved: Instant,
    patience: Duration,
}

impl Gate {
    pub(crate) fn new(window: Option<u64>) -> Gate {
        Gate { window, opened: 0, judged: 0, moved: Instant::now(), patience: FIRST_WAIT }
    }

    /// From now on everything is let in.
    pub(crate) fn open(&mut self) {
        self.window = None;
    }

    /// Stamps of this object above the answer are too far ahead.
    pub(crate) fn limit(&self, watched: &Watched) -> u64 {
        self.width().map_or(u64::MAX, |width| watched.judged().saturating_add(width))
    }

    /// So many events may wait.
    pub(crate) fn width(&self) -> Option<u64> {
        self.window.map(|window| window.saturating_mul(1 + self.opened))
    }

    /// A round is over: was something held, and what was judged until now, all in all?
    pub(crate) fn note(&mut self, held: bool, judged: u64) {
        if !held || judged != self.judged {
            (self.opened, self.judged, self.patience) = (0, judged, FIRST_WAIT);
            self.moved = Instant::now();
        } else if self.moved.elapsed() >= self.patience {
            self.opened += 1;
            self.patience = (2 * self.patience).min(LONGEST_WAIT);
            self.moved = Instant::now();
        }
    }
}

//! The atomics that the log is made of, and waiting, in one place: the tests put the explorer's in their
//! stead, and run the log's own code under every schedule.

use std::time::Duration;

use crossbeam_utils::Backoff;

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// Waits a little, and longer the longer it takes.
#[derive(Debug, Default)]
pub(crate) struct Patience(Backoff);

impl Patience {
    pub(crate) fn wait(&self) {
        if self.0.is_completed() {
            std::thread::sleep(Duration::from_micros(50));
        } else {
            self.0.snooze();
        }
    }
}

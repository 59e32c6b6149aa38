//! The bounded queue of concurrent-queue.

use concurrent_queue::ConcurrentQueue;
use linpoint_monitor::{Monitor, MonitorError};

use crate::{Ends, Queue};

/// `ConcurrentQueue::bounded`.
pub struct Bounded {
    queue: ConcurrentQueue<u64>,
    ends: Ends,
}

impl Bounded {
    /// Empty, and watched.
    pub fn watched(monitor: &Monitor, capacity: usize, spec: &str) -> Result<Self, MonitorError> {
        let ends = Ends::watch(monitor, "concurrent-queue", spec)?;
        Ok(Bounded { queue: ConcurrentQueue::bounded(capacity), ends })
    }
}

impl Queue for Bounded {
    fn push(&self, value: u64) -> bool {
        let op = self.ends.object.call(self.ends.push, value);
        op.returns(self.queue.push(value).is_ok())
    }

    fn pop(&self) -> Option<u64> {
        let op = self.ends.object.call(self.ends.pop, ());
        op.returns(self.queue.pop().ok())
    }
}

//! Queues of crossbeam-queue: Vyukov's ring, and a list of rings.

use crossbeam_queue::{ArrayQueue, SegQueue};
use linpoint_monitor::{Monitor, MonitorError};

use crate::{Ends, Queue};

/// `ArrayQueue`.
pub struct Bounded {
    queue: ArrayQueue<u64>,
    ends: Ends,
}

impl Bounded {
    /// Empty, and watched.
    pub fn watched(monitor: &Monitor, capacity: usize, spec: &str) -> Result<Self, MonitorError> {
        let ends = Ends::watch(monitor, "crossbeam ArrayQueue", spec)?;
        Ok(Bounded { queue: ArrayQueue::new(capacity), ends })
    }
}

impl Queue for Bounded {
    fn push(&self, value: u64) -> bool {
        let op = self.ends.object.call(self.ends.push, value);
        op.returns(self.queue.push(value).is_ok())
    }

    fn pop(&self) -> Option<u64> {
        let op = self.ends.object.call(self.ends.pop, ());
        op.returns(self.queue.pop())
    }
}

/// `SegQueue`.
pub struct Unbounded {
    queue: SegQueue<u64>,
    ends: Ends,
}

impl Unbounded {
    /// Empty, and watched.
    pub fn watched(monitor: &Monitor) -> Result<Self, MonitorError> {
        let ends = Ends::watch(monitor, "crossbeam SegQueue", "queue")?;
        Ok(Unbounded { queue: SegQueue::new(), ends })
    }
}

impl Queue for Unbounded {
    fn push(&self, value: u64) -> bool {
        let op = self.ends.object.call(self.ends.push, value);
        op.returns({
            self.queue.push(value);
            true
        })
    }

    fn pop(&self) -> Option<u64> {
        let op = self.ends.object.call(self.ends.pop, ());
        op.returns(self.queue.pop())
    }
}

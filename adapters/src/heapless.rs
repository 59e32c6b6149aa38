//! The queue for many producers and consumers of heapless. Full and empty may be said while an operation of another thread is half done.

use heapless::mpmc;
use linpoint_monitor::{Monitor, MonitorError};

use crate::{Ends, Queue, Wide};

/// `mpmc::Queue` with 64 slots.
pub struct Mpmc {
    queue: mpmc::Queue<Wide, 64>,
    ends: Ends,
}

impl Mpmc {
    /// Empty, and watched. (`new` is deprecated because one thread can hold up the others.)
    #[allow(deprecated)]
    pub fn watched(monitor: &Monitor, spec: &str) -> Result<Self, MonitorError> {
        let ends = Ends::watch(monitor, "heapless mpmc", spec)?;
        Ok(Mpmc { queue: mpmc::Queue::new(), ends })
    }
}

impl Queue for Mpmc {
    fn push(&self, value: u64) -> bool {
        let op = self.ends.object.call(self.ends.push, value);
        let mut done = self.queue.enqueue(value.into()).is_ok();
        while self.ends.patient && !done {
            done = self.queue.enqueue(value.into()).is_ok();
        }
        op.returns(done)
    }

    fn pop(&self) -> Option<u64> {
        let op = self.ends.object.call(self.ends.pop, ());
        op.returns(self.queue.dequeue().map(|item| item.value()))
    }
}

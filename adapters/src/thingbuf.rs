//! The ring of thingbuf. Full and empty may be said while an operation of another thread is half done.

use linpoint_monitor::{Monitor, MonitorError};
use thingbuf::ThingBuf;

use crate::{Ends, Queue, Wide};

/// `ThingBuf`.
pub struct Ring {
    queue: ThingBuf<Wide>,
    ends: Ends,
}

impl Ring {
    /// Empty, and watched.
    pub fn watched(monitor: &Monitor, capacity: usize, spec: &str) -> Result<Self, MonitorError> {
        let ends = Ends::watch(monitor, "thingbuf", spec)?;
        Ok(Ring { queue: ThingBuf::new(capacity), ends })
    }
}

impl Queue for Ring {
    fn push(&self, value: u64) -> bool {
        let op = self.ends.object.call(self.ends.push, value);
        let mut done = self.queue.push(value.into()).is_ok();
        while self.ends.patient && !done {
            done = self.queue.push(value.into()).is_ok();
        }
        op.returns(done)
    }

    fn pop(&self) -> Option<u64> {
        let op = self.ends.object.call(self.ends.pop, ());
        op.returns(self.queue.pop().map(|item| item.value()))
    }
}

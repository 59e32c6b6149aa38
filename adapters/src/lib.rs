//! The runtime monitor on published crates: one file a crate, a few lines each.
//!
//! An adapter is the crate's type with an object beside it, whose methods say `call` before and `returns` after. The crates give no commit points away, so objects are
//! registered without: any order that fits the calls and returns will do. Which specification is right is a question of what a crate promises; the adapters
//! of queues take it as an argument: `queue:capacity=64` is strict, `queue:capacity=64:spurious` lets it say full or empty at any time. With `queue`, which knows no capacity,
//! insertions are tried until there is room, and only a queue that says it is empty can be wrong; that is judged much faster.

pub mod concurrent_queue;
pub mod crossbeam_deque;
pub mod crossbeam_queue;
pub mod crossbeam_skiplist;
pub mod dashmap;
pub mod heapless;
pub mod load;
pub mod papaya;
pub mod thingbuf;

use linpoint_monitor::{Monitor, MonitorError, Object, Op};

/// A queue of numbers, watched.
pub trait Queue: Sync {
    /// Puts one in, if there is room.
    fn push(&self, value: u64) -> bool;
    /// Takes the oldest out.
    fn pop(&self) -> Option<u64>;
}

/// An item that takes its time to be copied: a thread that copies one is more often interrupted in the middle.
#[derive(Clone)]
pub struct Wide([u64; 256]);

impl Default for Wide {
    fn default() -> Wide {
        Wide([0; 256])
    }
}

impl From<u64> for Wide {
    fn from(value: u64) -> Wide {
        Wide([value; 256])
    }
}

impl Wide {
    /// What it was made from.
    pub fn value(&self) -> u64 {
        self.0[0]
    }
}

/// An object without commit points.
pub fn watch(monitor: &Monitor, name: &str, spec: &str) -> Result<Object, MonitorError> {
    monitor.object(name, spec)?.without_commits().watch()
}

/// A watched queue, and its operations.
pub(crate) struct Ends {
    pub(crate) object: Object,
    pub(crate) push: Op,
    pub(crate) pop: Op,
    /// The specification knows no capacity: an insertion is tried until there is room.
    pub(crate) patient: bool,
}

impl Ends {
    pub(crate) fn watch(monitor: &Monitor, name: &str, spec: &str) -> Result<Ends, MonitorError> {
        let object = watch(monitor, name, spec)?;
        let (push, pop) = (object.op("push"), object.op("pop"));
        Ok(Ends { object, push, pop, patient: !spec.contains("capacity") })
    }
}

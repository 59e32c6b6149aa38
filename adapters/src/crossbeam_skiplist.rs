//! One key of crossbeam-skiplist's map. Keys are independent, so each may be an object of its own: a register, null where the key is not there.

use crossbeam_skiplist::SkipMap;
use linpoint_monitor::{Monitor, MonitorError, Object, Op};

/// A key of a `SkipMap`.
pub struct Key<'a> {
    map: &'a SkipMap<u64, u64>,
    key: u64,
    object: Object,
    ops: (Op, Op),
}

impl<'a> Key<'a> {
    /// A key that is not there, watched.
    pub fn watched(monitor: &Monitor, map: &'a SkipMap<u64, u64>, key: u64) -> Result<Self, MonitorError> {
        let object = crate::watch(monitor, "crossbeam SkipMap", "register")?;
        let ops = (object.op("write"), object.op("read"));
        Ok(Key { map, key, object, ops })
    }

    /// Gives it a value.
    pub fn insert(&self, value: u64) {
        let op = self.object.call(self.ops.0, value);
        self.map.insert(self.key, value);
        op.returns(());
    }

    /// Its value.
    pub fn get(&self) -> Option<u64> {
        let op = self.object.call(self.ops.1, ());
        op.returns(self.map.get(&self.key).map(|entry| *entry.value()))
    }
}

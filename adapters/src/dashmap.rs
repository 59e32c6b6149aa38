//! The map of dashmap: a lock a shard, so what looks at all shards does not see one moment.

use dashmap::DashMap;
use linpoint_monitor::{Monitor, MonitorError, Object, Op};

/// A map, watched.
pub struct Map {
    map: DashMap<u64, u64>,
    object: Object,
    ops: [Op; 3],
}

impl Map {
    /// Empty, and watched.
    pub fn watched(monitor: &Monitor) -> Result<Self, MonitorError> {
        let object = crate::watch(monitor, "dashmap", "map")?;
        let ops = ["insert", "remove", "is_empty"].map(|name| object.op(name));
        Ok(Map { map: DashMap::new(), object, ops })
    }

    /// Gives a key a value; the one before.
    pub fn insert(&self, key: u64, value: u64) -> Option<u64> {
        let op = self.object.call(self.ops[0], (key, value));
        op.returns(self.map.insert(key, value))
    }

    /// Takes a key out; its value.
    pub fn remove(&self, key: u64) -> Option<u64> {
        let op = self.object.call(self.ops[1], key);
        op.returns(self.map.remove(&key).map(|(_, value)| value))
    }

    /// Is it empty?
    pub fn is_empty(&self) -> bool {
        let op = self.object.call(self.ops[2], ());
        op.returns(self.map.is_empty())
    }
}

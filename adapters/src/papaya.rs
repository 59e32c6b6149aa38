//! The map of papaya.

use linpoint_monitor::{Monitor, MonitorError, Object, Op};

/// A map, watched.
pub struct Map {
    map: papaya::HashMap<u64, u64>,
    object: Object,
    ops: [Op; 3],
}

impl Map {
    /// Empty, and watched.
    pub fn watched(monitor: &Monitor) -> Result<Self, MonitorError> {
        let object = crate::watch(monitor, "papaya", "map")?;
        let ops = ["insert", "remove", "get"].map(|name| object.op(name));
        Ok(Map { map: papaya::HashMap::new(), object, ops })
    }

    /// Gives a key a value; the one before.
    pub fn insert(&self, key: u64, value: u64) -> Option<u64> {
        let op = self.object.call(self.ops[0], (key, value));
        op.returns(self.map.pin().insert(key, value).copied())
    }

    /// Takes a key out; its value.
    pub fn remove(&self, key: u64) -> Option<u64> {
        let op = self.object.call(self.ops[1], key);
        op.returns(self.map.pin().remove(&key).copied())
    }

    /// The value of a key.
    pub fn get(&self, key: u64) -> Option<u64> {
        let op = self.object.call(self.ops[2], key);
        op.returns(self.map.pin().get(&key).copied())
    }
}

//! A hash table whose copies share what neither changed.
//!
//! A search over orders copies models often and changes little in each copy. The table is cut into shards; a copy shares them all, and a change copies one
//! shard if it is shared. The digest is kept up to date with each change: a sum over the entries, so their order does not matter.

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use linpoint_history::Value;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Shards; a power of two.
const SHARDS: usize = 256;

/// A map from values to `V`.
#[derive(Clone)]
pub(super) struct Table<V> {
    shards: Vec<Arc<FxHashMap<Value, V>>>,
    len: usize,
    digest: u64,
}

impl<V: Clone + Eq + Hash> Table<V> {
    pub fn new() -> Table<V> {
        // All empty shards are one.
        let empty = Arc::new(FxHashMap::default());
        Table { shards: vec![empty; SHARDS], len: 0, digest: 0 }
    }

    #[inline]
    fn shard(key: &Value) -> usize {
        // The high bits: the shard's own table uses the low ones.
        (FxBuildHasher.hash_one(key) >> 40) as usize % SHARDS
    }

    #[inline]
    fn hash(key: &Value, value: &V) -> u64 {
        FxBuildHasher.hash_one((key, value))
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn digest(&self) -> u64 {
        self.digest
    }

    #[inline]
    pub fn get(&self, key: &Value) -> Option<&V> {
        self.shards[Self::shard(key)].get(key)
    }

    /// Sets the value at a key; none removes it.
    #[inline]
    pub fn set(&mut self, key: &Value, value: Option<V>) {
        let shard = Arc::make_mut(&mut self.shards[Self::shard(key)]);
        match value {
            Some(value) => {
                self.digest = self.digest.wrapping_add(Self::hash(key, &value));
                match shard.get_mut(key) {
                    Some(place) => {
                        let old = std::mem::replace(place, value);
                        self.digest = self.digest.wrapping_sub(Self::hash(key, &old));
                    }
                    None => {
                        shard.insert(key.clone(), value);
                        self.len += 1;
                    }
                }
            }
            None => {
                if let Some(old) = shard.remove(key) {
                    self.digest = self.digest.wrapping_sub(Self::hash(key, &old));
                    self.len -= 1;
                }
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Value, &V)> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }

    pub fn same(&self, other: &Table<V>) -> bool {
        let shards = self.shards.iter().zip(&other.shards);
        self.len == other.len
            && self.digest == other.digest
            && shards.into_iter().all(|(mine, theirs)| Arc::ptr_eq(mine, theirs) || mine == theirs)
    }
}

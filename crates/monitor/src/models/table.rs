//! A hash table whose copies share what neither changed.
//!
//! A search over orders copies models often and changes little in each copy. The table is cut into shards; a
//! copy shares them all, and a change copies one shard if it is shared. The digest is kept up to date with
//! each change: a sum over the entries, so their order does not matter.

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
        (quick(key) >> 40) as usize % SHARDS
    }

    #[inline]
    fn hash(key: &Value, value: &V) -> u64 {
        // Multiplied with one another, so that two entries do not hash as the same two keys with values
        // exchanged.
        (quick(key) | 1).wrapping_mul(FxBuildHasher.hash_one(value) | 1)
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
    pub fn set(&mut self, key: &Value, value: Option<V>) {
        let done: Result<(), ()> = self.update(key, |_| Ok(value));
        debug_assert!(done.is_ok());
    }

    /// Changes what is at a key to what `change` makes of it, unless that refuses.
    #[inline]
    pub fn update<E>(
        &mut self,
        key: &Value,
        change: impl FnOnce(Option<&V>) -> Result<Option<V>, E>,
    ) -> Result<(), E> {
        let shard = Arc::make_mut(&mut self.shards[Self::shard(key)]);
        match shard.get_mut(key) {
            Some(place) => {
                let next = change(Some(place))?;
                self.digest = self.digest.wrapping_sub(Self::hash(key, place));
                match next {
                    Some(next) => {
                        self.digest = self.digest.wrapping_add(Self::hash(key, &next));
                        *place = next;
                    }
                    None => {
                        shard.remove(key);
                        self.len -= 1;
                    }
                }
            }
            None => {
                if let Some(next) = change(None)? {
                    self.digest = self.digest.wrapping_add(Self::hash(key, &next));
                    shard.insert(key.clone(), next);
                    self.len += 1;
                }
            }
        }
        Ok(())
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

/// A hash that is a multiplication for integers, the usual keys.
#[inline]
fn quick(key: &Value) -> u64 {
    match key {
        Value::Int(n) => (*n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29),
        key => FxBuildHasher.hash_one(key),
    }
}

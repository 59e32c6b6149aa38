//! What pending removals took: a small multiset of keys a configuration, by number.

use rustc_hash::FxHashMap;

/// The number of the empty multiset.
pub const NONE: u32 = 0;

/// Multisets of keys, each with a number: equal ones have equal numbers.
#[derive(Clone, Debug)]
pub struct Wildcards {
    sets: Vec<Box<[i64]>>,
    numbers: FxHashMap<Box<[i64]>, u32>,
}

impl Default for Wildcards {
    fn default() -> Wildcards {
        let empty: Box<[i64]> = Box::new([]);
        Wildcards { sets: vec![empty.clone()], numbers: [(empty, NONE)].into_iter().collect() }
    }
}

impl Wildcards {
    /// The keys of a multiset, ascending.
    #[inline]
    pub fn keys(&self, set: u32) -> &[i64] {
        &self.sets[set as usize]
    }

    /// How often `key` is in a multiset.
    #[inline]
    pub fn count(&self, set: u32, key: i64) -> i32 {
        if set == NONE {
            return 0;
        }
        self.keys(set).iter().filter(|k| **k == key).count() as i32
    }

    /// The multiset with one more `key`.
    pub fn with(&mut self, set: u32, key: i64) -> u32 {
        let mut keys = self.keys(set).to_vec();
        keys.insert(keys.partition_point(|k| *k < key), key);
        let keys = keys.into_boxed_slice();
        if let Some(&number) = self.numbers.get(&keys) {
            return number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(keys.clone());
        self.numbers.insert(keys, number);
        number
    }

    /// No configuration holds a multiset any more.
    pub fn clear(&mut self) {
        if self.sets.len() > 1 {
            *self = Wildcards::default();
        }
    }
}

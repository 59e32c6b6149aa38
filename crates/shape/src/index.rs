//! Numbers found by a hash, without a second copy of what they are numbers of.
//!
//! Structures are kept once, in a list; this says which of them may be equal to a given one. Whether it is,
//! the caller looks.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};

const NONE: u32 = u32::MAX;

/// Numbers by hash. They are given in order, from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// The last number with a hash.
    last: FxHashMap<u64, u32>,
    /// The number before it with the same hash.
    before: Vec<u32>,
}

impl Index {
    /// The number with this hash that is the one looked for.
    pub fn find(&self, hash: u64, is: impl Fn(usize) -> bool) -> Option<u32> {
        let mut at = self.last.get(&hash).copied().unwrap_or(NONE);
        while at != NONE && !is(at as usize) {
            at = self.before[at as usize];
        }
        (at != NONE).then_some(at)
    }

    /// A new number with this hash.
    pub fn add(&mut self, hash: u64) -> u32 {
        let fresh = self.before.len() as u32;
        let before = self.last.insert(hash, fresh);
        self.before.push(before.unwrap_or(NONE));
        fresh
    }
}

/// A hash of whatever is fed to it.
pub(crate) fn hash_of(feed: impl FnOnce(&mut FxHasher)) -> u64 {
    let mut hasher = FxHasher::default();
    feed(&mut hasher);
    hasher.finish()
}

//! The states met so far, packed, one behind the other, and a table to find them by.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

/// The number of a state, in the order in which states were met.
pub(crate) type StateId = u32;

const EMPTY: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Store {
    bytes: Vec<u8>,
    /// Where each state ends.
    ends: Vec<usize>,
    /// From which state each was reached first.
    parents: Vec<StateId>,
    /// A state's number and some bits of its hash, where the hash says.
    slots: Vec<(u32, u32)>,
}

impl Store {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, id: StateId) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.bytes[start..self.ends[id]]
    }

    pub fn parent(&self, id: StateId) -> StateId {
        self.parents[id as usize]
    }

    /// How much memory it takes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * 8
            + self.parents.capacity() * 4
            + self.slots.capacity() * 8
    }

    /// Adds a state, unless it is known; its number.
    pub fn insert(&mut self, packed: &[u8], parent: StateId) -> StateId {
        if (self.ends.len() + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let hash = hash(packed);
        let mask = self.slots.len() - 1;
        let (mut at, tag) = (hash as usize & mask, (hash >> 32) as u32);
        loop {
            let (id, other) = self.slots[at];
            if id == EMPTY {
                break;
            }
            if other == tag && self.get(id) == packed {
                return id;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = (self.ends.len() as u32, tag);
        self.bytes.extend_from_slice(packed);
        self.ends.push(self.bytes.len());
        self.parents.push(parent);
        (self.ends.len() - 1) as StateId
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1 << 12);
        let mut slots = vec![(EMPTY, 0); size];
        for id in 0..self.ends.len() as u32 {
            let hash = hash(self.get(id));
            let mut at = hash as usize & (size - 1);
            while slots[at].0 != EMPTY {
                at = (at + 1) & (size - 1);
            }
            slots[at] = (id, (hash >> 32) as u32);
        }
        self.slots = slots;
    }
}

fn hash(packed: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(packed);
    let mixed = hasher.finish();
    // The low bits choose the place, the high ones the tag: both must depend on everything.
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

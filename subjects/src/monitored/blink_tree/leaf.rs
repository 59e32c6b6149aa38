//! A leaf: pairs in slots, behind a lock.
//!
//! The slots are in no order, so that a pair stays where it was put: a change is one slot, and one write of the view.

use std::sync::Mutex;

/// How many pairs a leaf has room for.
pub const SLOTS: usize = 32;

/// A leaf.
#[derive(Debug, Default)]
pub struct Leaf {
    /// What it holds.
    pub pairs: Mutex<Pairs>,
}

/// What a leaf holds, and which keys are its business.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Is it part of the tree?
    pub open: bool,
    /// The least key of its range.
    pub low: u64,
    /// The range ends before this; `None`: it does not end.
    pub high: Option<u64>,
    /// The next leaf, whose range begins where this one's ends.
    pub right: u32,
    /// Which slots are in use, a bit each.
    pub used: u32,
    /// Keys by slot.
    pub keys: [u64; SLOTS],
    /// Values by slot.
    pub values: [u64; SLOTS],
}

impl Default for Pairs {
    fn default() -> Pairs {
        Pairs {
            open: false,
            low: 0,
            high: None,
            right: super::NONE,
            used: 0,
            keys: [0; SLOTS],
            values: [0; SLOTS],
        }
    }
}

impl Pairs {
    /// Becomes part of the tree, empty.
    pub fn open(&mut self, low: u64, high: Option<u64>, right: u32) {
        (self.open, self.used) = (true, 0);
        (self.low, self.high, self.right) = (low, high, right);
    }

    /// Is no longer part of the tree.
    pub fn close(&mut self) {
        (self.open, self.used) = (false, 0);
    }

    /// The slot of `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<usize> {
        let mut equal = 0u32;
        for (slot, other) in self.keys.iter().enumerate() {
            equal |= u32::from(*other == key) << slot;
        }
        let found = equal & self.used;
        (found != 0).then(|| found.trailing_zeros() as usize)
    }

    /// A slot that is not in use.
    pub fn free_slot(&self) -> Option<usize> {
        let slot = self.used.trailing_ones() as usize;
        (slot < SLOTS).then_some(slot)
    }

    /// Puts a pair into a slot.
    pub fn put(&mut self, slot: usize, key: u64, value: u64) {
        (self.keys[slot], self.values[slot]) = (key, value);
        self.used |= 1 << slot;
    }

    /// Takes the pair out of a slot; its value.
    pub fn take(&mut self, slot: usize) -> u64 {
        self.used &= !(1 << slot);
        self.values[slot]
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.used.count_ones() as usize
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The key in the middle of a full leaf.
    pub fn median(&self) -> u64 {
        let mut keys = self.keys;
        *keys.select_nth_unstable(SLOTS / 2).1
    }

    /// Moves the pairs from `least` on to `other`, which is empty. The slots they were in.
    pub fn move_from(&mut self, least: u64, other: &mut Pairs) -> u32 {
        let mut moved = 0;
        for slot in slots(self.used) {
            if self.keys[slot] >= least {
                other.put(other.used.trailing_ones() as usize, self.keys[slot], self.values[slot]);
                moved |= 1 << slot;
            }
        }
        self.used &= !moved;
        moved
    }
}

/// The slots whose bits are set.
pub fn slots(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (slot < 32).then_some(slot as usize)
    })
}

/// Where a slot is in the view.
pub fn location(leaf: u32, slot: usize) -> u64 {
    u64::from(leaf) * SLOTS as u64 + slot as u64
}

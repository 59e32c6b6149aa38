//! Sets of open operations, one bit a slot: a machine word where 64 slots are enough, a row of words beyond.
//!
//! Slots are numbers given at the call and taken back at the return, so a word is enough for any history of
//! at most 64 processes, however long.

use std::fmt::Debug;

/// A set of slots.
pub trait Mask: Clone + Default + Debug {
    /// Slots below this fit.
    const SLOTS: usize;

    /// Is `slot` in the set?
    fn has(&self, slot: usize) -> bool;

    /// Puts `slot` in.
    fn put(&mut self, slot: usize);

    /// Takes `slot` out.
    fn take(&mut self, slot: usize);

    /// Adds all of `other`.
    fn join(&mut self, other: &Self);

    /// Is every slot of this set in `other`?
    fn within(&self, other: &Self) -> bool;

    /// Is every slot of this set in `a` or in `b`?
    fn within_union(&self, a: &Self, b: &Self) -> bool;

    /// The 64 slots from `64 * word` on.
    fn word(&self, word: usize) -> u64;

    /// How many words hold slots.
    fn words(&self) -> usize;

    /// Bytes beyond the value itself.
    fn heap_bytes(&self) -> usize;
}

impl Mask for u64 {
    const SLOTS: usize = 64;

    #[inline]
    fn has(&self, slot: usize) -> bool {
        self >> slot & 1 == 1
    }

    #[inline]
    fn put(&mut self, slot: usize) {
        *self |= 1 << slot;
    }

    #[inline]
    fn take(&mut self, slot: usize) {
        *self &= !(1 << slot);
    }

    #[inline]
    fn join(&mut self, other: &u64) {
        *self |= other;
    }

    #[inline]
    fn within(&self, other: &u64) -> bool {
        self & !other == 0
    }

    #[inline]
    fn within_union(&self, a: &u64, b: &u64) -> bool {
        self & !(a | b) == 0
    }

    #[inline]
    fn word(&self, word: usize) -> u64 {
        if word == 0 { *self } else { 0 }
    }

    #[inline]
    fn words(&self) -> usize {
        1
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Any number of slots. Words past the end are empty.
#[derive(Clone, Debug, Default)]
pub struct Wide(Vec<u64>);

impl Wide {
    /// The same set as `narrow`.
    pub fn from_word(narrow: u64) -> Wide {
        Wide(vec![narrow])
    }
}

impl Mask for Wide {
    const SLOTS: usize = usize::MAX;

    fn has(&self, slot: usize) -> bool {
        self.word(slot / 64) >> (slot % 64) & 1 == 1
    }

    fn put(&mut self, slot: usize) {
        if slot / 64 >= self.0.len() {
            self.0.resize(slot / 64 + 1, 0);
        }
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    fn take(&mut self, slot: usize) {
        if let Some(word) = self.0.get_mut(slot / 64) {
            *word &= !(1 << (slot % 64));
        }
    }

    fn join(&mut self, other: &Wide) {
        if other.0.len() > self.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn within(&self, other: &Wide) -> bool {
        self.0.iter().enumerate().all(|(i, word)| word & !other.word(i) == 0)
    }

    fn within_union(&self, a: &Wide, b: &Wide) -> bool {
        self.0.iter().enumerate().all(|(i, word)| word & !(a.word(i) | b.word(i)) == 0)
    }

    fn word(&self, word: usize) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }

    fn words(&self) -> usize {
        self.0.len()
    }

    fn heap_bytes(&self) -> usize {
        self.0.capacity() * 8
    }
}

/// The slots of a set, in order.
pub fn slots<M: Mask>(mask: &M) -> impl Iterator<Item = usize> + '_ {
    (0..mask.words()).flat_map(move |index| {
        let mut word = mask.word(index);
        std::iter::from_fn(move || {
            if word == 0 {
                return None;
            }
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            Some(index * 64 + bit)
        })
    })
}

//! Small integers, the least and the greatest at hand: a bit for each, and a bit for each word of bits that
//! is not empty, and so on.
//!
//! A 64-ary trie without pointers: every step is a count of zeros, and none is a branch that depends on the
//! data, unlike in a heap. A bit a value of the range, and a little more.

/// A set of integers below [`Bits::LIMIT`].
#[derive(Debug, Default)]
pub(super) struct Bits {
    /// The bits of the values, of their words, of the words of these, and so on.
    levels: [Vec<u64>; LEVELS],
}

const LEVELS: usize = 4;

impl Bits {
    /// Larger integers would take too much room.
    pub const LIMIT: u32 = 1 << 26;

    /// Adds a value below the limit.
    #[inline]
    pub fn insert(&mut self, value: u32) {
        if value as usize >> 6 >= self.levels[0].len() {
            self.grow(value);
        }
        let mut at = value as usize;
        for level in &mut self.levels {
            level[at >> 6] |= 1 << (at & 63);
            at >>= 6;
        }
    }

    /// Removes a value, if it is there.
    #[inline]
    pub fn remove(&mut self, value: u32) {
        let mut at = value as usize;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at >> 6) else { return };
            *word &= !(1 << (at & 63));
            if *word != 0 {
                return;
            }
            at >>= 6;
        }
    }

    /// The least value.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        let mut at = self.levels[LEVELS - 1].iter().position(|word| *word != 0)?;
        for level in self.levels.iter().rev() {
            at = at << 6 | level[at].trailing_zeros() as usize;
        }
        Some(at as u32)
    }

    /// The greatest value.
    #[inline]
    pub fn last(&self) -> Option<u32> {
        let mut at = self.levels[LEVELS - 1].iter().rposition(|word| *word != 0)?;
        for level in self.levels.iter().rev() {
            at = at << 6 | (63 - level[at].leading_zeros() as usize);
        }
        Some(at as u32)
    }

    /// All values, the least first.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.levels[0]).flat_map(|(word, &bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word << 6 | bit)
        })
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.levels.iter().map(|level| 8 * level.capacity()).sum()
    }

    #[cold]
    fn grow(&mut self, value: u32) {
        assert!(value < Bits::LIMIT, "larger values are kept elsewhere");
        let mut words = (value as usize >> 6) + 1;
        words = words.max(2 * self.levels[0].len()).min(Bits::LIMIT as usize >> 6);
        for level in &mut self.levels {
            level.resize(words, 0);
            words = words.div_ceil(64);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use linpoint_history::rng::Rng;

    use super::*;

    #[test]
    fn agrees_with_a_tree() {
        let mut rng = Rng::new(2);
        for range in [3, 100, 5_000, 300_000, u64::from(Bits::LIMIT)] {
            let (mut bits, mut tree) = (Bits::default(), BTreeSet::new());
            for _ in 0..30_000 {
                let value = rng.below(range) as u32;
                if rng.chance(0.5) {
                    bits.insert(value);
                    tree.insert(value);
                } else {
                    bits.remove(value);
                    tree.remove(&value);
                }
                assert_eq!((bits.first(), bits.last()), (tree.first().copied(), tree.last().copied()));
                if rng.chance(0.3)
                    && let Some(first) = tree.pop_first()
                {
                    bits.remove(first);
                }
            }
            assert!(bits.iter().eq(tree));
        }
    }
}

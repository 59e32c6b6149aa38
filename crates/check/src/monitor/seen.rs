//! Which values a history has inserted so far, exactly and in little memory.
//!
//! The monitors for distinct values must notice the first value that comes twice, however long ago it came
//! first. Values are 32-bit numbers and mostly consecutive, so the set is kept in blocks of 65,536 values
//! (after the roaring bitmaps of Chambi, Lemire, Kaser & Godin 2016): a block with few members is a sorted
//! list of 16-bit numbers, a fuller one is a bitmap. Consecutive values cost one bit each, scattered ones two
//! bytes and a share of a block.

use linpoint_history::ValueId;

/// A set of values that only grows.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// In order of their number.
    blocks: Vec<(u16, Block)>,
    /// Where the last value was found: the next one is usually in the same block.
    last: usize,
}

#[derive(Clone, Debug)]
enum Block {
    Few(Vec<u16>),
    Many(Box<[u64; 1024]>),
}

/// A list of more members than this takes more room than a bitmap.
const LARGEST_LIST: usize = 4096;

impl Seen {
    /// Adds a value; was it new?
    #[inline]
    pub fn insert(&mut self, value: ValueId) -> bool {
        let (high, low) = ((value.0 >> 16) as u16, value.0 as u16);
        if self.blocks.get(self.last).is_none_or(|(number, _)| *number != high) {
            self.last = self.blocks.binary_search_by_key(&high, |(number, _)| *number).unwrap_or_else(|at| {
                self.blocks.insert(at, (high, Block::Few(Vec::new())));
                at
            });
        }
        self.blocks[self.last].1.insert(low)
    }

    /// Was this value added?
    #[inline]
    pub fn contains(&self, value: ValueId) -> bool {
        let (high, low) = ((value.0 >> 16) as u16, value.0 as u16);
        let found = self.blocks.binary_search_by_key(&high, |(number, _)| *number);
        found.is_ok_and(|at| self.blocks[at].1.contains(low))
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        let block = |(_, block): &(u16, Block)| match block {
            Block::Few(list) => 2 * list.capacity(),
            Block::Many(_) => 8192,
        };
        self.blocks.capacity() * size_of::<(u16, Block)>() + self.blocks.iter().map(block).sum::<usize>()
    }
}

impl Block {
    #[inline]
    fn insert(&mut self, low: u16) -> bool {
        match self {
            Block::Many(bits) => {
                let (word, bit) = (usize::from(low >> 6), 1 << (low & 63));
                let new = bits[word] & bit == 0;
                bits[word] |= bit;
                new
            }
            Block::Few(list) => {
                let at = match list.last() {
                    Some(&last) if last >= low => list.partition_point(|&member| member < low),
                    _ => list.len(),
                };
                if list.get(at) == Some(&low) {
                    return false;
                }
                list.insert(at, low);
                if list.len() > LARGEST_LIST {
                    let mut bits = Box::new([0; 1024]);
                    list.iter().for_each(|&member| bits[usize::from(member >> 6)] |= 1 << (member & 63));
                    *self = Block::Many(bits);
                }
                true
            }
        }
    }

    fn contains(&self, low: u16) -> bool {
        match self {
            Block::Few(list) => list.binary_search(&low).is_ok(),
            Block::Many(bits) => bits[usize::from(low >> 6)] >> (low & 63) & 1 == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use linpoint_history::rng::Rng;

    use super::*;

    #[test]
    fn agrees_with_a_plain_set() {
        let mut rng = Rng::new(1);
        for range in [100, 9_000, 200_000, 1 << 32] {
            let (mut seen, mut plain) = (Seen::default(), BTreeSet::new());
            for _ in 0..20_000 {
                let value = rng.below(range) as u32;
                assert_eq!(seen.contains(ValueId(value)), plain.contains(&value));
                assert_eq!(seen.insert(ValueId(value)), plain.insert(value));
            }
        }
    }

    #[test]
    fn consecutive_values_cost_a_bit_each() {
        let mut seen = Seen::default();
        assert!((0..1_000_000).all(|value| seen.insert(ValueId(value))));
        assert!(seen.memory() < 150_000);
    }
}

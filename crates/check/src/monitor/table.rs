//! Where each value is: a table from numbers to numbers, for the values a collection holds now.
//!
//! Open addressing with linear probing, at most half full, so that nearly every search ends where it begins;
//! what is removed leaves no trace, since its followers move up (Knuth 1973, section 6.4, algorithm R). Keys
//! are spread by a multiplication (Fibonacci hashing): they are usually rising numbers.

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Key, and place plus one; zero: nothing here. A power of two of them.
    entries: Vec<(u32, u32)>,
    used: usize,
    /// How far a spread key is shifted to be a place.
    shift: u32,
}

impl Default for Table {
    fn default() -> Table {
        Table { entries: vec![(0, 0); 64], used: 0, shift: 32 - 6 }
    }
}

impl Table {
    /// The place of `key`.
    #[inline]
    pub fn get(&self, key: u32) -> Option<u32> {
        let mask = self.entries.len() - 1;
        let mut at = self.home(key);
        loop {
            let (other, place) = self.entries[at & mask];
            if place == 0 {
                return None;
            }
            if other == key {
                return Some(place - 1);
            }
            at += 1;
        }
    }

    /// The place of `key`; if it has none, `place` from now on, which is not `u32::MAX`.
    #[inline]
    pub fn claim(&mut self, key: u32, place: u32) -> u32 {
        if 2 * self.used >= self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        let mut at = self.home(key) & mask;
        loop {
            let (other, known) = self.entries[at];
            if known == 0 {
                self.used += 1;
                self.entries[at] = (key, place + 1);
                return place;
            }
            if other == key {
                return known - 1;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds `key`, which is not in it; `place` is not `u32::MAX`.
    #[inline]
    pub fn insert(&mut self, key: u32, place: u32) {
        if 2 * self.used >= self.entries.len() {
            self.grow();
        }
        self.used += 1;
        self.put(key, place + 1);
    }

    /// Removes `key`, if it is in it.
    #[inline]
    pub fn remove(&mut self, key: u32) {
        let mask = self.entries.len() - 1;
        let mut at = self.home(key) & mask;
        while self.entries[at].0 != key || self.entries[at].1 == 0 {
            if self.entries[at].1 == 0 {
                return;
            }
            at = (at + 1) & mask;
        }
        self.used -= 1;
        // Those that follow and could stand here move up.
        let mut next = at;
        loop {
            next = (next + 1) & mask;
            let entry = self.entries[next];
            if entry.1 == 0 {
                break;
            }
            let away = next.wrapping_sub(self.home(entry.0)) & mask;
            if away >= next.wrapping_sub(at) & mask {
                self.entries[at] = entry;
                at = next;
            }
        }
        self.entries[at] = (0, 0);
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.entries.capacity() * 8
    }

    #[inline]
    fn home(&self, key: u32) -> usize {
        (key.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    #[inline]
    fn put(&mut self, key: u32, place: u32) {
        let mask = self.entries.len() - 1;
        let mut at = self.home(key) & mask;
        while self.entries[at].1 != 0 {
            at = (at + 1) & mask;
        }
        self.entries[at] = (key, place);
    }

    #[cold]
    fn grow(&mut self) {
        let size = 2 * self.entries.len();
        assert!(size <= 1 << 31, "a table holds less than 2^30 values");
        let old = std::mem::replace(&mut self.entries, vec![(0, 0); size]);
        self.shift -= 1;
        old.into_iter().filter(|entry| entry.1 != 0).for_each(|(key, place)| self.put(key, place));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use linpoint_history::rng::Rng;

    use super::*;

    #[test]
    fn agrees_with_a_map() {
        let mut rng = Rng::new(9);
        for spread in [10, 100, 5_000, 1 << 32] {
            let (mut table, mut map) = (Table::default(), HashMap::new());
            for step in 0..100_000u32 {
                let key = if rng.chance(0.3) { step / 7 } else { rng.below(spread) as u32 };
                let key = if rng.chance(0.1) { u32::MAX - key % 3 } else { key };
                assert_eq!(table.get(key), map.get(&key).copied());
                if rng.chance(0.2) {
                    assert_eq!(table.claim(key, step), *map.entry(key).or_insert(step));
                }
                if map.remove(&key).is_some() || rng.chance(0.3) {
                    table.remove(key);
                } else {
                    table.insert(key, step);
                    map.insert(key, step);
                }
            }
        }
    }
}

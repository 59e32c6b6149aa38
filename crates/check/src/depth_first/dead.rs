//! Dead ends, packed: one array of words for all of them, and a table of places in it.
//!
//! A search remembers millions of dead ends, so each takes two words and its bits, and eight bytes of a table
//! that is between a quarter and half full. That all of it is in two pieces also means that it is given back
//! at once when the search is over.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct DeadEnds {
    /// One after another: first missing return and number of words, state, words.
    words: Vec<u64>,
    /// Places in `words`, plus one; zero: free. Its length is a power of two.
    table: Vec<u32>,
    count: usize,
}

impl DeadEnds {
    /// Is this a dead end?
    pub(super) fn contains(&self, first: u32, state: u32, beyond: &[u64]) -> bool {
        !self.table.is_empty() && self.table[self.slot(first, state, beyond)] != 0
    }

    /// This is one. Nothing is added where the packed form has no room any more: it is found once more then.
    pub(super) fn insert(&mut self, first: u32, state: u32, beyond: &[u64]) {
        if 2 * (self.count + 1) > self.table.len() {
            self.grow();
        }
        let slot = self.slot(first, state, beyond);
        let place = self.words.len() + 1;
        let Some(place) = u32::try_from(place).ok().filter(|_| self.table[slot] == 0) else { return };
        self.table[slot] = place;
        self.words.extend([u64::from(first) << 32 | beyond.len() as u64, u64::from(state)]);
        self.words.extend_from_slice(beyond);
        self.count += 1;
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        *self = DeadEnds::default();
    }

    /// The states of all dead ends, in their order.
    pub(super) fn states(&self) -> Vec<u32> {
        self.places().map(|place| self.words[place + 1] as u32).collect()
    }

    /// States have new numbers, given in the order of [`DeadEnds::states`].
    pub(super) fn renumber(&mut self, states: &[u32]) {
        let places: Vec<usize> = self.places().collect();
        for (place, state) in places.into_iter().zip(states) {
            self.words[place + 1] = u64::from(*state);
        }
        self.fill(self.table.len());
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * 8 + self.table.capacity() * 4
    }

    fn grow(&mut self) {
        self.fill((2 * self.table.len()).max(1 << 10));
    }

    /// Makes the table anew.
    fn fill(&mut self, length: usize) {
        self.table = vec![0; length];
        for place in self.places().collect::<Vec<_>>() {
            let (first, state, beyond) = self.at(place);
            let slot = self.slot(first, state, beyond);
            self.table[slot] = place as u32 + 1;
        }
    }

    /// Where each dead end begins.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let place = next;
            let head = self.words.get(place)?;
            next += 2 + (*head as u32) as usize;
            Some(place)
        })
    }

    fn at(&self, place: usize) -> (u32, u32, &[u64]) {
        let head = self.words[place];
        let length = (head as u32) as usize;
        ((head >> 32) as u32, self.words[place + 1] as u32, &self.words[place + 2..place + 2 + length])
    }

    /// Where this dead end stands in the table, or would stand.
    fn slot(&self, first: u32, state: u32, beyond: &[u64]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write_u64(u64::from(first) << 32 | u64::from(state));
        beyond.iter().for_each(|word| hasher.write_u64(*word));
        let mask = self.table.len() - 1;
        let mut slot = hasher.finish() as usize & mask;
        loop {
            match self.table[slot] {
                0 => return slot,
                place if self.at(place as usize - 1) == (first, state, beyond) => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use linpoint_history::rng::Rng;

    use super::*;

    /// Does what a plain set does, also after states were renumbered.
    #[test]
    fn agrees_with_a_set() {
        let mut rng = Rng::new(3);
        let mut dead = DeadEnds::default();
        let mut set: HashSet<(u32, u32, Vec<u64>)> = HashSet::new();
        for step in 0..20_000 {
            let beyond: Vec<u64> = (0..rng.below(3)).map(|_| rng.below(4)).collect();
            let (first, state) = (rng.below(8) as u32, rng.below(30) as u32);
            assert_eq!(dead.contains(first, state, &beyond), set.contains(&(first, state, beyond.clone())));
            if rng.chance(0.3) {
                dead.insert(first, state, &beyond);
                set.insert((first, state, beyond));
            }
            if step % 5_000 == 4_999 {
                let renamed: Vec<u32> = dead.states().iter().map(|state| 29 - state).collect();
                dead.renumber(&renamed);
                set = set.into_iter().map(|(first, state, beyond)| (first, 29 - state, beyond)).collect();
            }
        }
        assert!(set.len() > 500);
    }
}

//! A number for each operation that was called and did not return yet, found by the operation's own number.
//!
//! What a monitor has to do at a return it knows at the call: which value it belongs to, or that nothing is
//! left to do. Noted here, a return needs no search. Notes lie in a ring: the operations that are open lie
//! close together.

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// A power of two of them, or none.
    slots: Vec<u32>,
}

/// No note.
pub(crate) const NONE: u32 = u32::MAX;

impl Notes {
    /// Notes something for the return `id`; the next return is `now`, and all notes for earlier ones were
    /// taken.
    #[inline]
    pub fn put(&mut self, now: u32, id: u32, note: u32) {
        debug_assert!(now <= id);
        if (id - now) as usize >= self.slots.len() {
            self.grow(now, id);
        }
        let mask = self.slots.len() - 1;
        self.slots[id as usize & mask] = note;
    }

    /// Takes away the note for `id`, if there is one.
    #[inline]
    pub fn take(&mut self, id: u32) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        self.slots.get_mut(id as usize & mask).map_or(NONE, |slot| std::mem::replace(slot, NONE))
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * 4
    }

    #[cold]
    fn grow(&mut self, now: u32, id: u32) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![NONE; (id - now + 1).next_power_of_two().max(64) as usize];
        for at in now as usize..now as usize + old.len() {
            let mask = self.slots.len() - 1;
            self.slots[at & mask] = old[at & (old.len() - 1)];
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use linpoint_history::rng::Rng;

    use super::*;

    #[test]
    fn agrees_with_a_map() {
        let mut rng = Rng::new(3);
        let (mut notes, mut map) = (Notes::default(), HashMap::new());
        for now in 0..50_000 {
            for _ in 0..rng.below(3) {
                let reach = if rng.chance(0.01) { 5000 } else { 40 };
                let id = now + rng.below(reach) as u32;
                let note = rng.below(1000) as u32;
                notes.put(now, id, note);
                map.insert(id, note);
            }
            if rng.chance(0.1) {
                let id = now + rng.below(30) as u32;
                let noted = map.remove(&id).unwrap_or(NONE);
                if noted != NONE {
                    assert_eq!(notes.take(id), noted);
                }
            }
            assert_eq!(notes.take(now), map.remove(&now).unwrap_or(NONE));
        }
    }
}

//! The states met so far, packed, one behind the other, and a table to find them by.
//!
//! A state lies in a chunk as its length, the number of the state it was reached from, and its bytes. Its
//! number is where it lies, in units of eight bytes: one look finds it, and numbers grow in the order in
//! which states were met. Chunks never move, so memory grows by what is needed and no more. The table keeps a
//! number and 32 bits of a hash; the first of these bits say where to look, so the table grows without
//! looking at a state again.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

/// The number of a state; greater than those of all states met before.
pub(crate) type StateId = u32;

/// The state that is met first.
pub(crate) const FIRST: StateId = 0;

const EMPTY: u64 = u64::MAX;
const UNIT: usize = 8;
/// Bytes before those of the state.
const HEADER: usize = 8;
const CHUNK_BITS: u32 = 17;
/// Units of a chunk.
const CHUNK: usize = 1 << CHUNK_BITS;
/// Beyond this the numbers come to an end.
const MAX_CHUNKS: usize = (1 << (32 - CHUNK_BITS)) - 2;

#[derive(Default)]
pub(crate) struct Store {
    chunks: Vec<Vec<u8>>,
    chunk_bytes: usize,
    count: usize,
    digest: u64,
    /// A state's hash and its number, where the hash says.
    slots: Vec<u64>,
}

impl Store {
    /// How many states.
    pub fn len(&self) -> usize {
        self.count
    }

    /// No number of a state is as large.
    pub fn end(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    fn record(&self, id: StateId) -> (&[u8], usize) {
        (&self.chunks[(id >> CHUNK_BITS) as usize], (id as usize % CHUNK) * UNIT)
    }

    #[inline]
    fn number(&self, id: StateId, at: usize) -> u32 {
        let (chunk, start) = self.record(id);
        chunk[start + at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    pub fn get(&self, id: StateId) -> &[u8] {
        let length = self.number(id, 0) as usize;
        let (chunk, start) = self.record(id);
        &chunk[start + HEADER..start + HEADER + length]
    }

    pub fn parent(&self, id: StateId) -> StateId {
        self.number(id, 4)
    }

    /// The state that was met next.
    pub fn after(&self, id: StateId) -> Option<StateId> {
        let length = self.number(id, 0) as usize;
        let (chunk, start) = self.record(id);
        let end = (start + HEADER + length).next_multiple_of(UNIT);
        if end < chunk.len() {
            return Some(id + ((end - start) / UNIT) as StateId);
        }
        let next = (id >> CHUNK_BITS) as usize + 1;
        (next < self.chunks.len()).then(|| (next * CHUNK) as StateId)
    }

    /// How much memory it takes.
    pub fn memory(&self) -> usize {
        self.chunk_bytes + self.slots.capacity() * 8
    }

    /// How much memory it takes while it takes in so many more: a table that grows is there twice for a
    /// moment.
    pub fn memory_with(&self, more: usize) -> usize {
        let grows = (self.count + more) * 2 > self.slots.len();
        self.memory() + if grows { self.slots.len() * 16 } else { 0 }
    }

    /// A number made of all states in the order in which they were met.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Can it take no more?
    pub fn is_full(&self) -> bool {
        self.chunks.len() >= MAX_CHUNKS
    }

    /// Adds a state, unless it is known; its number.
    pub fn insert(&mut self, packed: &[u8], hash: u32, parent: StateId) -> StateId {
        if (self.count + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = place(hash, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                break;
            }
            if (slot >> 32) as u32 == hash && self.get(slot as u32) == packed {
                return slot as u32;
            }
            at = (at + 1) & mask;
        }
        self.add_at(at, packed, hash, parent)
    }

    /// The number of a state, if it is known.
    pub fn find(&self, packed: &[u8], hash: u32) -> Option<StateId> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = place(hash, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return None;
            }
            if (slot >> 32) as u32 == hash && self.get(slot as u32) == packed {
                return Some(slot as u32);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a state that is not known.
    pub fn add(&mut self, packed: &[u8], hash: u32, parent: StateId) -> StateId {
        if (self.count + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = place(hash, self.slots.len());
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.add_at(at, packed, hash, parent)
    }

    fn add_at(&mut self, at: usize, packed: &[u8], hash: u32, parent: StateId) -> StateId {
        let id = self.append(packed, parent);
        self.digest = (self.digest.rotate_left(5) ^ u64::from(hash)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.slots[at] = u64::from(hash) << 32 | u64::from(id);
        id
    }

    fn append(&mut self, packed: &[u8], parent: StateId) -> StateId {
        let size = (HEADER + packed.len()).next_multiple_of(UNIT);
        let room = self.chunks.last().is_some_and(|chunk| chunk.len() + size <= CHUNK * UNIT);
        if !room {
            // A state that is larger than a chunk gets one of its own that is as large.
            let capacity = size.max(if self.chunks.is_empty() { 1 << 12 } else { CHUNK * UNIT });
            self.chunks.push(Vec::with_capacity(capacity));
            self.chunk_bytes += capacity;
        }
        let last = self.chunks.len() - 1;
        let chunk = &mut self.chunks[last];
        let (start, before) = (chunk.len(), chunk.capacity());
        chunk.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        chunk.extend_from_slice(&parent.to_le_bytes());
        chunk.extend_from_slice(packed);
        chunk.resize(start + size, 0);
        self.chunk_bytes += chunk.capacity() - before;
        self.count += 1;
        (last * CHUNK + start / UNIT) as StateId
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1 << 12);
        let mut slots = vec![EMPTY; size];
        for slot in self.slots.iter().filter(|slot| **slot != EMPTY) {
            let mut at = place((slot >> 32) as u32, size);
            while slots[at] != EMPTY {
                at = (at + 1) & (size - 1);
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }
}

/// Where to look first.
fn place(hash: u32, size: usize) -> usize {
    // The first bits; the size is a power of two.
    ((u64::from(hash) * size as u64) >> 32) as usize
}

/// A hash of a packed state.
pub(crate) fn hash(packed: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(packed);
    let mixed = hasher.finish();
    // Every bit must depend on everything.
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::{FIRST, Store, hash};

    #[test]
    fn states_are_found_again_in_the_order_met() {
        let mut store = Store::default();
        // Enough for several chunks and growths of the table, and one state that is larger than a chunk.
        let state = |n: u32| match n {
            777 => vec![7; 3 << 20],
            _ => n.to_le_bytes().repeat(1 + n as usize % 13),
        };
        let mut ids = Vec::new();
        for n in 0..100_000 {
            let packed = state(n);
            ids.push(store.insert(&packed, hash(&packed), *ids.last().unwrap_or(&FIRST)));
        }
        assert_eq!(store.len(), 100_000);
        let mut met = vec![FIRST];
        while let Some(next) = store.after(met[met.len() - 1]) {
            met.push(next);
        }
        assert_eq!(met, ids);
        for n in (0..100_000).step_by(97).chain([777]) {
            let packed = state(n);
            assert_eq!(store.insert(&packed, hash(&packed), 5), ids[n as usize]);
            assert_eq!(store.get(ids[n as usize]), packed);
            assert_eq!(store.parent(ids[n as usize]), ids[n.saturating_sub(1) as usize]);
        }
        assert_eq!(store.len(), 100_000);
    }
}

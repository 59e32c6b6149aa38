//! Where nodes live: allocated one by one, freed together with the object that owns the arena.
//!
//! An exploration makes and drops an object millions of times, so nothing may leak; and a lock-free object needs either
//! a scheme of reclamation or nodes that outlive every thread that may still look at them. This is the second. The
//! lock inside is std's and not a scheduling point: allocation is no step of the algorithms here, as it is none in the
//! papers.

use std::mem::MaybeUninit;
use std::sync::Mutex;

/// Nodes that live until it is dropped.
pub struct Arena<T> {
    chunks: Mutex<Chunks<T>>,
}

struct Chunks<T> {
    /// Each chunk with its capacity; all but the last are full.
    all: Vec<(*mut MaybeUninit<T>, usize)>,
    /// How many nodes of the last chunk are in use.
    used: usize,
}

// SAFETY: the arena owns its nodes; handing it to another thread hands over the nodes.
unsafe impl<T: Send> Send for Arena<T> {}
// SAFETY: the chunks are behind a lock, and no node is handed out twice.
unsafe impl<T: Send> Sync for Arena<T> {}

/// Nodes in the first chunk; each further one has twice as many.
const FIRST: usize = 16;

impl<T> Arena<T> {
    /// An arena without nodes.
    pub fn new() -> Arena<T> {
        Arena { chunks: Mutex::new(Chunks { all: Vec::new(), used: 0 }) }
    }

    /// Keeps `node`. The pointer is valid, and the node stays where it is, until the arena is dropped; nobody else
    /// has it.
    pub fn place(&self, node: T) -> *mut T {
        let mut chunks = self.chunks.lock().expect("nothing panics while it holds the lock");
        let full = chunks.all.last().is_none_or(|&(_, capacity)| chunks.used == capacity);
        if full {
            let capacity = chunks.all.last().map_or(FIRST, |&(_, capacity)| capacity * 2);
            let chunk: Box<[MaybeUninit<T>]> = Box::new_uninit_slice(capacity);
            chunks.all.push((Box::into_raw(chunk).cast(), capacity));
            chunks.used = 0;
        }
        let (start, _) = chunks.all[chunks.all.len() - 1];
        // SAFETY: `used` is less than the capacity of the chunk that begins at `start`, and the place is not in use.
        let place = unsafe { start.add(chunks.used).cast::<T>() };
        // SAFETY: as above; what was there before is not a node.
        unsafe { place.write(node) };
        chunks.used += 1;
        place
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Arena<T> {
        Arena::new()
    }
}

impl<T> Drop for Arena<T> {
    fn drop(&mut self) {
        let chunks = self.chunks.get_mut().expect("nothing panics while it holds the lock");
        let last = chunks.all.len().wrapping_sub(1);
        for (index, &(start, capacity)) in chunks.all.iter().enumerate() {
            let used = if index == last { chunks.used } else { capacity };
            // SAFETY: the first `used` places hold nodes, and nobody can have a pointer to them any more that it may
            // follow. The chunk was made by a box of `capacity` places.
            unsafe {
                std::ptr::slice_from_raw_parts_mut(start.cast::<T>(), used).drop_in_place();
                drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, capacity)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn nodes_stay_and_are_dropped_once() {
        let witness = Arc::new(());
        let arena = Arena::new();
        let nodes: Vec<_> = (0..1000).map(|index| arena.place((index, Arc::clone(&witness)))).collect();
        for (index, &node) in nodes.iter().enumerate() {
            // SAFETY: the arena lives.
            assert_eq!(unsafe { &(*node).0 }, &index);
        }
        assert_eq!(Arc::strong_count(&witness), 1001);
        drop(arena);
        assert_eq!(Arc::strong_count(&witness), 1);
        drop(Arena::<Box<u32>>::new());
    }
}

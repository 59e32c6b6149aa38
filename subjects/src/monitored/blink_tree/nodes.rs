//! Nodes by number: added one at a time, never moved, never given back.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The first piece has this many nodes, each later one twice as many as the one before.
const FIRST: u32 = 64;
const PIECES: usize = 24;

/// A table that grows by pieces.
#[derive(Debug)]
pub(super) struct Nodes<T> {
    pieces: [OnceLock<Box<[T]>>; PIECES],
    len: AtomicU32,
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Nodes { pieces: [const { OnceLock::new() }; PIECES], len: AtomicU32::new(0) }
    }
}

impl<T: Default> Nodes<T> {
    /// The number of a new node.
    pub(super) fn add(&self) -> u32 {
        let id = self.len.fetch_add(1, Ordering::Relaxed);
        self.get(id);
        id
    }

    /// The node with that number.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &T {
        let (piece, at) = place(id);
        let nodes =
            self.pieces[piece].get_or_init(|| (0..(FIRST as usize) << piece).map(|_| T::default()).collect());
        &nodes[at]
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) as usize
    }
}

/// Piece `p` begins with node `FIRST * (2^p - 1)`.
#[inline]
fn place(id: u32) -> (usize, usize) {
    let from_first = u64::from(id) + u64::from(FIRST);
    let piece = (from_first / u64::from(FIRST)).ilog2();
    (piece as usize, (from_first - (u64::from(FIRST) << piece)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_place_of_its_own() {
        let mut expected = (0, 0);
        for id in 0..5_000 {
            assert_eq!(place(id), expected);
            expected.1 += 1;
            if expected.1 == (FIRST as usize) << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}

//! A memory for results of operations on two nodes, which forgets them when their place is needed.
//!
//! As in packages for decision diagrams: a table with one place a hash, so that looking up costs one access
//! and memory is bounded. A forgotten result is computed again.

use super::words::{NONE, Node};

/// Remembers results of operations on two nodes, for a while.
#[derive(Clone, Debug)]
pub struct Cache {
    slots: Vec<(Node, Node, u32)>,
}

impl Cache {
    const MOST_ENTRIES: usize = 1 << 20;

    /// An empty one.
    pub fn new() -> Cache {
        Cache { slots: vec![(NONE, NONE, 0); 64] }
    }

    #[inline]
    fn place(&self, a: Node, b: Node) -> usize {
        let h = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (h >> 40) as usize & (self.slots.len() - 1)
    }

    /// The result for `a` and `b`, if it is remembered.
    #[inline]
    pub fn get(&self, a: Node, b: Node) -> Option<u32> {
        let (x, y, result) = self.slots[self.place(a, b)];
        (x == a && y == b).then_some(result)
    }

    /// Remembers a result.
    #[inline]
    pub fn put(&mut self, a: Node, b: Node, result: u32) {
        let place = self.place(a, b);
        self.slots[place] = (a, b, result);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.fill((NONE, NONE, 0));
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<(Node, Node, u32)>()
    }

    /// Grows with the number of nodes.
    pub fn fit(&mut self, size: usize) {
        let size = size.min(Self::MOST_ENTRIES);
        if size > self.slots.len() {
            self.slots = vec![(NONE, NONE, 0); size];
        }
    }
}

//! Treiber's stack (1986) with nodes that are used again: the place where compare-and-swap is fooled.
//!
//! A `pop` that has read the top node A, its value and its successor B, and is then held up, may find A on top again
//! although its value is another and B has long gone: A was popped, used again and pushed. The compare-and-swap sees
//! nothing wrong; `pop` returns the old value, and makes B the top (the ABA problem). The remedy is as old as the stack: the
//! top carries a tag that changes with every exchange.
//!
//! The node used again is the one that was freed longest ago; a new one is taken when there is none. The allocator is
//! one word, so that it takes part in the exploration as everything shared must. It holds [`CAPACITY`] nodes.
//!
//! Linearization points as in [`crate::treiber_stack`].
//!
//! Mutation [`UNTAGGED`]: the tag never changes. Expected: not linearizable; with one element on the stack, one thread in
//! `pop` and another that does `pop; push`, both pops return that element. With two on the stack and `pop; pop; push`,
//! the lower one comes back as well after it was popped.

use linpoint::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use linpoint::sync::atomic::{AtomicU32, AtomicU64};

use crate::CORRECT;

/// The tag of the top never changes.
pub const UNTAGGED: u8 = 1;

/// Elements that the stack can hold, those being pushed and popped included.
pub const CAPACITY: usize = 12;

/// A stack of at most [`CAPACITY`] numbers.
pub struct ReusingStack<const MUTATION: u8 = CORRECT> {
    /// The tag in the upper half; in the lower the topmost node, as its index plus one, 0 for none.
    top: AtomicU64,
    nodes: [Node; CAPACITY],
    free: FreeQueue,
}

#[derive(Default)]
struct Node {
    value: AtomicU32,
    /// As in [`ReusingStack::top`], without a tag.
    next: AtomicU32,
}

#[linpoint::object(spec = crate::spec::Stack)]
impl<const MUTATION: u8> ReusingStack<MUTATION> {
    /// An empty stack.
    pub fn new() -> Self {
        ReusingStack { top: AtomicU64::new(0), nodes: Default::default(), free: FreeQueue::default() }
    }

    /// Puts `value` on top.
    ///
    /// # Panics
    /// If the stack holds [`CAPACITY`] elements.
    pub fn push(&self, value: u32) {
        let index = self.free.take();
        let node = &self.nodes[index as usize];
        node.value.store(value, Relaxed);
        loop {
            let top = self.top.load(Relaxed);
            node.next.store(top as u32, Relaxed);
            if self.top.compare_exchange(top, Self::after(top, index + 1), Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Takes the topmost value off.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(Acquire);
            let index = (top as u32).checked_sub(1)?;
            let node = &self.nodes[index as usize];
            // Both may be about to change; if they do, the tag has changed as well.
            let (value, next) = (node.value.load(Relaxed), node.next.load(Relaxed));
            if self.top.compare_exchange(top, Self::after(top, next), AcqRel, Relaxed).is_ok() {
                self.free.give(index);
                return Some(value);
            }
        }
    }
}

impl<const MUTATION: u8> ReusingStack<MUTATION> {
    /// The word that replaces `top` when `node` becomes the topmost.
    fn after(top: u64, node: u32) -> u64 {
        let tag = if MUTATION == UNTAGGED { 0 } else { (top >> 32) + 1 };
        tag << 32 | u64::from(node)
    }
}

impl<const MUTATION: u8> Default for ReusingStack<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

/// The free nodes in one word: how many were ever handed out (4 bits), how many are free (4 bits), and those, the one
/// freed longest ago lowest (4 bits each).
#[derive(Default)]
struct FreeQueue(AtomicU64);

impl FreeQueue {
    fn take(&self) -> u32 {
        let taken = self.0.fetch_update(AcqRel, Acquire, |word| {
            let (fresh, count, list) = (word & 15, word >> 4 & 15, word >> 8);
            match count {
                0 => (fresh < CAPACITY as u64).then_some(word + 1),
                _ => Some(list >> 4 << 8 | (count - 1) << 4 | fresh),
            }
        });
        match taken {
            Ok(word) if word >> 4 & 15 == 0 => (word & 15) as u32,
            Ok(word) => (word >> 8 & 15) as u32,
            Err(_) => panic!("the stack is full"),
        }
    }

    /// Called with a node that is nowhere else. In a broken stack it may be: then the node that comes too many is
    /// forgotten, for the word has no room for it.
    fn give(&self, index: u32) {
        let _ = self.0.fetch_update(AcqRel, Acquire, |word| {
            let (fresh, count, list) = (word & 15, word >> 4 & 15, word >> 8);
            let list = list | u64::from(index) << (4 * count);
            (count < CAPACITY as u64).then_some(list << 8 | (count + 1) << 4 | fresh)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_free_node_is_used_first() {
        let free = FreeQueue::default();
        assert_eq!([free.take(), free.take(), free.take()], [0, 1, 2]);
        free.give(2);
        free.give(0);
        assert_eq!([free.take(), free.take(), free.take()], [2, 0, 3]);
        (0..4).for_each(|index| free.give(index));
        assert_eq!((0..CAPACITY).map(|_| free.take()).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    }
}

//! The lock-free stack of Treiber (1986): a list of nodes whose top is exchanged by compare-and-swap.
//!
//! Linearization points: `push` at its successful compare-and-swap; `pop` at its successful compare-and-swap, or at
//! the load of a null top when it finds the stack empty.
//!
//! Nodes are never used again, so the compare-and-swap cannot be fooled by a node that left and came back; see
//! [`crate::reusing_stack`] for what happens when they are.
//!
//! Mutation [`POP_BY_STORE`]: `pop` writes the new top with a store. Expected: not linearizable; two pops that read the
//! same top return the same element, and a push in between is lost.

use std::ptr;

use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::CORRECT;
use crate::arena::Arena;

/// `pop` stores the new top instead of exchanging it.
pub const POP_BY_STORE: u8 = 1;

/// A stack of numbers.
pub struct TreiberStack<const MUTATION: u8 = CORRECT> {
    top: AtomicPtr<Node>,
    nodes: Arena<Node>,
}

struct Node {
    value: u32,
    next: *mut Node,
}

// SAFETY: a node is written by the thread that made it before it is published by `top`, and only read after that.
unsafe impl Send for Node {}

#[linpoint::object(spec = crate::spec::Stack)]
impl<const MUTATION: u8> TreiberStack<MUTATION> {
    /// An empty stack.
    pub fn new() -> Self {
        TreiberStack { top: AtomicPtr::new(ptr::null_mut()), nodes: Arena::new() }
    }

    /// Puts `value` on top.
    pub fn push(&self, value: u32) {
        let node = self.nodes.place(Node { value, next: ptr::null_mut() });
        loop {
            let top = self.top.load(Relaxed);
            // SAFETY: the node lives as long as the stack, and nobody else has it yet.
            unsafe { (*node).next = top };
            if self.top.compare_exchange(top, node, Release, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Takes the topmost value off.
    pub fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(Acquire);
            if top.is_null() {
                return None;
            }
            // SAFETY: nodes live as long as the stack, and published ones are not written.
            let Node { value, next } = unsafe { &*top };
            if MUTATION == POP_BY_STORE {
                self.top.store(*next, Release);
                return Some(*value);
            }
            if self.top.compare_exchange(top, *next, Relaxed, Relaxed).is_ok() {
                return Some(*value);
            }
        }
    }
}

impl<const MUTATION: u8> Default for TreiberStack<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

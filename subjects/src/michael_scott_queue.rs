//! The lock-free queue of Michael and Scott (1996): a list with a dummy node in front, whose tail may lag one node
//! behind and is moved on by whoever notices.
//!
//! Linearization points: `enqueue` where it links its node; `dequeue` where it moves the head, or, if it finds the
//! queue empty, at its load of the dummy's null `next`.
//!
//! Mutation [`LINK_BY_STORE`]: `enqueue` links its node with a store, and does not look again whether the tail it read
//! is still the tail. Expected: not linearizable; of two nodes linked at the same place the first is lost.

use std::ptr;

use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::CORRECT;
use crate::arena::Arena;

/// `enqueue` links by a store and does not check the tail again.
pub const LINK_BY_STORE: u8 = 1;

/// A queue of numbers.
pub struct MichaelScottQueue<const MUTATION: u8 = CORRECT> {
    /// The dummy: its successor is the first in the queue.
    head: AtomicPtr<Node>,
    /// The last node, or the one before it.
    tail: AtomicPtr<Node>,
    nodes: Arena<Node>,
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

#[linpoint::object(spec = crate::spec::Queue)]
impl<const MUTATION: u8> MichaelScottQueue<MUTATION> {
    /// An empty queue.
    pub fn new() -> Self {
        let nodes = Arena::new();
        let dummy = nodes.place(Node { value: 0, next: AtomicPtr::new(ptr::null_mut()) });
        MichaelScottQueue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy), nodes }
    }

    /// Puts `value` at the end.
    pub fn enqueue(&self, value: u32) {
        let node = self.nodes.place(Node { value, next: AtomicPtr::new(ptr::null_mut()) });
        let last = loop {
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes live as long as the queue, and are only shared.
            let link = unsafe { &(*tail).next };
            let next = link.load(Acquire);
            if MUTATION != LINK_BY_STORE && self.tail.load(Acquire) != tail {
                continue;
            }
            if !next.is_null() {
                let _ = self.tail.compare_exchange(tail, next, Release, Relaxed);
                continue;
            }
            if MUTATION == LINK_BY_STORE {
                link.store(node, Release);
                break tail;
            }
            if link.compare_exchange(ptr::null_mut(), node, Release, Relaxed).is_ok() {
                break tail;
            }
        };
        let _ = self.tail.compare_exchange(last, node, Release, Relaxed);
    }

    /// Takes the value at the front.
    pub fn dequeue(&self) -> Option<u32> {
        loop {
            let head = self.head.load(Acquire);
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes live as long as the queue, and are only shared.
            let next = unsafe { &(*head).next }.load(Acquire);
            if self.head.load(Acquire) != head {
                continue;
            }
            if next.is_null() {
                return None;
            }
            if head == tail {
                let _ = self.tail.compare_exchange(tail, next, Release, Relaxed);
                continue;
            }
            // SAFETY: as above; a value is not written once its node is linked.
            let value = unsafe { (*next).value };
            if self.head.compare_exchange(head, next, Release, Relaxed).is_ok() {
                return Some(value);
            }
        }
    }
}

impl<const MUTATION: u8> Default for MichaelScottQueue<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

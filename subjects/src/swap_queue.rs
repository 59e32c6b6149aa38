//! A queue whose `enqueue` exchanges the tail and then links (the way of Vyukov's queue of 2010 for one consumer, here
//! with several): between the two steps the list is broken in two.
//!
//! Linearization points: `enqueue` at the exchange; `dequeue` where it moves the head, or, if it finds the queue
//! empty, at the load of a tail that is still the head. `dequeue` waits when it meets a node that is not linked yet.
//!
//! Mutation [`EMPTY_IF_UNLINKED`]: `dequeue` does not wait but answers that the queue is empty. Expected: not
//! linearizable; an `enqueue` that stopped between its steps hides elements that were enqueued completely after it.

use std::ptr;

use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use linpoint::thread::yield_now;

use crate::CORRECT;
use crate::arena::Arena;

/// `dequeue` takes a missing link for the end of the queue.
pub const EMPTY_IF_UNLINKED: u8 = 1;

/// A queue of numbers.
pub struct SwapQueue<const MUTATION: u8 = CORRECT> {
    /// The dummy: its successor is the first in the queue.
    head: AtomicPtr<Node>,
    /// The last node, linked or not.
    tail: AtomicPtr<Node>,
    nodes: Arena<Node>,
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

#[linpoint::object(spec = crate::spec::Queue)]
impl<const MUTATION: u8> SwapQueue<MUTATION> {
    /// An empty queue.
    pub fn new() -> Self {
        let nodes = Arena::new();
        let dummy = nodes.place(Node { value: 0, next: AtomicPtr::new(ptr::null_mut()) });
        SwapQueue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy), nodes }
    }

    /// Puts `value` at the end.
    pub fn enqueue(&self, value: u32) {
        let node = self.nodes.place(Node { value, next: AtomicPtr::new(ptr::null_mut()) });
        let last = self.tail.swap(node, AcqRel);
        // SAFETY: nodes live as long as the queue, and are only shared.
        unsafe { &(*last).next }.store(node, Release);
    }

    /// Takes the value at the front.
    pub fn dequeue(&self) -> Option<u32> {
        loop {
            let head = self.head.load(Acquire);
            // SAFETY: nodes live as long as the queue, and are only shared.
            let next = unsafe { &(*head).next }.load(Acquire);
            if next.is_null() {
                if MUTATION == EMPTY_IF_UNLINKED || self.tail.load(Acquire) == head {
                    return None;
                }
                yield_now();
                continue;
            }
            // SAFETY: as above; a value is not written once its node is linked.
            let value = unsafe { (*next).value };
            if self.head.compare_exchange(head, next, AcqRel, Acquire).is_ok() {
                return Some(value);
            }
        }
    }
}

impl<const MUTATION: u8> Default for SwapQueue<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

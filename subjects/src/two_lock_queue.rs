//! The two-lock queue of Michael and Scott (1996): a list with a dummy node in front, one lock for each end, so that an
//! `enqueue` and a `dequeue` run at the same time.
//!
//! Both ends may meet in the dummy's `next`, which is why it is an atomic.
//!
//! Linearization points: `enqueue` where it links its node; `dequeue` where it reads the link of the dummy.
//!
//! Mutation [`SPLIT_DEQUEUE`]: `dequeue` looks at the front in one critical section and moves the head in another.
//! Expected: not linearizable; two threads take the same element.

use std::ptr;

use linpoint::sync::Mutex;
use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::{Acquire, Release};

use crate::CORRECT;
use crate::arena::Arena;

/// `dequeue` lets go of the lock between looking and taking.
pub const SPLIT_DEQUEUE: u8 = 1;

/// A queue of numbers.
pub struct TwoLockQueue<const MUTATION: u8 = CORRECT> {
    /// The dummy: its successor is the first in the queue.
    head: Mutex<End>,
    /// The last node.
    tail: Mutex<End>,
    nodes: Arena<Node>,
}

struct End(*mut Node);

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

// SAFETY: the pointer is to a node that lives as long as the queue, and nodes are only shared.
unsafe impl Send for End {}

impl End {
    fn node(&self) -> &Node {
        // SAFETY: nodes live as long as the queue that this end belongs to, and are only shared.
        unsafe { &*self.0 }
    }
}

#[linpoint::object(spec = crate::spec::Queue)]
impl<const MUTATION: u8> TwoLockQueue<MUTATION> {
    /// An empty queue.
    pub fn new() -> Self {
        let nodes = Arena::new();
        let dummy = nodes.place(Node { value: 0, next: AtomicPtr::new(ptr::null_mut()) });
        TwoLockQueue { head: Mutex::new(End(dummy)), tail: Mutex::new(End(dummy)), nodes }
    }

    /// Puts `value` at the end.
    pub fn enqueue(&self, value: u32) {
        let node = self.nodes.place(Node { value, next: AtomicPtr::new(ptr::null_mut()) });
        let mut tail = self.tail.lock().expect("nothing panics while it holds the lock");
        tail.node().next.store(node, Release);
        tail.0 = node;
    }

    /// Takes the value at the front.
    pub fn dequeue(&self) -> Option<u32> {
        let mut head = self.head.lock().expect("nothing panics while it holds the lock");
        let first = End(head.node().next.load(Acquire));
        if first.0.is_null() {
            return None;
        }
        let value = first.node().value;
        if MUTATION == SPLIT_DEQUEUE {
            drop(head);
            head = self.head.lock().expect("nothing panics while it holds the lock");
        }
        *head = first;
        Some(value)
    }
}

impl<const MUTATION: u8> Default for TwoLockQueue<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

//! The lazy list of Heller, Herlihy, Luchangco, Moir, Scherer and Shavit (2005): a sorted list with a lock a node, and
//! traversals that take none.
//!
//! An update finds the place, locks the two nodes there and then looks whether the place is still right: neither node is
//! *marked* as removed, and the first still leads to the second. A removal marks the node before it unlinks it, so that
//! whoever stands on it can tell.
//!
//! Linearization points: `add` where it links; `remove` where it marks; either that changes nothing, while it holds
//! the locks. `contains` that finds the key at its read of the mark; otherwise where it reads the link past the key, or, if the key
//! was added in between, just before that.
//!
//! Mutation [`NO_VALIDATION`]: an update does not look again. Mutation [`NO_MARKED_CHECK`]: it looks at the link, not at
//! the marks. Expected of both: not linearizable; a key is added behind a node that was removed, and is lost.

use std::ptr;

use linpoint::sync::atomic::Ordering::{Acquire, Release};
use linpoint::sync::atomic::{AtomicBool, AtomicPtr};
use linpoint::sync::{Mutex, MutexGuard};

use crate::CORRECT;
use crate::arena::Arena;

/// Updates trust the place they found.
pub const NO_VALIDATION: u8 = 1;

/// Updates do not look whether a node was removed.
pub const NO_MARKED_CHECK: u8 = 2;

/// A set of numbers.
pub struct LazyListSet<const MUTATION: u8 = CORRECT> {
    /// In front of every key.
    head: *mut Node,
    nodes: Arena<Node>,
}

struct Node {
    /// The key plus one; 0 in front of the list, [`u64::MAX`] at its end.
    rank: u64,
    next: AtomicPtr<Node>,
    marked: AtomicBool,
    lock: Mutex<()>,
}

// SAFETY: the pointer is to a node in the arena, and nodes are only shared.
unsafe impl<const MUTATION: u8> Send for LazyListSet<MUTATION> {}
// SAFETY: as above.
unsafe impl<const MUTATION: u8> Sync for LazyListSet<MUTATION> {}

impl Node {
    fn new(rank: u64, next: *mut Node) -> Node {
        Node { rank, next: AtomicPtr::new(next), marked: AtomicBool::new(false), lock: Mutex::new(()) }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().expect("nothing panics while it holds the lock")
    }
}

#[linpoint::object(spec = crate::spec::Set)]
impl<const MUTATION: u8> LazyListSet<MUTATION> {
    /// An empty set.
    pub fn new() -> Self {
        let nodes = Arena::new();
        let end = nodes.place(Node::new(u64::MAX, ptr::null_mut()));
        LazyListSet { head: nodes.place(Node::new(0, end)), nodes }
    }

    /// Puts `key` in; `false` if it was there.
    pub fn add(&self, key: u32) -> bool {
        let rank = u64::from(key) + 1;
        self.update(rank, |before, at| {
            let new = at.rank != rank;
            if new {
                let node = self.nodes.place(Node::new(rank, ptr::from_ref(at).cast_mut()));
                before.next.store(node, Release);
            }
            new
        })
    }

    /// Takes `key` out; `false` if it was not there.
    pub fn remove(&self, key: u32) -> bool {
        let rank = u64::from(key) + 1;
        self.update(rank, |before, at| {
            let there = at.rank == rank;
            if there {
                at.marked.store(true, Release);
                before.next.store(at.next.load(Acquire), Release);
            }
            there
        })
    }

    /// Is `key` in?
    pub fn contains(&self, key: u32) -> bool {
        let rank = u64::from(key) + 1;
        let (_, at) = self.find(rank);
        at.rank == rank && !at.marked.load(Acquire)
    }
}

impl<const MUTATION: u8> LazyListSet<MUTATION> {
    /// Runs `change` on the place of `rank`, locked and validated.
    fn update(&self, rank: u64, change: impl FnOnce(&Node, &Node) -> bool) -> bool {
        loop {
            let (before, at) = self.find(rank);
            let _before = before.lock();
            let _at = at.lock();
            if Self::validates(before, at) {
                return change(before, at);
            }
        }
    }

    /// The last node below `rank` and the one after it.
    fn find(&self, rank: u64) -> (&Node, &Node) {
        // SAFETY: nodes live as long as the set, and are only shared. The last node has the highest rank, so nobody
        // follows its null link.
        let mut before = unsafe { &*self.head };
        loop {
            // SAFETY: as above.
            let at = unsafe { &*before.next.load(Acquire) };
            if at.rank >= rank {
                return (before, at);
            }
            before = at;
        }
    }

    /// Are the two still in the list, one after the other?
    fn validates(before: &Node, at: &Node) -> bool {
        if MUTATION == NO_VALIDATION {
            return true;
        }
        let unmarked =
            MUTATION == NO_MARKED_CHECK || !before.marked.load(Acquire) && !at.marked.load(Acquire);
        unmarked && ptr::eq(before.next.load(Acquire), at)
    }
}

impl<const MUTATION: u8> Default for LazyListSet<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

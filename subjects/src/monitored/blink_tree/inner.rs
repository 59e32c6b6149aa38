//! An inner node: keys and children in order, read without a lock.
//!
//! A sequence lock: a writer, who holds the lock, makes the version odd, writes, and makes it even; a reader looks at the version before and after, and reads again if
//! it was odd or has changed. Every field is an atomic, so what a reader sees in between is old or new, never undefined, and is thrown away.
//! Entry `i` has the keys from `keys[i]` up to the next entry's; the first key is the least of the node's range and never changes.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::NONE;

/// How many children a node has room for.
pub const CHILDREN: usize = 64;

/// An inner node.
#[derive(Debug)]
pub struct Inner {
    version: AtomicU64,
    len: AtomicUsize,
    /// The range ends before this, if there is a right neighbour.
    high: AtomicU64,
    right: AtomicU32,
    keys: [AtomicU64; CHILDREN],
    children: [AtomicU32; CHILDREN],
    lock: Mutex<()>,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner {
            version: AtomicU64::new(0),
            len: AtomicUsize::new(0),
            high: AtomicU64::new(0),
            right: AtomicU32::new(NONE),
            keys: [const { AtomicU64::new(0) }; CHILDREN],
            children: [const { AtomicU32::new(0) }; CHILDREN],
            lock: Mutex::new(()),
        }
    }
}

/// Where a search goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// To the right neighbour: the key is beyond this node's range.
    Right(u32),
    /// To this child.
    Down(u32),
}

/// There is no room for another child.
#[derive(Clone, Copy, Debug)]
pub struct Full;

impl Inner {
    /// Fills a node that nobody else knows.
    pub fn first(&self, entries: &[(u64, u32)]) {
        let guard = self.lock();
        guard.change(|| self.fill(entries));
    }

    /// Where a search for `key` goes on.
    #[inline]
    pub fn look(&self, key: u64) -> Next {
        loop {
            let before = self.version.load(Acquire);
            if before & 1 == 0 {
                let next = self.next(key);
                fence(Acquire);
                if self.version.load(Relaxed) == before {
                    return next;
                }
            }
            std::hint::spin_loop();
        }
    }

    /// Locks it, to change it.
    pub fn lock(&self) -> Locked<'_> {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { node: self, _guard: guard }
    }

    fn next(&self, key: u64) -> Next {
        let right = self.right.load(Relaxed);
        if right != NONE && key >= self.high.load(Relaxed) {
            return Next::Right(right);
        }
        let at = self.at_or_before(key);
        Next::Down(self.children[at].load(Relaxed))
    }

    /// The last entry whose keys begin at or before `key`.
    #[inline]
    fn at_or_before(&self, key: u64) -> usize {
        let (mut low, mut high) = (0, self.len.load(Relaxed).min(CHILDREN));
        while high > low + 1 {
            let middle = (low + high) / 2;
            if self.keys[middle].load(Relaxed) <= key { low = middle } else { high = middle }
        }
        low
    }

    fn fill(&self, entries: &[(u64, u32)]) {
        for (at, (key, child)) in entries.iter().enumerate() {
            self.keys[at].store(*key, Relaxed);
            self.children[at].store(*child, Relaxed);
        }
        self.len.store(entries.len(), Relaxed);
    }
}

/// An inner node whose lock is held.
pub struct Locked<'a> {
    node: &'a Inner,
    _guard: MutexGuard<'a, ()>,
}

impl Locked<'_> {
    /// How many children it has.
    pub fn len(&self) -> usize {
        self.node.len.load(Relaxed)
    }

    /// Has it none? Never.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A child.
    pub fn child(&self, at: usize) -> u32 {
        self.node.children[at].load(Relaxed)
    }

    /// The right neighbour.
    pub fn right(&self) -> u32 {
        self.node.right.load(Relaxed)
    }

    /// The right neighbour, if `key` is beyond this node's range.
    pub fn beyond(&self, key: u64) -> Option<u32> {
        (self.right() != NONE && key >= self.node.high.load(Relaxed)).then(|| self.right())
    }

    /// Adds a child whose keys begin with `key`.
    ///
    /// # Errors
    /// Where it is full.
    pub fn add(&self, key: u64, child: u32) -> Result<(), Full> {
        if self.len() == CHILDREN {
            return Err(Full);
        }
        let mut entries = self.entries();
        entries.insert(self.node.at_or_before(key) + 1, (key, child));
        self.change(|| self.node.fill(&entries));
        Ok(())
    }

    /// Takes out a child that is not the first; the one before has its keys now.
    pub fn remove(&self, at: usize) {
        let mut entries = self.entries();
        entries.remove(at);
        self.change(|| self.node.fill(&entries));
    }

    /// Adds a child to a full node by moving the upper half to `other`, number `id`, which nobody else knows. Where `other` begins.
    pub fn split(&self, other: &Inner, id: u32, key: u64, child: u32) -> u64 {
        let mut entries = self.entries();
        entries.insert(self.node.at_or_before(key) + 1, (key, child));
        let upper = entries.split_off(CHILDREN / 2);
        let middle = upper[0].0;
        other.lock().change(|| {
            other.fill(&upper);
            other.high.store(self.node.high.load(Relaxed), Relaxed);
            other.right.store(self.right(), Relaxed);
        });
        self.change(|| {
            self.node.fill(&entries);
            self.node.high.store(middle, Relaxed);
            self.node.right.store(id, Relaxed);
        });
        middle
    }

    fn entries(&self) -> Vec<(u64, u32)> {
        (0..self.len()).map(|at| (self.node.keys[at].load(Relaxed), self.child(at))).collect()
    }

    /// Lets readers read again what they read while `write` runs.
    fn change(&self, write: impl FnOnce()) {
        let version = self.node.version.load(Relaxed);
        self.node.version.store(version + 1, Relaxed);
        fence(Release);
        write();
        self.node.version.store(version + 2, Release);
    }
}

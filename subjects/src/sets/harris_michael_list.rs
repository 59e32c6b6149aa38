//! The sorted list without locks of Harris (2001) in the form of Michael (2002): a node is removed by marking its own link, and unlinked by whoever
//! comes by.
//!
//! Linearization points: of an addition that succeeds, where it links its node; of a removal that succeeds, where it marks the link; of the others,
//! where the search read the link before the key's place for the last time.
//!
//! A node is retired by the thread whose compare-and-swap unlinked it: there is one such, since a node that is unlinked is never linked again.
//!
//! Mutation [`LAST_UNMARKED`]: a removal of the last node cuts it off without marking its link. Expected: not linearizable; an addition that linked its node there meanwhile
//! is lost.
//!
//! Mutation [`RELAXED_LINK`]: an addition links its node without release, out of it and into it (one of the two would be enough, since whoever reads the key has read both). Expected: a data race; whoever follows the link may read the key before it was written. On a processor that keeps the order of stores
//! nothing is ever seen of it, so neither recording nor the monitor can find it; Helgrind does.

use std::ptr;

use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::has_operations;
use crate::CORRECT;
use crate::reclaim::{Epoch, Keep, Reclaim};

/// The end of the list is not marked.
pub const LAST_UNMARKED: u8 = 1;

/// A node is published by relaxed accesses.
pub const RELAXED_LINK: u8 = 2;

/// The set that is explored: nodes stay.
pub type Explored<const MUTATION: u8 = CORRECT> = HarrisMichaelList<u32, Keep<Node<u32>>, MUTATION>;

/// The set that is run: nodes are freed.
pub type Run<const MUTATION: u8 = CORRECT> = HarrisMichaelList<u32, Epoch, MUTATION>;

/// A set of keys.
pub struct HarrisMichaelList<K, R: Reclaim<Node<K>>, const MUTATION: u8 = CORRECT> {
    head: AtomicPtr<Node<K>>,
    nodes: R,
}

/// A key in the list.
pub struct Node<K> {
    key: K,
    /// The lowest bit is the mark.
    next: AtomicPtr<Node<K>>,
}

/// Where a key belongs.
struct Place<'a, K> {
    before: &'a AtomicPtr<Node<K>>,
    at: *mut Node<K>,
    /// Is that node the key's? Then this is the link out of it.
    next: Option<*mut Node<K>>,
}

impl<K: Ord + Copy, R: Reclaim<Node<K>>, const MUTATION: u8> HarrisMichaelList<K, R, MUTATION> {
    /// An empty set.
    pub fn new() -> Self {
        HarrisMichaelList { head: AtomicPtr::new(ptr::null_mut()), nodes: R::default() }
    }

    /// Finds the place of a key, and unlinks the marked nodes it meets on the way.
    fn find(&self, key: K, guard: &R::Guard) -> Place<'_, K> {
        'again: loop {
            let mut before = &self.head;
            let mut at = before.load(SeqCst);
            loop {
                // SAFETY: it was linked after the caller pinned.
                let Some(node) = (unsafe { at.as_ref() }) else { return Place { before, at, next: None } };
                let next = node.next.load(SeqCst);
                if before.load(SeqCst) != at {
                    continue 'again;
                }
                if is_marked(next) {
                    let beyond = unmarked(next);
                    if before.compare_exchange(at, beyond, SeqCst, SeqCst).is_err() {
                        continue 'again;
                    }
                    // SAFETY: it was marked, so no link to it is made again, and this thread removed the only one.
                    unsafe { self.nodes.retire(at, guard) };
                    at = beyond;
                } else if node.key < key {
                    (before, at) = (&node.next, next);
                } else {
                    return Place { before, at, next: (node.key == key).then_some(next) };
                }
            }
        }
    }

    fn put(&self, key: K) -> bool {
        let guard = self.nodes.pin();
        let mut mine: *mut Node<K> = ptr::null_mut();
        loop {
            let place = self.find(key, &guard);
            if place.next.is_some() {
                if !mine.is_null() {
                    // SAFETY: it was never linked.
                    unsafe { self.nodes.free(mine) };
                }
                return false;
            }
            if mine.is_null() {
                mine = self.nodes.place(Node { key, next: AtomicPtr::new(ptr::null_mut()) });
            }
            let order = if MUTATION == RELAXED_LINK { Relaxed } else { SeqCst };
            // SAFETY: it is not linked yet, so it is this operation's own.
            unsafe { &*mine }.next.store(place.at, order);
            if place.before.compare_exchange(place.at, mine, order, SeqCst).is_ok() {
                return true;
            }
        }
    }

    fn take(&self, key: K) -> bool {
        let guard = self.nodes.pin();
        loop {
            let place = self.find(key, &guard);
            let Some(next) = place.next else { return false };
            if MUTATION == LAST_UNMARKED && next.is_null() {
                if place.before.compare_exchange(place.at, ptr::null_mut(), SeqCst, SeqCst).is_ok() {
                    // What was cut off may still be in use: it is not given away.
                    return true;
                }
                continue;
            }
            // SAFETY: it was linked after this operation pinned.
            let node = unsafe { &*place.at };
            if node.next.compare_exchange(next, marked(next), SeqCst, SeqCst).is_err() {
                continue;
            }
            if place.before.compare_exchange(place.at, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: it was marked, so no link to it is made again, and this thread removed the only one.
                unsafe { self.nodes.retire(place.at, &guard) };
            } else {
                self.find(key, &guard);
            }
            return true;
        }
    }

    fn has(&self, key: K) -> bool {
        let guard = self.nodes.pin();
        self.find(key, &guard).next.is_some()
    }
}

has_operations!([R: Reclaim<Node<u32>> + 'static, const MUTATION: u8] HarrisMichaelList<u32, R, MUTATION>);

impl<K: Ord + Copy, R: Reclaim<Node<K>>, const MUTATION: u8> Default for HarrisMichaelList<K, R, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, R: Reclaim<Node<K>>, const MUTATION: u8> Drop for HarrisMichaelList<K, R, MUTATION> {
    fn drop(&mut self) {
        let mut at = *self.head.get_mut();
        while !at.is_null() {
            // SAFETY: nobody else is here, and what is linked was not retired.
            let next = unmarked(*unsafe { &mut *at }.next.get_mut());
            // SAFETY: as above, and it is not looked at again.
            unsafe { self.nodes.free(at) };
            at = next;
        }
    }
}

fn is_marked<T>(link: *mut T) -> bool {
    link.addr() & 1 == 1
}

fn marked<T>(link: *mut T) -> *mut T {
    link.map_addr(|address| address | 1)
}

fn unmarked<T>(link: *mut T) -> *mut T {
    link.map_addr(|address| address & !1)
}

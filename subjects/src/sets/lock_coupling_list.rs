//! A sorted list that is locked hand over hand (Bayer & Schkolnick 1977; Herlihy & Shavit 2008, section 9.5): who goes along it holds the lock of the node
//! it stands at, takes the next one's, and only then lets go. Nobody overtakes, so what a thread sees in front of it stays until it comes there.
//!
//! A node's lock guards its link. A removal holds the lock of the node before and that of the node it removes; nobody else can
//! have a pointer to that one, or come by one, so it is freed at once where nodes are freed at all.
//!
//! Linearization points: where the link is written; of an operation that changes nothing, where it has the lock of the node before the key's place.
//!
//! Mutation [`REMOVE_BEHIND_ITS_BACK`]: a removal does not lock the node it removes. Expected: not linearizable; an addition right behind that node is lost.

use std::ptr;

use linpoint::sync::atomic::AtomicPtr;
use linpoint::sync::atomic::Ordering::SeqCst;
use linpoint::sync::{Mutex, MutexGuard};

use super::has_operations;
use crate::CORRECT;
use crate::reclaim::{Epoch, Keep, Reclaim};

/// A removal takes the lock before its node and not the node's own.
pub const REMOVE_BEHIND_ITS_BACK: u8 = 1;

/// The set that is explored: nodes stay.
pub type Explored<const MUTATION: u8 = CORRECT> = LockCouplingList<u32, Keep<Node<u32>>, MUTATION>;

/// The set that is run: nodes are freed.
pub type Run<const MUTATION: u8 = CORRECT> = LockCouplingList<u32, Epoch, MUTATION>;

/// A set of keys.
pub struct LockCouplingList<K, R: Reclaim<Node<K>>, const MUTATION: u8 = CORRECT> {
    head: Link<K>,
    nodes: R,
}

/// A key in the list.
pub struct Node<K> {
    key: K,
    next: Link<K>,
}

/// A pointer that is only written, and by all but the mutation only read, with the lock held.
struct Link<K> {
    lock: Mutex<()>,
    to: AtomicPtr<Node<K>>,
}

impl<K> Link<K> {
    fn new(to: *mut Node<K>) -> Link<K> {
        Link { lock: Mutex::new(()), to: AtomicPtr::new(to) }
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().expect("nothing panics while it holds the lock")
    }
}

/// A link that is locked, and the first node behind it that is not smaller than the key.
struct Place<'a, K> {
    link: &'a Link<K>,
    at: *mut Node<K>,
    /// Is that node the key's?
    found: bool,
    _locked: MutexGuard<'a, ()>,
}

impl<K: Ord + Copy, R: Reclaim<Node<K>>, const MUTATION: u8> LockCouplingList<K, R, MUTATION> {
    /// An empty set.
    pub fn new() -> Self {
        LockCouplingList { head: Link::new(ptr::null_mut()), nodes: R::default() }
    }

    fn find(&self, key: K) -> Place<'_, K> {
        let mut link = &self.head;
        let mut locked = link.lock();
        loop {
            let at = link.to.load(SeqCst);
            // SAFETY: its predecessor's lock is held, so nobody removes it.
            let node = unsafe { at.as_ref() };
            match node {
                Some(node) if node.key < key => {
                    let next = node.next.lock();
                    link = &node.next;
                    locked = next;
                }
                _ => {
                    let found = node.is_some_and(|node| node.key == key);
                    return Place { link, at, found, _locked: locked };
                }
            }
        }
    }

    fn put(&self, key: K) -> bool {
        let _guard = self.nodes.pin();
        let place = self.find(key);
        if !place.found {
            let node = self.nodes.place(Node { key, next: Link::new(place.at) });
            place.link.to.store(node, SeqCst);
        }
        !place.found
    }

    fn take(&self, key: K) -> bool {
        let guard = self.nodes.pin();
        let place = self.find(key);
        if !place.found {
            return false;
        }
        // SAFETY: its predecessor's lock is held, so nobody else removes it.
        let node = unsafe { &*place.at };
        let locked = (MUTATION != REMOVE_BEHIND_ITS_BACK).then(|| node.next.lock());
        place.link.to.store(node.next.to.load(SeqCst), SeqCst);
        drop(locked);
        if MUTATION == CORRECT {
            // SAFETY: it is unlinked, and both locks that lead to it are held by this operation.
            unsafe { self.nodes.retire(place.at, &guard) };
        }
        true
    }

    fn has(&self, key: K) -> bool {
        let _guard = self.nodes.pin();
        self.find(key).found
    }
}

has_operations!([R: Reclaim<Node<u32>> + 'static, const MUTATION: u8] LockCouplingList<u32, R, MUTATION>);

impl<K: Ord + Copy, R: Reclaim<Node<K>>, const MUTATION: u8> Default for LockCouplingList<K, R, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, R: Reclaim<Node<K>>, const MUTATION: u8> Drop for LockCouplingList<K, R, MUTATION> {
    fn drop(&mut self) {
        let mut at = *self.head.to.get_mut();
        while !at.is_null() {
            // SAFETY: nobody else is here, and what is linked was not retired.
            let next = *unsafe { &mut *at }.next.to.get_mut();
            // SAFETY: as above, and it is not looked at again.
            unsafe { self.nodes.free(at) };
            at = next;
        }
    }
}

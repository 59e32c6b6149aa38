//! The lock-free priority queue of Sundell and Tsigas (2003): a skip list whose first element is taken.
//!
//! Taking is one compare-and-swap on the element's own mark. After that the links out of the node are marked, from the
//! highest level down, so that nothing can be inserted behind it, and it is unlinked; whoever meets a node that is taken
//! helps. The published queue holds one element a priority; here a ticket breaks ties, so that equal priorities are different keys.
//!
//! Linearization points: of an insertion, where its node is linked at the lowest level. Of a removal that takes a node, where it last *read* that node as the first of the
//! list, and not where it takes it: a smaller one may be inserted in between. Nobody can have seen the difference: the node was not taken in between, so every removal that came to it would have tried to take it. Of one that
//! finds nothing, where it read the empty list. Removals begin at the head again after helping; one that went on from where it
//! was could pass by a smaller element inserted behind it, and would be quiescently consistent only, as the queue of Lotan and Shavit (2000) is.
//!
//! Reclamation: a node has two owners, the insertion that may still link its upper levels and the removal that unlinks it. The last to
//! end searches for the node once more, which unlinks it wherever it still is, and retires it. It cannot come back: a link to it is made by its insertion, which has ended,
//! or by unlinking a marked node in front of it, and that one is only reachable while the search would have met it.
//!
//! Mutation [`TAKE_LAST_BY_STORE`]: taking a node with none behind it is a load and a store. Expected: not linearizable; two removals return the same element.
//!
//! Mutation [`LAST_UNMARKED`]: a removal that takes the only node, with nothing behind it, does not mark its lowest link and cuts the list off before it instead. Expected: not
//! linearizable; an insertion that linked its node there meanwhile is lost.

use std::ptr;

use linpoint::sync::atomic::Ordering::SeqCst;
use linpoint::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8};

use crate::CORRECT;
use crate::reclaim::{Epoch, Keep, Reclaim};

/// The last node's mark is looked at and then set.
pub const TAKE_LAST_BY_STORE: u8 = 1;

/// The end of the list is not marked.
pub const LAST_UNMARKED: u8 = 2;

/// The queue that is explored: two levels, nodes that stay.
pub type Explored<const MUTATION: u8 = CORRECT> = SkipListQueue<u32, Keep<Node<u32, 2>>, 2, MUTATION>;

/// The queue that is run: nodes are freed.
pub type Run<const MUTATION: u8 = CORRECT> = SkipListQueue<u32, Epoch, 14, MUTATION>;

/// A priority queue without locks.
pub struct SkipListQueue<P, R: Reclaim<Node<P, LEVELS>>, const LEVELS: usize, const MUTATION: u8 = CORRECT> {
    head: Links<P, LEVELS>,
    nodes: R,
    /// Numbers for insertions. Not a shim: that two numbers differ is all that matters about them.
    started: std::sync::atomic::AtomicU64,
    /// The list owns its nodes.
    owns: std::marker::PhantomData<P>,
}

/// An element.
pub struct Node<P, const LEVELS: usize> {
    priority: P,
    ticket: u64,
    height: usize,
    taken: AtomicBool,
    /// How many of its insertion and its removal have not ended.
    owners: AtomicU8,
    next: Links<P, LEVELS>,
}

/// The next node at each level; the lowest bit of the address is the mark.
type Links<P, const LEVELS: usize> = [AtomicPtr<Node<P, LEVELS>>; LEVELS];

/// Where a key belongs: at each level the links before it and the node after it.
struct Place<'a, P, const LEVELS: usize> {
    before: [&'a Links<P, LEVELS>; LEVELS],
    after: [*mut Node<P, LEVELS>; LEVELS],
}

impl<P: Ord + Copy, R: Reclaim<Node<P, LEVELS>>, const LEVELS: usize, const MUTATION: u8>
    SkipListQueue<P, R, LEVELS, MUTATION>
{
    /// An empty queue.
    pub fn new() -> Self {
        SkipListQueue {
            head: empty(),
            nodes: R::default(),
            started: std::sync::atomic::AtomicU64::new(0),
            owns: std::marker::PhantomData,
        }
    }

    /// Puts an element in.
    pub fn put(&self, priority: P) {
        let guard = self.nodes.pin();
        let ticket = self.started.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let height = height(ticket, LEVELS);
        let node = Node {
            priority,
            ticket,
            height,
            taken: AtomicBool::new(false),
            owners: AtomicU8::new(2),
            next: empty(),
        };
        let address = self.nodes.place(node);
        // SAFETY: this insertion owns it until it releases it.
        let node = unsafe { &*address };
        let mut place;
        loop {
            place = self.search((priority, ticket));
            for level in 0..height {
                node.next[level].store(place.after[level], SeqCst);
            }
            if place.before[0][0].compare_exchange(place.after[0], address, SeqCst, SeqCst).is_ok() {
                break;
            }
        }
        'levels: for level in 1..height {
            loop {
                let next = node.next[level].load(SeqCst);
                let wanted = place.after[level];
                // It was taken, and needs no more levels.
                if is_marked(next)
                    || next != wanted
                        && node.next[level].compare_exchange(next, wanted, SeqCst, SeqCst).is_err()
                {
                    break 'levels;
                }
                if place.before[level][level].compare_exchange(wanted, address, SeqCst, SeqCst).is_ok() {
                    break;
                }
                place = self.search((priority, ticket));
            }
        }
        self.release(address, &guard);
    }

    /// Takes the smallest element out.
    pub fn take(&self) -> Option<P> {
        let guard = self.nodes.pin();
        loop {
            let first = self.head[0].load(SeqCst);
            // SAFETY: it was linked after this operation pinned.
            let node = unsafe { first.as_ref() }?;
            if !node.taken.load(SeqCst) {
                let taken = if MUTATION == TAKE_LAST_BY_STORE && node.next[0].load(SeqCst).is_null() {
                    node.taken.store(true, SeqCst);
                    true
                } else {
                    node.taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok()
                };
                if taken {
                    self.unlink(node, first);
                    let priority = node.priority;
                    // With a broken mark two removals take it, and neither may free it.
                    if MUTATION != TAKE_LAST_BY_STORE {
                        self.release(first, &guard);
                    }
                    return Some(priority);
                }
            }
            self.unlink(node, first);
        }
    }

    /// Marks the links of a node that was taken, and unlinks it.
    fn unlink(&self, node: &Node<P, LEVELS>, address: *mut Node<P, LEVELS>) {
        for level in (0..node.height).rev() {
            let mut next = node.next[level].load(SeqCst);
            if MUTATION == LAST_UNMARKED && level == 0 && next.is_null() {
                let _ = self.head[0].compare_exchange(address, ptr::null_mut(), SeqCst, SeqCst);
                continue;
            }
            while !is_marked(next) {
                match node.next[level].compare_exchange(next, marked(next), SeqCst, SeqCst) {
                    Ok(_) => break,
                    Err(now) => next = now,
                }
            }
        }
        self.search((node.priority, node.ticket));
    }

    /// An owner has ended. The last one sees to it that the node is nowhere, and gives it away.
    fn release(&self, address: *mut Node<P, LEVELS>, guard: &R::Guard) {
        // SAFETY: the caller is one of its owners.
        let node = unsafe { &*address };
        if node.owners.fetch_sub(1, SeqCst) == 1 {
            self.search((node.priority, node.ticket));
            // A node that was cut off may still lead somewhere.
            if MUTATION != LAST_UNMARKED {
                // SAFETY: both owners have ended, and the search unlinked it at every level; see above why it stays so.
                unsafe { self.nodes.retire(address, guard) };
            }
        }
    }

    /// Finds the place of a key, and unlinks the marked nodes it meets on the way.
    fn search(&self, key: (P, u64)) -> Place<'_, P, LEVELS> {
        'again: loop {
            let mut place = Place { before: [&self.head; LEVELS], after: [ptr::null_mut(); LEVELS] };
            let mut before = &self.head;
            for level in (0..LEVELS).rev() {
                let mut at = before[level].load(SeqCst);
                loop {
                    if is_marked(at) {
                        continue 'again;
                    }
                    // SAFETY: it was linked after the caller pinned.
                    let Some(node) = (unsafe { at.as_ref() }) else { break };
                    let next = node.next[level].load(SeqCst);
                    if is_marked(next) {
                        let beyond = unmarked(next);
                        if before[level].compare_exchange(at, beyond, SeqCst, SeqCst).is_err() {
                            continue 'again;
                        }
                        at = beyond;
                    } else if (node.priority, node.ticket) < key {
                        before = &node.next;
                        at = next;
                    } else {
                        break;
                    }
                }
                place.before[level] = before;
                place.after[level] = at;
            }
            return place;
        }
    }
}

#[linpoint::object(spec = crate::spec::PriorityQueue, new = Self::new())]
impl<R: Reclaim<Node<u32, LEVELS>> + 'static, const LEVELS: usize, const MUTATION: u8>
    SkipListQueue<u32, R, LEVELS, MUTATION>
{
    /// Puts `priority` in.
    pub fn insert(&self, priority: u32) {
        self.put(priority);
    }

    /// Takes the smallest out.
    pub fn remove_min(&self) -> Option<u32> {
        self.take()
    }
}

impl<R: Reclaim<Node<u32, LEVELS>> + 'static, const LEVELS: usize, const MUTATION: u8>
    crate::priority::PriorityQueue for SkipListQueue<u32, R, LEVELS, MUTATION>
{
    fn insert(&self, priority: u32) {
        self.put(priority);
    }

    fn remove_min(&self) -> Option<u32> {
        self.take()
    }
}

impl<P: Ord + Copy, R: Reclaim<Node<P, LEVELS>>, const LEVELS: usize, const MUTATION: u8> Default
    for SkipListQueue<P, R, LEVELS, MUTATION>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<P, R: Reclaim<Node<P, LEVELS>>, const LEVELS: usize, const MUTATION: u8> Drop
    for SkipListQueue<P, R, LEVELS, MUTATION>
{
    fn drop(&mut self) {
        let mut at = *self.head[0].get_mut();
        while !at.is_null() {
            // SAFETY: nobody else is here, and what is linked at the lowest level was not retired.
            let next = unmarked(*unsafe { &mut *at }.next[0].get_mut());
            // SAFETY: as above, and it is not looked at again.
            unsafe { self.nodes.free(at) };
            at = next;
        }
    }
}

/// Links to nothing.
fn empty<P, const LEVELS: usize>() -> Links<P, LEVELS> {
    std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()))
}

/// Half of all nodes have two levels at least, a quarter three, and so on; by a hash of the ticket, so that a schedule says everything.
fn height(ticket: u64, levels: usize) -> usize {
    let hash = (ticket + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    1 + ((hash >> 32) as u32).trailing_ones().min(levels as u32 - 1) as usize
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

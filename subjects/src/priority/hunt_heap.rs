//! The heap with a lock a node of Hunt, Michael, Parthasarathy and Scott (1996): insertions go up, removals go down, and tags
//! say which elements are still on their way.
//!
//! An insertion puts its element at the next free place, in bit-reversed order, with a tag of its own, and moves it up node by
//! node, holding two locks at a time. In between the element may be moved by others: a removal that swaps it up keeps the tag, and the insertion
//! follows; a removal that takes it as the last element puts it at the root as available, and the insertion finds its tag nowhere. A removal takes the
//! root's element, puts the last one there and moves that down hand over hand.
//!
//! **As published it is not linearizable** ([`PUBLISHED`]), and not even sequentially consistent. A removal takes the last element out of its node, releases that, and only then
//! locks the root. In between the element is nowhere. The explorer finds two threads and three operations: an insertion puts 1 at the root; a removal R takes it as the last element
//! into its hands; the insertion returns, since the root no longer has its tag; an insertion of 2 finds an empty heap, puts 2 at the root and returns; R locks the root, swaps, and
//! returns 2, though 1 was in before 2 came. With more elements: R holds an element that was on its way, whose insertion then returns, and others remove larger ones.
//! `tests/it/priority.rs` has the run.
//!
//! **Mended**: a removal locks the root before it takes the last element, and releases the lock of the size after both. Locks are taken in the order size, root, downwards,
//! and nobody takes the size while it holds a node, so there is no deadlock. Linearization points: of a removal, where it has locked the root: every element that is not on its way
//! is in the heap or under the locks of a removal that moves down, which nobody overtakes; so the root is the smallest. Of an insertion, where its element is first compared with an
//! available parent and stays, or where it is made available at the root, or where a removal takes it.
//!
//! Mutation [`COUNTS_AS_ARRIVED`]: a removal that swaps an element on its way up from a leaf near the root makes it available. Expected: not linearizable; its insertion ends, it stays below a
//! larger element, and that one is removed first.

use linpoint::sync::{Mutex, MutexGuard};

use crate::CORRECT;
use crate::priority::{bit_reversed, has_operations};

/// A removal lets go of the last element's node before it locks the root: the algorithm as it was published.
pub const PUBLISHED: u8 = 1;

/// An element that a removal moves up from a leaf near the root is no longer on its way.
pub const COUNTS_AS_ARRIVED: u8 = 2;

/// A priority queue of bounded size.
pub struct HuntHeap<P = u32, const MUTATION: u8 = CORRECT> {
    /// How many elements there are, those on their way included.
    size: Mutex<usize>,
    /// The root is number one.
    nodes: Box<[Mutex<Node<P>>]>,
    /// Numbers for insertions. Not a shim: that two numbers differ is all that matters about them.
    started: std::sync::atomic::AtomicU64,
}

#[derive(Clone, Copy)]
struct Node<P> {
    tag: Tag,
    element: Option<P>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Empty,
    Available,
    /// On its way, moved by the insertion of this number.
    Moving(u64),
}

/// Elements there is room for unless asked otherwise.
const ROOM: usize = 1 << 17;

impl<P: Ord + Copy, const MUTATION: u8> HuntHeap<P, MUTATION> {
    /// An empty queue for about a hundred thousand elements.
    pub fn new() -> Self {
        Self::with_capacity(ROOM)
    }

    /// An empty queue for so many elements at least.
    pub fn with_capacity(elements: usize) -> Self {
        let places = (elements + 1).next_power_of_two();
        let empty = Node { tag: Tag::Empty, element: None };
        HuntHeap {
            size: Mutex::new(0),
            nodes: (0..places).map(|_| Mutex::new(empty)).collect(),
            started: std::sync::atomic::AtomicU64::new(0),
        }
    }

    #[track_caller]
    fn lock(&self, at: usize) -> MutexGuard<'_, Node<P>> {
        self.nodes[at].lock().expect("nothing panics while it holds the lock")
    }

    fn put(&self, element: P) {
        let mine = Tag::Moving(self.started.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let mut at = {
            let mut size = self.size.lock().expect("nothing panics while it holds the lock");
            assert!(*size + 1 < self.nodes.len(), "the heap has room for what is inserted");
            *size += 1;
            let at = bit_reversed(*size);
            let mut node = self.lock(at);
            drop(size);
            *node = Node { tag: mine, element: Some(element) };
            at
        };
        while at > 1 {
            let above = at / 2;
            let mut parent = self.lock(above);
            let mut node = self.lock(at);
            if parent.tag == Tag::Available && node.tag == mine {
                if node.element < parent.element {
                    std::mem::swap(&mut *parent, &mut *node);
                    at = above;
                } else {
                    node.tag = Tag::Available;
                    return;
                }
            } else if parent.tag == Tag::Empty {
                // The heap has shrunk below it: a removal took the element.
                return;
            } else if node.tag != mine {
                // It was moved up, or taken.
                at = above;
            } else {
                // The parent is on its way as well.
                drop((parent, node));
                linpoint::thread::yield_now();
            }
        }
        let mut root = self.lock(1);
        if root.tag == mine {
            root.tag = Tag::Available;
        }
    }

    fn take(&self) -> Option<P> {
        let mut size = self.size.lock().expect("nothing panics while it holds the lock");
        if *size == 0 {
            return None;
        }
        let last = bit_reversed(*size);
        *size -= 1;
        let (mut root, element) = if MUTATION == PUBLISHED {
            let node = self.lock(last);
            drop(size);
            let element = empty(node);
            (self.lock(1), element)
        } else {
            let root = self.lock(1);
            if last == 1 {
                drop(size);
                return empty(root);
            }
            let element = empty(self.lock(last));
            drop(size);
            (root, element)
        };
        if root.tag == Tag::Empty {
            return element;
        }
        let smallest = std::mem::replace(&mut *root, Node { tag: Tag::Available, element }).element;
        self.down(root);
        smallest
    }

    /// Moves the element of the root down until no child is smaller.
    fn down(&self, root: MutexGuard<'_, Node<P>>) {
        let (mut at, mut node) = (1, root);
        while 2 * at < self.nodes.len() {
            let left = self.lock(2 * at);
            let right = self.lock(2 * at + 1);
            if left.tag == Tag::Empty {
                return;
            }
            let (below, mut child) = if right.tag == Tag::Empty || left.element < right.element {
                drop(right);
                (2 * at, left)
            } else {
                drop(left);
                (2 * at + 1, right)
            };
            if child.element >= node.element {
                return;
            }
            std::mem::swap(&mut *child, &mut *node);
            if MUTATION == COUNTS_AS_ARRIVED
                && at < 4
                && self.nodes.get(2 * below).is_none_or(|_| self.lock(2 * below).tag == Tag::Empty)
            {
                node.tag = Tag::Available;
            }
            (at, node) = (below, child);
        }
    }
}

/// Takes the element out, and lets go of the node.
fn empty<P>(mut node: MutexGuard<'_, Node<P>>) -> Option<P> {
    node.tag = Tag::Empty;
    node.element.take()
}

#[linpoint::object(spec = crate::spec::PriorityQueue, new = Self::with_capacity(8))]
impl<const MUTATION: u8> HuntHeap<u32, MUTATION> {
    /// Puts `priority` in.
    pub fn insert(&self, priority: u32) {
        self.put(priority);
    }

    /// Takes the smallest out.
    pub fn remove_min(&self) -> Option<u32> {
        self.take()
    }
}

has_operations!(HuntHeap);

impl<P: Ord + Copy, const MUTATION: u8> Default for HuntHeap<P, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

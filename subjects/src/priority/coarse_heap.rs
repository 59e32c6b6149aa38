//! A binary heap behind one lock (Dragicevic 2011, section 2.8.1). The length is kept beside it, so that a removal from an
//! empty queue takes no lock.
//!
//! Linearization points: where the length is stored; of a removal that finds nothing without the lock, where it is loaded.
//!
//! Mutation [`LATE_LENGTH`]: the length is stored after the lock was released. Expected: not linearizable; a removal that emptied the
//! queue stores its 0 over the 1 of a later insertion, and what was inserted is not found.

use linpoint::sync::Mutex;
use linpoint::sync::atomic::AtomicUsize;
use linpoint::sync::atomic::Ordering::SeqCst;

use crate::CORRECT;
use crate::priority::has_operations;

/// The length is written down outside the critical section.
pub const LATE_LENGTH: u8 = 1;

/// A priority queue with one lock.
pub struct CoarseHeap<P = u32, const MUTATION: u8 = CORRECT> {
    /// A heap: no element is smaller than the one at half its place, counting from one.
    heap: Mutex<Vec<P>>,
    length: AtomicUsize,
}

impl<P: Ord + Copy, const MUTATION: u8> CoarseHeap<P, MUTATION> {
    /// An empty queue.
    pub fn new() -> Self {
        CoarseHeap { heap: Mutex::new(Vec::new()), length: AtomicUsize::new(0) }
    }

    /// Does `change` to the heap under the lock.
    fn locked<R>(&self, change: impl FnOnce(&mut Vec<P>) -> R) -> R {
        let mut heap = self.heap.lock().expect("nothing panics while it holds the lock");
        let result = change(&mut heap);
        let length = heap.len();
        if MUTATION == LATE_LENGTH {
            drop(heap);
            self.length.store(length, SeqCst);
        } else {
            self.length.store(length, SeqCst);
        }
        result
    }

    fn put(&self, priority: P) {
        self.locked(|heap| {
            let at = heap.len();
            heap.push(priority);
            up(heap, at);
        });
    }

    fn take(&self) -> Option<P> {
        if self.length.load(SeqCst) == 0 {
            return None;
        }
        self.locked(|heap| {
            if heap.is_empty() {
                return None;
            }
            let first = heap.swap_remove(0);
            down(heap, 0);
            Some(first)
        })
    }

    fn change(&self, from: P, to: P) -> bool {
        self.locked(|heap| {
            let Some(at) = heap.iter().position(|&priority| priority == from) else { return false };
            heap[at] = to;
            up(heap, at);
            down(heap, at);
            true
        })
    }
}

#[linpoint::object(spec = crate::spec::PriorityQueue, new = Self::new())]
impl<const MUTATION: u8> CoarseHeap<u32, MUTATION> {
    /// Puts `priority` in.
    pub fn insert(&self, priority: u32) {
        self.put(priority);
    }

    /// Takes the smallest out.
    pub fn remove_min(&self) -> Option<u32> {
        self.take()
    }

    /// Replaces one `from` by `to`: was there one?
    pub fn change_key(&self, from: u32, to: u32) -> bool {
        self.change(from, to)
    }
}

has_operations!(CoarseHeap, change_key);

impl<P: Ord + Copy, const MUTATION: u8> Default for CoarseHeap<P, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

/// Swaps the element at `at` with its parent while it is smaller.
fn up<P: Ord>(heap: &mut [P], mut at: usize) {
    while at > 0 && heap[at] < heap[(at - 1) / 2] {
        heap.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/// Swaps the element at `at` with its smaller child while that is smaller.
fn down<P: Ord>(heap: &mut [P], mut at: usize) {
    loop {
        let children = (2 * at + 1..heap.len()).take(2);
        match children.min_by(|&a, &b| heap[a].cmp(&heap[b])) {
            Some(child) if heap[child] < heap[at] => {
                heap.swap(child, at);
                at = child;
            }
            _ => return,
        }
    }
}

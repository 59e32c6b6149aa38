//! A binary heap in transactional memory, a transaction an operation (Dragicevic 2011, section 2.8.4): the sequential algorithm as it
//! is. Every operation writes the size, so any two conflict and one at a time takes effect.
//!
//! Linearization point: that of the transaction ([`crate::stm`]).
//!
//! Mutation [`FAST_LAST`]: a removal that sees one element takes it by fast access: it looks at the element, then changes the size from one to zero and gives it no new version. Expected: not
//! linearizable; a transaction that read the size before commits all the same, and the element is returned twice.

use crate::CORRECT;
use crate::priority::has_operations;
use crate::stm::{Abort, Packed, Stm, Transaction, Word};

/// The last element is taken outside a transaction.
pub const FAST_LAST: u8 = 1;

/// A priority queue of bounded size.
pub struct NaiveStmHeap<P = u32, const MUTATION: u8 = CORRECT> {
    stm: Stm,
    size: Word,
    /// The root is number one; what is beyond the size means nothing.
    slots: Box<[Word]>,
    holds: std::marker::PhantomData<fn(P) -> P>,
}

/// Elements there is room for unless asked otherwise.
const ROOM: usize = 1 << 17;

impl<P: Packed, const MUTATION: u8> NaiveStmHeap<P, MUTATION> {
    /// An empty queue for about a hundred thousand elements.
    pub fn new() -> Self {
        Self::with_capacity(ROOM)
    }

    /// An empty queue for so many elements.
    pub fn with_capacity(elements: usize) -> Self {
        NaiveStmHeap {
            stm: Stm::new(),
            size: Word::new(0),
            slots: (0..=elements).map(|_| Word::new(0)).collect(),
            holds: std::marker::PhantomData,
        }
    }

    fn put(&self, element: P) {
        self.stm.run(|t| {
            let size = t.read(&self.size)? as usize + 1;
            assert!(size < self.slots.len(), "the heap has room for what is inserted");
            t.write(&self.size, size as u64)?;
            self.up(t, size, element.pack())
        });
    }

    fn take(&self) -> Option<P> {
        if MUTATION == FAST_LAST
            && self.stm.peek(&self.size).is_some_and(|(size, _)| size == 1)
            && let Some((first, _)) = self.stm.peek(&self.slots[1])
            && self.stm.change_unseen(&self.size, 1, 0)
        {
            return Some(P::unpack(first));
        }
        self.stm.run(|t| {
            let size = t.read(&self.size)? as usize;
            if size == 0 {
                return Ok(None);
            }
            let first = t.read(&self.slots[1])?;
            let last = t.read(&self.slots[size])?;
            t.write(&self.size, size as u64 - 1)?;
            if size > 1 {
                self.down(t, 1, last, size - 1)?;
            }
            Ok(Some(P::unpack(first)))
        })
    }

    fn change(&self, from: P, to: P) -> bool {
        let (from, to) = (from.pack(), to.pack());
        self.stm.run(|t| {
            let size = t.read(&self.size)? as usize;
            for at in 1..=size {
                if t.read(&self.slots[at])? == from {
                    if to < from {
                        self.up(t, at, to)?;
                    } else {
                        self.down(t, at, to, size)?;
                    }
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Puts an element at a place, or above it where a parent is larger.
    fn up<'a>(&'a self, t: &mut Transaction<'a>, mut at: usize, element: u64) -> Result<(), Abort<'a>> {
        while at > 1 {
            let parent = t.read(&self.slots[at / 2])?;
            if parent <= element {
                break;
            }
            t.write(&self.slots[at], parent)?;
            at /= 2;
        }
        t.write(&self.slots[at], element)
    }

    /// Puts an element at a place, or below it where a child is smaller.
    fn down<'a>(
        &'a self,
        t: &mut Transaction<'a>,
        mut at: usize,
        element: u64,
        size: usize,
    ) -> Result<(), Abort<'a>> {
        while 2 * at <= size {
            let mut child = (t.read(&self.slots[2 * at])?, 2 * at);
            if 2 * at < size {
                child = child.min((t.read(&self.slots[2 * at + 1])?, 2 * at + 1));
            }
            if child.0 >= element {
                break;
            }
            t.write(&self.slots[at], child.0)?;
            at = child.1;
        }
        t.write(&self.slots[at], element)
    }
}

#[linpoint::object(spec = crate::spec::PriorityQueue, new = Self::with_capacity(8))]
impl<const MUTATION: u8> NaiveStmHeap<u32, MUTATION> {
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

has_operations!(NaiveStmHeap, change_key);

impl<P: Packed, const MUTATION: u8> Default for NaiveStmHeap<P, MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

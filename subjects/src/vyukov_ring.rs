//! The bounded queue of Vyukov (2010) for many producers and many consumers: an array of slots, each with a sequence
//! number that says whose turn it is.
//!
//! A slot whose number is `p` waits for the producer of position `p`; with `p + 1` it waits for the consumer of that
//! position, who makes it `p` plus [`CAPACITY`], for the producer of the next round.
//!
//! Linearization points: where a position is claimed. But "empty" and "full" are weaker than a queue's: a producer that has
//! claimed its slot and not yet filled it makes the queue look empty although later slots are full, and a slow consumer
//! makes it look full although there is room. So the object refines the queue that *may* say empty or full at any time
//! while another operation runs (see [`crate::spec::BoundedQueue`]), and is not linearizable to the strict one.
//!
//! Mutation [`PUBLISH_FIRST`]: `enqueue` announces its value before it writes it. Expected: a data race on the
//! slot.
//!
//! Mutation [`CLAIM_BY_STORE`]: a position is claimed by a store instead of a compare-and-swap. Expected: two producers
//! fill the same slot: a data race, and an element is lost.

use linpoint::cell::UnsafeCell;
use linpoint::sync::atomic::AtomicUsize;
use linpoint::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::CORRECT;

/// The value is written after it was announced.
pub const PUBLISH_FIRST: u8 = 1;

/// Positions are claimed without a compare-and-swap.
pub const CLAIM_BY_STORE: u8 = 2;

/// How many numbers it holds: a power of two, and the smallest that can tell full from empty.
pub const CAPACITY: usize = 2;

/// A queue of at most [`CAPACITY`] numbers.
pub struct VyukovRing<const MUTATION: u8 = CORRECT> {
    slots: [Slot; CAPACITY],
    enqueue_position: AtomicUsize,
    dequeue_position: AtomicUsize,
}

struct Slot {
    sequence: AtomicUsize,
    /// Touched by whoever claimed the position that the sequence number stands at.
    value: UnsafeCell<u32>,
}

// SAFETY: the sequence number hands the value from one thread to the next, with release and acquire.
unsafe impl Sync for Slot {}

impl Slot {
    /// Writes the value; for the producer who claimed the slot.
    fn put(&self, value: u32) {
        // SAFETY: nobody else touches the value before the sequence number moves on. (In the broken variants another may;
        // they are explored on one OS thread, where one goes after the other.)
        self.value.with_mut(|place| unsafe { place.write(value) });
    }

    /// Reads the value; for the consumer who claimed the slot.
    fn get(&self) -> u32 {
        // SAFETY: as in `put`.
        self.value.with(|place| unsafe { place.read() })
    }
}

#[linpoint::object(spec = crate::spec::BoundedQueue)]
impl<const MUTATION: u8> VyukovRing<MUTATION> {
    /// An empty queue.
    pub fn new() -> Self {
        VyukovRing {
            slots: std::array::from_fn(|index| Slot {
                sequence: AtomicUsize::new(index),
                value: UnsafeCell::new(0),
            }),
            enqueue_position: AtomicUsize::new(0),
            dequeue_position: AtomicUsize::new(0),
        }
    }

    /// Puts `value` at the end; `false` if there seems to be no room.
    pub fn enqueue(&self, value: u32) -> bool {
        let Some((slot, position)) = self.claim(&self.enqueue_position, 0) else { return false };
        if MUTATION == PUBLISH_FIRST {
            slot.sequence.store(position.wrapping_add(1), Release);
            slot.put(value);
        } else {
            slot.put(value);
            slot.sequence.store(position.wrapping_add(1), Release);
        }
        true
    }

    /// Takes the value at the front, if there seems to be one.
    pub fn dequeue(&self) -> Option<u32> {
        let (slot, position) = self.claim(&self.dequeue_position, 1)?;
        let value = slot.get();
        slot.sequence.store(position.wrapping_add(CAPACITY), Release);
        Some(value)
    }
}

impl<const MUTATION: u8> VyukovRing<MUTATION> {
    /// Claims the position that `counter` stands at, once its slot's number is `ahead` of it; `None` if the slot is
    /// still in the round before.
    fn claim(&self, counter: &AtomicUsize, ahead: usize) -> Option<(&Slot, usize)> {
        let mut position = counter.load(Relaxed);
        loop {
            let slot = &self.slots[position % CAPACITY];
            let sequence = slot.sequence.load(Acquire);
            let difference = sequence.wrapping_sub(position.wrapping_add(ahead)) as isize;
            if difference < 0 {
                return None;
            }
            if difference > 0 {
                position = counter.load(Relaxed);
                continue;
            }
            let next = position.wrapping_add(1);
            if MUTATION == CLAIM_BY_STORE {
                counter.store(next, Relaxed);
                return Some((slot, position));
            }
            match counter.compare_exchange_weak(position, next, Relaxed, Relaxed) {
                Ok(_) => return Some((slot, position)),
                Err(now) => position = now,
            }
        }
    }
}

impl<const MUTATION: u8> Default for VyukovRing<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

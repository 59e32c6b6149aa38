//! A sequence lock (the Linux kernel's of 2002; Lameter 2005): readers take no lock but read a sequence number before and
//! after, and try again if a writer was there. The orderings are those of Boehm (2012).
//!
//! The number is odd while a writer writes; writers exclude one another by making it odd.
//!
//! Linearization points: `write` at the store that makes the number even again; `read` at any moment between its two
//! equal reads of the number, the second for instance.
//!
//! Mutation [`NO_SECOND_READ`]: `read` does not look at the number again. Expected: not linearizable; half of one pair
//! is returned with half of another.

use linpoint::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use linpoint::sync::atomic::{AtomicU32, fence};
use linpoint::thread::yield_now;

use crate::CORRECT;

/// `read` does not validate.
pub const NO_SECOND_READ: u8 = 1;

/// A pair of numbers, read and written as one.
#[derive(Default)]
pub struct SeqLock<const MUTATION: u8 = CORRECT> {
    sequence: AtomicU32,
    first: AtomicU32,
    second: AtomicU32,
}

#[linpoint::object(spec = crate::spec::Pair)]
impl<const MUTATION: u8> SeqLock<MUTATION> {
    /// A pair of zeros.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes both.
    pub fn write(&self, first: u32, second: u32) {
        let sequence = loop {
            let sequence = self.sequence.load(Relaxed);
            if sequence.is_multiple_of(2)
                && self.sequence.compare_exchange(sequence, sequence + 1, Acquire, Relaxed).is_ok()
            {
                break sequence;
            }
            yield_now();
        };
        fence(Release);
        self.first.store(first, Relaxed);
        self.second.store(second, Relaxed);
        self.sequence.store(sequence.wrapping_add(2), Release);
    }

    /// Reads both.
    pub fn read(&self) -> (u32, u32) {
        loop {
            let before = self.sequence.load(Acquire);
            if before.is_multiple_of(2) {
                let pair = (self.first.load(Relaxed), self.second.load(Relaxed));
                fence(Acquire);
                if MUTATION == NO_SECOND_READ || self.sequence.load(Relaxed) == before {
                    return pair;
                }
            }
            yield_now();
        }
    }
}

//! A set of small keys as the bits of one plain word behind a lock: the smallest object whose lock can be forgotten.
//!
//! Linearization points: anywhere in the critical section.
//!
//! Mutation [`LOOKS_WITHOUT_LOCK`]: a look does not take the lock. Expected: a data race, and nothing else: on a processor that loads a word at once every history is linearizable, so neither recording nor
//! the monitor can see it. The explorer does, and Helgrind.

use linpoint::cell::UnsafeCell;
use linpoint::sync::Mutex;

use super::has_operations;
use crate::CORRECT;

/// A look reads the word as it is.
pub const LOOKS_WITHOUT_LOCK: u8 = 1;

/// A set of keys below 64; larger ones are taken for what is left over.
pub struct BitSet<const MUTATION: u8 = CORRECT> {
    lock: Mutex<()>,
    bits: UnsafeCell<u64>,
}

// SAFETY: the word is accessed with the lock held; the mutation reads it without, which is the error that is looked for.
unsafe impl<const MUTATION: u8> Sync for BitSet<MUTATION> {}

impl<const MUTATION: u8> BitSet<MUTATION> {
    /// An empty set.
    pub fn new() -> Self {
        BitSet { lock: Mutex::new(()), bits: UnsafeCell::new(0) }
    }

    /// Changes the word with the lock held, and returns what it was.
    #[track_caller]
    fn change(&self, change: impl FnOnce(u64) -> u64) -> u64 {
        let _locked = self.lock.lock().expect("nothing panics while it holds the lock");
        // SAFETY: the lock is held.
        self.bits.with_mut(|bits| unsafe { std::mem::replace(&mut *bits, change(*bits)) })
    }

    fn put(&self, key: u32) -> bool {
        self.change(|bits| bits | bit(key)) & bit(key) == 0
    }

    fn take(&self, key: u32) -> bool {
        self.change(|bits| bits & !bit(key)) & bit(key) != 0
    }

    fn has(&self, key: u32) -> bool {
        let locked = (MUTATION != LOOKS_WITHOUT_LOCK)
            .then(|| self.lock.lock().expect("nothing panics while it holds the lock"));
        // SAFETY: the lock is held, unless that is the error. Volatile, so that the compiler makes one load of it even then.
        let bits = self.bits.with(|bits| unsafe { bits.read_volatile() });
        drop(locked);
        bits & bit(key) != 0
    }
}

has_operations!([const MUTATION: u8] BitSet<MUTATION>);

impl<const MUTATION: u8> Default for BitSet<MUTATION> {
    fn default() -> Self {
        Self::new()
    }
}

fn bit(key: u32) -> u64 {
    1 << (key % 64)
}

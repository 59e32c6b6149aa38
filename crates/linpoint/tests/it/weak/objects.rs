//! Objects whose orderings are right, and the same with one of them weakened.

// Cells are what races are found on.
#![allow(unsafe_code)]

use std::collections::VecDeque;

use linpoint::cell::UnsafeCell;
use linpoint::sync::Mutex;
use linpoint::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use linpoint::sync::atomic::{AtomicU64, AtomicUsize, fence};
use linpoint::{Memory, Object, Report, check};

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Lifo(Vec<u32>);

#[linpoint::spec]
impl Lifo {
    fn push(&mut self, value: u32) {
        self.0.push(value);
    }

    fn pop(&mut self) -> Option<u32> {
        self.0.pop()
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Fifo(VecDeque<u32>);

#[linpoint::spec]
impl Fifo {
    fn put(&mut self, value: u32) -> bool {
        let has_space = self.0.len() < 2;
        if has_space {
            self.0.push_back(value);
        }
        has_space
    }

    fn take(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Pair(u64);

#[linpoint::spec]
impl Pair {
    fn write(&mut self, value: u32) {
        self.0 = u64::from(value) << 32 | u64::from(value);
    }

    fn read(&mut self) -> u64 {
        self.0
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Count(u32);

#[linpoint::spec]
impl Count {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

/// Nothing is weakened.
const NONE: usize = 99;

/// The ordering at a site, unless that one is weakened.
fn at<const WEAK: usize>(site: usize, ordering: Ordering) -> Ordering {
    if site == WEAK { Relaxed } else { ordering }
}

/// Treiber's stack; nodes are slots of an array, used once.
struct Treiber<const WEAK: usize> {
    top: AtomicUsize,
    used: AtomicUsize,
    next: [AtomicUsize; 8],
    value: [AtomicUsize; 8],
}

impl<const WEAK: usize> Default for Treiber<WEAK> {
    fn default() -> Self {
        let zeros = || std::array::from_fn(|_| AtomicUsize::new(0));
        Treiber { top: AtomicUsize::new(0), used: AtomicUsize::new(0), next: zeros(), value: zeros() }
    }
}

#[linpoint::object(spec = Lifo)]
impl<const WEAK: usize> Treiber<WEAK> {
    fn push(&self, value: u32) {
        let node = self.used.fetch_add(1, Relaxed) + 1;
        self.value[node].store(value as usize, Relaxed);
        loop {
            let top = self.top.load(Relaxed);
            self.next[node].store(top, Relaxed);
            if self.top.compare_exchange(top, node, at::<WEAK>(0, Release), Relaxed).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let top = self.top.load(at::<WEAK>(1, Acquire));
            if top == 0 {
                return None;
            }
            let next = self.next[top].load(Relaxed);
            if self.top.compare_exchange(top, next, Relaxed, Relaxed).is_ok() {
                return Some(self.value[top].load(Relaxed) as u32);
            }
        }
    }
}

/// A ring for one producer and one consumer, with the orderings of the textbooks.
struct Ring {
    head: AtomicUsize,
    tail: AtomicUsize,
    slots: [UnsafeCell<u32>; 2],
}

// SAFETY: a slot belongs to the producer or to the consumer, as head and tail say.
unsafe impl Sync for Ring {}

impl Default for Ring {
    fn default() -> Ring {
        let slots = [UnsafeCell::new(0), UnsafeCell::new(0)];
        Ring { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), slots }
    }
}

#[linpoint::object(spec = Fifo)]
impl Ring {
    #[role(producer)]
    fn put(&self, value: u32) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(Acquire) == 2 {
            return false;
        }
        // SAFETY: the slot is empty, and nobody else puts.
        self.slots[tail % 2].with_mut(|slot| unsafe { *slot = value });
        self.tail.store(tail + 1, Release);
        true
    }

    #[role(consumer)]
    fn take(&self) -> Option<u32> {
        let head = self.head.load(Relaxed);
        if head == self.tail.load(Acquire) {
            return None;
        }
        // SAFETY: the slot is full, and nobody else takes.
        let value = self.slots[head % 2].with(|slot| unsafe { *slot });
        self.head.store(head + 1, Release);
        Some(value)
    }
}

/// A sequence lock with relaxed data.
#[derive(Default)]
struct Seqlock<const WEAK: usize> {
    version: AtomicUsize,
    low: AtomicU64,
    high: AtomicU64,
}

#[linpoint::object(spec = Pair)]
impl<const WEAK: usize> Seqlock<WEAK> {
    #[role(writer)]
    fn write(&self, value: u32) {
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(if WEAK == 0 { Acquire } else { Release });
        self.low.store(u64::from(value), Relaxed);
        self.high.store(u64::from(value), Relaxed);
        self.version.store(version + 2, at::<WEAK>(1, Release));
    }

    fn read(&self) -> u64 {
        loop {
            let before = self.version.load(at::<WEAK>(2, Acquire));
            let (low, high) = (self.low.load(Relaxed), self.high.load(Relaxed));
            fence(if WEAK == 3 { Release } else { Acquire });
            if before % 2 == 0 && self.version.load(Relaxed) == before {
                return high << 32 | low;
            }
        }
    }
}

/// A number in a cell, behind a lock.
struct Locked<const WEAK: usize> {
    is_held: AtomicUsize,
    number: UnsafeCell<u32>,
}

// SAFETY: the number is touched under the lock only.
unsafe impl<const WEAK: usize> Sync for Locked<WEAK> {}

impl<const WEAK: usize> Default for Locked<WEAK> {
    fn default() -> Self {
        Locked { is_held: AtomicUsize::new(0), number: UnsafeCell::new(0) }
    }
}

#[linpoint::object(spec = Count)]
impl<const WEAK: usize> Locked<WEAK> {
    fn next(&self) -> u32 {
        while self.is_held.compare_exchange(0, 1, at::<WEAK>(0, Acquire), Relaxed).is_err() {
            linpoint::hint::spin_loop();
        }
        // SAFETY: the lock is held.
        let number = self.number.with_mut(|number| unsafe {
            *number += 1;
            *number
        });
        self.is_held.store(0, at::<WEAK>(1, Release));
        number
    }
}

/// The same behind std's lock.
#[derive(Default)]
struct Guarded {
    number: Mutex<u32>,
}

#[linpoint::object(spec = Count)]
impl Guarded {
    fn next(&self) -> u32 {
        let mut number = self.number.lock().expect("nobody panics");
        *number += 1;
        *number
    }
}

fn weakly<O: Object>() -> Report {
    check::<O>().memory(Memory::Rc11).threads(2).ops(2).before(1).workers(1).report()
}

#[track_caller]
fn holds<O: Object>() {
    let report = weakly::<O>();
    assert_eq!(report.verdict(), "holds", "{report}");
    assert!(report.to_string().contains("RC11, load buffering excluded"), "{report}");
    assert!(report.to_string().contains("for every client"), "{report}");
}

/// It is right where memory is sequentially consistent, and wrong where it is not, with this headline.
#[track_caller]
fn only_weakly_wrong<O: Object>(headline: &str) {
    let report = weakly::<O>();
    let found = report.counterexample.as_ref().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(report.verdict(), "violated", "{report}");
    assert!(found.headline.starts_with(headline), "{found}");
    let again = check::<O>().replay_report(&found.token).expect("the token is one of this object");
    let again = again.counterexample.expect("it fails again");
    assert_eq!((&again.headline, &again.schedule), (&found.headline, &found.schedule));
}

#[test]
fn a_stack_needs_release_and_acquire() {
    holds::<Treiber<NONE>>();
    assert!(check::<Treiber<0>>().threads(2).ops(1).report().holds());
    only_weakly_wrong::<Treiber<0>>("not linearizable");
    only_weakly_wrong::<Treiber<1>>("not linearizable");
}

#[test]
fn a_ring_says_full_and_empty_at_once() {
    // Store buffering: the producer finds the ring full and the consumer finds it empty.
    let report = check::<Ring>().memory(Memory::Rc11).threads(2).ops(3).before(0).workers(1).report();
    assert_eq!(report.verdict(), "violated", "{report}");
    let found = report.counterexample.expect("it is violated");
    assert!(found.headline.starts_with("not linearizable"), "{found}");
    assert!(found.rechecked, "{found}");
}

#[test]
fn a_sequence_lock_needs_all_its_orderings() {
    holds::<Seqlock<NONE>>();
    only_weakly_wrong::<Seqlock<0>>("not linearizable");
    only_weakly_wrong::<Seqlock<1>>("not linearizable");
    only_weakly_wrong::<Seqlock<2>>("not linearizable");
    only_weakly_wrong::<Seqlock<3>>("not linearizable");
}

#[test]
fn a_lock_needs_release_and_acquire() {
    holds::<Locked<NONE>>();
    only_weakly_wrong::<Locked<0>>("data race");
    only_weakly_wrong::<Locked<1>>("data race");
}

#[test]
fn std_locks_are_right() {
    holds::<Guarded>();
}

#[test]
fn a_counterexample_says_what_was_read_and_why() {
    let report = weakly::<Treiber<0>>();
    let shown = report.counterexample.expect("it is wrong").to_string();
    for part in [
        "execution (memory as in RC11, load buffering excluded):",
        "an older value: nothing orders thread",
        "reads the initial value",
        "objects.rs:",
        "run it again: .replay(\"lw1-",
    ] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
}

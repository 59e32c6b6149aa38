//! Programs by hand: classic algorithms that are wrong with the orderings they are often given.

#![allow(unsafe_code)]

use linpoint::cell::UnsafeCell;
use linpoint::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use linpoint::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, fence};
use linpoint::{Explored, Memory, Search, exploration, thread};

fn weakly(program: impl Fn() + Sync) -> Explored {
    exploration().memory(Memory::Rc11).report(program)
}

#[track_caller]
fn holds(program: impl Fn() + Sync) {
    let explored = weakly(program);
    assert_eq!(explored.verdict(), "holds", "{explored}");
}

#[track_caller]
fn fails(program: impl Fn() + Sync, headline: &str) {
    let explored = weakly(&program);
    let found = explored.counterexample.as_ref().unwrap_or_else(|| panic!("{explored}"));
    assert_eq!(explored.verdict(), "violated", "{explored}");
    assert!(found.headline.contains(headline), "{found}");
    assert!(found.rechecked, "{found}");
    let again =
        exploration().replay_report(&found.token, &program).expect("the token is one of this program");
    assert_eq!(again.expect("it fails again").schedule, found.schedule);
}

/// Something that two threads touch in turns, if what keeps them apart works.
struct Section(UnsafeCell<u32>);

// SAFETY: whether it is used by one at a time is what is asked.
unsafe impl Sync for Section {}

impl Section {
    fn enter(&self) {
        // SAFETY: as above; nothing is done that matters.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }
}

/// Dekker's test: each says that it wants in, and goes in if the other has not said so.
fn dekker(store: Ordering, load: Ordering) -> impl Fn() + Sync {
    move || {
        let wants = [AtomicBool::new(false), AtomicBool::new(false)];
        let section = Section(UnsafeCell::new(0));
        let go = |me: usize| {
            wants[me].store(true, store);
            if !wants[1 - me].load(load) {
                section.enter();
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| go(0));
            scope.spawn(|| go(1));
        });
    }
}

#[test]
fn dekker_needs_seq_cst() {
    holds(dekker(SeqCst, SeqCst));
    fails(dekker(Release, Acquire), "data race");
}

/// G. L. Peterson, *Myths About the Mutual Exclusion Problem* (1981).
fn peterson(store: Ordering, load: Ordering) -> impl Fn() + Sync {
    move || {
        let wants = [AtomicBool::new(false), AtomicBool::new(false)];
        let turn = AtomicUsize::new(0);
        let section = Section(UnsafeCell::new(0));
        let go = |me: usize| {
            wants[me].store(true, store);
            turn.store(1 - me, store);
            while wants[1 - me].load(load) && turn.load(load) != me {}
            section.enter();
            wants[me].store(false, Release);
        };
        thread::scope(|scope| {
            scope.spawn(|| go(0));
            scope.spawn(|| go(1));
        });
    }
}

#[test]
fn peterson_needs_seq_cst() {
    holds(peterson(SeqCst, SeqCst));
    fails(peterson(Release, Acquire), "data race");
}

/// A value that is made by whoever needs it first.
fn double_checked(publish: Ordering, look: Ordering) -> impl Fn() + Sync {
    struct Made(UnsafeCell<u32>);
    // SAFETY: it is written before it is published.
    unsafe impl Sync for Made {}
    move || {
        let place = AtomicPtr::<Made>::new(std::ptr::null_mut());
        let get = || {
            let there = place.load(look);
            if !there.is_null() {
                // SAFETY: whoever published it made it, and it is freed after both have ended.
                return unsafe { &*there }.0.with(|value| unsafe { *value });
            }
            let made = Box::into_raw(Box::new(Made(UnsafeCell::new(0))));
            // SAFETY: nobody else has it.
            unsafe { &*made }.0.with_mut(|value| unsafe { *value = 7 });
            match place.compare_exchange(std::ptr::null_mut(), made, publish, look) {
                Ok(_) => 7,
                Err(other) => {
                    // SAFETY: as above.
                    drop(unsafe { Box::from_raw(made) });
                    unsafe { &*other }.0.with(|value| unsafe { *value })
                }
            }
        };
        let (a, b) = thread::scope(|scope| {
            let a = scope.spawn(get);
            let b = scope.spawn(get);
            (a.join().expect("no panic"), b.join().expect("no panic"))
        });
        assert_eq!((a, b), (7, 7));
        // SAFETY: both have ended, and one of them published it.
        drop(unsafe { Box::from_raw(place.load(Relaxed)) });
    }
}

#[test]
fn double_checked_initialisation_needs_release_and_acquire() {
    holds(double_checked(AcqRel, Acquire));
    fails(double_checked(Relaxed, Acquire), "data race");
    fails(double_checked(AcqRel, Relaxed), "data race");
}

/// A counted reference by hand.
fn counted(decrement: Ordering, last: Ordering) -> impl Fn() + Sync {
    struct Counted {
        count: AtomicUsize,
        value: UnsafeCell<u32>,
    }
    // SAFETY: the value is read while there is a reference, and written by whoever drops the last one.
    unsafe impl Sync for Counted {}
    struct Reference(*const Counted);
    // SAFETY: as above.
    unsafe impl Send for Reference {}
    move || {
        let counted = Counted { count: AtomicUsize::new(2), value: UnsafeCell::new(1) };
        let release = |reference: &Reference| {
            // SAFETY: a reference is left.
            let counted = unsafe { &*reference.0 };
            counted.value.with(|value| unsafe { assert_eq!(*value, 1) });
            if counted.count.fetch_sub(1, decrement) == 1 {
                fence(last);
                counted.value.with_mut(|value| unsafe { *value = 0 });
            }
        };
        let references = [Reference(&counted), Reference(&counted)];
        let [one, other] = references;
        thread::scope(|scope| {
            scope.spawn(move || release(&{ one }));
            scope.spawn(move || release(&{ other }));
        });
    }
}

#[test]
fn dropping_a_reference_releases_and_the_last_acquires() {
    holds(counted(Release, Acquire));
    fails(counted(Relaxed, Acquire), "data race");
    fails(counted(Release, Release), "data race");
}

#[test]
fn a_failed_thread_does_not_hide_what_others_do() {
    // The assertion fails where the write comes last, and the execution in which it does not is met as well.
    let explored = exploration().memory(Memory::Rc11).report(|| {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(x.load(Relaxed), 1));
            scope.spawn(|| x.store(1, Relaxed));
        });
    });
    assert_eq!(explored.verdict(), "violated", "{explored}");
}

#[test]
fn a_thread_that_waits_for_ever_is_a_deadlock() {
    fails(
        || {
            let x = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| while x.load(Acquire) != 2 {});
                scope.spawn(|| x.store(1, Release));
            });
        },
        "deadlock",
    );
    holds(|| {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| while x.load(Acquire) != 2 {});
            scope.spawn(|| x.store(2, Release));
        });
    });
}

#[test]
fn a_loop_that_counts_its_turns_elsewhere_is_not_taken_for_one_that_waits() {
    // What the counter says is on the heap, and not in the state of the thread.
    fails(
        || {
            let x = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let turns = std::hint::black_box(Box::new(std::cell::Cell::new(0)));
                    while x.load(Relaxed) == 0 {
                        turns.set(turns.get() + 1);
                        assert!(turns.get() < 5, "too many turns");
                    }
                });
                scope.spawn(|| x.store(1, Relaxed));
            });
        },
        "too many turns",
    );
}

#[test]
fn what_cannot_be_explored_is_refused() {
    let blocks = weakly(|| linpoint::atomically(|| ()));
    assert_eq!(blocks.verdict(), "unknown", "{blocks}");
    let search = exploration().memory(Memory::Rc11).search(Search::Preemptions(2)).report(|| ());
    assert_eq!(search.verdict(), "unknown", "{search}");
    let endless = weakly(|| {
        let x = AtomicUsize::new(0);
        loop {
            x.fetch_add(1, Relaxed);
        }
    });
    assert_eq!(endless.verdict(), "unknown", "{endless}");
}

#[test]
fn random_executions_promise_nothing() {
    let explored = exploration()
        .memory(Memory::Rc11)
        .search(Search::RandomWalk)
        .executions(200)
        .report(dekker(SeqCst, SeqCst));
    assert_eq!(explored.verdict(), "unknown", "{explored}");
    let explored = exploration()
        .memory(Memory::Rc11)
        .search(Search::RandomWalk)
        .executions(2_000)
        .report(dekker(Release, Acquire));
    assert_eq!(explored.verdict(), "violated", "{explored}");
}

//! Models under weak memory: what loom is known to miss, and what it is known to report although it cannot be. Locations are
//! called after blocks of the heap, so the test has one that knows them.

use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::thread;

#[global_allocator]
static HEAP: linpoint_sched::Heap = linpoint_sched::Heap::new();

fn weakly(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.memory = linpoint::Memory::Rc11;
    builder.check(model);
}

/// What a model answers, in all its executions.
fn outcomes<T: Ord + Send + 'static>(model: impl Fn() -> T + Sync + Send + 'static) -> BTreeSet<T> {
    let all = StdArc::new(StdMutex::new(BTreeSet::new()));
    let inside = StdArc::clone(&all);
    weakly(move || {
        let outcome = model();
        linpoint_sched::untracked(|| inside.lock().expect("nobody panics").insert(outcome));
    });
    std::mem::take(&mut *all.lock().expect("nobody panics"))
}

#[test]
fn a_redundant_load_loses_no_outcome() {
    // loom #166
    let seen = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || {
            other.load(Relaxed);
            other.store(1, Relaxed);
        });
        let seen = x.load(Relaxed);
        thread.join().expect("no panic");
        seen
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

fn store_buffering(order: Ordering) -> BTreeSet<(usize, usize)> {
    let load = if order == Release { Acquire } else { order };
    outcomes(move || {
        let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (x2, y2) = (Arc::clone(&x), Arc::clone(&y));
        let thread = thread::spawn(move || {
            x2.store(1, order);
            y2.load(load)
        });
        y.store(1, order);
        let seen = x.load(load);
        (thread.join().expect("no panic"), seen)
    })
}

#[test]
fn seq_cst_is_seq_cst() {
    // loom #180
    assert_eq!(store_buffering(SeqCst), BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
    assert_eq!(store_buffering(Release), BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn a_swap_misses_no_store() {
    // loom #254
    let seen = outcomes(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || other.swap(1, AcqRel));
        x.store(2, Release);
        (thread.join().expect("no panic"), x.load(Relaxed))
    });
    assert_eq!(seen, BTreeSet::from([(0, 2), (2, 1)]));
}

#[test]
fn a_message_that_is_relaxed_is_a_race() {
    let passes = |order: Ordering| {
        std::panic::catch_unwind(|| {
            weakly(move || {
                let data = Arc::new((UnsafeCell::new(0), AtomicUsize::new(0)));
                let other = Arc::clone(&data);
                let thread = thread::spawn(move || {
                    // SAFETY: whether it is read meanwhile is what is asked.
                    other.0.with_mut(|value| unsafe { *value = 1 });
                    other.1.store(1, order);
                });
                if data.1.load(Acquire) == 1 {
                    // SAFETY: as above.
                    data.0.with(|value| assert_eq!(unsafe { *value }, 1));
                }
                thread.join().expect("no panic");
            });
        })
        .is_ok()
    };
    assert!(passes(Release));
    assert!(!passes(Relaxed));
}

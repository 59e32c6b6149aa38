//! Litmus shapes in Rust, each with its outcomes.

use std::collections::BTreeSet;

use linpoint_sched::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use linpoint_sched::atomic::{AtomicUsize, Ordering, fence};
use linpoint_sched::thread;
use linpoint_sched::weak::Model;

use crate::outcomes;

fn set<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    all.into_iter().collect()
}

/// Runs two threads and returns what they return.
fn both<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let a = scope.spawn(a);
        let b = scope.spawn(b);
        (a.join().expect("no panic"), b.join().expect("no panic"))
    })
}

fn store_buffering(store: Ordering, load: Ordering) -> BTreeSet<(usize, usize)> {
    outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        both(
            || {
                x.store(1, store);
                y.load(load)
            },
            || {
                y.store(1, store);
                x.load(load)
            },
        )
    })
}

#[test]
fn store_buffering_is_seen_unless_all_is_seq_cst() {
    let all = set([(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(store_buffering(Relaxed, Relaxed), all);
    assert_eq!(store_buffering(Release, Acquire), all);
    assert_eq!(store_buffering(SeqCst, SeqCst), set([(0, 1), (1, 0), (1, 1)]));
}

fn message_passing(store: Ordering, load: Ordering) -> BTreeSet<(usize, usize)> {
    outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ((), seen) = both(
            || {
                x.store(1, Relaxed);
                y.store(1, store);
            },
            || (y.load(load), x.load(Relaxed)),
        );
        seen
    })
}

#[test]
fn a_message_needs_release_and_acquire() {
    assert_eq!(message_passing(Release, Acquire), set([(0, 0), (0, 1), (1, 1)]));
    assert_eq!(message_passing(Relaxed, Acquire), set([(0, 0), (0, 1), (1, 0), (1, 1)]));
    assert_eq!(message_passing(Release, Relaxed), set([(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn fences_pass_a_message_too() {
    let seen = outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ((), seen) = both(
            || {
                x.store(1, Relaxed);
                fence(Release);
                y.store(1, Relaxed);
            },
            || {
                let flag = y.load(Relaxed);
                fence(Acquire);
                (flag, x.load(Relaxed))
            },
        );
        seen
    });
    assert_eq!(seen, set([(0, 0), (0, 1), (1, 1)]));
}

fn iriw(load: Ordering, store: Ordering) -> BTreeSet<[usize; 4]> {
    outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| x.store(1, store));
            scope.spawn(|| y.store(1, store));
            let a = scope.spawn(|| (x.load(load), y.load(load)));
            let b = scope.spawn(|| (y.load(load), x.load(load)));
            let (a, b) = (a.join().expect("no panic"), b.join().expect("no panic"));
            [a.0, a.1, b.0, b.1]
        })
    })
}

#[test]
fn independent_writes_are_seen_in_two_orders_unless_seq_cst() {
    assert_eq!(iriw(Acquire, Release).len(), 16);
    let ordered = iriw(SeqCst, SeqCst);
    assert_eq!(ordered.len(), 15);
    assert!(!ordered.contains(&[1, 0, 1, 0]));
}

#[test]
fn two_writes_each() {
    let seen = |order| {
        outcomes(Model::Rc11, || {
            let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
            both(
                || {
                    x.store(1, order);
                    y.store(2, order);
                },
                || {
                    y.store(1, order);
                    x.store(2, order);
                },
            );
            (x.load(Relaxed), y.load(Relaxed))
        })
    };
    assert_eq!(seen(Relaxed), set([(1, 1), (1, 2), (2, 1), (2, 2)]));
    assert_eq!(seen(Release), set([(1, 1), (1, 2), (2, 1), (2, 2)]));
    assert_eq!(seen(SeqCst), set([(1, 2), (2, 1), (2, 2)]));
}

#[test]
fn a_store_of_the_same_thread_does_not_continue_a_release_sequence() {
    let seen = outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ((), seen) = both(
            || {
                x.store(1, Relaxed);
                y.store(1, Release);
                y.store(2, Relaxed);
            },
            || (y.load(Acquire), x.load(Relaxed)),
        );
        seen
    });
    assert_eq!(seen, set([(0, 0), (0, 1), (1, 1), (2, 0), (2, 1)]));
}

#[test]
fn a_read_modify_write_continues_a_release_sequence() {
    let seen = outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                x.store(1, Relaxed);
                y.store(1, Release);
            });
            scope.spawn(|| y.compare_exchange(1, 2, Relaxed, Relaxed).is_ok());
            let seen = scope.spawn(|| (y.load(Acquire), x.load(Relaxed)));
            seen.join().expect("no panic")
        })
    });
    assert_eq!(seen, set([(0, 0), (0, 1), (1, 1), (2, 1)]));
}

#[test]
fn a_reader_sees_both_values_of_another_thread() {
    // loom #166
    let seen = outcomes(Model::Rc11, || {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                x.load(Relaxed);
                x.store(1, Relaxed);
            });
            x.load(Relaxed)
        })
    });
    assert_eq!(seen, set([0, 1]));
}

#[test]
fn a_swap_and_a_store_cannot_both_come_first() {
    // loom #254
    let seen = outcomes(Model::Rc11, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        both(
            || {
                x.swap(1, SeqCst);
                y.load(SeqCst)
            },
            || {
                y.store(1, SeqCst);
                x.load(SeqCst)
            },
        )
    });
    assert_eq!(seen, set([(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn read_modify_writes_are_atomic() {
    for order in [Relaxed, AcqRel, SeqCst] {
        let seen = outcomes(Model::Rc11, || {
            let x = AtomicUsize::new(0);
            let mut seen: Vec<usize> = thread::scope(|scope| {
                let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| x.fetch_add(1, order))).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            seen.sort_unstable();
            seen.push(x.into_inner());
            seen
        });
        assert_eq!(seen, set([vec![0, 1, 2, 3]]));
    }
}

#[test]
fn sequential_consistency_is_a_model_too() {
    let seen = outcomes(Model::Sc, || {
        let (x, y) = (AtomicUsize::new(0), AtomicUsize::new(0));
        both(
            || {
                x.store(1, Relaxed);
                y.load(Relaxed)
            },
            || {
                y.store(1, Relaxed);
                x.load(Relaxed)
            },
        )
    });
    assert_eq!(seen, set([(0, 1), (1, 0), (1, 1)]));
}

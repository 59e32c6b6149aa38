//! What std offers beside atomics, under a weak memory model: it orders what std promises, and nothing is lost.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use linpoint_sched::atomic::AtomicUsize;
use linpoint_sched::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use linpoint_sched::cell::UnsafeCell;
use linpoint_sched::sync::mpsc::{channel, sync_channel};
use linpoint_sched::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak};
use linpoint_sched::thread;
use linpoint_sched::weak::{Model, Plan, explore};
use linpoint_sched::{Failure, Limits};

use crate::{all, all_as, outcomes};

fn set<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    all.into_iter().collect()
}

/// A number that is raced on if nothing orders its users.
struct Plain(UnsafeCell<usize>);

// SAFETY: whether it is used by one at a time is what is asked.
unsafe impl Sync for Plain {}
// SAFETY: as above.
unsafe impl Send for Plain {}

impl Plain {
    const fn new() -> Plain {
        Plain(UnsafeCell::new(0))
    }

    fn set(&self, value: usize) {
        // SAFETY: as above; the threads are fibers of one OS thread.
        self.0.with_mut(|number| unsafe { *number = value });
    }

    fn get(&self) -> usize {
        // SAFETY: as above.
        self.0.with(|number| unsafe { *number })
    }
}

#[test]
fn a_mutex_has_as_many_graphs_as_orders_of_its_sections() {
    let mutex = || {
        let (lock, plain) = (Mutex::new(()), Plain::new());
        let three = || {
            for _ in 0..3 {
                let _held = lock.lock().expect("nobody panics");
                plain.set(plain.get() + 1);
            }
        };
        thread::scope(|scope| {
            scope.spawn(three);
            scope.spawn(three);
        });
        assert_eq!(plain.get(), 6);
    };
    let explored = explore(&mutex, &Plan::of(Model::Rc11), &mut |_| ControlFlow::Continue(()));
    assert!(explored.found.is_none() && explored.is_complete(), "{explored:?}");
    assert_eq!(explored.report.complete, 20);
}

#[test]
fn a_read_write_lock_orders_writers_and_readers() {
    let seen = outcomes(Model::Rc11, || {
        let (lock, plain) = (RwLock::new(()), Plain::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let _held = lock.write().expect("nobody panics");
                plain.set(1);
            });
            let read = || {
                let _held = lock.read().expect("nobody panics");
                plain.get()
            };
            let (a, b) = (scope.spawn(read), scope.spawn(read));
            (a.join().expect("no panic"), b.join().expect("no panic"))
        })
    });
    assert_eq!(seen, set([(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn a_condition_variable_loses_no_wakeup_and_finds_those_that_are_lost() {
    let right = outcomes(Model::Rc11, || {
        let (lock, ready) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *lock.lock().expect("nobody panics") = true;
                ready.notify_one();
            });
            let held = lock.lock().expect("nobody panics");
            *ready.wait_while(held, |is_set| !*is_set).expect("nobody panics")
        })
    });
    assert_eq!(right, set([true]));
    // The flag is set without the lock, between the look at it and the wait.
    let wrong = all(Model::Rc11, || {
        let (lock, flag, ready) = (Mutex::new(()), AtomicUsize::new(0), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                flag.store(1, Relaxed);
                ready.notify_one();
            });
            let held = lock.lock().expect("nobody panics");
            if flag.load(Relaxed) == 0 {
                drop(ready.wait(held));
            }
        });
    });
    assert!(matches!(wrong.explored.found, Some((Failure::Deadlock { .. }, _))), "{:?}", wrong.explored);
}

#[test]
fn a_message_carries_what_happened_before_it() {
    let seen = outcomes(Model::Rc11, || {
        let plain = Plain::new();
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            let plain = &plain;
            scope.spawn(move || {
                plain.set(7);
                sender.send(1).expect("it is received");
            });
            (receiver.recv().ok(), plain.get(), receiver.recv().is_err())
        })
    });
    assert_eq!(seen, set([(Some(1), 7, true)]));
    let seen = outcomes(Model::Rc11, || {
        let (sender, receiver) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || (sender.try_send(1).is_ok(), sender.try_send(2).is_ok()));
            (receiver.recv().ok(), receiver.try_recv().ok())
        })
    });
    assert_eq!(seen, set([(Some(1), None), (Some(1), Some(2))]));
}

#[test]
fn senders_are_not_ordered_with_each_other() {
    let raced = all(Model::Rc11, || {
        let plain = Plain::new();
        let (sender, receiver) = channel();
        let other = sender.clone();
        thread::scope(|scope| {
            let plain = &plain;
            scope.spawn(move || {
                plain.set(1);
                let _ = sender.send(1);
            });
            scope.spawn(move || {
                let _ = other.send(2);
                plain.set(2);
            });
            drop(receiver);
        });
    });
    assert!(matches!(raced.explored.found, Some((Failure::DataRace { .. }, _))), "{:?}", raced.explored);
}

#[test]
fn unpark_happens_before_the_return_of_park() {
    let seen = outcomes(Model::Rc11, || {
        let plain = Plain::new();
        let main = thread::current();
        thread::scope(|scope| {
            let plain = &plain;
            scope.spawn(move || {
                plain.set(3);
                main.unpark();
            });
            thread::park();
            plain.get()
        })
    });
    assert_eq!(seen, set([3]));
}

#[test]
fn what_is_made_once_is_there_for_all() {
    let seen = outcomes(Model::Rc11, || {
        let (once, plain) = (Once::new(), Plain::new());
        let cell = OnceLock::new();
        let get = || {
            once.call_once(|| plain.set(5));
            (plain.get(), *cell.get_or_init(|| 6))
        };
        thread::scope(|scope| {
            let (a, b) = (scope.spawn(get), scope.spawn(get));
            (a.join().expect("no panic"), b.join().expect("no panic"))
        })
    });
    assert_eq!(seen, set([((5, 6), (5, 6))]));
    let seen = outcomes(Model::Rc11, || {
        let lazy = LazyLock::new(|| 8);
        thread::scope(|scope| {
            let (a, b) = (scope.spawn(|| *lazy), scope.spawn(|| *lazy));
            (a.join().expect("no panic"), b.join().expect("no panic"))
        })
    });
    assert_eq!(seen, set([(8, 8)]));
}

#[test]
fn a_barrier_orders_what_is_before_it() {
    let seen = outcomes(Model::Rc11, || {
        let (barrier, one, two) = (Barrier::new(2), Plain::new(), Plain::new());
        thread::scope(|scope| {
            let a = scope.spawn(|| {
                one.set(1);
                (barrier.wait().is_leader(), two.get())
            });
            let b = scope.spawn(|| {
                two.set(2);
                (barrier.wait().is_leader(), one.get())
            });
            (a.join().expect("no panic"), b.join().expect("no panic"))
        })
    });
    assert_eq!(seen, set([((true, 2), (false, 1)), ((false, 2), (true, 1))]));
}

#[test]
fn the_last_reference_comes_after_all_others() {
    struct Looks(Plain);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.set(9);
        }
    }
    let seen = outcomes(Model::Rc11, || {
        let shared = Arc::new(Looks(Plain::new()));
        let other = Arc::clone(&shared);
        let weak: Weak<Looks> = Arc::downgrade(&shared);
        let thread = thread::spawn(move || other.0.get());
        let seen = shared.0.get();
        drop(shared);
        let upgraded = weak.upgrade().is_some();
        (seen, thread.join().expect("no panic"), upgraded)
    });
    assert_eq!(seen, set([(0, 0, false), (0, 0, true)]));
}

linpoint_sched::thread_local! {
    static OWN: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
}

#[test]
fn each_thread_has_its_own_values() {
    let seen = outcomes(Model::Rc11, || {
        OWN.set(5);
        let other = thread::spawn(|| OWN.replace(2)).join().expect("no panic");
        (OWN.get(), other)
    });
    assert_eq!(seen, set([(5, 1)]));
}

#[test]
fn what_has_the_atomic_to_itself_sees_the_last_write() {
    let seen = outcomes(Model::Rc11, || {
        let mut x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| x.store(1, Relaxed));
            scope.spawn(|| x.store(2, Relaxed));
        });
        let last = *x.get_mut();
        *x.get_mut() = 10;
        let again = thread::scope(|scope| scope.spawn(|| x.fetch_add(1, Relaxed)).join().expect("no panic"));
        (last, again, x.into_inner())
    });
    assert_eq!(seen, set([(1, 10, 11), (2, 10, 11)]));
}

#[test]
fn a_weak_exchange_fails_without_a_reason_only_where_that_is_asked_for() {
    let program = || {
        let x = AtomicUsize::new(0);
        x.compare_exchange_weak(0, 1, AcqRel, Acquire).is_ok()
    };
    assert_eq!(outcomes(Model::Rc11, program), set([true]));
    let limits = Limits { spurious: 1, ..Limits::default() };
    let plan = Plan { limits, ..Plan::of(Model::Rc11) };
    assert_eq!(all_as(&plan, program).outcomes, set([false, true]));
}

#[test]
fn a_compare_exchange_that_fails_has_its_own_ordering() {
    let seen = |failure| {
        outcomes(Model::Rc11, || {
            let (x, flag) = (AtomicUsize::new(0), AtomicUsize::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    x.store(1, Relaxed);
                    flag.store(1, linpoint_sched::atomic::Ordering::Release);
                });
                let found = flag.compare_exchange(5, 6, AcqRel, failure).unwrap_or_else(|found| found);
                (found, x.load(Relaxed))
            })
        })
    };
    assert_eq!(seen(Acquire), set([(0, 0), (0, 1), (1, 1)]));
    assert_eq!(seen(Relaxed), set([(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn a_panic_stops_its_thread_and_no_other() {
    let all = all(Model::Rc11, || {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(x.load(Relaxed), 1));
            scope.spawn(|| x.store(1, Relaxed));
        });
    });
    assert!(matches!(all.explored.found, Some((Failure::Panic { .. }, _))), "{:?}", all.explored);
    assert_eq!((all.explored.report.failed, all.explored.report.complete), (1, 1));
}

#[test]
fn memory_that_is_used_after_its_free_is_found() {
    let all = all(Model::Rc11, || {
        let x: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        let other = thread::spawn(move || x.load(Relaxed));
        // SAFETY: it is not; that is what is to be found.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(x).cast_mut()) });
        let _ = other.join();
    });
    assert!(matches!(all.explored.found, Some((Failure::UseAfterFree(_), _))), "{:?}", all.explored.found);
}

#[test]
fn what_nothing_published_is_a_race() {
    let all = all(Model::Rc11, || {
        let place = linpoint_sched::atomic::AtomicPtr::<AtomicUsize>::default();
        thread::scope(|scope| {
            scope.spawn(|| place.store(Box::into_raw(Box::new(AtomicUsize::new(1))), Relaxed));
            scope.spawn(|| {
                let there = place.load(Relaxed);
                // SAFETY: it is never freed.
                (!there.is_null()).then(|| unsafe { &*there }.load(Relaxed))
            });
        });
    });
    assert!(matches!(all.explored.found, Some((Failure::Violation(_), _))), "{:?}", all.explored.found);
}

#[test]
fn locations_of_different_sizes_are_refused() {
    #[repr(align(8))]
    struct Bytes([linpoint_sched::atomic::AtomicU8; 8]);
    let all = all(Model::Rc11, || {
        let bytes = Bytes([const { linpoint_sched::atomic::AtomicU8::new(0) }; 8]);
        bytes.0[1].store(1, Relaxed);
        // SAFETY: the bytes are aligned and live long enough.
        let whole = unsafe {
            linpoint_sched::atomic::AtomicU64::from_ptr(std::ptr::from_ref(&bytes.0).cast::<u64>().cast_mut())
        };
        whole.load(Relaxed)
    });
    assert!(all.explored.refused.is_some_and(|why| why.contains("overlap")));
}

//! `Mutex` and `RwLock`.

use std::sync::TryLockError;

use linpoint_sched::sync::{Mutex, RwLock};
use linpoint_sched::{Limits, thread};
use std::sync::Arc;

use crate::explore::{first_failure, outcomes, outcomes_with_panics, same_by_all};

#[test]
fn increments_under_a_lock_are_never_lost() {
    let found = outcomes(|| {
        let count = Arc::new(Mutex::new(0));
        let other = Arc::clone(&count);
        let child = thread::spawn(move || *other.lock().unwrap() += 1);
        *count.lock().unwrap() += 1;
        child.join().unwrap();
        *count.lock().unwrap()
    });
    assert_eq!(found.fine(), [2]);
    // Either thread takes the lock first; the other waits, and so does the join. Where the child was first, it ends before main
    // takes the lock, before main releases it, or after that.
    assert_eq!(found.schedules, 4);
}

#[test]
fn read_then_write_in_two_critical_sections_loses_one() {
    let found = outcomes(|| {
        let count = Arc::new(Mutex::new(0));
        let bump = |count: &Mutex<i32>| {
            let seen = *count.lock().unwrap();
            *count.lock().unwrap() = seen + 1;
        };
        let other = Arc::clone(&count);
        let child = thread::spawn(move || bump(&other));
        bump(&count);
        child.join().unwrap();
        *count.lock().unwrap()
    });
    assert_eq!(found.fine(), [1, 2]);
}

#[test]
fn locks_taken_crosswise_deadlock_with_their_holders_named() {
    let found = outcomes(|| {
        let a = Arc::new(Mutex::new(()));
        let b = Arc::new(Mutex::new(()));
        let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
        let child = thread::spawn(move || {
            let _b = b2.lock().unwrap();
            let _a = a2.lock().unwrap();
        });
        {
            let _a = a.lock().unwrap();
            let _b = b.lock().unwrap();
        }
        child.join().unwrap();
    });
    assert_eq!(found.failures.len(), 1, "{:?}", found.failures);
    let text = found.failures.keys().next().unwrap();
    assert!(text.starts_with("deadlock: thread 0 waits to lock at "), "{text}");
    assert!(text.contains(", held up by thread 1; thread 1 waits to lock at "), "{text}");
    assert!(text.ends_with(", held up by thread 0"), "{text}");
    assert!(!found.results.is_empty(), "and mostly it goes well");
}

#[test]
fn a_lock_taken_twice_waits_for_itself() {
    let failure = first_failure(|| {
        let lock = Mutex::new(());
        let _one = lock.lock().unwrap();
        let _two = lock.lock().unwrap();
    });
    let text = failure.unwrap().to_string();
    assert!(text.starts_with("deadlock: thread 0 waits to lock at "), "{text}");
    assert!(text.ends_with(", held up by thread 0"), "{text}");
}

#[test]
fn try_lock_goes_both_ways() {
    let found = outcomes(|| {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || drop(other.lock().unwrap()));
        let got = match lock.try_lock() {
            Ok(_) => "taken",
            Err(TryLockError::WouldBlock) => "held",
            Err(TryLockError::Poisoned(_)) => "poisoned",
        };
        child.join().unwrap();
        got
    });
    assert_eq!(found.fine(), ["held", "taken"]);
}

#[test]
fn a_panic_under_the_lock_poisons_it() {
    let found = outcomes_with_panics(|| {
        let lock = Arc::new(Mutex::new(1));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || {
            let mut guard = other.lock().unwrap();
            *guard = 2;
            panic!("on purpose");
        });
        let before = match lock.lock() {
            Ok(guard) => (*guard, false),
            Err(poisoned) => (*poisoned.into_inner(), true),
        };
        assert!(child.join().is_err());
        assert!(lock.is_poisoned());
        lock.clear_poison();
        assert_eq!(*lock.lock().unwrap(), 2);
        before
    });
    assert_eq!(found.fine(), [(1, false), (2, true)]);
}

#[test]
fn a_loop_that_polls_under_a_lock_waits_for_a_change() {
    let found = outcomes(|| {
        let lock = Arc::new(Mutex::new(false));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || *other.lock().unwrap() = true);
        while !*lock.lock().unwrap() {}
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn a_loop_that_polls_under_two_locks_waits_outside_both() {
    let found = outcomes(|| {
        let locks = Arc::new((Mutex::new(0), Mutex::new(false)));
        let other = Arc::clone(&locks);
        let child = thread::spawn(move || {
            let _outer = other.0.lock().unwrap();
            *other.1.lock().unwrap() = true;
        });
        loop {
            let outer = locks.0.lock().unwrap();
            let inner = locks.1.lock().unwrap();
            if *inner && *outer == 0 {
                break;
            }
        }
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn a_loop_that_tries_a_lock_waits_for_its_release() {
    let found = outcomes(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || drop(other.lock().unwrap()));
        while lock.try_lock().is_err() {
            thread::yield_now();
        }
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn readers_share_and_writers_do_not() {
    let found = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || {
            let guard = other.read().unwrap();
            other.try_write().is_ok() || *guard > 1
        });
        let shared = {
            let guard = lock.read().unwrap();
            *guard
        };
        let exclusive = lock.try_write().map(|mut guard| *guard += 1).is_ok();
        assert!(!child.join().unwrap(), "a reader keeps writers out");
        (shared, exclusive)
    });
    assert_eq!(found.fine(), [(0, false), (0, true)]);
}

#[test]
fn two_readers_are_inside_at_once() {
    let found = outcomes(|| {
        let lock = Arc::new(RwLock::new(()));
        let other = Arc::clone(&lock);
        let _reading = lock.read().unwrap();
        let child = thread::spawn(move || other.read().is_ok());
        child.join().unwrap()
    });
    assert_eq!(found.fine(), [true]);
}

#[test]
fn a_writer_waits_for_the_readers_by_name() {
    let text = first_failure(|| {
        let lock = Arc::new(RwLock::new(()));
        let other = Arc::clone(&lock);
        let _reading = lock.read().unwrap();
        thread::spawn(move || drop(other.write().unwrap())).join().unwrap();
    })
    .unwrap()
    .to_string();
    assert!(text.contains("thread 1 waits to lock at "), "{text}");
    assert!(text.ends_with(", held up by thread 0"), "{text}");
}

#[test]
fn a_panicking_writer_poisons_and_a_panicking_reader_does_not() {
    let found = outcomes_with_panics(|| {
        let lock = Arc::new(RwLock::new(()));
        let other = Arc::clone(&lock);
        let _ = thread::spawn(move || {
            let _reading = other.read().unwrap();
            panic!("on purpose");
        })
        .join();
        let after_reader = lock.is_poisoned();
        let other = Arc::clone(&lock);
        let _ = thread::spawn(move || {
            let _writing = other.write().unwrap();
            panic!("on purpose");
        })
        .join();
        (after_reader, lock.read().is_err())
    });
    assert_eq!(found.fine(), [(false, true)]);
}

#[test]
fn outside_an_exploration_both_lock_real_threads() {
    static COUNT: Mutex<u32> = Mutex::new(0);
    static SHARED: RwLock<u32> = RwLock::new(0);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(|| {
                for _ in 0..1000 {
                    *COUNT.lock().unwrap() += 1;
                    *SHARED.write().unwrap() += 1;
                    assert!(*SHARED.read().unwrap() > 0);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((*COUNT.lock().unwrap(), *SHARED.read().unwrap()), (4000, 4000));
    assert!(COUNT.try_lock().is_ok() && SHARED.try_write().is_ok());
    assert_eq!(format!("{COUNT:?}"), "Mutex { data: 4000, poisoned: false, .. }");
    assert_eq!(format!("{SHARED:?}"), "RwLock { data: 4000, poisoned: false, .. }");
    let _ = thread::spawn(|| {
        let _guard = COUNT.lock();
        panic!("on purpose");
    })
    .join();
    assert!(COUNT.lock().is_err());
    COUNT.clear_poison();
    assert!(COUNT.lock().is_ok());
    let mut alone = Mutex::new(vec![1]);
    alone.get_mut().unwrap().push(2);
    assert_eq!(alone.into_inner().unwrap(), [1, 2]);
}

/// Std documents it: a reader may wait for a writer that waits for readers, among them the same thread.
#[test]
fn reading_twice_beside_a_writer_can_deadlock() {
    let twice = || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || *other.write().unwrap() = 1);
        let seen = {
            let first = lock.read().unwrap();
            let second = lock.read().unwrap();
            (*first, *second)
        };
        child.join().unwrap();
        seen
    };
    let found = outcomes(twice);
    assert_eq!(found.failure_names(), ["deadlock"]);
    assert_eq!(found.set(), [(0, 0), (1, 1)]);
    same_by_all(&Limits::default(), twice);
    // Through another thread, which the reader waits for.
    let through = || {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() = 1);
            let _first = lock.read().unwrap();
            scope.spawn(|| *lock.read().unwrap()).join().unwrap()
        })
    };
    assert!(same_by_all(&Limits::default(), through).contains("deadlock"));
    // Who does not wait is told that it would have to.
    let tries = || {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() = 1);
            let _first = lock.read().unwrap();
            lock.try_read().is_ok()
        })
    };
    assert_eq!(outcomes(tries).fine(), [false, true]);
    same_by_all(&Limits::default(), tries);
    // Readers on several threads and two writers, each of which goes on.
    let fine = same_by_all(&Limits::default(), || {
        let lock = RwLock::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.write().unwrap() += 1);
            scope.spawn(|| *lock.write().unwrap() += 2);
            *lock.read().unwrap()
        })
    });
    assert_eq!(fine.len(), 4, "{fine:?}");
}

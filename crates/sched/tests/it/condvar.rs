//! `Condvar`.

use std::time::Duration;

use linpoint_sched::sync::{Condvar, Mutex};
use linpoint_sched::thread;
use std::sync::Arc;

use crate::explore::outcomes;

const SOON: Duration = Duration::from_millis(1);

#[test]
fn a_wait_in_a_loop_is_always_woken() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let child = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            ready = pair.1.wait(ready).unwrap();
        }
        drop(ready);
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn a_flag_set_outside_the_lock_loses_the_wakeup() {
    use linpoint_sched::atomic::{AtomicBool, Ordering::SeqCst};
    let found = outcomes(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            other.2.store(true, SeqCst);
            other.1.notify_one();
        });
        let mut guard = shared.0.lock().unwrap();
        while !shared.2.load(SeqCst) {
            guard = shared.1.wait(guard).unwrap();
        }
        drop(guard);
        child.join().unwrap();
    });
    assert_eq!(found.failure_names(), ["deadlock"]);
    assert!(found.failures.keys().next().unwrap().contains("thread 0 waits to wake up at "));
    assert_eq!(found.set(), [()]);
}

/// Two wait, and as many notifications as `notify` makes come once both do. Who is woken?
fn woken(notify: fn(&Condvar)) -> Vec<Vec<usize>> {
    let found = outcomes(move || {
        let shared = Arc::new((Mutex::new((0, Vec::new(), false)), Condvar::new()));
        let children: Vec<_> = (0..2)
            .map(|index| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let mut guard = shared.0.lock().unwrap();
                    guard.0 += 1;
                    guard = shared.1.wait(guard).unwrap();
                    if !guard.2 {
                        guard.1.push(index);
                    }
                })
            })
            .collect();
        let seen = loop {
            let guard = shared.0.lock().unwrap();
            if guard.0 == 2 {
                drop(guard);
                notify(&shared.1);
                let mut guard = shared.0.lock().unwrap();
                let seen = guard.1.clone();
                guard.2 = true;
                shared.1.notify_all();
                break seen;
            }
        };
        for child in children {
            child.join().unwrap();
        }
        seen
    });
    found.fine()
}

#[test]
fn notify_one_wakes_any_one() {
    assert_eq!(woken(Condvar::notify_one), [vec![], vec![0], vec![1]]);
}

#[test]
fn two_notifications_wake_both_and_in_any_order() {
    let twice = |condvar: &Condvar| {
        condvar.notify_one();
        condvar.notify_one();
    };
    let any = [vec![], vec![0], vec![0, 1], vec![1], vec![1, 0]];
    assert_eq!(woken(twice), any);
    assert_eq!(woken(Condvar::notify_all), any);
}

#[test]
fn a_notification_is_not_kept_for_later() {
    let found = outcomes(|| {
        let pair = (Mutex::new(()), Condvar::new());
        pair.1.notify_one();
        pair.1.notify_all();
        drop(pair.1.wait(pair.0.lock().unwrap()).unwrap());
    });
    assert_eq!(found.failure_names(), ["deadlock"]);
    assert!(found.results.is_empty());
}

#[test]
fn one_notification_never_wakes_two() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        for _ in 0..2 {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                let mut guard = pair.1.wait(pair.0.lock().unwrap()).unwrap();
                *guard += 1;
                assert!(*guard < 2, "woken twice");
            });
        }
        pair.1.notify_one();
    });
    // Somebody is always left behind, and no assertion ever fails.
    assert_eq!(found.failure_names(), ["leaked threads"]);
    assert!(found.results.is_empty());
}

#[test]
fn a_timeout_comes_at_any_time() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let child = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair.1.wait_timeout(guard, SOON).unwrap();
        let seen = (*guard, result.timed_out());
        drop(guard);
        child.join().unwrap();
        seen
    });
    assert_eq!(found.fine(), [(false, true), (true, false), (true, true)]);
}

#[test]
fn a_loop_around_a_timeout_ends() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let child = thread::spawn(move || *other.0.lock().unwrap() = true);
        let mut guard = pair.0.lock().unwrap();
        while !*guard {
            guard = pair.1.wait_timeout(guard, SOON).unwrap().0;
        }
        drop(guard);
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn wait_while_and_wait_timeout_while() {
    let found = outcomes(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&pair);
        let child = thread::spawn(move || {
            *other.0.lock().unwrap() = 1;
            other.1.notify_all();
        });
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair.1.wait_timeout_while(guard, SOON, |value| *value == 0).unwrap();
        assert_eq!(result.timed_out(), *guard == 0);
        let early = *guard;
        let guard = pair.1.wait_while(guard, |value| *value == 0).unwrap();
        assert_eq!(*guard, 1);
        drop(guard);
        child.join().unwrap();
        early
    });
    assert_eq!(found.fine(), [0, 1]);
}

#[test]
fn outside_an_exploration_it_wakes_real_threads() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&pair);
    let child = thread::spawn(move || {
        let guard = other.0.lock().unwrap();
        *other.1.wait_while(guard, |value| *value == 0).unwrap()
    });
    *pair.0.lock().unwrap() = 7;
    pair.1.notify_all();
    assert_eq!(child.join().unwrap(), 7);
    let guard = pair.0.lock().unwrap();
    let (guard, result) = pair.1.wait_timeout(guard, SOON).unwrap();
    assert!(result.timed_out() && *guard == 7);
    let (guard, result) = pair.1.wait_timeout_while(guard, SOON, |value| *value == 7).unwrap();
    assert!(result.timed_out());
    drop(guard);
}

//! Failures without a reason: `compare_exchange_weak`, and waits for a condition variable.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Mutex as StdMutex;

use linpoint_sched::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use linpoint_sched::explore::{Covered, Plan, Search, explore};
use linpoint_sched::sync::{Condvar, Mutex};
use linpoint_sched::{Limits, thread};
use std::sync::Arc;

use crate::explore::{Outcomes, outcomes_within, same_by_all};

fn outcomes<T: Ord + Clone + std::fmt::Debug>(spurious: u32, program: impl Fn() -> T) -> Outcomes<T> {
    outcomes_within(Limits { spurious, ..Limits::default() }, program)
}

/// How many of two tries to swap 0 for 1 and 1 for 2 failed.
fn two_tries() -> u32 {
    let shared = AtomicU32::new(0);
    let failed = |from| u32::from(shared.compare_exchange_weak(from, from + 1, SeqCst, SeqCst).is_err());
    failed(0) + failed(shared.load(SeqCst))
}

#[test]
fn a_weak_exchange_fails_as_often_as_allowed() {
    assert_eq!(outcomes(0, two_tries).fine(), [0]);
    assert_eq!(outcomes(1, two_tries).fine(), [0, 1]);
    assert_eq!(outcomes(2, two_tries).fine(), [0, 1, 2]);
}

#[test]
fn an_exchange_that_is_not_weak_does_not_fail() {
    let found = outcomes(2, || {
        let shared = AtomicU32::new(0);
        shared.compare_exchange(0, 1, SeqCst, SeqCst)
    });
    assert_eq!(found.fine(), [Ok(0)]);
}

#[test]
fn a_loop_around_a_weak_exchange_is_fine() {
    let found = outcomes(2, || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || other.fetch_update(SeqCst, SeqCst, |now| Some(now + 1)).unwrap());
        let mut now = shared.load(SeqCst);
        while let Err(seen) = shared.compare_exchange_weak(now, now + 1, SeqCst, SeqCst) {
            now = seen;
        }
        child.join().unwrap();
        shared.load(SeqCst)
    });
    assert_eq!(found.fine(), [2]);
}

/// Waits once, and looks whether it was for what it waited for.
fn hasty() -> bool {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let child = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    if !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    let seen = *ready;
    drop(ready);
    child.join().unwrap();
    seen
}

#[test]
fn a_wait_wakes_up_without_a_reason() {
    assert_eq!(outcomes(0, hasty).fine(), [true]);
    assert_eq!(outcomes(1, hasty).fine(), [false, true]);
}

#[test]
fn what_nobody_notifies_still_waits_for_ever() {
    let found = outcomes(1, || {
        let pair = (Mutex::new(()), Condvar::new());
        let guard = pair.0.lock().unwrap();
        drop(pair.1.wait(guard));
    });
    assert_eq!(found.failure_names(), ["deadlock"]);
    assert_eq!(found.set(), [()], "and it may wake up");
}

/// Every complete search comes to the same results.
#[test]
fn searches_agree() {
    let results = |search: Search, program: fn() -> u32| {
        let all = StdMutex::new(BTreeSet::new());
        let limits = Limits { spurious: 2, ..Limits::default() };
        let plan = Plan { search, limits, time: None, ..Plan::default() };
        let body = || {
            let result = program();
            all.lock().unwrap().insert(result);
        };
        let coverage = explore(&body, &plan, &mut |_| ControlFlow::Continue(()));
        assert_eq!(coverage.covered, Covered::Every, "{coverage}");
        all.into_inner().unwrap()
    };
    let programs: [fn() -> u32; 3] = [
        two_tries,
        || u32::from(hasty()),
        || {
            let shared = Arc::new(AtomicU32::new(0));
            let other = Arc::clone(&shared);
            let tried = move |shared: &AtomicU32, bit: u32| {
                let now = shared.load(SeqCst);
                u32::from(shared.compare_exchange_weak(now, now | bit, SeqCst, SeqCst).is_ok())
            };
            let child = thread::spawn(move || tried(&other, 1));
            let mine = tried(&shared, 2);
            let yours = child.join().unwrap();
            shared.load(SeqCst) << 2 | mine << 1 | yours
        },
    ];
    for program in programs {
        let all = results(Search::Dfs, program);
        assert!(all.len() > 1);
        for search in [Search::Dpor, Search::RaceReversal, Search::Preemptions(9)] {
            assert_eq!(results(search, program), all, "{search:?}");
        }
    }
}

#[test]
fn a_thread_that_parks_may_go_on_without_a_reason() {
    let program = || {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, parent) = (Arc::clone(&flag), thread::current());
        let child = thread::spawn(move || {
            other.store(true, SeqCst);
            parent.unpark();
        });
        thread::park();
        let seen = flag.load(SeqCst);
        child.join().unwrap();
        seen
    };
    assert_eq!(outcomes(0, program).fine(), [true]);
    assert_eq!(outcomes(1, program).fine(), [false, true]);
    same_by_all(&Limits { spurious: 2, ..Limits::default() }, program);
}

/// A wait with a timeout may wake up without a reason too, and then its time is not up.
#[test]
fn a_wait_with_a_timeout_wakes_up_without_a_reason() {
    let program = |notifies: bool| {
        move || {
            let pair = Arc::new((Mutex::new(()), Condvar::new()));
            let other = Arc::clone(&pair);
            let guard = pair.0.lock().unwrap();
            let child = thread::spawn(move || {
                if notifies {
                    other.1.notify_one();
                }
            });
            let timed_out =
                pair.1.wait_timeout(guard, std::time::Duration::from_secs(1)).unwrap().1.timed_out();
            child.join().unwrap();
            timed_out
        }
    };
    assert_eq!(outcomes(0, program(false)).fine(), [true]);
    for notifies in [false, true] {
        let limits = Limits { spurious: 1, ..Limits::default() };
        assert_eq!(outcomes_within(limits.clone(), program(notifies)).fine(), [false, true]);
        same_by_all(&limits, program(notifies));
    }
    let looked = || {
        let (lock, condvar) = (Mutex::new(()), Condvar::new());
        let looks = std::cell::Cell::new(0);
        let waits = |_: &mut ()| looks.replace(looks.get() + 1) < 3;
        let guard = lock.lock().unwrap();
        let second = std::time::Duration::from_secs(1);
        let timed_out = condvar.wait_timeout_while(guard, second, waits).unwrap().1.timed_out();
        (looks.get(), timed_out)
    };
    let limits = Limits { spurious: 2, ..Limits::default() };
    // The fourth look says that there is nothing to wait for.
    assert_eq!(outcomes_within(limits, looked).fine(), [(2, true), (3, true), (4, false)]);
}

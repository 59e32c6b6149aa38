//! Loops that wait for others: what fair schedules show, and that they come to an end.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use linpoint_sched::atomic::AtomicU32;
use linpoint_sched::explore::{Covered, Plan, Search, explore};
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::sync::{Arc, Condvar, Mutex, RwLock};
use linpoint_sched::{Ending, Execution, Failure, Limits, hint, thread};
use std::sync::atomic::Ordering::SeqCst;

const SOON: Duration = Duration::from_millis(1);

/// What the runs of a search come to, and the first failure.
fn search(search: Search, program: &dyn Fn() -> u32) -> (BTreeSet<u32>, Option<Failure>) {
    let slot = RefCell::new(0);
    let body = || *slot.borrow_mut() = program();
    let plan = Plan { search, time: None, ..Plan::default() };
    let mut found = BTreeSet::new();
    let coverage = explore(&body, &plan, &mut |seen| {
        if matches!(seen.run.ending, Ending::Complete) {
            found.insert(*slot.borrow());
        }
        ControlFlow::Continue(())
    });
    assert!(coverage.found.is_some() || coverage.covered == Covered::Every, "{coverage:?}");
    (found, coverage.found.map(|found| found.failure))
}

const SEARCHES: [Search; 4] =
    [Search::Dfs, Search::Dpor, Search::RaceReversal, Search::Preemptions(u32::MAX)];

/// Every search comes to these results, and to nothing else.
#[track_caller]
fn comes_to(results: &[u32], program: impl Fn() -> u32) {
    for walk in SEARCHES {
        let (found, failure) = search(walk, &program);
        assert!(failure.is_none(), "{walk:?}: {failure:?}");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), results, "{walk:?}");
    }
}

/// Every search finds that it goes round for ever.
#[track_caller]
fn goes_round(program: impl Fn() -> u32) {
    for walk in SEARCHES {
        let (_, failure) = search(walk, &program);
        assert!(matches!(failure, Some(Failure::Livelock { .. })), "{walk:?}: {failure:?}");
    }
}

/// A thread that looks at what a lock protects in every turn, and a number of tries to get that lock, with the lock taken in
/// between: each failed try needs a turn of its own.
fn failed_tries(tries: usize, yields: bool) -> u32 {
    let lock = Arc::new(Mutex::new(0));
    let other = Arc::clone(&lock);
    let child = thread::spawn(move || {
        while *other.lock().unwrap() == 0 {
            if yields {
                thread::yield_now();
            }
        }
    });
    let mut failed = 0;
    for _ in 0..tries {
        failed += u32::from(lock.try_lock().is_err());
        drop(lock.lock().unwrap());
    }
    *lock.lock().unwrap() = 1;
    child.join().unwrap();
    failed
}

#[test]
fn a_turn_that_takes_a_lock_is_seen_by_whoever_tries() {
    comes_to(&[0, 1, 2], || failed_tries(2, true));
    comes_to(&[0, 1, 2], || failed_tries(2, false));
    comes_to(&[0, 1, 2, 3], || failed_tries(3, true));
}

#[test]
fn a_turn_that_reads_behind_a_lock_is_seen_by_whoever_tries_to_write() {
    comes_to(&[0, 1, 2], || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || while *other.read().unwrap() == 0 {});
        let mut failed = 0;
        for _ in 0..2 {
            failed += u32::from(lock.try_write().is_err());
            drop(lock.write().unwrap());
        }
        *lock.write().unwrap() = 1;
        child.join().unwrap();
        failed
    });
}

#[test]
fn a_turn_that_waits_in_vain_is_seen_by_whoever_tries() {
    comes_to(&[0, 1, 2], || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&pair);
        let child = thread::spawn(move || {
            let mut guard = other.0.lock().unwrap();
            while *guard == 0 {
                guard = other.1.wait_timeout(guard, SOON).unwrap().0;
            }
        });
        let mut failed = 0;
        for _ in 0..2 {
            failed += u32::from(pair.0.try_lock().is_err());
            drop(pair.0.lock().unwrap());
        }
        *pair.0.lock().unwrap() = 1;
        child.join().unwrap();
        failed
    });
}

#[test]
fn two_that_look_behind_a_lock_let_the_third_go() {
    comes_to(&[1], || {
        let lock = Arc::new(Mutex::new(0));
        let children: Vec<_> = (0..2)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || while *lock.lock().unwrap() == 0 {})
            })
            .collect();
        *lock.lock().unwrap() = 1;
        for child in children {
            child.join().unwrap();
        }
        *lock.lock().unwrap()
    });
}

#[test]
fn to_yield_in_straight_code_leaves_nothing_out() {
    comes_to(&[0, 1, 2], || {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let child = thread::spawn(move || {
            other.store(1, SeqCst);
            thread::yield_now();
            hint::spin_loop();
            other.store(2, SeqCst);
        });
        let seen = x.load(SeqCst);
        child.join().unwrap();
        seen
    });
}

#[test]
fn a_few_turns_with_yields_leave_nothing_out() {
    comes_to(&[0, 1, 2, 3], || {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let child = thread::spawn(move || {
            for turn in 1..=3 {
                other.store(turn, SeqCst);
                thread::yield_now();
            }
        });
        let seen = x.load(SeqCst);
        child.join().unwrap();
        seen
    });
}

#[test]
fn a_lock_that_is_swapped_is_fair() {
    comes_to(&[2], || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let add = |shared: &(AtomicU32, AtomicU32)| {
            while shared.0.swap(1, SeqCst) == 1 {
                thread::yield_now();
            }
            shared.1.fetch_add(1, SeqCst);
            shared.0.store(0, SeqCst);
        };
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || add(&other));
        add(&shared);
        child.join().unwrap();
        shared.1.load(SeqCst)
    });
}

#[test]
fn readers_that_add_and_take_back_are_fair() {
    comes_to(&[0, 1], || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            while other.0.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                thread::yield_now();
            }
            other.1.store(1, SeqCst);
            other.0.fetch_and(!1, SeqCst);
        });
        while shared.0.fetch_add(4, SeqCst) & 1 != 0 {
            shared.0.fetch_sub(4, SeqCst);
            hint::spin_loop();
        }
        let seen = shared.1.load(SeqCst);
        shared.0.fetch_sub(4, SeqCst);
        child.join().unwrap();
        seen
    });
}

#[test]
fn loops_that_count_their_turns_are_fair() {
    comes_to(&[1], || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || other.0.store(1, SeqCst));
        let mut turns = Vec::new();
        while shared.0.load(SeqCst) == 0 {
            turns.push(Box::new(turns.len()));
            shared.1.fetch_add(1, SeqCst);
            for _ in 0..turns.len().min(8) {
                hint::spin_loop();
            }
        }
        child.join().unwrap();
        shared.0.load(SeqCst)
    });
}

#[test]
fn a_loop_that_parks_for_some_time_is_fair() {
    comes_to(&[1], || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || other.0.store(1, SeqCst));
        while shared.0.load(SeqCst) == 0 {
            shared.1.fetch_add(1, SeqCst);
            thread::park_timeout(SOON);
        }
        child.join().unwrap();
        shared.0.load(SeqCst)
    });
}

#[test]
fn a_loop_that_writes_and_says_nothing_ends_all_the_same() {
    let (found, failure) = search(Search::Dpor, &|| {
        let shared = Arc::new(AtomicU32::new(1));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || other.store(0, SeqCst));
        while shared.swap(1, SeqCst) == 1 {}
        child.join().unwrap();
        7
    });
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [7]);
}

#[test]
fn whoever_goes_round_alone_for_ever_is_found() {
    goes_round(|| {
        let x = AtomicU32::new(0);
        while x.load(SeqCst) == 0 {
            hint::spin_loop();
        }
        0
    });
    goes_round(|| {
        let x = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&x);
        let _child = thread::spawn(move || other.store(2, SeqCst));
        while x.fetch_add(4, SeqCst) & 1 == 0 {
            x.fetch_sub(4, SeqCst);
            thread::yield_now();
        }
        0
    });
    goes_round(|| {
        let x = AtomicU32::new(0);
        while x.swap(0, SeqCst) == 0 {}
        0
    });
}

/// A loop that counts its turns is another after each, and ends where its counter overflows.
#[test]
fn whoever_counts_its_turns_is_not_said_to_go_round_for_ever() {
    for walk in SEARCHES {
        let counts = || {
            let x = AtomicU32::new(0);
            let mut turns = 0_u32;
            while x.swap(0, SeqCst) == 0 {
                turns = std::hint::black_box(turns + 1);
            }
            turns
        };
        let (_, failure) = search(walk, &counts);
        assert!(matches!(failure, Some(Failure::TooLong { .. })), "{walk:?}: {failure:?}");
    }
}

/// What goes on for long and changes all the while is no livelock: it may end, later than the limit.
#[test]
fn what_counts_does_not_go_round() {
    let short = |program: &dyn Fn()| {
        let limits = Limits { steps: 100, ..Limits::default() };
        let mut execution = Execution::new(limits);
        let run = execution.run(program, &mut Dfs::new());
        match &run.ending {
            Ending::Failed(failure) => failure.name(),
            _ => "nothing",
        }
    };
    let stores = || {
        let shared = AtomicU32::new(0);
        (0..101).for_each(|value| shared.store(value, SeqCst));
    };
    assert_eq!(short(&stores), "too many steps");
    let adds = || {
        let shared = AtomicU32::new(0);
        while shared.fetch_add(1, SeqCst) < 200 {}
    };
    assert_eq!(short(&adds), "too many steps");
    let there_and_back = || {
        let shared = AtomicU32::new(0);
        loop {
            shared.fetch_add(1, SeqCst);
            shared.fetch_sub(1, SeqCst);
        }
    };
    assert_eq!(short(&there_and_back), "livelock");
}

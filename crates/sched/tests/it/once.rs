//! `Once`, `OnceLock`, `LazyLock` and `Barrier`.

use linpoint_sched::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint_sched::sync::{Barrier, LazyLock, Once, OnceLock};
use linpoint_sched::thread;
use std::sync::Arc;

use crate::explore::{first_failure, outcomes, outcomes_with_panics};

#[test]
fn it_is_done_once_and_before_anybody_goes_on() {
    let found = outcomes(|| {
        let shared = Arc::new((Once::new(), AtomicU32::new(0)));
        let body = |shared: &(Once, AtomicU32)| {
            shared.0.call_once(|| {
                shared.1.fetch_add(1, SeqCst);
            });
            shared.1.load(SeqCst)
        };
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || body(&other));
        let mine = body(&shared);
        assert!(shared.0.is_completed());
        (mine, child.join().unwrap())
    });
    assert_eq!(found.fine(), [(1, 1)]);
}

#[test]
fn is_completed_goes_both_ways_and_wait_waits() {
    let found = outcomes(|| {
        let once = Arc::new(Once::new());
        let other = Arc::clone(&once);
        let child = thread::spawn(move || other.call_once(|| ()));
        let seen = once.is_completed();
        once.wait();
        assert!(once.is_completed());
        child.join().unwrap();
        seen
    });
    assert_eq!(found.fine(), [false, true]);
}

#[test]
fn an_attempt_that_panics_poisons() {
    let found = outcomes_with_panics(|| {
        let once = Arc::new(Once::new());
        let other = Arc::clone(&once);
        assert!(thread::spawn(move || other.call_once(|| panic!("on purpose"))).join().is_err());
        let other = Arc::clone(&once);
        assert!(thread::spawn(move || other.call_once(|| ())).join().is_err(), "poisoned");
        let mut poisoned = false;
        once.call_once_force(|state| poisoned = state.is_poisoned());
        once.call_once(|| unreachable!("it is done"));
        poisoned
    });
    assert_eq!(found.fine(), [true]);
}

#[test]
fn a_call_within_the_call_waits_for_itself() {
    let text = first_failure(|| {
        let once = Once::new();
        once.call_once(|| once.call_once(|| ()));
    })
    .unwrap()
    .to_string();
    assert!(text.starts_with("deadlock: thread 0 waits to call_once at "), "{text}");
    assert!(text.ends_with(", held up by thread 0"), "{text}");
}

#[test]
fn a_once_lock_is_written_by_one() {
    let found = outcomes(|| {
        let lock = Arc::new(OnceLock::new());
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || other.set(1));
        let early = lock.get().copied();
        let mine = *lock.get_or_init(|| 2);
        let theirs = child.join().unwrap();
        assert_eq!(theirs.is_ok(), mine == 1);
        assert_eq!(lock.wait(), &mine);
        (early, mine)
    });
    assert_eq!(found.fine(), [(None, 1), (None, 2), (Some(1), 1)]);
}

#[test]
fn a_lazy_value_is_made_once() {
    let found = outcomes(|| {
        let made = Arc::new(AtomicU32::new(0));
        let inside = Arc::clone(&made);
        let lazy = Arc::new(LazyLock::new(move || inside.fetch_add(1, SeqCst) + 10));
        let other = Arc::clone(&lazy);
        let child = thread::spawn(move || **other);
        let mine = **lazy;
        (mine, child.join().unwrap(), made.load(SeqCst))
    });
    assert_eq!(found.fine(), [(10, 10, 1)]);
}

#[test]
fn a_barrier_has_one_leader_and_nobody_leaves_early() {
    let found = outcomes(|| {
        let shared = Arc::new((Barrier::new(2), AtomicU32::new(0)));
        let body = |shared: &(Barrier, AtomicU32)| {
            shared.1.fetch_add(1, SeqCst);
            let leads = shared.0.wait().is_leader();
            assert_eq!(shared.1.load(SeqCst), 2, "somebody left early");
            // And again: it can be used more than once.
            shared.0.wait();
            leads
        };
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || body(&other));
        let mine = body(&shared);
        (mine, child.join().unwrap())
    });
    assert_eq!(found.fine(), [(false, true), (true, false)]);
}

#[test]
fn a_barrier_for_too_many_is_a_deadlock() {
    let text = first_failure(|| {
        let barrier = Arc::new(Barrier::new(3));
        let other = Arc::clone(&barrier);
        let child = thread::spawn(move || other.wait().is_leader());
        barrier.wait();
        child.join().unwrap();
    })
    .unwrap()
    .to_string();
    assert!(text.contains("waits to leave barrier at"), "{text}");
}

#[test]
fn outside_an_exploration_they_are_real() {
    static ONCE: Once = Once::new();
    static LOCK: OnceLock<u32> = OnceLock::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| 5);
    static BARRIER: Barrier = Barrier::new(2);
    let children: Vec<_> = (0..2)
        .map(|index| {
            thread::spawn(move || {
                let leads = BARRIER.wait().is_leader();
                ONCE.call_once(|| ());
                (leads, *LOCK.get_or_init(|| index), *LAZY)
            })
        })
        .collect();
    let seen: Vec<_> = children.into_iter().map(|child| child.join().unwrap()).collect();
    assert_eq!(seen.iter().filter(|one| one.0).count(), 1);
    assert_eq!(seen[0].1, seen[1].1);
    assert_eq!((seen[0].2, seen[1].2), (5, 5));
    assert!(ONCE.is_completed());
    let once = Once::new();
    let failed = std::panic::catch_unwind(|| once.call_once(|| panic!("on purpose")));
    assert!(failed.is_err());
    assert!(std::panic::catch_unwind(|| once.call_once(|| ())).is_err(), "poisoned");
    once.call_once_force(|state| assert!(state.is_poisoned()));
    once.call_once(|| unreachable!("it is done"));
    let mut lock = OnceLock::from(1);
    assert_eq!(
        (lock.set(2), lock.clone(), format!("{lock:?}")),
        (Err(2), OnceLock::from(1), "OnceLock(1)".into())
    );
    assert_eq!((lock.take(), lock.get()), (Some(1), None));
}

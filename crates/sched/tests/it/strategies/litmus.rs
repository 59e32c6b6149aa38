//! Small programs on which explorers are known to have gone wrong, by every search that claims to be complete.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use linpoint_sched::atomic::{AtomicBool, AtomicUsize, Ordering, Ordering::SeqCst};
use linpoint_sched::explore::{Covered, Plan, Search, explore};
use linpoint_sched::thread;

/// Everything that `program` returns, the same for every complete search.
#[track_caller]
fn outcomes<T: Ord + Clone + std::fmt::Debug + Send>(program: impl Fn() -> T) -> Vec<T> {
    let mut all: Option<BTreeSet<T>> = None;
    for search in [Search::Dfs, Search::Dpor, Search::RaceReversal, Search::Preemptions(99), Search::Auto] {
        let found = Mutex::new(BTreeSet::new());
        let plan = Plan { search, time: None, ..Plan::default() };
        let body = || {
            let outcome = program();
            found.lock().unwrap().insert(outcome);
        };
        let coverage = explore(&body, &plan, &mut |_| ControlFlow::Continue(()));
        assert_eq!(coverage.covered, Covered::Every, "{:?}", plan.search);
        let found = found.into_inner().unwrap();
        assert_eq!(*all.get_or_insert_with(|| found.clone()), found, "{:?}", plan.search);
    }
    all.into_iter().flatten().collect()
}

/// Sequential consistency forbids that both threads miss the other's store.
#[test]
fn store_buffering() {
    let program = || {
        let cells = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let other = Arc::clone(&cells);
        let handle = thread::spawn(move || {
            other[0].store(1, SeqCst);
            other[1].load(SeqCst)
        });
        cells[1].store(1, SeqCst);
        let seen = cells[0].load(SeqCst);
        (seen, handle.join().unwrap())
    };
    assert_eq!(outcomes(program), [(0, 1), (1, 0), (1, 1)]);
}

/// A load whose result nobody uses must not take an outcome away.
#[test]
fn a_redundant_load_loses_nothing() {
    let program = |redundant: bool| {
        move || {
            let cells = Arc::new([const { AtomicUsize::new(0) }; 2]);
            let writer = Arc::clone(&cells);
            let handle = thread::spawn(move || {
                let [key, value] = &*writer;
                key.store(1, SeqCst);
                value.store(1, SeqCst);
                value.store(0, SeqCst);
                if redundant {
                    key.load(SeqCst);
                }
                key.store(0, SeqCst);
            });
            let reader = Arc::clone(&cells);
            let seen = thread::spawn(move || (reader[1].load(SeqCst), reader[0].load(SeqCst)));
            handle.join().unwrap();
            seen.join().unwrap()
        }
    };
    let all = [(0, 0), (0, 1), (1, 0), (1, 1)];
    assert_eq!(outcomes(program(false)), all);
    assert_eq!(outcomes(program(true)), all);
}

/// A thread that begins with a load is still scheduled both ways.
#[test]
fn a_flag_is_seen_both_ways() {
    for ordering in [Ordering::Relaxed, SeqCst] {
        let program = || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            let handle = thread::spawn(move || {
                other.load(Ordering::Relaxed);
                other.store(true, Ordering::Relaxed);
            });
            let seen = flag.load(if ordering == SeqCst { SeqCst } else { Ordering::Relaxed });
            handle.join().unwrap();
            seen
        };
        assert_eq!(outcomes(program), [false, true]);
    }
}

/// Switches at the end of a thread, or where it waits, are free: with no preemption at all every order of whole
/// threads is seen.
#[test]
fn free_switches_are_not_charged() {
    let orders = Mutex::new(BTreeSet::new());
    let program = || {
        let turn = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..3)
            .map(|_| {
                let turn = Arc::clone(&turn);
                thread::spawn(move || turn.fetch_add(1, SeqCst))
            })
            .collect();
        let order: Vec<usize> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        orders.lock().unwrap().insert(order);
    };
    for search in [Search::BoundedDfs(0), Search::Preemptions(0)] {
        orders.lock().unwrap().clear();
        let plan = Plan { search, time: None, ..Plan::default() };
        explore(&program, &plan, &mut |_| ControlFlow::Continue(()));
        assert_eq!(orders.lock().unwrap().len(), 6);
    }
}

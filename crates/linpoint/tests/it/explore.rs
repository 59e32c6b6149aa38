//! Programs written by hand.

use linpoint::sync::atomic::{AtomicU32, Ordering::SeqCst};
use linpoint::sync::{Arc, Mutex};
use linpoint::{Search, exploration, thread};

/// What is wrong with a program, in one line, and whether its token replays.
#[track_caller]
fn headline(program: impl Fn() + Sync + Copy) -> String {
    let explored = exploration().report(program);
    let counterexample = explored.counterexample.expect("something is wrong");
    let again = exploration().replay_report(&counterexample.token, program).expect("the token fits");
    assert_eq!(again.expect("it fails again").headline, counterexample.headline);
    counterexample.headline
}

#[test]
fn a_lost_update_is_found() {
    let text = headline(|| {
        let counter = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&counter);
        let thread = thread::spawn(move || {
            let seen = other.load(SeqCst);
            other.store(seen + 1, SeqCst);
        });
        let seen = counter.load(SeqCst);
        counter.store(seen + 1, SeqCst);
        thread.join().unwrap();
        assert_eq!(counter.load(SeqCst), 2, "an update was lost");
    });
    assert!(text.starts_with("panic"), "{text}");
    assert!(text.contains("an update was lost"), "{text}");
}

#[test]
fn locks_taken_in_both_orders_deadlock() {
    let text = headline(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _b = other.1.lock();
            let _a = other.0.lock();
        });
        {
            let _a = locks.0.lock();
            let _b = locks.1.lock();
        }
        thread.join().unwrap();
    });
    assert!(text.starts_with("deadlock"), "{text}");
}

#[test]
fn a_correct_program_holds_under_every_schedule() {
    let explored = exploration().report(|| {
        let counter = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&counter);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        counter.fetch_add(1, SeqCst);
        thread.join().unwrap();
        assert_eq!(counter.load(SeqCst), 2);
    });
    assert_eq!(explored.verdict(), "holds", "{explored}");
}

fn another() -> impl Fn() + Sync {
    || ()
}

#[test]
fn a_token_of_another_program_is_refused() {
    let explored = exploration().report(|| panic!("always"));
    let token = explored.counterexample.expect("it panics").token;
    let refused = exploration().replay_report(&token, another());
    assert_eq!(refused.err(), Some(linpoint::TokenError::OtherProgram));
    assert_eq!(
        exploration().replay_report("lp1-nonsense", || ()).err(),
        Some(linpoint::TokenError::Malformed)
    );
}

#[test]
fn steps_that_do_not_matter_are_left_out() {
    let explored = exploration().report(|| {
        let counter = Arc::new(AtomicU32::new(0));
        let own = AtomicU32::new(0);
        let _bystander = thread::spawn(move || (0..3).for_each(|value| assert!(own.load(SeqCst) <= value)));
        let adders = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                let seen = counter.load(SeqCst);
                counter.store(seen + 1, SeqCst);
            })
        });
        for adder in adders {
            adder.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2, "an update was lost");
    });
    let counterexample = explored.counterexample.expect("an update is lost");
    let schedule = &counterexample.schedule;
    assert!(counterexample.headline.contains("an update was lost"), "{counterexample}");
    assert!(schedule.contains("4 steps of thread 1 left out"), "{schedule}");
    assert!(!schedule.contains("own.load"), "{schedule}");
}

#[test]
fn several_workers_share_a_search() {
    let program = || {
        let counter = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || {
                    counter.fetch_add(1, SeqCst);
                    counter.fetch_add(1, SeqCst);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(counter.load(SeqCst), 6);
    };
    let alone = exploration().search(Search::Dfs).report(program);
    let shared = exploration().search(Search::Dfs).workers(3).report(program);
    assert!(alone.verdict().holds() && shared.verdict().holds(), "{alone}\n{shared}");
    assert_eq!(alone.walked.runs, shared.walked.runs);
}

#[test]
fn what_may_fail_without_a_reason() {
    let program = || {
        let flag = AtomicU32::new(0);
        assert!(flag.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_ok(), "nobody else is here");
    };
    assert_eq!(exploration().report(program).verdict(), "holds");
    let fine = exploration().spurious(3).report(|| assert_eq!(AtomicU32::new(0).load(SeqCst), 0)).to_string();
    assert!(fine.ends_with("at most 3 failures without a reason in an execution"), "{fine}");
    let explored = exploration().spurious(1).report(program);
    let found = explored.counterexample.expect("std allows it to fail").to_string();
    assert!(found.contains("nobody else is here"), "{found}");
    assert!(found.contains("at most 1 failure without a reason in an execution"), "{found}");
}

/// A livelock is told by one turn of it, however long the execution was.
#[test]
fn a_livelock_is_shown_by_one_turn() {
    let explored = linpoint::exploration().report(|| {
        let x = linpoint::sync::atomic::AtomicU32::new(0);
        let order = linpoint::sync::atomic::Ordering::SeqCst;
        while x.fetch_add(2, order) & 1 == 0 {
            x.fetch_sub(2, order);
            linpoint::thread::yield_now();
        }
    });
    let shown = explored.to_string();
    assert!(shown.starts_with("livelock: thread 0"), "{shown}");
    assert!(shown.contains("steps 1 to 2 again and again"), "{shown}");
    assert!(shown.lines().count() < 40, "{shown}");
}

/// What is covered where somebody had to let others go first is said.
#[test]
fn fair_schedules_are_called_so() {
    let explored = linpoint::exploration().report(|| {
        let x = linpoint::sync::Arc::new(linpoint::sync::atomic::AtomicU32::new(0));
        let order = linpoint::sync::atomic::Ordering::SeqCst;
        let other = linpoint::sync::Arc::clone(&x);
        let child = linpoint::thread::spawn(move || other.fetch_add(1, order));
        while x.fetch_add(2, order) & 1 == 0 {
            linpoint::thread::yield_now();
        }
        child.join().unwrap();
    });
    assert_eq!(explored.verdict(), "holds", "{explored}");
    assert!(explored.to_string().contains("every fair schedule"), "{explored}");
}

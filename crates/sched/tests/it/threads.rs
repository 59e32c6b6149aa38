//! `thread`: spawn and join, scopes, names, park, and values a thread.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use linpoint_sched::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use linpoint_sched::{Limits, thread};
use std::sync::Arc;

use crate::explore::{first_failure, outcomes, outcomes_with_panics, same_by_all};

#[test]
fn store_buffering_never_reads_two_zeros() {
    let found = outcomes(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            other.0.store(1, SeqCst);
            other.1.load(SeqCst)
        });
        shared.1.store(1, SeqCst);
        let mine = shared.0.load(SeqCst);
        (mine, child.join().unwrap())
    });
    assert_eq!(found.fine(), [(0, 1), (1, 0), (1, 1)]);
    // Two steps and an end, and two steps, in every order, and the join after the end.
    assert_eq!(found.schedules, 10);
}

#[test]
fn threads_of_a_scope_borrow() {
    let found = outcomes(|| {
        let count = AtomicU32::new(0);
        let mut plain = 0;
        let sum = thread::scope(|scope| {
            let one = scope.spawn(|| count.fetch_add(1, SeqCst));
            scope.spawn(|| {
                plain += 1;
                count.fetch_add(1, SeqCst);
            });
            one.join().unwrap()
        });
        (sum, plain, count.load(SeqCst))
    });
    assert_eq!(found.fine(), [(0, 1, 2), (1, 1, 2)]);
}

#[test]
fn a_scope_waits_for_threads_started_by_its_threads() {
    let found = outcomes(|| {
        let count = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                scope.spawn(|| count.fetch_add(1, SeqCst));
                count.fetch_add(1, SeqCst);
            });
        });
        count.load(SeqCst)
    });
    assert_eq!(found.fine(), [2]);
}

#[test]
fn a_panic_in_a_scope_comes_out_of_it() {
    let found = outcomes_with_panics(|| {
        let joined = thread::scope(|scope| scope.spawn(|| panic!("mine")).join().is_err());
        let unjoined = std::panic::catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("nobody's"));
            });
        });
        (joined, *unjoined.unwrap_err().downcast::<&str>().unwrap())
    });
    assert_eq!(found.fine(), [(true, "a scoped thread panicked")]);
}

#[test]
fn a_panic_fails_the_run_and_says_where() {
    let text = first_failure(|| {
        let _ = thread::spawn(|| panic!("no such luck")).join();
    })
    .unwrap()
    .to_string();
    assert!(
        text.starts_with("panic: thread 1 panicked: no such luck (crates/sched/tests/it/threads.rs:"),
        "{text}"
    );
}

#[test]
fn names_and_identities() {
    let found = outcomes(|| {
        let child = thread::Builder::new()
            .name("worker".to_owned())
            .stack_size(1 << 20)
            .spawn(|| (thread::current().name().map(str::to_owned), thread::current().id()))
            .unwrap();
        let known = (child.thread().name().map(str::to_owned), child.thread().id());
        assert_eq!(child.join().unwrap(), known);
        assert_ne!(known.1, thread::current().id());
        assert_eq!(thread::current().name(), Some("main"));
        assert!(thread::spawn(|| thread::current().name().is_none()).join().unwrap());
        assert_eq!(thread::available_parallelism().unwrap().get(), 2);
        known.0
    });
    assert_eq!(found.fine(), [Some("worker".to_owned())]);
}

#[test]
fn is_finished_is_seen_both_ways() {
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(true, SeqCst));
        let ended = child.is_finished();
        child.join().unwrap();
        ended
    });
    assert_eq!(found.fine(), [false, true]);
    // Before the store, between it and the end of the thread, and after that.
    assert_eq!(found.schedules, 3);
}

#[test]
fn a_token_given_early_is_kept_and_two_are_one() {
    let found = outcomes(|| {
        let parent = thread::current();
        parent.unpark();
        parent.unpark();
        thread::park();
        thread::park_timeout(Duration::from_millis(1));
    });
    assert_eq!(found.fine(), [()]);
    let found = outcomes(|| {
        thread::current().unpark();
        thread::current().unpark();
        thread::park();
        thread::park();
    });
    assert_eq!(found.failure_names(), ["deadlock"]);
}

#[test]
fn park_waits_for_unpark() {
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, parent) = (Arc::clone(&flag), thread::current());
        let child = thread::spawn(move || {
            other.store(true, SeqCst);
            parent.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park();
        }
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
}

#[test]
fn parking_before_looking_can_wait_for_ever() {
    let found = outcomes(|| {
        let child = thread::spawn(thread::park);
        child.thread().unpark();
        child.join().unwrap();
        thread::spawn(thread::park);
    });
    assert_eq!(found.failure_names(), ["leaked threads"]);
}

linpoint_sched::thread_local! {
    static LOCAL: Cell<u32> = const { Cell::new(7) };
    static LIST: RefCell<Vec<u32>> = RefCell::new(vec![1]);
}

#[test]
fn each_thread_and_each_execution_has_its_own_values() {
    let found = outcomes(|| {
        assert_eq!((LOCAL.get(), LIST.with_borrow(Vec::len)), (7, 1), "fresh for each execution");
        LOCAL.set(8);
        let child = thread::spawn(|| {
            LIST.with_borrow_mut(|list| list.push(2));
            (LOCAL.replace(9), LIST.take())
        });
        let seen = child.join().unwrap();
        (seen, LOCAL.get(), LIST.with(|list| list.borrow().len()))
    });
    assert_eq!(found.fine(), [((7, vec![1, 2]), 8, 1)]);
}

#[test]
fn values_of_a_thread_are_dropped_before_it_is_joined() {
    struct Note(Arc<AtomicU32>);
    impl Drop for Note {
        fn drop(&mut self) {
            assert!(NOTES.try_with(|_| ()).is_err(), "it is gone while it is dropped");
            self.0.fetch_add(1, SeqCst);
        }
    }
    linpoint_sched::thread_local! {
        static NOTES: RefCell<Vec<Note>> = const { RefCell::new(Vec::new()) };
    }
    let found = outcomes(|| {
        let count = Arc::new(AtomicU32::new(0));
        let note = Note(Arc::clone(&count));
        thread::spawn(move || NOTES.with_borrow_mut(|notes| notes.push(note))).join().unwrap();
        count.load(SeqCst)
    });
    assert_eq!(found.fine(), [1]);
}

#[test]
fn a_spin_in_values_of_the_thread_ends_too() {
    linpoint_sched::thread_local! {
        static TURNS: Cell<u32> = const { Cell::new(0) };
    }
    let found = outcomes(|| {
        TURNS.set(0);
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {
            TURNS.set(TURNS.get() + 1);
            if TURNS.get() == 3 {
                break;
            }
        }
        child.join().unwrap();
        TURNS.get()
    });
    // The loop gives up after three turns: the counter in the thread's values is part of its state.
    assert_eq!(found.fine(), [0, 1, 2, 3]);
}

#[test]
fn a_loop_that_waits_ends_and_one_with_a_bound_gives_up() {
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {
            linpoint_sched::hint::spin_loop();
        }
        child.join().unwrap();
    });
    assert_eq!(found.fine(), [()]);
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(true, SeqCst));
        let turns = (0..3).take_while(|_| !flag.load(SeqCst)).count();
        child.join().unwrap();
        turns
    });
    assert_eq!(found.fine(), [0, 1, 2, 3]);
}

#[test]
fn a_ticket_lock_without_annotation() {
    struct Ticket {
        next: AtomicU32,
        serving: AtomicU32,
    }
    let found = outcomes(|| {
        let lock =
            Arc::new((Ticket { next: AtomicU32::new(0), serving: AtomicU32::new(0) }, AtomicU32::new(0)));
        let body = |lock: &(Ticket, AtomicU32)| {
            let mine = lock.0.next.fetch_add(1, SeqCst);
            while lock.0.serving.load(SeqCst) != mine {}
            let inside = lock.1.fetch_add(1, SeqCst);
            assert_eq!(inside, 0, "two inside");
            lock.1.fetch_sub(1, SeqCst);
            lock.0.serving.store(mine + 1, SeqCst);
            mine
        };
        let other = Arc::clone(&lock);
        let child = thread::spawn(move || body(&other));
        let mine = body(&lock);
        child.join().unwrap();
        mine
    });
    assert_eq!(found.fine(), [0, 1]);
}

#[test]
fn a_loop_that_nobody_ends_is_a_livelock() {
    let text = first_failure(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {}
    })
    .unwrap()
    .to_string();
    assert!(text.starts_with("livelock: thread 0 "), "{text}");
}

#[test]
fn outside_an_exploration_threads_are_real() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            thread::park();
            count.fetch_add(1, SeqCst)
        });
        one.thread().unpark();
        thread::Builder::new().name("two".into()).spawn_scoped(scope, || count.fetch_add(1, SeqCst)).unwrap();
        one.join().unwrap();
    });
    assert_eq!(count.load(SeqCst), 2);
    LOCAL.set(1);
    assert_eq!(thread::spawn(|| LOCAL.get()).join().unwrap(), 7);
    assert_eq!(LOCAL.get(), 1);
    let child = thread::Builder::new().name("real".into()).spawn(|| thread::current().id()).unwrap();
    let id = child.thread().id();
    assert_eq!(child.thread().name(), Some("real"));
    assert_eq!(child.join().unwrap(), id);
    assert!(thread::spawn(|| panic!("on purpose")).join().is_err());
    thread::sleep(Duration::from_micros(1));
    thread::yield_now();
    thread::park_timeout(Duration::from_micros(1));
    let done = thread::spawn(|| ());
    while !done.is_finished() {}
}

/// What a thread did is there before its end is.
#[test]
fn a_thread_that_did_everything_may_not_have_ended() {
    let found = outcomes(|| {
        let child = thread::spawn(|| {});
        let ended = child.is_finished();
        child.join().unwrap();
        ended
    });
    assert_eq!(found.fine(), [false, true]);
    let found = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let child = thread::spawn(move || other.store(true, SeqCst));
        let seen = flag.load(SeqCst);
        let ended = child.is_finished();
        child.join().unwrap();
        (seen, ended)
    });
    assert_eq!(found.fine(), [(false, false), (false, true), (true, false), (true, true)]);
}

/// The result of a thread whose handle goes is dropped by whoever lets go of it last.
#[test]
fn a_result_that_nobody_takes() {
    use linpoint_sched::sync::Arc;
    let program = || {
        let shared = Arc::new(0);
        let other = Arc::clone(&shared);
        drop(thread::spawn(move || other));
        Arc::strong_count(&shared)
    };
    assert_eq!(outcomes(program).fine(), [1, 2]);
    same_by_all(&Limits::default(), program);
    struct Last(Option<thread::ThreadId>, std::sync::Arc<std::sync::Mutex<Option<bool>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = Some(self.0 == Some(thread::current().id()));
        }
    }
    let found = outcomes(|| {
        let by_main = std::sync::Arc::default();
        let last = Last(Some(thread::current().id()), std::sync::Arc::clone(&by_main));
        drop(thread::spawn(move || last));
        AtomicBool::new(false).load(SeqCst);
        *by_main.lock().unwrap()
    });
    // By the handle, or by the thread, which may not have come to that.
    assert_eq!(found.fine(), [None, Some(false), Some(true)]);
}

struct Late(RefCell<Option<Arc<AtomicU32>>>);

impl Drop for Late {
    fn drop(&mut self) {
        if let Some(shared) = &*self.0.borrow() {
            shared.store(1, SeqCst);
        }
    }
}

linpoint_sched::thread_local! {
    static LATE: Late = const { Late(RefCell::new(None)) };
}

/// As in std: who joins a thread waits for the destructors of its values, and nobody else does.
#[test]
fn destructors_of_values_of_a_thread_come_late() {
    let leave = |shared: &Arc<AtomicU32>| {
        let shared = Arc::clone(shared);
        move || LATE.with(|late| *late.0.borrow_mut() = Some(shared))
    };
    let scope = || {
        let shared = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| drop(scope.spawn(leave(&shared))));
        shared.load(SeqCst)
    };
    assert_eq!(outcomes(scope).fine(), [0, 1]);
    same_by_all(&Limits::default(), scope);
    let joined = || {
        let shared = Arc::new(AtomicU32::new(0));
        thread::scope(|scope| scope.spawn(leave(&shared)).join().unwrap());
        shared.load(SeqCst)
    };
    assert_eq!(outcomes(joined).fine(), [1]);
    let looked = || {
        let shared = Arc::new(AtomicU32::new(0));
        let child = thread::spawn(leave(&shared));
        let ended = child.is_finished();
        let seen = shared.load(SeqCst);
        child.join().unwrap();
        (ended, seen, shared.load(SeqCst))
    };
    assert_eq!(outcomes(looked).fine(), [(false, 0, 1), (false, 1, 1), (true, 0, 1), (true, 1, 1)]);
    same_by_all(&Limits::default(), looked);
}

/// Two threads of a scope, one of which has a value to drop, and what the owner of the scope does after it.
#[test]
fn the_end_of_a_scope_by_every_search() {
    let found = same_by_all(&Limits::default(), || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let count = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| count.fetch_add(1, SeqCst));
            scope.spawn(|| {
                LATE.with(|late| *late.0.borrow_mut() = Some(other));
                count.fetch_add(1, SeqCst);
            });
        });
        (count.load(SeqCst), shared.load(SeqCst))
    });
    assert_eq!(found.len(), 2, "{found:?}");
}

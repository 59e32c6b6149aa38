//! What suites call, and what it does.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use loom::future::{AtomicWaker, block_on};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::SeqCst;
use loom::sync::{Arc, Condvar, Mutex, Notify, RwLock, mpsc};
use loom::{lazy_static, model, thread, thread_local};

use crate::{answers, failure};

lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(40);
    pub(crate) static ref WORD: String = "word".to_owned();
}

thread_local! {
    static MINE: std::cell::Cell<u32> = std::cell::Cell::new(1);
}

#[test]
fn statics_are_new_in_every_execution() {
    let seen = answers(|| {
        let child = thread::spawn(|| COUNT.fetch_add(1, SeqCst));
        let mine = COUNT.fetch_add(1, SeqCst);
        (child.join().unwrap(), mine, WORD.len())
    });
    assert_eq!(seen, BTreeSet::from([(40, 41, 4), (41, 40, 4)]));
}

#[test]
fn each_thread_has_its_own_locals() {
    model(|| {
        MINE.with(|mine| mine.set(2));
        thread::spawn(|| MINE.with(|mine| assert_eq!(mine.get(), 1))).join().unwrap();
        assert_eq!(MINE.try_with(|mine| mine.get()).unwrap(), 2);
    });
}

#[test]
fn a_thread_takes_and_gives_what_is_not_send() {
    model(|| {
        let value = Rc::new(1);
        let child = thread::spawn(move || Rc::new(*value + 1));
        assert_eq!(*child.join().unwrap(), 2);
        let named =
            thread::Builder::new().name("named".into()).spawn(|| thread::current().name().map(str::len));
        assert_eq!(named.unwrap().join().unwrap(), Some(5));
    });
}

#[test]
fn a_future_is_woken() {
    let seen = answers(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            other.1.store(1, SeqCst);
            other.0.wake();
        });
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            shared.0.register_by_ref(context.waker());
            if shared.1.load(SeqCst) == 1 { Poll::Ready(()) } else { Poll::Pending }
        }));
        child.join().unwrap();
        polls > 1
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_future_that_nobody_wakes_is_a_deadlock() {
    let told = failure(|| block_on(poll_fn(|_| Poll::<()>::Pending)));
    assert!(told.starts_with("deadlock: thread 0 waits"), "{told}");
}

#[test]
fn locks_channels_and_notifications() {
    model(|| {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), RwLock::new(0), Notify::new()));
        let (sender, receiver) = mpsc::channel();
        let other = Arc::clone(&shared);
        let child = thread::spawn(move || {
            *other.0.lock().unwrap() = 1;
            other.1.notify_one();
            *other.2.write().unwrap() = 2;
            other.3.notify();
            sender.send(3).unwrap();
        });
        let mut value = shared.0.lock().unwrap();
        while *value == 0 {
            value = shared.1.wait(value).unwrap();
        }
        drop(value);
        shared.3.wait();
        assert_eq!(*shared.2.read().unwrap(), 2);
        assert_eq!(receiver.recv(), Ok(3));
        child.join().unwrap();
    });
}

#[test]
fn a_builder_bounds_the_search() {
    let three = |builder: &loom::model::Builder| {
        let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let inside = runs.clone().into_std();
        builder.check(move || {
            inside.fetch_add(1, SeqCst);
            let count = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let count = Arc::clone(&count);
                    thread::spawn(move || (0..3).for_each(|_| _ = count.fetch_add(1, SeqCst)))
                })
                .collect();
            threads.into_iter().for_each(|one| one.join().unwrap());
        });
        runs.load(SeqCst)
    };
    let mut builder = loom::model::Builder::new();
    builder.max_permutations = Some(5);
    assert_eq!(three(&builder), 5);
    builder.max_permutations = None;
    builder.max_duration = Some(Duration::ZERO);
    assert!(three(&builder) < 100);
    builder.max_duration = None;
    builder.preemption_bound = Some(1);
    assert!(three(&builder) > 100);
}

#[test]
fn where_schedules_are_not_explored_there_is_one() {
    fn both(explore: impl Fn() + Send + Sync + 'static) -> BTreeSet<usize> {
        answers(move || {
            explore();
            let count = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&count);
            let child = thread::spawn(move || other.store(1, SeqCst));
            let seen = count.load(SeqCst);
            child.join().unwrap();
            seen
        })
    }
    assert_eq!(both(|| ()).len(), 2);
    assert_eq!(both(loom::stop_exploring).len(), 1);
    assert_eq!(both(loom::skip_branch).len(), 1);
    assert_eq!(
        both(|| {
            loom::stop_exploring();
            thread::spawn(|| ()).join().unwrap();
            loom::explore();
        })
        .len(),
        2
    );
    let mut builder = loom::model::Builder::new();
    builder.expect_explicit_explore = true;
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0)).into_std();
    let inside = std::sync::Arc::clone(&runs);
    builder.check(move || {
        inside.fetch_add(1, SeqCst);
        let count = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&count);
        let child = thread::spawn(move || other.store(1, SeqCst));
        count.load(SeqCst);
        child.join().unwrap();
    });
    assert_eq!(runs.load(SeqCst), 1);
}

#[test]
fn a_failure_says_where_to_look() {
    let told = failure(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&count);
        let child = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
        count.store(count.load(SeqCst) + 1, SeqCst);
        child.join().unwrap();
        assert_eq!(count.load(SeqCst), 2, "a lost update");
    });
    for part in
        ["a lost update", "a_failure_says_where_to_look", "names.rs", "schedule (1 preemptions)", "lp1-"]
    {
        assert!(told.contains(part), "{part} is missing in:\n{told}");
    }
}

#[test]
#[should_panic(expected = "in a model only")]
fn no_thread_starts_outside_a_model() {
    drop(thread::spawn(|| ()));
}

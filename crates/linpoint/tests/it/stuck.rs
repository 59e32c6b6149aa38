//! Operations that wait for ever. An operation may wait where its specification waits, and nowhere else: that it may
//! have taken effect before it got stuck explains nothing.

use std::collections::VecDeque;

use linpoint::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use linpoint::sync::{Arc, Condvar, Mutex};
use linpoint::{Criterion, Object, Report, Search, check, thread};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Counter(u32);

#[linpoint::spec]
impl Counter {
    fn up(&mut self) {
        self.0 += 1;
    }

    fn twice(&mut self) {
        self.0 += 2;
    }

    fn get(&mut self) -> u32 {
        self.0
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Mailbox(VecDeque<u32>);

#[linpoint::spec]
impl Mailbox {
    fn send(&mut self, value: u32) {
        self.0.push_back(value);
    }

    #[blocks]
    fn receive(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

const SEARCHES: [Search; 5] = [Search::Auto, Search::Dfs, Search::Dpor, Search::RaceReversal, Search::States];

const CRITERIA: [Criterion; 3] =
    [Criterion::Linearizability, Criterion::SequentialConsistency, Criterion::QuiescentConsistency];

/// Every search, and every criterion, finds that operations wait for ever.
#[track_caller]
fn waits_for_ever<O: Object>(named: &str) {
    let found = |report: Report| {
        let counterexample = report.counterexample.expect("somebody waits for ever");
        let text = counterexample.to_string();
        assert!(
            text.starts_with("operations wait for ever that the specification would let go on"),
            "{text}"
        );
        assert!(text.contains(named), "{text}");
        counterexample.token
    };
    for search in SEARCHES {
        let token = found(check::<O>().threads(2).ops(1).search(search).report());
        found(check::<O>().threads(2).ops(1).replay_report(&token).expect("its own token"));
    }
    for criterion in CRITERIA {
        found(check::<O>().threads(2).ops(1).criterion(criterion).report());
    }
}

/// Two locks, taken in both orders.
#[derive(Default)]
struct Crossed {
    left: Mutex<u32>,
    right: Mutex<u32>,
}

#[linpoint::object(spec = Counter)]
impl Crossed {
    fn up(&self) {
        let mut left = self.left.lock().unwrap();
        let _right = self.right.lock().unwrap();
        *left += 1;
    }

    fn twice(&self) {
        let _right = self.right.lock().unwrap();
        let mut left = self.left.lock().unwrap();
        *left += 2;
    }
}

#[test]
fn two_locks_in_both_orders() {
    waits_for_ever::<Crossed>("deadlock");
}

/// Locks the same lock twice, after its effect.
#[derive(Default)]
struct Twice(Mutex<u32>, AtomicU32);

#[linpoint::object(spec = Counter)]
impl Twice {
    fn up(&self) {
        self.1.fetch_add(1, SeqCst);
    }

    fn twice(&self) {
        let _first = self.0.lock().unwrap();
        self.1.fetch_add(2, SeqCst);
        let _second = self.0.lock().unwrap();
    }

    fn get(&self) -> u32 {
        self.1.load(SeqCst)
    }
}

#[test]
fn an_effect_that_others_saw_is_no_excuse() {
    waits_for_ever::<Twice>("waits to lock");
}

#[derive(Default)]
struct Parks;

#[linpoint::object(spec = Counter)]
impl Parks {
    fn up(&self) {
        thread::park();
    }
}

#[derive(Default)]
struct Spins(AtomicBool);

#[linpoint::object(spec = Counter)]
impl Spins {
    fn up(&self) {
        while !self.0.load(SeqCst) {}
    }
}

#[test]
fn parking_and_spinning() {
    waits_for_ever::<Parks>("waits to park");
    for search in SEARCHES {
        let report = check::<Spins>().threads(2).ops(1).search(search).report();
        assert!(report.counterexample.is_some(), "{search:?}: {report}");
    }
}

/// A queue whose receivers wait; `NOTIFIES` is how a right one differs from a wrong one.
#[derive(Default)]
struct Queue<const NOTIFIES: bool> {
    values: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

#[linpoint::object(spec = Mailbox)]
impl<const NOTIFIES: bool> Queue<NOTIFIES> {
    fn send(&self, value: u32) {
        self.values.lock().unwrap().push_back(value);
        if NOTIFIES {
            self.changed.notify_one();
        }
    }

    fn receive(&self) -> u32 {
        let mut values = self.values.lock().unwrap();
        loop {
            if let Some(value) = values.pop_front() {
                return value;
            }
            values = self.changed.wait(values).unwrap();
        }
    }
}

#[test]
fn a_queue_that_never_notifies() {
    waits_for_ever::<Queue<false>>("waits to wake up");
}

/// Takes the value, and then goes on waiting.
#[derive(Default)]
struct Greedy {
    values: Mutex<VecDeque<u32>>,
    changed: Condvar,
}

#[linpoint::object(spec = Mailbox)]
impl Greedy {
    fn send(&self, value: u32) {
        self.values.lock().unwrap().push_back(value);
        self.changed.notify_all();
    }

    fn receive(&self) -> u32 {
        let mut values = self.values.lock().unwrap();
        loop {
            values.pop_front();
            values = self.changed.wait(values).unwrap();
        }
    }
}

#[test]
fn a_receiver_that_takes_and_does_not_return() {
    waits_for_ever::<Greedy>("waits to wake up");
}

#[test]
fn waiting_where_the_specification_waits_is_right() {
    for criterion in CRITERIA {
        let report = check::<Queue<true>>().threads(2).ops(2).after(0).criterion(criterion).report();
        assert!(report.holds(), "{report}");
    }
    for search in SEARCHES {
        let report = check::<Queue<true>>().threads(2).ops(1).search(search).report();
        assert!(report.counterexample.is_none(), "{search:?}: {report}");
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Held(bool);

#[linpoint::spec]
impl Held {
    #[blocks]
    fn acquire(&mut self) -> Option<()> {
        (!std::mem::replace(&mut self.0, true)).then_some(())
    }

    fn release(&mut self) {
        self.0 = false;
    }
}

#[derive(Default)]
struct Lock(Mutex<bool>, Condvar);

#[linpoint::object(spec = Held)]
impl Lock {
    fn acquire(&self) {
        let held = self.0.lock().unwrap();
        *self.1.wait_while(held, |held| *held).unwrap() = true;
    }

    fn release(&self) {
        *self.0.lock().unwrap() = false;
        self.1.notify_one();
    }
}

/// Waits in a loop that only loads, for what nobody stores.
#[derive(Default)]
struct Polls(linpoint::sync::atomic::AtomicBool);

#[linpoint::object(spec = Held)]
impl Polls {
    fn acquire(&self) {
        while self.0.load(SeqCst) {}
        self.0.store(true, SeqCst);
    }

    fn release(&self) {
        self.0.load(SeqCst);
    }
}

#[test]
fn a_loop_that_only_loads_waits_for_ever() {
    for search in SEARCHES {
        let report = check::<Polls>().threads(1).ops(3).search(search).report();
        let found = report.counterexample.expect("nobody releases it").to_string();
        let waits = "operations wait for ever that the specification would let go on";
        assert!(found.starts_with(waits), "{found}");
    }
}

#[test]
fn a_lock_that_nobody_releases_holds() {
    let report = check::<Lock>().threads(3).ops(1).report();
    assert!(report.holds(), "{report}");
}

/// Waits for a thread of its own that waits for it: in the constructor, or in the destructor.
struct Served<const AT_ONCE: bool> {
    stop: Arc<Mutex<u32>>,
    server: Option<thread::JoinHandle<()>>,
}

impl<const AT_ONCE: bool> Served<AT_ONCE> {
    fn stop(&mut self) {
        let stop = Arc::clone(&self.stop);
        let _guard = stop.lock().unwrap();
        if let Some(server) = self.server.take() {
            server.join().unwrap();
        }
    }
}

#[linpoint::object(spec = Counter)]
impl<const AT_ONCE: bool> Served<AT_ONCE> {
    fn new() -> Self {
        let stop = Arc::new(Mutex::new(0));
        let seen = Arc::clone(&stop);
        let server = Some(thread::spawn(move || *seen.lock().unwrap() += 1));
        let mut served = Served { stop, server };
        if AT_ONCE {
            served.stop();
        }
        served
    }

    fn up(&self) {}
}

impl<const AT_ONCE: bool> Drop for Served<AT_ONCE> {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn constructors_and_destructors_that_wait_for_ever() {
    let headline = |report: Report| report.counterexample.expect("a deadlock").headline;
    let text = headline(check::<Served<true>>().threads(2).ops(1).report());
    assert!(text.starts_with("deadlock: "), "{text}");
    let text = headline(check::<Served<false>>().threads(2).ops(1).report());
    assert!(text.starts_with("deadlock: "), "{text}");
}

/// Leaves a thread behind that waits for ever.
struct Forgetful;

#[linpoint::object(spec = Counter)]
impl Forgetful {
    fn new() -> Forgetful {
        thread::spawn(thread::park);
        Forgetful
    }

    fn up(&self) {}
}

#[test]
fn a_thread_that_is_left_behind() {
    let found = check::<Forgetful>().threads(2).ops(1).report().counterexample.expect("it waits for ever");
    assert!(found.headline.starts_with("leaked threads: "), "{}", found.headline);
}

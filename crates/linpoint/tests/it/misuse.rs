//! What cannot work is said, and how to do it instead.

use std::sync::atomic::AtomicU32 as Uncontrolled;

use linpoint::sync::Arc;
use linpoint::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use linpoint::{TokenError, check, exploration};

static ASKED: Uncontrolled = Uncontrolled::new(0);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Moody(u32);

#[linpoint::spec]
impl Moody {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0 + ASKED.fetch_add(1, SeqCst) / 7
    }
}

#[derive(Default)]
struct Counter(AtomicU32);

#[linpoint::object(spec = Moody)]
impl Counter {
    fn next(&self) -> u32 {
        self.0.fetch_add(1, SeqCst) + 1
    }
}

#[test]
fn a_specification_with_moods() {
    let panic = std::panic::catch_unwind(|| check::<Counter>().report()).expect_err("it must not be used");
    let text = panic.downcast_ref::<String>().expect("a message");
    assert!(text.starts_with("the specification it::misuse::Moody is not deterministic"), "{text}");
    assert!(text.contains("next() in Moody("), "{text}");
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Flag(bool);

#[linpoint::spec]
impl Flag {
    fn set(&mut self) {
        self.0 = true;
    }

    fn get(&mut self) -> bool {
        self.0
    }
}

/// Its constructor starts a thread of the OS.
struct Served {
    flag: Arc<AtomicBool>,
    server: Option<std::thread::JoinHandle<()>>,
}

#[linpoint::object(spec = Flag)]
impl Served {
    fn new() -> Served {
        let flag = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&flag);
        let server = std::thread::spawn(move || {
            for _ in 0..100 {
                shared.load(SeqCst);
                std::thread::yield_now();
            }
        });
        Served { flag, server: Some(server) }
    }

    fn set(&self) {
        self.flag.store(true, SeqCst);
    }

    fn get(&self) -> bool {
        self.flag.load(SeqCst)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.join().expect("it only looks");
        }
    }
}

#[test]
fn an_object_whose_constructor_starts_a_thread() {
    let report = check::<Served>().threads(2).ops(1).workers(1).report();
    let headline = report.counterexample.expect("the OS thread is noticed").headline;
    assert!(headline.contains("an object whose constructor starts threads"), "{headline}");
}

#[test]
fn an_exploration_inside_an_exploration() {
    let explored = exploration().report(|| {
        let _ = exploration().report(|| ());
    });
    let refused = |explored: linpoint::Explored| {
        let found = explored.counterexample.expect("that cannot work");
        let headline = found.headline;
        assert!(headline.contains("an exploration cannot be started inside an exploration"), "{headline}");
        assert!(found.refused, "it is no fault of the program's");
    };
    refused(explored);
    // The schedules of a check may be walked by other OS threads.
    refused(exploration().report(|| {
        let _ = check::<Counter>().report();
    }));
}

#[test]
fn a_token_of_another_object() {
    let report = check::<Counter>().replay_report("lp1-nonsense");
    assert_eq!(report.err(), Some(TokenError::Malformed));
    let report = check::<Racy>().threads(2).ops(1).report();
    let token = report.counterexample.expect("an update is lost").token;
    assert_eq!(check::<Served>().replay_report(&token).err(), Some(TokenError::OtherProgram));
    assert!(check::<Racy>().threads(2).ops(1).replay_report(&token).is_ok());
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Number(u32);

#[linpoint::spec]
impl Number {
    fn next(&mut self) -> u32 {
        self.0 += 1;
        self.0
    }
}

#[derive(Default)]
struct Racy(AtomicU32);

#[linpoint::object(spec = Number)]
impl Racy {
    fn next(&self) -> u32 {
        let next = self.0.load(SeqCst) + 1;
        self.0.store(next, SeqCst);
        next
    }
}

/// What failed once, and does not fail again under the same schedule, is no violation with a schedule to show.
#[test]
fn a_failure_that_does_not_come_again() {
    static RUNS: Uncontrolled = Uncontrolled::new(0);
    let program = || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let child = linpoint::thread::spawn(move || other.store(1, SeqCst));
        shared.load(SeqCst);
        child.join().unwrap();
        assert_ne!(RUNS.fetch_add(1, SeqCst), 1, "the second run");
    };
    let explored = exploration().report(program);
    let verdict = explored.verdict().kind();
    let found = explored.counterexample.expect("it panicked once");
    assert!(found.headline.starts_with("nondeterminism"), "{found}");
    assert!(found.headline.contains("the second run"), "{found}");
    assert!(found.refused && !found.rechecked, "{found}");
    assert_eq!(verdict, linpoint::VerdictKind::Unknown);
}

/// It answers wrongly once.
struct Whimsical(AtomicU32);

static ANSWERS: Uncontrolled = Uncontrolled::new(0);

#[linpoint::object(spec = Number)]
impl Whimsical {
    fn new() -> Whimsical {
        Whimsical(AtomicU32::new(0))
    }

    fn next(&self) -> u32 {
        let next = self.0.fetch_add(1, SeqCst) + 1;
        if ANSWERS.fetch_add(1, SeqCst) == 20 { 100 } else { next }
    }
}

#[test]
fn a_history_that_does_not_come_again() {
    let report = check::<Whimsical>().threads(2).ops(1).workers(1).report();
    let verdict = report.verdict().kind();
    let found = report.counterexample.expect("it was wrong once");
    assert!(found.headline.starts_with("nondeterminism"), "{found}");
    assert!(found.refused, "{found}");
    assert_eq!(verdict, linpoint::VerdictKind::Unknown);
}

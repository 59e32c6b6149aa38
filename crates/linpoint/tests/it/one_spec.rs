//! One specification, written once, at every door: a bounded job queue with acknowledgement.
//!
//! The object is right or has one seeded mistake: an acknowledgement of a job that nobody took is accepted. Each way of
//! checking must be silent about the first and name the second.

use std::sync::Arc;

use linpoint::history::{self, History, HistoryCheck, Online, Status, Verdict};
use linpoint::sync::Mutex;
use linpoint_cluster::run::{Feeds, Job, Named, Resolve};
use linpoint_cluster::source::FileFeed;
use linpoint_cluster::wire::About;
use linpoint_history::formats::{Input, ReadOptions};
use linpoint_monitor::replay::{Refine, refine};
use linpoint_monitor::{Conclusion, Monitor, View};

/// Jobs that wait, and jobs that were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Jobs {
    waiting: Vec<u32>,
    taken: Vec<u32>,
}

#[linpoint::spec]
impl Jobs {
    fn submit(&mut self, job: u32) -> bool {
        let room = self.waiting.len() < 2;
        if room {
            self.waiting.push(job);
        }
        room
    }

    fn take(&mut self) -> Option<u32> {
        let job = (!self.waiting.is_empty()).then(|| self.waiting.remove(0))?;
        self.taken.push(job);
        Some(job)
    }

    fn acknowledge(&mut self, job: u32) -> bool {
        let at = self.taken.iter().position(|taken| *taken == job);
        at.map(|at| self.taken.remove(at)).is_some()
    }

    #[view]
    fn waiting(&self) -> Vec<(u32, bool)> {
        self.waiting.iter().map(|job| (*job, true)).collect()
    }
}

/// The object: the same under a lock, with or without the mistake.
struct Locked<const WRONG: bool>(Mutex<Jobs>);

impl<const WRONG: bool> Default for Locked<WRONG> {
    fn default() -> Self {
        Locked(Mutex::new(Jobs::default()))
    }
}

#[linpoint::object(spec = Jobs)]
impl Locked<false> {
    fn submit(&self, job: u32) -> bool {
        self.0.lock().unwrap().submit(job)
    }
    fn take(&self) -> Option<u32> {
        self.0.lock().unwrap().take()
    }
    fn acknowledge(&self, job: u32) -> bool {
        self.0.lock().unwrap().acknowledge(job)
    }
}

#[linpoint::object(spec = Jobs)]
impl Locked<true> {
    fn submit(&self, job: u32) -> bool {
        self.0.lock().unwrap().submit(job)
    }
    fn take(&self) -> Option<u32> {
        self.0.lock().unwrap().take()
    }
    fn acknowledge(&self, job: u32) -> bool {
        let mut jobs = self.0.lock().unwrap();
        jobs.acknowledge(job) || jobs.waiting.contains(&job)
    }
}

const RIGHT: &str = r#"{"process":1,"op":"submit","arg":7,"ret":true,"call":0,"return":10}
{"process":2,"op":"take","ret":7,"call":5,"return":15}
{"process":2,"op":"acknowledge","arg":7,"ret":true,"call":20,"return":30}
{"process":1,"op":"take","ret":null,"call":21,"return":29}
"#;

fn wrong() -> String {
    RIGHT.replace(r#""op":"take","ret":7,"call":5"#, r#""op":"take","ret":null,"call":5"#)
}

#[test]
fn a_history_file() {
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jobs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (text, holds) in [(RIGHT.to_owned(), true), (wrong(), false)] {
        let path = folder.join("jobs.jsonl");
        std::fs::write(&path, text).expect("a file");
        let checked = history::check_file::<Jobs>(&path).expect("a history");
        assert_eq!(matches!(checked.verdict(), Verdict::Holds(_)), holds, "{checked}");
        let page = folder.join("page.html");
        checked.page(&page).expect("written");
        assert!(std::fs::read_to_string(&page).expect("a page").contains("acknowledge"));
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn a_history_in_memory() {
    for (acknowledged, holds) in [(true, false), (false, true)] {
        let mut history = History::<Jobs>::new();
        history.completed(1, JobsOp::Submit(7), JobsRet::Submit(true), 0..10);
        history.completed(2, JobsOp::Acknowledge(7), JobsRet::Acknowledge(acknowledged), 12..20);
        history.completed(3, JobsOp::Take(), JobsRet::Take(Some(7)), 25..30);
        history.pending(1, JobsOp::Take(), 31);
        let checked = history.check();
        assert_eq!(matches!(checked.verdict(), Verdict::Holds(_)), holds, "{checked}");
        assert_eq!(checked.operations(), (4, 1));
    }
}

#[test]
#[should_panic(expected = "not linearizable: acknowledge 7 -> true")]
fn an_assertion_shows_the_counterexample() {
    let mut history = History::<Jobs>::new();
    history.completed(1, JobsOp::Acknowledge(7), JobsRet::Acknowledge(true), 0..10);
    history.check().assert_linearizable();
}

#[test]
fn events_as_they_happen() {
    for (answer, holds) in [(Some(7), true), (Some(8), false)] {
        let mut online = Online::<Jobs>::new().expect("all can be held");
        online.call(1, &JobsOp::Submit(7)).expect("nothing open");
        online.call(2, &JobsOp::Take()).expect("nothing open");
        online.returns(2, &JobsRet::Take(answer)).expect("open");
        // What is open keeps the answer open: it may yet explain others.
        let status = online.returns(1, &JobsRet::Submit(true)).expect("open");
        let is_violated =
            matches!(&status, Status::Decided(verdict) if matches!(**verdict, Verdict::Violated(_)));
        assert_eq!(is_violated, !holds, "{status:?}");
        assert_eq!(matches!(online.finish(), Verdict::Holds(_)), holds);
    }
}

#[test]
fn every_schedule() {
    linpoint::check::<Locked<false>>().threads(2).ops(2).run();
    let report = linpoint::check::<Locked<true>>().threads(2).ops(2).report().to_string();
    assert!(report.contains("acknowledge"), "{report}");
}

#[test]
fn a_program_under_load_and_its_log() {
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jobs-log-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (answer, conclusion) in [(false, Conclusion::Clean), (true, Conclusion::Violated)] {
        let log = folder.join(format!("{answer}.linlog"));
        let monitor = Monitor::builder().log_file(&log).start().expect("a monitor");
        let object = monitor.object_with("jobs", history::model::<Jobs>().expect("all can be held"));
        let object = object.watch().expect("few objects");
        let perform = |name: &str, arg: Option<u64>, answer: linpoint::history::HistoryValue| {
            let op = object.call(object.op(name), arg);
            op.commit();
            op.returns(answer);
        };
        perform("submit", Some(7), true.into());
        perform("acknowledge", Some(7), answer.into());
        perform("take", None, 7.into());
        assert_eq!(monitor.finish().conclusion(), conclusion);
        let spec = Some(history::specification::<Jobs>().expect("all can be held"));
        let refined = refine(&log, &Refine { spec, view: false }, &mut |_| {}).expect("a log");
        assert_eq!(refined.report.conclusion(), conclusion, "{}", refined.report);
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// Answers alone do not show it: the state does.
#[test]
fn a_program_whose_state_is_compared() {
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("jobs-view-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let pair = |job: i64| linpoint::history::HistoryValue::list([job.into(), true.into()]);
    for (stored, conclusion) in [(7, Conclusion::Clean), (8, Conclusion::Violated)] {
        let log = folder.join(format!("{stored}.linlog"));
        let monitor = Monitor::builder().log_file(&log).start().expect("a monitor");
        let object = monitor.object_with("jobs", history::model::<Jobs>().expect("all can be held"));
        let object = object.view(View::Map).watch().expect("few objects");
        let (submit, take) = (object.op("submit"), object.op("take"));
        let op = object.call(submit, 7u64);
        object.write(1, linpoint::history::HistoryValue::list([pair(stored)]));
        op.commit();
        op.returns(true);
        let op = object.call(take, ());
        object.write(1, linpoint::history::HistoryValue::list([]));
        op.commit();
        op.returns(7u64);
        let report = monitor.finish();
        assert_eq!(report.conclusion(), conclusion, "{report}");
        assert_eq!(report.verdict().holds(), conclusion == Conclusion::Clean);
        let spec = Some(history::specification::<Jobs>().expect("all can be held"));
        let refined = refine(&log, &Refine { spec, view: true }, &mut |_| {}).expect("a log");
        assert_eq!(refined.report.conclusion(), conclusion, "{}", refined.report);
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// Several sources, taken together as a dataflow.
#[test]
fn several_sources_as_a_dataflow() {
    for (text, holds) in [(RIGHT.to_owned(), true), (wrong(), false)] {
        let spec = history::specification::<Jobs>().expect("all can be held");
        let part = |process: &'static str| -> Vec<u8> {
            let own = text.lines().filter(|line| line.contains(&format!("\"process\":{process},")));
            own.flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
        };
        let parts = [part("1"), part("2")];
        let known = spec.clone();
        let feeds: Feeds = Arc::new(move |_| {
            let opened = parts.iter().zip(["one", "two"]).map(|(part, name)| {
                let feed = FileFeed::open(&Input::Bytes(part.clone()), &known, &ReadOptions::default())?;
                let about =
                    About { name: name.to_owned(), spec: "Jobs".to_owned(), initial: None, epsilon: 0 };
                Ok(Named { about, feed: Box::new(feed) })
            });
            opened.collect()
        });
        let specs: Resolve = Arc::new(move |_| Ok(spec.clone()));
        let outcome = Job { specs, ..Job::new(feeds) }.run().expect("a run in one process ends");
        let (answer, _) = outcome.answer();
        assert_eq!(answer.verdict.holds(), holds, "{:?}", answer.verdict);
        assert_eq!(answer.verdict.counterexample().is_some(), !holds, "{:?}", answer.verdict);
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let refused = |text: &str| history::check_bytes::<Jobs>(text).expect_err("it does not fit").to_string();
    assert!(refused(r#"{"process":1,"op":"steal","call":0,"return":1}"#).contains("steal"));
    let text = refused(r#"{"process":1,"op":"submit","arg":-1,"ret":true,"call":0,"return":1}"#);
    assert!(text.contains("an integer from 0 to 4294967295"), "{text}");
    let none = history::check_bytes::<Jobs>("").expect("an empty history is one");
    assert!(matches!(none.verdict(), Verdict::Unknown(_)));
    let wrong = HistoryCheck::<Jobs>::new().format("no such format").bytes("").expect_err("there is none");
    assert!(wrong.to_string().contains("unknown format"));
}

/// A specification that panics may lack an outcome: nothing is violated because of it.
#[test]
fn a_panic_of_the_specification_is_no_violation() {
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Shaky(u8);
    #[linpoint::spec]
    impl Shaky {
        fn add(&mut self, n: u8) -> u8 {
            self.0 = self.0.checked_add(n).expect("room");
            self.0
        }
    }
    let text = r#"{"process":1,"op":"add","arg":200,"ret":200,"call":0,"return":1}
{"process":1,"op":"add","arg":200,"ret":144,"call":2,"return":3}"#;
    let checked = history::check_bytes::<Shaky>(text).expect("a history");
    assert!(matches!(checked.verdict(), Verdict::Unknown(_)), "{checked}");
    assert!(checked.to_string().contains("panics"), "{checked}");
}

/// A type that no history can hold is no hindrance, until a history is asked for.
#[test]
fn types_that_no_history_holds_are_named() {
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Odd;
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub struct Opaque;
    #[linpoint::spec]
    impl Odd {
        fn give(&mut self) -> Opaque {
            Opaque
        }
    }
    let why = history::specification::<Odd>().expect_err("it cannot be held").to_string();
    assert!(why.contains("`give` of `Odd` answers a value"), "{why}");
}

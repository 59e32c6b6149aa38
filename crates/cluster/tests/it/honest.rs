//! What happens to sources is told, and never becomes `holds`; clocks within their bounds raise no false
//! alarm.

use linpoint_history::generate::{Plan, Values};
use linpoint_history::rng::Rng;
use linpoint_history::{Verdict, specs};

use std::sync::Arc;

use linpoint_cluster::run::{Feeds, Job, Named};
use linpoint_cluster::source::{Feed, FileFeed, Pulled, Unreadable};
use linpoint_cluster::wire::About;
use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::specs::codes;
use linpoint_history::{Diagnostic, History, Operation, Spec, Symbols, Value};

use crate::agree;
use crate::feeds::{self, Moody, Split};

/// Sources that break off: the run goes on, and nothing is called linearizable that may not be.
#[test]
fn a_source_that_breaks_off_makes_objects_unknown() {
    let mut rng = Rng::new(21);
    let mut unknown = 0;
    for _ in 0..60 {
        let (name, plan) = agree::plan(&mut rng);
        let Some(history) = agree::made(&plan, false) else { continue };
        let split = Split {
            sources: 1 + rng.below(3) as usize,
            workers: 1 + rng.below(2) as usize,
            seed: rng.bits(),
            fails: Some(1 + rng.below(60) as usize),
            keep_going: true,
            ..Split::default()
        };
        let outcome = feeds::run(&history, &name, None, &split);
        let (answer, _) = outcome.answer();
        assert!(
            !matches!(answer.verdict, Verdict::Violated(_)),
            "{name} {plan:?} {split:?} {:?}",
            outcome.report
        );
        let whole = outcome.report.operations == history.operations.len() as u64;
        if let Verdict::Holds(_) = answer.verdict {
            assert!(whole, "{name} {plan:?} {split:?} {:?}", outcome.report);
        } else {
            assert!(
                outcome.report.troubles.iter().any(|text| text.contains("broke off")),
                "{:?}",
                outcome.report
            );
            unknown += 1;
        }
    }
    assert!(unknown > 20);
}

/// Clocks that are off by less than their bound: what is linearizable is never called violated, and what is
/// grossly wrong still is.
#[test]
fn clocks_within_their_bounds_raise_no_false_alarm() {
    let mut rng = Rng::new(22);
    let (mut holds, mut violated) = (0, 0);
    for round in 0..120 {
        let name = *rng.pick(&["register", "queue", "kv", "set"]);
        let mut plan = Plan::new(specs::parse(name).expect("a specification"));
        (plan.processes, plan.operations, plan.seed) = (4, 20 + rng.below(200), rng.bits());
        plan.overlap = *rng.pick(&[0.1, 1.0]);
        plan.values = if rng.chance(0.5) { Values::Distinct } else { Values::Repeated(3) };
        plan.keys = 2;
        let spoiled = round % 2 == 1;
        let Some(mut history) = agree::made(&plan, spoiled) else { continue };
        let epsilon = rng.below(30) as i64;
        let split = Split { sources: 3, workers: 1, seed: rng.bits(), epsilon, ..Split::default() };
        // The sources that `feeds::run` makes: each shifted by its own error.
        let homes = feeds::homes(&history, &split);
        let errors: Vec<i64> = (0..3).map(|_| rng.below(2 * epsilon as u64 + 1) as i64 - epsilon).collect();
        for row in &mut history.operations {
            let error = errors[homes[row.process().0 as usize]];
            row.call = 10 * row.call + error;
            if !row.is_pending() {
                row.ret = 10 * row.ret + error;
            }
        }
        let outcome = feeds::run(&history, name, None, &split);
        let (answer, _) = outcome.answer();
        match answer.verdict {
            Verdict::Violated(_) => {
                assert!(spoiled, "a false alarm: {plan:?} {split:?} {errors:?} {:?}", outcome.report);
                violated += 1;
            }
            Verdict::Holds(_) => holds += 1,
            Verdict::Unknown(_) => {}
        }
    }
    assert!(holds > 30 && violated > 10, "{holds} hold, {violated} violated");
}

/// Gives out what it is told to, chunk by chunk, with the floors it is told.
struct Scripted {
    chunks: Vec<(Vec<Operation>, i64)>,
    symbols: Symbols,
    /// What it has from its second chunk on, and did not know of.
    surprise: Option<Symbols>,
}

impl Feed for Scripted {
    fn pull(&mut self, rows: &mut Vec<Operation>) -> Result<Pulled, Diagnostic> {
        if self.chunks.is_empty() {
            return Ok(Pulled::End);
        }
        let (chunk, floor) = self.chunks.remove(0);
        if self.chunks.is_empty()
            && let Some(symbols) = self.surprise.take()
        {
            self.symbols = symbols;
        }
        rows.extend(chunk);
        Ok(Pulled::Rows { floor })
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn knows_keys(&self) -> bool {
        true
    }
}

fn about(name: &str, spec: &str) -> About {
    About { name: name.to_owned(), spec: spec.to_owned(), initial: None, epsilon: 0 }
}

/// An operation that comes after its floor: its object is unknown, whether it has a name or not, and even if
/// nothing else of it came before.
#[test]
fn what_comes_late_makes_its_object_unknown() {
    for (keys, workers) in [(0, 1), (0, 2), (3, 1), (3, 2)] {
        let mut plan = Plan::new(specs::parse("register").expect("a specification"));
        (plan.operations, plan.keys, plan.processes) = (40, keys, 1);
        let history = agree::made(&plan, false).expect("a history");
        let mut rows = history.operations.clone();
        rows.sort_by_key(linpoint_history::history::return_order);
        let (first, rest) = rows.split_first().expect("rows");
        let chunks =
            vec![(Vec::new(), first.call + 1), (vec![*first], first.call + 1), (rest.to_vec(), i64::MAX)];
        let symbols = history.symbols.clone();
        let feeds: Feeds = Arc::new(move |worker| {
            let feed = Scripted { chunks: chunks.clone(), symbols: symbols.clone(), surprise: None };
            let named = Named { about: about("late", "register"), feed: Box::new(feed) };
            Ok(if worker == 0 { vec![named] } else { Vec::new() })
        });
        let outcome = Job { workers, ..Job::new(feeds) }.run().expect("a run");
        assert!(matches!(outcome.answer().0.verdict, Verdict::Unknown(_)), "{:?}", outcome.report);
        assert!(
            format!("{:?}", outcome.report.unknown).contains("after it had promised"),
            "{:?}",
            outcome.report
        );
        assert_eq!(outcome.report.unknowns, 1, "{:?}", outcome.report);
    }
}

/// A file that has an object when it is read again that it did not have before: others may have sent their
/// operations on it elsewhere, so nothing is said of what comes then.
#[test]
fn a_file_that_has_changed_is_no_violation_and_does_not_hold() {
    for keep_going in [false, true] {
        let (mut before, mut after, mut other) = (Symbols::new(), Symbols::new(), Symbols::new());
        // Register "b" is written by the other source, and read by this one, which did not know that it
        // would.
        let row = |symbols: &mut Symbols, at: i64, key: &str, process: i64, write: bool| {
            let op = if write { codes::register::WRITE } else { codes::register::READ };
            let mut row = Operation::new(symbols.process(&Value::Int(process)), op);
            (row.call, row.ret, row.key) = (at, at + 1, symbols.key(&Value::text(key)));
            *(if write { &mut row.arg } else { &mut row.result }) = symbols.intern(&Value::Int(7));
            row
        };
        let first = row(&mut before, 1, "a", 0, true);
        row(&mut after, 1, "a", 0, true);
        let second = row(&mut after, 21, "b", 0, false);
        let written = row(&mut other, 11, "b", 1, true);
        let feeds: Feeds = Arc::new(move |worker| {
            let own = Scripted {
                chunks: vec![(vec![first], 20), (vec![second], i64::MAX)],
                symbols: before.clone(),
                surprise: Some(after.clone()),
            };
            let another =
                Scripted { chunks: vec![(vec![written], i64::MAX)], symbols: other.clone(), surprise: None };
            let feed = Box::new(if worker == 0 { own } else { another });
            Ok(vec![Named { about: about(&format!("source {worker}"), "register"), feed }])
        });
        let outcome = Job { workers: 2, keep_going, ..Job::new(feeds) }.run().expect("a run");
        assert!(matches!(outcome.answer().0.verdict, Verdict::Unknown(_)), "{:?}", outcome.report);
        let said = outcome.report.troubles.join(" ");
        assert!(said.contains("source 0") && said.contains("it has changed"), "{said}");
    }
}

/// A file that somebody writes to between its two readings: grown or cut, it is noticed.
#[test]
fn a_file_that_grows_or_shrinks_is_noticed() {
    let path =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("grows-{}", std::process::id()));
    let spec = specs::parse("register").expect("a specification");
    let mut plan = Plan::new(spec.clone());
    for (operations, keys) in [(40_960, 3), (45_056, 0), (50_000, 3)] {
        (plan.operations, plan.keys, plan.processes) = (operations, keys, 3);
        let history = agree::made(&plan, false).expect("a history");
        let written = |history: &History| {
            let mut bytes = Vec::new();
            formats::write(Format::JsonLines, history, spec.signature(), &mut bytes).expect("written");
            bytes
        };
        let with = |change: &dyn Fn(&mut History)| {
            let mut other = history.clone();
            other.sort_by_return();
            change(&mut other);
            written(&other)
        };
        let same = with(&|_| {});
        let shorter = with(&|history| history.operations.truncate(operations as usize - 1));
        let longer = with(&|history| {
            let mut row = history.operations[operations as usize - 1];
            (row.call, row.ret) = (row.ret + 1, row.ret + 2);
            history.operations.push(row);
        });
        for (again, is_noticed) in [(&same, false), (&shorter, true), (&longer, true)] {
            std::fs::write(&path, &same).expect("written");
            let mut feed =
                FileFeed::open(&Input::File(path.clone()), &spec, &ReadOptions::default()).expect("readable");
            std::fs::write(&path, again).expect("written");
            let (mut rows, mut count) = (Vec::new(), 0);
            let end = loop {
                rows.clear();
                match feed.pull(&mut rows) {
                    Ok(Pulled::Rows { .. }) => count += rows.len(),
                    Ok(_) => break None,
                    Err(diagnostic) => break Some(diagnostic.code),
                }
            };
            assert_eq!(end, is_noticed.then_some("H024"), "{operations} operations");
            assert!(is_noticed || count == operations as usize);
        }
    }
    std::fs::remove_file(&path).ok();
}

/// A file that cannot be opened is missing from the beginning: what others read of its writes is no
/// violation.
#[test]
fn a_source_that_cannot_be_opened_is_no_violation() {
    let mut rng = Rng::new(23);
    for _ in 0..40 {
        let (name, plan) = agree::plan(&mut rng);
        let Some(history) = agree::made(&plan, false) else { continue };
        let History { operations, symbols } = history;
        let seed = rng.bits();
        let feeds: Feeds = Arc::new(move |worker| {
            if worker == 0 {
                return Ok(vec![Unreadable::source(
                    &Diagnostic::new("T000", "no such file", "").in_file("gone".to_owned()),
                )]);
            }
            let rows = operations.iter().filter(|row| row.process().0 % 2 == 1).copied().collect();
            let feed = Moody::new(rows, symbols.clone(), seed, None);
            Ok(vec![Named { about: about("here", &name), feed: Box::new(feed) }])
        });
        let outcome = Job { workers: 2, keep_going: true, ..Job::new(feeds) }.run().expect("a run");
        assert!(matches!(outcome.answer().0.verdict, Verdict::Unknown(_)), "{plan:?} {:?}", outcome.report);
        assert_eq!(outcome.report.explained, 0);
    }
}

/// A run that is stopped by its deadline, worker by worker: what was not read by then is missing, and no
/// violation.
#[test]
fn a_run_that_is_stopped_raises_no_false_alarm() {
    let mut rng = Rng::new(24);
    let mut stopped = 0;
    for _ in 0..40 {
        let (name, mut plan) = agree::plan(&mut rng);
        (plan.operations, plan.pending) = (600, 0.0);
        let Some(history) = agree::made(&plan, false) else { continue };
        let History { operations, symbols } = history;
        let seed = rng.bits();
        let feeds: Feeds = Arc::new(move |worker| {
            let own = |row: &&Operation| row.process().0 as usize % 2 == worker;
            let feed =
                Moody::new(operations.iter().filter(own).copied().collect(), symbols.clone(), seed, None);
            Ok(vec![Named { about: about("part", &name), feed: Box::new(feed) }])
        });
        let deadline =
            Some(std::time::Instant::now() + std::time::Duration::from_micros(500 + rng.below(4000)));
        let outcome = Job { workers: 2, deadline, ..Job::new(feeds) }.run().expect("a run");
        assert!(!matches!(outcome.answer().0.verdict, Verdict::Violated(_)), "{plan:?} {:?}", outcome.report);
        stopped += u32::from(outcome.report.stopped);
    }
    assert!(stopped > 5, "{stopped} were stopped");
}

/// Stamps of one source are exact among themselves, whatever its clock's error: what they alone refute is
/// refuted, however much else there is, and although operations of one process would overlap if they were
/// widened.
#[test]
fn a_clock_that_is_off_is_off_for_all_its_stamps_alike() {
    // Two writes and a read of the first, by one process; and many operations of another source, some
    // pending, long before.
    let run = |name: &'static str, others: i64, pending: bool, far: i64| {
        let spec = specs::parse(name).expect("a specification");
        let feeds: Feeds = Arc::new(move |_| {
            let mut symbols = Symbols::new();
            let row = |symbols: &mut Symbols, process: i64, op, value: Option<i64>, call: i64| {
                let mut row = Operation::new(symbols.process(&Value::Int(process)), op);
                (row.call, row.ret) = (call, call + 1);
                let value = value.map_or(linpoint_history::ValueId::NULL, |n| symbols.intern_int(n));
                match op {
                    codes::register::WRITE => row.arg = value,
                    _ => row.result = value,
                }
                row
            };
            let steps = [
                (codes::register::WRITE, Some(1)),
                (codes::register::WRITE, Some(2)),
                (codes::register::READ, Some(1)),
            ];
            let mut stale: Vec<Operation> = (0..)
                .zip(steps)
                .map(|(place, (op, value))| row(&mut symbols, 1, op, value, 10 + 10 * place))
                .collect();
            stale.sort_by_key(|row| row.ret);
            let mut others: Vec<Operation> = (0..others)
                .map(|n| row(&mut symbols, 2, codes::register::WRITE, Some(100 + n), far + 10 * n))
                .collect();
            if pending {
                let mut row = row(&mut symbols, 3, codes::register::WRITE, Some(7), far);
                row.ret = Operation::NEVER;
                others.push(row);
            }
            let spec = specs::parse(name).expect("a specification");
            let named = |file: &str, rows: Vec<Operation>, epsilon: i64| -> Result<Named, Diagnostic> {
                let about = About { epsilon, ..about(file, name) };
                Ok(Named { about, feed: Box::new(FileFeed::of(rows, symbols.clone(), &spec)?) })
            };
            Ok(vec![named("stale", stale, 1000)?, named("others", others, 5)?])
        });
        assert!(!spec.name().is_empty());
        Job::new(feeds).run().expect("a run in one process ends").answer().0.verdict
    };
    for (others, pending, far) in
        [(0, false, 0), (0, true, 0), (3, false, -100_000), (200, true, -100_000), (200, true, 0)]
    {
        let verdict = run("register", others, pending, far);
        assert!(matches!(verdict, Verdict::Violated(_)), "{others} {pending} {far}: {verdict:?}");
    }
}

/// Two names of one specification are one, and so are an empty beginning and none.
#[test]
fn one_specification_has_one_name() {
    for [first, second] in [
        ["lock", "LOCK"],
        ["semaphore", "semaphore:capacity=1"],
        ["semaphore:capacity=01", "Semaphore:capacity=1"],
    ] {
        for workers in [1, 2] {
            let feeds: Feeds = Arc::new(move |worker| {
                let named = |part: usize, name: &str| -> Result<Named, Diagnostic> {
                    let mut symbols = Symbols::new();
                    let mut row =
                        Operation::new(symbols.process(&Value::Int(part as i64)), codes::lock::ACQUIRE);
                    (row.call, row.ret) = (2 * part as i64, 2 * part as i64 + 1);
                    let spec = specs::parse(name).expect("a specification");
                    Ok(Named {
                        about: about(&format!("part {part}"), name),
                        feed: Box::new(FileFeed::of(vec![row], symbols, &spec)?),
                    })
                };
                let parts = [first, second].into_iter().enumerate();
                parts
                    .filter(|(part, _)| part % workers == worker)
                    .map(|(part, name)| named(part, name))
                    .collect()
            });
            let outcome = Job { workers, ..Job::new(feeds) }.run().expect("a run in one process ends");
            assert_eq!(outcome.report.objects, 1, "{first} and {second}");
            assert!(matches!(outcome.answer().0.verdict, Verdict::Violated(_)), "{first} and {second}");
        }
    }
}

/// An empty list is no contents at all, also of a source that says so.
#[test]
fn an_object_may_begin_with_an_empty_list() {
    for kind in linpoint_history::Kind::all() {
        let spec = specs::parse(kind.name()).expect("a specification");
        let Ok(started) = spec.clone().starting_from(Value::list([])) else { continue };
        let outcome = feeds::run(
            &agree::made(&Plan::new(started.clone()), false).expect("a history"),
            kind.name(),
            Some(started.initial.clone()),
            &Split { sources: 1, workers: 1, ..Split::default() },
        );
        assert_eq!(outcome.report.troubles, Vec::<String>::new(), "{}", kind.name());
    }
}

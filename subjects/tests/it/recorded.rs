//! Every correct object of the catalogue with real threads, recorded and checked: a short stress, in CI. And that what is broken is found, from a history and online.

use linpoint_check::portfolio::Choice;
use linpoint_check::{Options, check_rows};
use linpoint_history::history::is_sorted_by_return;
use linpoint_history::{Basis, Verdict};
use linpoint_monitor::{Conclusion, Monitor};
use linpoint_subjects::catalogue::{self, Entry};
use linpoint_subjects::guide::Guide;
use linpoint_subjects::record::{Load, Pinning, record, record_with_sights, watch};

#[track_caller]
fn verdict(entry: &Entry, load: &Load, choice: Choice) -> Verdict {
    let target = (entry.make)();
    let mut history = record(&target, load);
    assert_eq!(history.operations.len(), load.operations + load.prefix);
    assert!(is_sorted_by_return(&history.operations));
    let rows = std::mem::take(&mut history.operations);
    let options = Options { choice, ..Options::default() };
    check_rows(rows, &target.spec(), &mut history.symbols, &options).expect("a history").verdict
}

#[track_caller]
fn holds(entry: &Entry, load: &Load, choice: Choice) {
    let operations = (load.operations + load.prefix) as u64;
    match verdict(entry, load, choice) {
        Verdict::Holds(basis) => assert_eq!(basis, Basis::Witness { operations }, "{}", entry.name),
        other => panic!("{} with {load:?}: {other:?}", entry.name),
    }
}

fn correct() -> impl Iterator<Item = &'static Entry> {
    catalogue::ALL.iter().filter(|entry| entry.is_correct())
}

#[test]
fn correct_objects_are_linearizable() {
    for entry in correct() {
        for (seed, load) in [
            Load { values: Some(4), adds: 0.45, ..Load::default() },
            Load { values: Some(50), prefix: 200, pauses: 0.05, ..Load::default() },
            Load {
                threads: 3,
                adds: 0.3,
                others: if entry.changes_keys { 0.1 } else { 0.0 },
                ..Load::default()
            },
            Load { threads: 8, adds: 0.4, pinning: Pinning::Spread, work: 20, ..Load::default() },
            Load { threads: 2, adds: 0.4, pinning: Pinning::Together, ..Load::default() },
        ]
        .into_iter()
        .enumerate()
        {
            holds(entry, &Load { operations: 8_000, seed: seed as u64, ..load }, Choice::Auto);
        }
    }
}

/// No priority twice: the specialised monitor decides.
#[test]
fn distinct_priorities() {
    for entry in
        correct().filter(|entry| matches!((entry.make)(), linpoint_subjects::record::Target::Queue(_)))
    {
        let load = Load { operations: 20_000, values: None, prefix: 100, ..Load::default() };
        holds(entry, &load, Choice::Monitor);
        holds(entry, &load, Choice::Metastate);
    }
}

/// The stamps say nothing wrong: of one thread's operations each precedes the next, and returns are numbered one by one.
#[test]
fn stamps() {
    let target = (catalogue::find("coarse-heap").expect("it is there").make)();
    let history = record(&target, &Load { operations: 10_000, prefix: 10, ..Load::default() });
    let mut last = [-1; 5];
    for (index, op) in history.operations.iter().enumerate() {
        let process = op.process().0 as usize;
        assert_eq!(op.ret, index as i64);
        assert!(last[process] < op.call && op.call <= op.ret, "{op:?}");
        last[process] = op.ret;
    }
}

/// Loads chosen by coverage, with threads held up inside an operation, find every error soon, and its core is small. (`--example until_found` measures how soon, beside the usual load.)
///
/// Where the first core is larger than eight operations the search goes on, as it does there: a thread that is held up for long in a removal that finds nothing needs an element for every moment of it, and then no smaller part of that history is wrong.
#[test]
fn guided_loads_find_every_error() {
    for entry in catalogue::ALL.iter().filter(|entry| !entry.is_correct()) {
        let usual = Load { prefix: 100, values: Some(250), ..Load::default() };
        let mut guide = Guide::new(&usual, false, 7);
        let (mut operations, mut least) = (0, usize::MAX);
        while least > 8 {
            let found = if least == usize::MAX { "nothing".to_owned() } else { format!("a core of {least}") };
            assert!(operations < 500_000, "{}: {found} in {operations} operations", entry.name);
            let (target, load) = ((entry.make)(), guide.choose());
            let (mut history, sights) = record_with_sights(&target, &load);
            guide.learn(&load, &history, sights);
            let rows = std::mem::take(&mut history.operations);
            let options = Options::default();
            let answer = check_rows(rows, &target.spec(), &mut history.symbols, &options).expect("a history");
            operations += load.operations;
            if let Verdict::Violated(example) = answer.verdict {
                assert!(example.rechecked, "{}: {example:?}", entry.name);
                least = least.min(example.core.len());
            }
        }
        println!("{}: {operations} operations, a core of {least}", entry.name);
    }
}

/// Held up or not, correct objects are correct.
#[test]
fn guided_loads_find_nothing_wrong_with_correct_objects() {
    for entry in correct() {
        let mut guide = Guide::new(&Load { prefix: 100, values: Some(250), ..Load::default() }, false, 3);
        for _ in 0..15 {
            let (target, load) = ((entry.make)(), guide.choose());
            let (history, sights) = record_with_sights(&target, &load);
            guide.learn(&load, &history, sights);
            holds(entry, &Load { seed: load.seed + 1, ..load }, Choice::Auto);
        }
    }
}

/// A thread's clients are processes, with operations that overlap.
#[test]
fn clients() {
    for entry in correct() {
        let load = Load { threads: 2, clients: 6, operations: 6_000, values: Some(20), ..Load::default() };
        let history = record(&(entry.make)(), &load);
        let widest = history.widest();
        // On a busy machine the two threads may hardly meet.
        assert!((5..=12).contains(&widest), "{}: {widest} were open", entry.name);
        holds(entry, &load, Choice::Auto);
    }
}

#[test]
fn online() {
    for name in ["coarse-heap", "sundell-tsigas", "fine-stm-heap", "harris-michael-list"] {
        let monitor = Monitor::start().expect("a monitor");
        let target = (catalogue::find(name).expect("it is there").make)();
        let load = Load { threads: 3, operations: 6_000, values: Some(20), ..Load::default() };
        watch(&target, &load, &monitor).expect("room for an object");
        let report = monitor.finish();
        assert_eq!(report.conclusion(), Conclusion::Clean, "{name}: {report}");
        assert_eq!(report.operations(), 6_000);
        assert!(report.to_string().contains("excluded at 95 %"), "{report}");
    }
}

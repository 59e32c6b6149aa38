//! The programs of the corpus: what their headers expect of `obligations`.

use std::path::Path;
use std::time::Duration;

use linpoint_lang::{Program, compile};
use linpoint_model::{Bounds, Mode, Workload, Wrong, explore};
use linpoint_prove::graph::label;
use linpoint_prove::obligation::Kind;
use linpoint_prove::{Options, Outcome, Report, prove};

use crate::solvers::options;

fn read(path: &str) -> (String, Program) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    let (mut programs, wrong) = compile(&text);
    assert!(wrong.is_empty(), "{wrong:?}");
    (text, programs.remove(0))
}

fn report(path: &str) -> (String, Program, Report) {
    report_with(path, options())
}

fn report_with(path: &str, options: Options) -> (String, Program, Report) {
    let (text, program) = read(path);
    let report = prove(&program, &options, &|_, _| {});
    (text, program, report)
}

/// It is proved, its header says so, no step is impossible, and small runs find nothing wrong.
#[track_caller]
fn proved(path: &str) {
    let (text, program, report) = report(path);
    assert_eq!(report.verdict, "holds", "{path}");
    assert!(text.contains("// expect obligations: proved"), "{path}");
    assert!(report.never_taken.is_empty(), "{path}: {:?}", report.never_taken);
    let bounds = Bounds { time: Some(Duration::from_secs(1)), ..Bounds::default() };
    let mut workloads: Vec<Workload> =
        [(2, 1), (2, 2), (3, 2)].map(|(threads, ops)| Workload::general(&program, threads, ops)).into();
    if path.contains("lock") {
        // Locks are for callers who keep to the rules; its client does.
        workloads = program.clients.iter().map(Workload::of).collect();
    }
    for workload in workloads {
        let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
        let violated = match &explored.verdict {
            // Proofs are about linearizability and errors.
            linpoint_model::Verdict::Violated(violation) => violation.wrong != Wrong::Deadlock,
            _ => false,
        };
        assert!(!violated, "{path}: proved, and wrong with {workload:?}: {:?}", explored.verdict);
    }
}

/// The obligations that stay open: their kinds and the labels of their steps.
#[track_caller]
fn open(path: &str) -> Vec<(&'static str, String)> {
    let (text, program, report) = report(path);
    assert!(text.contains("// expect obligations: unknown"), "{path}");
    left_open(path, &text, &program, &report)
}

#[track_caller]
fn left_open(path: &str, text: &str, program: &Program, report: &Report) -> Vec<(&'static str, String)> {
    let graph = report.graph.as_ref().expect("it has a graph");
    let mut open: Vec<(&str, String)> = Vec::new();
    for decided in report.decided.iter().filter(|decided| !decided.outcome.is_proved()) {
        assert!(matches!(decided.outcome, Outcome::Open(_)), "{path}: {:?}", decided.outcome);
        // From the question to the countermodel it takes well below a second; a busy machine gets a minute.
        assert!(decided.took < Duration::from_secs(60), "{path}: {:?}", decided.took);
        let from = graph.steps[decided.obligation.step].from;
        open.push((decided.obligation.kind.name(), label(program, text, graph, from)));
    }
    open.dedup();
    open
}

#[test]
fn naive_abstraction_fails_where_a_slot_becomes_full() {
    let open = open("broken/multiset-naive-abstraction.lin");
    assert_eq!(open, [("effect", "I14".to_owned()), ("effect", "I15".to_owned())]);
}

#[test]
fn tickets_that_may_be_the_same() {
    let open = open("broken/ticket-lock-no-disjoint.lin");
    assert_eq!(open, [("others", "A2".to_owned())]);
}

#[test]
fn strict_remove_fails_only_at_the_status_of_another() {
    let open = open("correct/multiset-delete.lin");
    assert_eq!(open, [("status", "K4".to_owned())]);
}

#[test]
fn multiset_with_one_element_at_a_time() {
    proved("correct/multiset-insert.lin");
}

#[test]
fn ticket_lock() {
    proved("correct/ticket-lock.lin");
}

#[test]
fn snapshot() {
    proved("correct/snapshot.lin");
}

#[test]
fn array_queue() {
    proved("correct/array-queue.lin");
}

#[test]
fn array_set() {
    proved("correct/array-set.lin");
}

#[test]
fn multiset() {
    proved("correct/multiset.lin");
}

#[test]
fn multiset_with_the_abstraction_of_the_paper() {
    proved("correct/multiset-in.lin");
}

#[test]
fn the_abstraction_of_the_paper_alone_at_fixed_sizes() {
    let options = options();
    let (text, _) = read("correct/multiset-in.lin");
    // Without the second form, nothing but the predicate with its quantifier is left.
    let alone = text.replace("  abs m[n].elt for n in 0..N if visible[n]\n", "");
    assert_ne!(text, alone);
    let (programs, wrong) = compile(&alone);
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(programs[0].annotations.abs_again.is_empty());
    for size in [2, 3, 4] {
        let sizes = vec![("N".to_owned(), size)];
        let report = prove(&programs[0], &Options { sizes, ..options.clone() }, &|_, _| {});
        assert_eq!(report.verdict, "holds", "N = {size}");
    }
}

#[test]
fn the_older_precondition_fails_where_a_slot_changes_that_another_may_have_locked() {
    let options = options();
    let options = Options { all_processes: false, sizes: vec![("N".to_owned(), 3)], ..options };
    let path = "correct/multiset-in.lin";
    let (text, program, report) = report_with(path, options);
    let open = left_open(path, &text, &program, &report);
    let effects: Vec<&str> =
        open.iter().filter(|(kind, _)| *kind == "effect").map(|(_, step)| step.as_str()).collect();
    assert_eq!(effects, ["I1", "I5", "I7'"]);
    let steps: std::collections::BTreeSet<&str> = open.iter().map(|(_, step)| step.as_str()).collect();
    assert_eq!(steps, ["I1", "I5", "I7'"].into_iter().collect());
}

#[test]
fn two_abstractions_that_differ() {
    let options = options();
    let (text, _) = read("correct/multiset-in.lin");
    let wrong = text.replace("&& m[k].stt == reserved)", "&& m[k].stt == full)");
    assert_ne!(text, wrong);
    let (programs, _) = compile(&wrong);
    let report = prove(&programs[0], &options, &|_, _| {});
    let same = report.decided.iter().find(|decided| decided.obligation.kind == Kind::Same);
    assert!(matches!(same.expect("it is asked").outcome, Outcome::Open(_)));
}

#[test]
fn treiber_by_ghosts() {
    proved("correct/treiber-ghosts.lin");
}

#[test]
fn multiset_with_a_search_for_slots() {
    proved("correct/multiset-findslot.lin");
}

#[test]
fn multiset_with_remove_that_may_fail() {
    proved("correct/multiset-delete-weak.lin");
}

#[test]
fn nothing_else_is_proved() {
    let options = options();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/broken");
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let (programs, _) = compile(&text);
        if programs[0].annotations.abs.is_none() {
            continue;
        }
        let report = prove(&programs[0], &options, &|_, _| {});
        assert_ne!(report.verdict, "holds", "{}", path.display());
    }
}

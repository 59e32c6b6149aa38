//! What is found by trying: linearization points, hidden slots, what is missing.

use std::path::Path;
use std::time::Duration;

use linpoint_lang::program::{Action, LocalId, NodeId};
use linpoint_lang::{Program, compile};
use linpoint_prove::hide::prove_with_hiding;
use linpoint_prove::points::prove_with_points;
use linpoint_prove::{Options, Outcome, blame, prove};

use crate::solvers::options;

fn read(path: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    compile(&text).0.remove(0)
}

/// The program without any linearization point.
fn without_points(path: &str) -> Program {
    let mut program = read(path);
    for edge in program.nodes.iter_mut().flat_map(|node| &mut node.edges) {
        edge.actions.retain(|action| !matches!(action, Action::Mark(_)));
    }
    program
}

fn label(program: &Program, node: NodeId) -> &str {
    program.node(node).label.as_deref().unwrap_or("")
}

/// Points are found with which it is proved, at these labels.
#[track_caller]
fn found(path: &str, labels: &[&str]) {
    let options = options();
    let program = without_points(path);
    let proved = prove_with_points(&program, &options, &|_, _| {});
    assert_eq!(proved.report.verdict, "holds", "{path}: {:?}", proved.found);
    let mut found: Vec<&str> = proved.found.iter().map(|found| label(&program, found.node)).collect();
    found.sort_unstable();
    assert_eq!(found, labels, "{path}");
}

#[test]
fn points_of_treiber() {
    found("correct/treiber-ghosts.lin", &["P3", "Q1", "Q3"]);
}

#[test]
fn points_of_the_multiset() {
    found("correct/multiset.lin", &["I15"]);
}

#[test]
fn points_of_a_queue_a_set_and_a_lock() {
    found("correct/array-queue.lin", &["D2", "D5", "E2", "E5"]);
    found("correct/array-set.lin", &["A2", "A6", "R4", "R7"]);
    found("correct/ticket-lock.lin", &["", "A2"]);
}

#[test]
fn no_points_make_a_wrong_program_right() {
    let options = options();
    let options = Options { time: Some(Duration::from_secs(10)), ..options };
    for path in ["treiber-ghosts-pop-no-cas", "multiset-lookup-no-lock", "multiset-early-publish"] {
        let program = without_points(&format!("broken/{path}.lin"));
        let proved = prove_with_points(&program, &options, &|_, _| {});
        assert_ne!(proved.report.verdict, "holds", "{path}: {:?}", proved.found);
    }
}

#[test]
fn a_slot_is_hidden_from_the_first_write_to_the_second() {
    let options = options();
    let program = read("broken/multiset-naive-abstraction.lin");
    let (proved, hidden) = prove_with_hiding(&program, &options, &|_, _| {});
    assert_eq!(proved.report.verdict, "holds");
    let hidden = hidden.expect("something is hidden");
    assert_eq!((label(&program, hidden.from.0), label(&program, hidden.until.0)), ("I14", "I15"));
}

#[test]
fn hiding_makes_no_wrong_program_right() {
    let options = options();
    let options = Options { time: Some(Duration::from_secs(10)), ..options };
    for path in ["multiset-early-publish", "multiset-one-lock", "multiset-lookup-no-lock"] {
        let path = format!("broken/{path}.lin");
        let program = read(&path);
        let (proved, hidden) = prove_with_hiding(&program, &options, &|_, _| {});
        assert_ne!(proved.report.verdict, "holds", "{path}: {hidden:?}");
    }
}

#[test]
fn locals_that_would_have_to_differ() {
    let options = options();
    let program = read("broken/ticket-lock-no-disjoint.lin");
    let report = prove(&program, &options, &|_, _| {});
    let graph = report.graph.as_ref().expect("it has a graph");
    let open = report.decided.iter().find(|decided| !decided.outcome.is_proved()).expect("one is open");
    let Outcome::Open(picture) = &open.outcome else { panic!("{:?}", open.outcome) };
    let other = picture.q.as_ref().expect("another process").at;
    let ticket = program.operations[0].locals.iter().position(|local| local.name == "t").expect("a ticket");
    let pair = (LocalId(ticket as u16), LocalId(ticket as u16));
    let found =
        blame::must_differ(&program, graph, &options, &report.inferred, (open.obligation, other), &[pair]);
    assert_eq!(found, [0]);
}

#[test]
fn a_conjunct_that_is_missing_is_told_with_who_broke_it() {
    let options = options();
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/correct/ticket-lock.lin"),
    )
    .expect("the corpus is there");
    let line = "  inv at A2: serving <= t && t < next && (holder != none ==> serving < t)\n";
    let less = text.replace(line, "");
    assert_ne!(less, text);
    let (full, _) = compile(&text);
    let (programs, _) = compile(&less);
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_ne!(report.verdict, "holds");
    let graph = report.graph.as_ref().expect("it has a graph");
    // What was taken out is among what closes an obligation that is open without it.
    let taken_out = full[0].annotations.invariants.iter().find(|inv| !inv.at.is_empty()).expect("it has one");
    let closed = report.decided.iter().filter(|decided| !decided.outcome.is_proved()).any(|decided| {
        let at = blame::places(graph, decided.obligation).first().copied();
        let candidates = [blame::Candidate { at, body: taken_out.body.clone() }];
        !blame::missing(&programs[0], graph, &options, &report.inferred, decided.obligation, &candidates, 1)
            .is_empty()
    });
    assert!(closed, "{:?}", report.verdict);
    // Every guess that was dropped has a step that broke it.
    let places: Vec<_> = graph.running().collect();
    assert_eq!(
        blame::dropped(&report.inferred, &places).len(),
        report.inferred.dropped.iter().filter(|d| d.at.is_none_or(|at| places.contains(&at))).count()
    );
}

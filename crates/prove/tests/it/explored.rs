//! What is proved has no counterexample: every case study with three threads and two operations each,
//! searched to the end.
//!
//! Where all runs are too many, runs with at most one preemption are searched to the end; sizes are small.
//! The files are those that `corpus.rs` proves.

use std::path::Path;
use std::time::Duration;

use linpoint_lang::{Program, compile};
use linpoint_model::{Bounds, Mode, Verdict, Workload, explore};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/correct").join(name);
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    assert!(text.contains("// expect obligations: proved"), "{name} is no case study");
    text
}

/// Searched to the end, and nothing is wrong; at least so many states.
#[track_caller]
fn holds(name: &str, text: &str, preemptions: Option<u8>, at_least: u64) {
    let (programs, wrong) = compile(text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{name}: {wrong:?}");
    let program: &Program = &programs[0];
    let bounds = Bounds { preemptions, time: Some(Duration::from_secs(300)), ..Bounds::default() };
    // Where callers must keep to rules, the client does.
    let ruled = |client: &&linpoint_lang::program::Client| ["three", "calls"].contains(&client.name.as_str());
    let workload = match program.clients.first().filter(ruled) {
        Some(client) => Workload::of(client),
        None => Workload::general(program, 3, 2),
    };
    assert_eq!(workload.threads.len(), 3, "{name}");
    let explored = explore(program, &workload, Mode::Anywhere, &bounds);
    assert!(matches!(explored.verdict, Verdict::Holds(_)), "{name}: {:?}", explored.verdict);
    assert!(explored.states as u64 >= at_least, "{name}: {} states", explored.states);
}

fn with_size(text: &str, size: u32) -> String {
    let line = text.lines().find(|line| line.starts_with("  size N = ")).expect("it has a size");
    text.replace(line, &format!("  size N = {size}"))
}

#[test]
fn multiset() {
    holds("multiset", &with_size(&read("multiset.lin"), 2), None, 1_000);
    holds("multiset", &read("multiset.lin"), Some(1), 1_000);
}

#[test]
fn multiset_with_the_abstraction_of_the_paper() {
    holds("multiset-in", &with_size(&read("multiset-in.lin"), 2), None, 1_000);
}

#[test]
fn multiset_with_a_search_for_slots() {
    holds("multiset-findslot", &with_size(&read("multiset-findslot.lin"), 2), Some(1), 1_000);
}

#[test]
fn multiset_with_remove_that_may_fail() {
    holds("multiset-delete-weak", &with_size(&read("multiset-delete-weak.lin"), 2), Some(1), 1_000);
}

#[test]
fn multiset_with_one_element_at_a_time() {
    // Whoever adds to a full one waits: the calls are such that it never is.
    let text = read("multiset-insert.lin");
    let general = "  client general {\n    threads 2\n    ops 2\n  }\n";
    assert!(text.contains(general));
    let calls = "  client calls {\n    thread { add(0); lookup(1) }\n    thread { lookup(1); add(1) }\n    thread { add(1); lookup(0) }\n  }\n";
    holds("multiset-insert", &text.replace(general, calls), None, 1_000);
}

#[test]
fn arrays() {
    holds("array-queue", &read("array-queue.lin"), None, 100);
    holds("array-set", &read("array-set.lin"), None, 1_000);
    holds("snapshot", &read("snapshot.lin"), None, 1_000);
}

#[test]
fn treiber_by_ghosts() {
    holds("treiber-ghosts", &read("treiber-ghosts.lin"), None, 1_000);
}

#[test]
fn ticket_lock() {
    holds("ticket-lock", &read("ticket-lock.lin"), None, 100);
}

//! Lines of some programs dropped, or swapped with the next, or changed: what exploration refutes must not be proved. One mutant in four, for time.

use std::path::Path;
use std::time::Duration;

use linpoint_lang::compile;
use linpoint_model::{Bounds, Mode, Workload, Wrong, explore};
use linpoint_prove::{Verdict, prove};

use crate::solvers::options;

/// Changes of a text, each with what was done.
fn mutants(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("  op ")).expect("it has an operation");
    let last = lines.iter().position(|line| line.starts_with("  abs ")).expect("it has an abstraction");
    let mut found = Vec::new();
    let plain = |line: &str| !line.contains(['{', '}']) && !line.trim().is_empty();
    for at in first..last {
        if plain(lines[at]) {
            let mut dropped = lines.clone();
            dropped.remove(at);
            found.push((format!("without `{}`", lines[at].trim()), dropped.join("\n")));
            if plain(lines[at + 1]) {
                let mut swapped = lines.clone();
                swapped.swap(at, at + 1);
                found.push((format!("`{}` one later", lines[at].trim()), swapped.join("\n")));
            }
        }
        for (from, to) in [
            ("+ 1", "+ 2"),
            ("== full", "== reserved"),
            ("= reserved", "= full"),
            ("return true", "return false"),
            ("return false", "return true"),
            ("== x", "!= x"),
            ("&&", "||"),
            ("< N", "<= N"),
            ("= none", "= x"),
            ("% CAP", "% 2"),
            ("== CAP", "== 2"),
        ] {
            if lines[at].contains(from) {
                let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
                changed[at] = lines[at].replace(from, to);
                found.push((format!("{to} in `{}`", lines[at].trim()), changed.join("\n")));
            }
        }
    }
    found
}

/// Tries every mutant; those that are proved are explored. At least so many are not proved.
#[track_caller]
fn none_is_proved_wrongly(path: &str, at_least: usize) {
    let Some(options) = options() else { return };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path);
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    let mut not_proved = 0;
    for (what, mutant) in mutants(&text).into_iter().step_by(4) {
        let (programs, wrong) = compile(&mutant);
        let (Some(program), false) = (programs.first(), wrong.iter().any(|d| d.is_error())) else { continue };
        if prove(program, &options, &|_, _| {}).verdict != Verdict::Proved {
            not_proved += 1;
            continue;
        }
        let bounds = Bounds { time: Some(Duration::from_secs(1)), ..Bounds::default() };
        for (threads, ops) in [(2, 1), (2, 2), (3, 1)] {
            let explored =
                explore(program, &Workload::general(program, threads, ops), Mode::Anywhere, &bounds);
            if let linpoint_model::Verdict::Violated(violation) = &explored.verdict {
                let looked_for = matches!(violation.wrong, Wrong::NotLinearizable | Wrong::Error(_));
                assert!(!looked_for, "proved, and wrong: {what}: {:?}", violation.wrong);
            }
        }
    }
    assert!(not_proved >= at_least, "{not_proved} mutants are not proved");
}

#[test]
fn of_the_multiset_with_one_element_at_a_time() {
    none_is_proved_wrongly("correct/multiset-insert.lin", 3);
}

#[test]
fn of_the_array_set() {
    none_is_proved_wrongly("correct/array-set.lin", 4);
}

#[test]
fn of_the_array_queue() {
    none_is_proved_wrongly("correct/array-queue.lin", 3);
}

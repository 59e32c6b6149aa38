//! Lines of some programs dropped, or swapped with the next, or changed: what exploration refutes must not be
//! proved. One mutant in four, for time; all of them are tried by `cargo run --release -p linpoint-prove
//! --example mutants`. Programs that are wrong stay so whatever is annotated: their annotations are changed
//! too.

mod text;

use std::path::Path;
use std::time::Duration;

use linpoint_lang::compile;
use linpoint_model::{Bounds, Mode, Workload, Wrong, explore};
use linpoint_prove::prove;

use crate::solvers::options;
use text::{mutants, other_annotations};

/// Tries every mutant; those that are proved are explored. At least so many are not proved.
#[track_caller]
fn none_is_proved_wrongly(path: &str, at_least: usize) {
    let options = options();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path);
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    let mut not_proved = 0;
    for (what, mutant) in mutants(&text).into_iter().step_by(4) {
        let (programs, wrong) = compile(&mutant);
        let (Some(program), false) = (programs.first(), wrong.iter().any(|d| d.is_error())) else { continue };
        if !prove(program, &options, &|_, _| {}).verdict.holds() {
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

#[test]
fn of_treiber_by_ghosts() {
    none_is_proved_wrongly("correct/treiber-ghosts.lin", 3);
}

/// Programs that some run refutes are not proved, whatever their annotations say; one mutant in `every`.
#[track_caller]
fn never_proved(path: &str, every: usize, at_least: usize) {
    let options = options();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    assert!(text.contains("// expect explore: violated"), "{}", path.display());
    let mut tried = 0;
    for (what, mutant) in other_annotations(&text).into_iter().step_by(every) {
        let (programs, wrong) = compile(&mutant);
        let (Some(program), false) = (programs.first(), wrong.iter().any(|d| d.is_error())) else { continue };
        tried += 1;
        let verdict = prove(program, &options, &|_, _| {}).verdict;
        assert_ne!(verdict, "holds", "{}: {what}", path.display());
    }
    assert!(tried >= at_least, "{tried} were tried");
}

#[test]
fn wrong_publication_with_other_annotations() {
    never_proved("broken/multiset-early-publish.lin", 3, 4);
}

#[test]
fn wrong_treiber_with_other_annotations() {
    never_proved("broken/treiber-ghosts-pop-no-cas.lin", 1, 1);
}

#[test]
fn wrong_lookup_with_other_annotations() {
    never_proved("broken/multiset-lookup-no-lock.lin", 3, 4);
}

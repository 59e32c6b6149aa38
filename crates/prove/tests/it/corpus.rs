//! The programs of the corpus: what their headers expect of `obligations`.

use std::path::Path;

use linpoint_lang::{Program, compile};
use linpoint_model::{Bounds, Mode, Workload, explore};
use linpoint_prove::{Report, Verdict, prove};

use crate::solvers::options;

fn read(path: &str) -> (String, Program) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(path);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    let (mut programs, wrong) = compile(&text);
    assert!(wrong.is_empty(), "{wrong:?}");
    (text, programs.remove(0))
}

fn report(path: &str) -> Option<(String, Program, Report)> {
    let options = options()?;
    let (text, program) = read(path);
    let report = prove(&program, &options, &|_, _| {});
    Some((text, program, report))
}

/// It is proved, its header says so, no step is impossible, and small runs find nothing wrong.
#[track_caller]
fn proved(path: &str) {
    let Some((text, program, report)) = report(path) else { return };
    assert_eq!(report.verdict, Verdict::Proved, "{path}");
    assert!(text.contains("// expect obligations: proved"), "{path}");
    assert!(report.never_taken.is_empty(), "{path}: {:?}", report.never_taken);
    let bounds = Bounds { time: Some(std::time::Duration::from_secs(2)), ..Bounds::default() };
    for (threads, ops) in [(2, 1), (2, 2), (3, 2)] {
        let explored = explore(&program, &Workload::general(&program, threads, ops), Mode::Anywhere, &bounds);
        let violated = matches!(explored.verdict, linpoint_model::Verdict::Violated(_));
        assert!(
            !violated,
            "{path}: proved, and wrong with {threads} threads × {ops}: {:?}",
            explored.verdict
        );
    }
}

#[test]
fn multiset() {
    proved("correct/multiset.lin");
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
    let Some(options) = options() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/broken");
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let (programs, _) = compile(&text);
        if programs[0].annotations.abs.is_none() {
            continue;
        }
        let report = prove(&programs[0], &options, &|_, _| {});
        assert_ne!(report.verdict, Verdict::Proved, "{}", path.display());
    }
}

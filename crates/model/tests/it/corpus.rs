//! Every program of the corpus gets the verdicts its header says.

use std::path::{Path, PathBuf};

use linpoint_lang::{Program, compile};
use linpoint_model::{
    Bounds, Deciding, Demand, Explored, Mode, Reductions, Verdict, Workload, Wrong, explore,
};

/// Programs: path, text, lowered.
pub fn programs() -> Vec<(PathBuf, String, Program)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut files = Vec::new();
    for folder in ["correct", "broken"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the corpus is there") {
            let path = entry.expect("the folder can be read").path();
            if path.extension().is_some_and(|e| e == "lin") {
                let text = std::fs::read_to_string(&path).expect("it can be read");
                let program = compile(&text).0.remove(0);
                files.push((path, text, program));
            }
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// The first client, with two threads where it has three that may call anything: the deep runs are for
/// `examples/survey.rs`.
pub fn workload(program: &Program) -> Workload {
    use linpoint_lang::program::ClientThread::Any;
    let mut workload = Workload::of(program.clients.first().expect("a client"));
    if matches!(workload.threads.as_slice(), [Any(..), Any(..), Any(..)]) {
        workload.threads.pop();
    }
    workload
}

pub fn expected(text: &str, engine: &str) -> Option<String> {
    let prefix = format!("// expect {engine}: ");
    text.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
}

/// Claims have tests of their own.
fn histories_only() -> Bounds {
    Bounds { claims: Deciding::Ignored, ..Bounds::default() }
}

#[track_caller]
fn compare(path: &Path, engine: &str, expected: &str, explored: &Explored) {
    let name = path.display();
    match (&explored.verdict, expected) {
        (Verdict::Holds(_), "holds") => {}
        (Verdict::Violated(violation), "violated") => {
            assert!(violation.rechecked && !violation.steps.is_empty(), "{name}: {engine}: {violation:?}");
        }
        (Verdict::Unknown(linpoint_model::Limit::CannotStart(_)), "unknown") => {}
        (verdict, _) => panic!("{name}: {engine} should say {expected}, says {verdict:?}"),
    }
}

#[test]
fn every_verdict_is_as_expected() {
    for (path, text, program) in programs() {
        let explored = explore(&program, &workload(&program), Mode::Anywhere, &histories_only());
        compare(&path, "explore", &expected(&text, "explore").expect("a header"), &explored);
        if let Verdict::Violated(violation) = &explored.verdict {
            let alone = matches!(violation.wrong, Wrong::NotLinearizable | Wrong::Error(_));
            assert!(alone, "{}: {:?}", path.display(), violation.wrong);
        }
    }
}

#[test]
fn every_point_is_as_expected() {
    for (path, text, program) in programs() {
        let wanted = expected(&text, "points").expect("a header");
        if !text.contains("@lin") {
            assert_eq!(wanted, "unknown", "{}: it has no points", path.display());
            continue;
        }
        let explored = explore(&program, &workload(&program), Mode::AtPoints, &histories_only());
        compare(&path, "points", &wanted, &explored);
    }
}

#[test]
fn progress_is_as_expected() {
    let progress = Bounds { progress: Demand::GoodEnd, ..histories_only() };
    for (path, text, program) in programs() {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let wanted = match expected(&text, "progress") {
            Some(wanted) => wanted,
            None if matches!(name, "treiber" | "mcs-lock" | "ticket-lock" | "two-lock" | "bartok") => {
                "holds".into()
            }
            None => continue,
        };
        let explored = explore(&program, &workload(&program), Mode::Anywhere, &progress);
        compare(&path, "progress", &wanted, &explored);
    }
}

/// Counts, so that a lost or unsound reduction shows.
#[test]
fn counts_are_pinned() {
    let count = |name: &str| {
        let (.., program) = programs()
            .into_iter()
            .find(|(path, ..)| path.ends_with(format!("{name}.lin")))
            .expect("it is there");
        let states = |fixed: bool, data: bool| {
            let reductions = Reductions { fusion: true, fixed, symmetry: true, data };
            let bounds = Bounds { reductions, ..Bounds::default() };
            explore(&program, &Workload::general(&program, 2, 2), Mode::Anywhere, &bounds).states
        };
        (states(false, false), states(true, true))
    };
    assert_eq!(count("treiber"), (812, 265));
    assert_eq!(count("michael-scott"), (3777, 2150));
    assert_eq!(count("two-lock"), (535, 469));
}

//! Every program of the corpus gets the verdict that its head names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linpoint_lang::Program;
use linpoint_model::{Bounds, Mode, Workload, explore};
use linpoint_shape::certificate;
use linpoint_shape::concrete::World;
use linpoint_shape::cover::cover;
use linpoint_shape::layout::Layout;
use linpoint_shape::prove::{Choice, Invariant, Report, Scope, Settings, Verdict, prove};
use linpoint_shape::refine::{self, Precision};
use linpoint_shape::run::Steps;

/// The programs of a folder of the corpus.
pub fn programs(folder: &str) -> Vec<(PathBuf, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "lin"))
        .collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a text"))).collect()
}

/// A program of the corpus by name.
pub fn program(name: &str) -> Program {
    let found = ["correct", "broken"]
        .into_iter()
        .flat_map(programs)
        .find(|(path, _)| path.ends_with(format!("{name}.lin")));
    compile(&found.expect("it is in the corpus").1)
}

pub fn compile(text: &str) -> Program {
    let (mut programs, wrong) = linpoint_lang::compile(text);
    assert!(!wrong.iter().any(linpoint_lang::Diagnostic::is_error), "{wrong:?}");
    programs.remove(0)
}

/// Programs whose proof, or whose failure, takes longer than a test should; `cargo xtask bench shape` runs
/// them.
const SLOW: &[&str] = &[
    "michael-set",
    "vechev-yahav-set",
    "harris-set",
    "lazy-set",
    "lazy-set-unlink-first",
    "lazy-set-contains-no-mark",
    "optimistic-set",
];

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Holds(_) => "proved",
        Verdict::Violated(_) => "refuted",
        Verdict::Unknown(_) => "unknown",
    }
}

fn check_folder(folder: &str, expected: &[&str]) {
    let mut checked = 0;
    for (path, text) in programs(folder) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let Some(line) = text.lines().find_map(|line| line.strip_prefix("// expect shape: ")) else {
            continue;
        };
        if SLOW.contains(&name.as_str()) || !expected.contains(&line) {
            continue;
        }
        let settings = Settings { time: Some(Duration::from_secs(20)), ..Settings::default() };
        let report = prove(&compile(&text), &settings);
        assert_eq!(verdict(&report), line, "{name}: {:?}", report.verdict);
        checked += 1;
    }
    assert!(checked >= 5, "{checked} programs");
}

#[test]
fn correct_programs_are_proved() {
    check_folder("correct", &["proved"]);
}

#[test]
fn broken_programs_are_refuted() {
    check_folder("broken", &["refuted", "proved"]);
}

#[test]
fn locks_are_not_refuted_by_callers_that_release_what_they_do_not_hold() {
    for name in ["mcs-lock", "ticket-lock"] {
        let settings = Settings { time: Some(Duration::from_secs(5)), ..Settings::default() };
        assert_eq!(verdict(&prove(&program(name), &settings)), "unknown", "{name}");
    }
}

#[test]
fn without_points_the_textbook_points_are_found() {
    for name in [
        "treiber",
        "two-lock",
        "michael-scott",
        "dglm",
        "michael-scott-early-empty",
        "pessimistic-set",
        "elimination-stack",
        "treiber-counted",
    ] {
        let settings = Settings { points: Choice::Inferred, ..Settings::default() };
        let report = prove(&program(name), &settings);
        assert_eq!(verdict(&report), "proved", "{name}");
    }
}

#[test]
fn what_fails_is_refined() {
    let program = program("coarse-set");
    let Verdict::Holds(proof) = prove(&program, &Settings::default()).verdict else {
        panic!("it is proved");
    };
    let layout = Layout::new(&program).expect("modelled");
    let words = proof.precision.words(&layout);
    assert!(
        words.len() == 2 && words.iter().all(|word| word.ends_with("is kept after its last use")),
        "{words:?}"
    );
    let Invariant::Views(found) = &proof.invariant else { panic!("of any number of threads") };
    // Concrete states are covered, by what is left without what was added.
    let views = refine::forget(&layout, &found.views).expect("it fits");
    let steps = Steps { layout: &layout, points: &proof.points };
    let world = World::new(&layout, &proof.points, 2, 2);
    let coverage = cover(&steps, &world, 2, 20_000, Some(&views), None).expect("no run goes wrong");
    assert_eq!(coverage.missed, 0, "{coverage:?}");
    // A certificate says what was added, and needs it.
    let text = certificate::write(&layout, &proof.points, &proof.precision, found);
    assert!(certificate::recheck(&program, &text, None).is_ok());
    let without = certificate::write(&layout, &proof.points, &Precision::default(), found);
    assert!(certificate::recheck(&program, &without, None).is_err());
}

#[test]
fn counted_threads() {
    let count = |name: &str, scope: Scope| {
        let report = prove(&program(name), &Settings { scope, ..Settings::default() });
        assert_eq!(verdict(&report), "proved", "{name} {scope:?}");
        report.structures
    };
    // Pinned, so that a change of the abstraction shows.
    assert_eq!(count("treiber", Scope::Threads(2)), 206);
    assert_eq!(count("two-lock", Scope::Threads(2)), 150);
    assert_eq!(count("michael-scott", Scope::Threads(2)), 1662);
    assert_eq!(count("dglm", Scope::Threads(2)), 1069);
    count("michael-scott", Scope::Roles(1, 1));
    count("pessimistic-set", Scope::Threads(1));
}

#[test]
fn mutations_are_not_seen_by_one_thread() {
    for name in [
        "treiber-push-no-cas",
        "treiber-pop-no-cas",
        "michael-scott-no-tail-check",
        "michael-scott-early-empty",
        "two-lock-enqueue-gap",
        "two-lock-dequeue-gap",
    ] {
        let settings = Settings { scope: Scope::Threads(1), ..Settings::default() };
        assert_eq!(verdict(&prove(&program(name), &settings)), "proved", "{name}");
    }
}

#[test]
fn given_points_that_are_wrong_are_refuted_as_points() {
    let settings = Settings { points: Choice::Given, ..Settings::default() };
    assert_eq!(verdict(&prove(&program("pessimistic-set-late-point"), &settings)), "refuted");
    assert_eq!(verdict(&prove(&program("michael-scott-early-empty"), &settings)), "refuted");
}

/// Every run of three threads that call two operations each. The larger sets are explored by `--example
/// explored`.
#[test]
fn what_is_proved_has_no_small_counterexample() {
    for name in [
        "treiber",
        "treiber-counted",
        "treiber-ghosts",
        "two-lock",
        "michael-scott",
        "dglm",
        "michael-scott-early-empty",
        "elimination-stack",
        "coarse-set",
        "pessimistic-set",
    ] {
        let program = program(name);
        assert_eq!(verdict(&prove(&program, &Settings::default())), "proved", "{name}");
        let bounds = Bounds { states: Some(2_000_000), ..Bounds::default() };
        let explored = explore(&program, &Workload::general(&program, 3, 2), Mode::Anywhere, &bounds);
        assert!(matches!(explored.verdict, linpoint_model::Verdict::Holds(_)), "{name}");
    }
}

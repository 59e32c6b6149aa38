//! A run that was interrupted goes on, and comes to the same end.

use std::path::PathBuf;

use linpoint_check::{Options, check_rows};
use linpoint_cluster::progress::Progress;
use linpoint_history::rng::Rng;

use crate::agree;
use crate::feeds::{self, Split};

#[test]
fn interrupted_runs_come_to_the_same_end() {
    let mut rng = Rng::new(11);
    let (mut resumed, mut runs) = (0, 0);
    while runs < 60 {
        let (name, mut plan) = agree::plan(&mut rng);
        plan.operations += 300;
        plan.overlap = 0.5;
        let Some(history) = agree::made(&plan, rng.chance(0.4)) else { continue };
        runs += 1;
        let mut symbols = history.symbols.clone();
        let alone = check_rows(history.operations.clone(), &plan.spec, &mut symbols, &Options::default());
        let alone = agree::word(&alone.expect("readable").verdict);
        let dir =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("resume-{}-{runs}", std::process::id()));
        let progress = Progress { dir: dir.clone(), of: format!("{plan:?}"), every: Some(40) };
        let split = Split {
            sources: 1 + rng.below(3) as usize,
            workers: 1 + rng.below(2) as usize,
            seed: rng.bits(),
            known: rng.chance(0.5),
            progress: Some(progress),
            ..Split::default()
        };
        for _ in 0..1 + rng.below(3) {
            let fails = Some(1 + rng.below(400) as usize);
            feeds::run(&history, &name, None, &Split { fails, ..split.clone() });
        }
        let outcome = feeds::run(&history, &name, None, &split);
        let (answer, _) = outcome.answer();
        assert_eq!(agree::word(&answer.verdict), alone, "{name} {plan:?} {split:?} {:?}", outcome.report);
        assert_eq!(answer.operations, history.operations.len() as u64, "{name} {plan:?} {split:?}");
        resumed += u64::from(outcome.report.resumed > 0);
        std::fs::remove_dir_all(&dir).ok();
    }
    assert!(resumed > 20, "{resumed} of {runs} runs went on from a checkpoint");
}

/// Progress of another run is not used.
#[test]
fn progress_of_something_else_is_left_alone() {
    let mut rng = Rng::new(12);
    let (name, mut plan) = agree::plan(&mut rng);
    plan.operations = 500;
    let history = agree::made(&plan, false).expect("a history");
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("other-{}", std::process::id()));
    let run = |of: &str| {
        let progress = Progress { dir: dir.clone(), of: of.to_owned(), every: Some(20) };
        let split = Split { sources: 1, workers: 1, progress: Some(progress), ..Split::default() };
        feeds::run(&history, &name, None, &split).report.resumed
    };
    assert_eq!(run("one"), 0);
    assert_eq!(run("another"), 0);
    assert!(run("another") > 0);
    std::fs::remove_dir_all(&dir).ok();
}

//! One call for the common cases.

use std::path::Path;

use crate::Config;
use crate::runner::Runner;
use crate::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler, Scheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};

#[track_caller]
fn run(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    Runner::new(scheduler, Config::default()).run(test);
}

/// Runs a test once.
///
/// # Panics
/// If it fails.
#[doc(hidden)]
#[track_caller]
pub fn check<F: Fn() + Send + Sync + 'static>(f: F) {
    run(RoundRobinScheduler::new(1), f);
}

/// Runs a test under so many schedules, of which about every one is equally likely.
///
/// # Panics
/// If one of them fails.
#[track_caller]
pub fn check_urw<F: Fn() + Send + Sync + 'static>(f: F, iterations: usize) {
    run(UrwRandomScheduler::new(iterations), f);
}

/// Runs a test under so many schedules, drawn at random step by step.
///
/// # Panics
/// If one of them fails.
#[track_caller]
pub fn check_random<F: Fn() + Send + Sync + 'static>(f: F, iterations: usize) {
    run(RandomScheduler::new(iterations), f);
}

/// As [`check_random`]; the same schedules for the same seed.
///
/// # Panics
/// If one of them fails.
#[track_caller]
pub fn check_random_with_seed<F: Fn() + Send + Sync + 'static>(f: F, seed: u64, iterations: usize) {
    run(RandomScheduler::new_from_seed(seed, iterations), f);
}

/// Runs a test under so many schedules by random priorities, for bugs of this depth.
///
/// # Panics
/// If one of them fails.
#[track_caller]
pub fn check_pct<F: Fn() + Send + Sync + 'static>(f: F, iterations: usize, depth: usize) {
    run(PctScheduler::new(depth, iterations), f);
}

/// Runs a test under every schedule, or as many as it may. Of schedules that do the same, one is run.
///
/// # Panics
/// If one of them fails, or if the test asks for random numbers.
#[track_caller]
pub fn check_dfs<F: Fn() + Send + Sync + 'static>(f: F, max_iterations: Option<usize>) {
    run(DfsScheduler::new(max_iterations, false), f);
}

/// As [`check_random`]: that a test does the same under the same schedule is looked after in any case.
///
/// # Panics
/// If one of the schedules fails.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F: Fn() + Send + Sync + 'static>(f: F, max_iterations: usize) {
    run(UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(max_iterations)), f);
}

/// Runs the schedule of a token.
///
/// # Panics
/// If it still fails, or if this is no token of this crate's.
#[track_caller]
pub fn replay<F: Fn() + Send + Sync + 'static>(f: F, encoded_schedule: &str) {
    run(ReplayScheduler::new_from_encoded(encoded_schedule), f);
}

/// Runs the schedule of the token in a file.
///
/// # Panics
/// If it still fails, if the file cannot be read, or if what is in it is no token of this crate's.
#[track_caller]
pub fn replay_from_file<F: Fn() + Send + Sync + 'static, P: AsRef<Path>>(f: F, path: P) {
    let path = path.as_ref();
    match ReplayScheduler::new_from_file(path) {
        Ok(scheduler) => run(scheduler, f),
        Err(error) => panic!("{}: {error}: this file is to have the token of a schedule", path.display()),
    }
}

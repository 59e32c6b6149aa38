//! Runs a test as a scheduler says, and tells what came of it.
//!
//! # Random numbers
//! Executions of one exploration draw the same numbers ([`crate::rand`]): only so they are determined by their schedules.
//! A random search is therefore cut into parts with different numbers, if the test draws any, and the token of a failure
//! names the part.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linpoint::{Counterexample, Exploration, Explored, Limits, Search, exploration};
use linpoint_sched::statics::Statics;

use crate::rand::seed::{self, Seed};
use crate::scheduler::Scheduler;
use crate::scheduler::sealed::Planned;
use crate::{Config, FailurePersistence, MaxSteps};

/// Where nobody sets a limit.
const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// Executions with the same numbers, where the search learns from one execution for the next.
const PART: usize = 16;

/// What stands between the token of a schedule and the seed of its numbers.
const SEED_MARK: char = '~';

/// Runs tests as a scheduler says.
#[derive(Debug)]
pub struct Runner<S: ?Sized + Scheduler> {
    config: Config,
    scheduler: Box<S>,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// With this scheduler.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { config, scheduler: Box::new(scheduler) }
    }

    /// Runs a test, and returns in how many executions.
    ///
    /// # Panics
    /// If an execution fails.
    #[track_caller]
    pub fn run<F>(self, f: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        run(&self.config, &self.scheduler.plan(), &f)
    }
}

/// Runs a test as one scheduler after another says.
#[derive(Debug)]
pub struct PortfolioRunner {
    config: Config,
    schedulers: Vec<Planned>,
    stop_on_first_failure: bool,
}

impl PortfolioRunner {
    /// With no scheduler yet. `stop_on_first_failure`: or do those behind a failure run as well?
    pub fn new(stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { config, schedulers: Vec::new(), stop_on_first_failure }
    }

    /// Adds a scheduler.
    pub fn add(&mut self, scheduler: impl Scheduler + Send + 'static) {
        self.schedulers.push(scheduler.plan());
    }

    /// Runs a test.
    ///
    /// # Panics
    /// If an execution fails.
    #[track_caller]
    pub fn run<F>(self, f: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let mut failed = Vec::new();
        for planned in &self.schedulers {
            match check(&self.config, planned, &f) {
                Ok(_) => {}
                Err(failure) if self.stop_on_first_failure => panic!("{failure}"),
                Err(failure) => failed.push(failure),
            }
        }
        if let Some(first) = failed.first() {
            panic!("{first}\n{} of {} schedulers found a failure", failed.len(), self.schedulers.len());
        }
    }
}

#[track_caller]
fn run(config: &Config, planned: &Planned, test: &(dyn Fn() + Sync)) -> usize {
    match check(config, planned, test) {
        Ok(runs) => runs,
        Err(failure) => panic!("{failure}"),
    }
}

/// A schedule that fails.
struct Failed {
    found: Counterexample,
    /// With the seed of its numbers.
    token: String,
    /// Where the token was written.
    kept: Option<io::Result<PathBuf>>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failed { found, token, kept } = self;
        writeln!(f, "{}", found.headline)?;
        writeln!(f, "\nschedule ({} preemptions):\n{}", found.preemptions, found.schedule)?;
        for note in &found.notes {
            writeln!(f, "{note}")?;
        }
        match kept {
            Some(Ok(file)) => {
                writeln!(f, "the token is in {}: shuttle::replay_from_file runs it again", file.display())?;
            }
            Some(Err(error)) => writeln!(f, "the token could not be written to a file: {error}")?,
            None => {}
        }
        write!(f, "run it again: shuttle::replay(test, \"{token}\")")
    }
}

/// The executions of a test that did not fail, or the one that did.
fn check(config: &Config, planned: &Planned, test: &(dyn Fn() + Sync)) -> Result<usize, Box<Failed>> {
    if let Some(token) = &planned.replay {
        return replay(config, token, test).map(|()| 1);
    }
    let started = Instant::now();
    let deadline = started + config.max_time.unwrap_or(FOR_EVER);
    let part = |iterations: Option<usize>, seed: u64| {
        let plan = exploration()
            .limits(limits(config))
            .search(planned.search)
            .seed(seed)
            .time_limit(deadline.saturating_duration_since(Instant::now()))
            .executions(iterations.map_or(u64::MAX, |most| most as u64));
        report(&plan, Seed { allowed: planned.random_data, value: seed }, test)
            .map_err(|found| fail(config, *found, seed))
    };
    seed::was_used();
    let most = planned.iterations.unwrap_or(usize::MAX);
    let whole = |explored: &Explored| {
        println!(
            "linpoint: {}, {:.2} s, memory sequentially consistent",
            explored.walked,
            started.elapsed().as_secs_f64()
        );
        explored.walked.runs as usize
    };
    let is_random = matches!(planned.search, Search::RandomWalk | Search::UniformWalk | Search::Pct(_));
    if !is_random {
        return part(planned.iterations, planned.seed).map(|explored| whole(&explored));
    }
    // The first execution shows whether numbers are drawn.
    if most == 0 {
        return Ok(0);
    }
    part(Some(1), planned.seed)?;
    if !seed::was_used() {
        return part(Some(most), planned.seed).map(|explored| whole(&explored));
    }
    let each = if planned.search == Search::RandomWalk { 1 } else { PART };
    let mut done = 0;
    while done < most && Instant::now() < deadline {
        let seed = planned.seed.wrapping_add(done as u64);
        done += part(Some(each.min(most - done)), seed)?.walked.runs as usize;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "linpoint: {done} schedules, random numbers anew every {each}, {seconds:.2} s, memory sequentially consistent"
    );
    Ok(done)
}

/// Explores a test whose numbers come from one seed.
fn report(plan: &Exploration, seed: Seed, test: &(dyn Fn() + Sync)) -> Result<Explored, Box<Counterexample>> {
    let program = program(seed, test);
    // All tests are one type here: a token may be replayed in another function than the one that printed it.
    let mut explored = plan.report::<&(dyn Fn() + Sync)>(&program);
    match explored.counterexample.take() {
        Some(found) => Err(Box::new(found)),
        None => Ok(explored),
    }
}

fn program(seed: Seed, test: &(dyn Fn() + Sync)) -> impl Fn() + Sync + '_ {
    move || {
        seed::begin(seed);
        let statics = Statics::begin();
        test();
        drop(statics);
    }
}

fn replay(config: &Config, token: &str, test: &(dyn Fn() + Sync)) -> Result<(), Box<Failed>> {
    let (schedule, seed) = match token.split_once(SEED_MARK) {
        Some((schedule, seed)) => match u64::from_str_radix(seed, 16) {
            Ok(seed) => (schedule, seed),
            Err(_) => panic!(
                "shuttle::replay: `{seed}` in the token is no seed: copy all of what the failure printed"
            ),
        },
        None => (token, 0),
    };
    let plan = exploration().limits(limits(config));
    let program = program(Seed { allowed: true, value: seed }, test);
    match plan.replay_report::<&(dyn Fn() + Sync)>(schedule, &program) {
        Ok(Some(found)) => Err(fail(config, found, seed)),
        Ok(None) => {
            println!("linpoint: the schedule of the token does not fail (any more)");
            Ok(())
        }
        Err(error) => panic!("shuttle::replay: {error}"),
    }
}

fn fail(config: &Config, found: Counterexample, seed: u64) -> Box<Failed> {
    let mut token = found.token.clone();
    if seed::was_used() {
        token.push_str(&format!("{SEED_MARK}{seed:x}"));
    }
    let kept = match &config.failure_persistence {
        FailurePersistence::None | FailurePersistence::Print => None,
        FailurePersistence::File(folder) => Some(keep(folder.as_deref().unwrap_or(Path::new(".")), &token)),
    };
    Box::new(Failed { found, token, kept })
}

/// Writes a token to a new file.
fn keep(folder: &Path, token: &str) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let file = folder.join(format!("schedule{number:03}.txt"));
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Ok(mut to) => return to.write_all(token.as_bytes()).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn limits(config: &Config) -> Limits {
    let limits = Limits::default();
    let steps = match config.max_steps {
        MaxSteps::None => usize::MAX,
        MaxSteps::FailAfter(steps) | MaxSteps::ContinueAfter(steps) => steps,
    };
    Limits { steps, stack_size: limits.stack_size.max(config.stack_size), ..limits }
}

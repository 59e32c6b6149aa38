//! A model: a closure that is run under every schedule.
//!
//! # Limits
//! A model is given a minute, unless it says otherwise ([`Builder::max_duration`], or `LOOM_MAX_DURATION` in seconds). One that
//! is not done by then passes, as in loom, and its line says how far it came. An execution that is too long fails, as in
//! loom, with what its threads go round in.
//!
//! # Memory
//! Models are explored under sequentially consistent memory, or under RC11 where `LINPOINT_MEMORY` is `rc11`. That needs the feature
//! `heap`, which makes Linpoint's heap the global allocator; without it the model is refused.
//!
//! # The search
//! Without a bound on preemptions the explorer searches as it does by itself: traces first, the likeliest to show a bug before
//! the others. With a bound it tries that with a few executions, because every schedule is better than some; then come the
//! schedules with no preemption, one, two, … up to the bound. Where a model says that schedules are not to be explored, only
//! searches that go depth first can leave them out.
//!
//! Searches by traces take it that steps which touch different things can change places. What is shared behind the explorer's
//! back breaks that: who drops the last reference of std's `Arc` runs the destructor, and its steps. Where a run shows it,
//! schedules are run one by one instead, which needs nothing but that a schedule comes out the same each time.
//!
//! # Freed memory
//! With the explorer's allocator (the feature `heap`, which `cargo linpoint test --watch-freed` switches on) uses of memory after its free are
//! looked for in the first executions of a model that passes otherwise, for about as long as the model took: each such
//! execution is several.

use std::panic::Location;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use linpoint::{Counterexample, Exploration, Explored, Limits, Memory, Search, TokenError, exploration};
use linpoint_sched::explore::{Coverage, Covered};
use linpoint_sched::statics::Statics;

use crate::alloc;
use crate::cell;
use crate::record::{Model, Outcome};
use crate::sync;

/// What a model is given where nobody says how long.
const TIME: Duration = Duration::from_secs(60);

/// Executions of the search without a bound that comes before one with a bound.
const UNBOUNDED: u64 = 500;

/// Executions in which uses of freed memory are looked for.
const WATCHED: u64 = 500;

/// At least so long.
const WATCH: Duration = Duration::from_millis(300);

/// How a model is checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// The most threads. Not needed here: there may be 64.
    pub max_threads: usize,
    /// The most steps of an execution (`LOOM_MAX_BRANCHES`). Here it is never less than 20000.
    pub max_branches: usize,
    /// The most executions (`LOOM_MAX_PERMUTATIONS`).
    pub max_permutations: Option<usize>,
    /// The most time (`LOOM_MAX_DURATION`, in seconds); one minute unless set.
    pub max_duration: Option<Duration>,
    /// The most preemptions in an execution (`LOOM_MAX_PREEMPTIONS`).
    pub preemption_bound: Option<usize>,
    /// What memory may do (`LINPOINT_MEMORY`, `sc` or `rc11`); sequentially consistent unless set. Not a setting of loom's.
    pub memory: Memory,
    /// Not needed here: a failure prints a token that runs its schedule again.
    pub checkpoint_file: Option<PathBuf>,
    /// Not needed here.
    pub checkpoint_interval: usize,
    /// Are schedules explored only from where the model calls [`crate::explore`]?
    pub expect_explicit_explore: bool,
    /// Not needed here: a failure shows the lines of the source.
    pub location: bool,
    /// Not needed here: a failure shows its schedule.
    pub log: bool,
}

/// What memory may do: sequentially consistent, unless `LINPOINT_MEMORY` is `rc11`.
///
/// # Panics
/// If it is something else.
fn memory() -> Memory {
    match std::env::var("LINPOINT_MEMORY").as_deref() {
        Err(_) | Ok("sc") => Memory::Sc,
        Ok("rc11") => Memory::Rc11,
        Ok(other) => panic!("LINPOINT_MEMORY must be `sc` or `rc11`, and is `{other}`"),
    }
}

/// A number from the environment.
///
/// # Panics
/// If it is none.
fn number(name: &str) -> Option<usize> {
    let value = std::env::var(name).ok()?;
    Some(value.trim().parse().unwrap_or_else(|_| panic!("{name} must be a number, and is `{value}`")))
}

impl Builder {
    /// As the environment says.
    ///
    /// # Panics
    /// If a variable of loom's is not a number, or `LINPOINT_MEMORY` no memory.
    pub fn new() -> Builder {
        Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: number("LOOM_MAX_BRANCHES").unwrap_or(1_000),
            max_permutations: number("LOOM_MAX_PERMUTATIONS"),
            max_duration: number("LOOM_MAX_DURATION").map(|seconds| Duration::from_secs(seconds as u64)),
            preemption_bound: number("LOOM_MAX_PREEMPTIONS"),
            memory: memory(),
            checkpoint_file: std::env::var_os("LOOM_CHECKPOINT_FILE").map(PathBuf::from),
            checkpoint_interval: number("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var_os("LOOM_LOCATION").is_some(),
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// Sets the file, which is not needed here.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Checks a model.
    ///
    /// # Panics
    /// If an execution of it fails, or if it cannot be explored.
    #[track_caller]
    pub fn check<F>(&self, model: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let site = Location::caller();
        let thread = std::thread::current();
        // The name of the test, where its thread has that.
        let named = thread.name().filter(|&name| name != "main");
        let name = named.unwrap_or_else(|| name_of(std::any::type_name::<F>()));
        let program = move || {
            alloc::begin();
            cell::forget();
            sync::begin();
            let statics = Statics::begin();
            model();
            drop(statics);
        };
        if let Ok(token) = std::env::var("LINPOINT_REPLAY") {
            return replay(self, &token, (name, site), program);
        }
        let started = Instant::now();
        let (mut explored, one_by_one) = self.explore(&program);
        let covered = self.has_covered(&explored.walked);
        let mut watched = None;
        let whole = self.max_permutations.is_none() && !explored.walked.unfocused;
        if explored.counterexample.is_none() && whole && linpoint_sched::Heap::is_installed() {
            let spent = started.elapsed();
            let again = self.watch(&program, if covered { spent.max(WATCH) } else { spent.min(WATCH) });
            watched = Some(again.walked.runs);
            explored.counterexample = again.counterexample.filter(|found| found.of_memory);
        }
        let outcome = match &explored.counterexample {
            Some(found) if found.refused => Outcome::Refused,
            Some(_) => Outcome::Failed,
            None if covered => Outcome::Covered,
            None => Outcome::Cut,
        };
        let mut coverage = match &explored.counterexample {
            Some(found) => format!("{} after {} executions", found.headline, explored.walked.runs),
            None if explored.memory == Memory::Rc11 => explored.to_string().replace('\n', "; "),
            None => explored.walked.to_string(),
        };
        if outcome == Outcome::Cut {
            coverage.push_str(", and not all: more would need more time (LOOM_MAX_DURATION, in seconds)");
        }
        if let Some(watched) = watched {
            coverage.push_str(&format!(", freed memory watched in {watched}"));
        }
        let (executions, time) = (explored.walked.runs, started.elapsed());
        Model { name, site, outcome, executions, time, coverage: &coverage }.tell();
        if one_by_one && explored.counterexample.is_none() {
            println!(
                "linpoint: {name}: schedules were run one by one, because what threads do depends on the order of steps that \
                 touch different things: something is shared that the explorer does not see, such as std's `Arc`"
            );
        }
        if let Some(found) = &explored.counterexample {
            panic!("{}", Told { name, site, found });
        }
    }

    /// Was everything covered that was asked for?
    fn has_covered(&self, walked: &Coverage) -> bool {
        match (walked.covered, self.preemption_bound) {
            (Covered::Every, _) => true,
            (Covered::Preemptions(done), Some(bound)) => done as usize >= bound,
            (Covered::Preemptions(_) | Covered::Some, _) => false,
        }
    }

    fn limits(&self) -> Limits {
        let limits = Limits::default();
        Limits {
            steps: limits.steps.max(self.max_branches),
            leaks_fail: true,
            watches_freed: false,
            starts_in_focus: !self.expect_explicit_explore,
            ..limits
        }
    }

    /// Looks for uses of freed memory, for so long.
    fn watch<F: Fn() + Sync>(&self, program: &F, time: Duration) -> Explored {
        let limits = Limits { watches_freed: true, ..self.limits() };
        let plan = exploration().limits(limits).time_limit(time).executions(WATCHED);
        let search = self
            .preemption_bound
            .map_or(Search::Dpor, |bound| Search::Preemptions(u32::try_from(bound).unwrap_or(u32::MAX)));
        plan.search(search).report(program)
    }

    /// What came of it, and whether schedules had to be run one by one.
    fn explore<F: Fn() + Sync>(&self, program: &F) -> (Explored, bool) {
        if self.memory == Memory::Rc11 {
            let plan = exploration().memory(self.memory).limits(self.limits());
            let plan = plan.time_limit(self.max_duration.unwrap_or(TIME));
            let most = self.max_permutations.map_or(u64::MAX, |most| most as u64);
            return (plan.executions(most).report(program), false);
        }
        let deadline = Instant::now() + self.max_duration.unwrap_or(TIME);
        let most = self.max_permutations.map_or(u64::MAX, |most| most as u64);
        let plan = exploration().limits(self.limits());
        let mut sum = 0;
        let mut part = |plan: &Exploration, search: Search, time: Duration, executions: u64| {
            let plan = plan.clone().search(search).time_limit(time).executions(executions.min(most - sum));
            let mut explored = plan.report(program);
            sum += explored.walked.runs;
            explored.walked.runs = sum;
            explored
        };
        let left = || deadline.saturating_duration_since(Instant::now());
        // One execution shows whether there are schedules that are not to be explored.
        let first = part(&plan, Search::Dfs, TIME, 1);
        if first.counterexample.is_some() || self.has_covered(&first.walked) {
            return (first, false);
        }
        let unfocused = first.walked.unfocused;
        let by_traces = match self.preemption_bound {
            None if unfocused => part(&plan, Search::Dpor, left(), u64::MAX),
            None => part(&plan, Search::Auto, left(), u64::MAX),
            Some(_) if unfocused => part(&plan, Search::Dpor, left() / 4, UNBOUNDED),
            Some(_) => part(&plan, Search::RaceReversal, left() / 4, UNBOUNDED),
        };
        let refused = by_traces.counterexample.as_ref().is_some_and(|found| found.refused);
        let done = by_traces.counterexample.is_some() || self.has_covered(&by_traces.walked);
        if !refused && (done || self.preemption_bound.is_none()) {
            return (by_traces, false);
        }
        let bound = self.preemption_bound.map_or(u32::MAX, |bound| u32::try_from(bound).unwrap_or(u32::MAX));
        (part(&plan, Search::Preemptions(bound), left(), u64::MAX), refused)
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Runs a model under every schedule, within the limits that the environment sets.
///
/// # Panics
/// If an execution of it fails, or if it cannot be explored.
#[track_caller]
pub fn model<F>(model: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(model);
}

/// The function that a closure is written in.
fn name_of(closure: &'static str) -> &'static str {
    closure.split("::{{closure}}").next().unwrap_or(closure)
}

/// Runs the schedule of a token again, if it is this model's.
#[track_caller]
fn replay<F>(builder: &Builder, token: &str, (name, site): (&str, &'static Location<'static>), program: F)
where
    F: Fn() + Sync,
{
    let limits = Limits { watches_freed: true, ..builder.limits() };
    let plan = exploration().limits(limits);
    let (outcome, coverage) = match plan.replay_report(token, &program) {
        Ok(Some(found)) => panic!("{}", Told { name, site, found: &found }),
        Ok(None) => (Outcome::Cut, "the schedule of the token does not fail (any more)".to_owned()),
        Err(TokenError::OtherProgram) => {
            (Outcome::Skipped, "not run: the token is of another model".to_owned())
        }
        Err(error) => panic!("LINPOINT_REPLAY: {error}"),
    };
    Model { name, site, outcome, executions: 1, time: Duration::ZERO, coverage: &coverage }.tell();
}

/// A failure, as it is shown to who ran the test.
struct Told<'a> {
    name: &'a str,
    site: &'static Location<'static>,
    found: &'a Counterexample,
}

impl std::fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Told { name, site, found } = self;
        writeln!(f, "{}", found.headline)?;
        writeln!(f, "\nin the model {name} ({site})")?;
        match found.memory {
            Memory::Sc => writeln!(f, "schedule ({} preemptions):\n{}", found.preemptions, found.schedule)?,
            _ => writeln!(f, "execution ({}):\n{}", found.memory, found.schedule)?,
        }
        for note in &found.notes {
            writeln!(f, "{note}")?;
        }
        write!(f, "run it again: LINPOINT_REPLAY={} cargo test …, as before", found.token)
    }
}

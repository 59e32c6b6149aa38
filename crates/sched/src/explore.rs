//! Explores a program: which strategies, for how long, and what that covered.
//!
//! **Automatic** choice: the race-reversal queue first, because it comes to bugs first. If it empties, every
//! schedule is covered. Otherwise source-DPOR, which needs no memory, for half of the time that is left; and if that
//! does not finish either, preemption bounds 0, 1, 2, … as far as they come.
//!
//! **Coverage** says what was done and nothing more: every schedule; every schedule with at most k preemptions; or so
//! many schedules. All of it is about sequentially consistent memory.
//! A run that fails ends there, and what others would have done after that is not seen: what is covered is
//! stated only if nothing failed, or is to be read as "up to the failures found".
//!
//! **Several workers** share a plain or bounded depth-first search: who has nothing left takes the untried choice
//! nearest to the root from another. Source-DPOR and the queue are not shared: the one keeps what is to be tried
//! along one path, the other grows from every run. The random strategies are, with a seed for each worker. With one
//! worker the result depends on the plan alone, as long as no time limit cuts it.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clocks::Clocks;
use crate::event::ThreadId;
use crate::execution::{Execution, Limits};
use crate::failure::Failure;
use crate::run::{Ending, Run};
use crate::strategy::Strategy;
use crate::strategy::dfs::Dfs;
use crate::strategy::dpor::Dpor;
use crate::strategy::pct::Pct;
use crate::strategy::preemption_bound::PreemptionBound;
use crate::strategy::race_reversal::RaceReversal;
use crate::strategy::random_walk::RandomWalk;
use crate::strategy::replay::Replay;

/// How the schedules are walked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Search {
    /// The queue first, then what fits the program.
    #[default]
    Auto,
    /// Every schedule, one by one.
    Dfs,
    /// Every schedule with at most so many preemptions, one by one.
    BoundedDfs(u32),
    /// One run a trace, depth first.
    Dpor,
    /// One run a trace, the likeliest to show a bug first.
    RaceReversal,
    /// Bounds 0, 1, 2, … up to this one.
    Preemptions(u32),
    /// Every thread that can go is equally likely.
    RandomWalk,
    /// About every schedule is equally likely.
    UniformWalk,
    /// Random priorities, for bugs of this depth.
    Pct(usize),
    /// This schedule.
    Replay(Vec<ThreadId>),
}

/// What to do, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How the schedules are walked.
    pub search: Search,
    /// At most so long.
    pub time: Option<Duration>,
    /// At most so many runs.
    pub runs: Option<u64>,
    /// At most so many runs in the queue, when it is the first of several.
    pub queue_runs: u64,
    /// At most so many bytes in the queue.
    pub queue_memory: usize,
    /// For what is random.
    pub seed: u64,
    /// Does the first failure end the exploration?
    pub stop_at_failure: bool,
    /// Is it a failure if threads wait for ever?
    pub stuck_fails: bool,
    /// What bounds a single run.
    pub limits: Limits,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            search: Search::Auto,
            time: Some(Duration::from_secs(10)),
            runs: None,
            queue_runs: 100_000,
            queue_memory: 256 << 20,
            seed: 0,
            stop_at_failure: true,
            stuck_fails: true,
            limits: Limits::default(),
        }
    }
}

/// A run, as a visitor sees it.
pub struct Seen<'a> {
    /// The run.
    pub run: &'a Run,
    strategy: &'a mut dyn Strategy,
    clocks: &'a mut Clocks,
}

impl Seen<'_> {
    /// What happens before what in it.
    pub fn clocks(&mut self) -> &Clocks {
        match self.strategy.clocks(self.run) {
            Some(clocks) => clocks,
            None => {
                self.clocks.update(self.run, 0);
                self.clocks
            }
        }
    }
}

/// What a run that failed was.
#[derive(Clone, Debug)]
pub struct Found {
    /// What went wrong.
    pub failure: Failure,
    /// Who went, step by step.
    pub schedule: Vec<ThreadId>,
    /// The number of the run, from 1.
    pub run: u64,
}

/// What was covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// Every schedule.
    Every,
    /// Every schedule with at most so many preemptions.
    Preemptions(u32),
    /// Some schedules.
    Some,
}

/// Why the exploration ended; of several workers, the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// There was nothing left to do.
    Done,
    /// The queue was as large as allowed.
    Memory,
    /// As many runs as allowed were made.
    Runs,
    /// The time was up.
    Time,
    /// The visitor had seen enough.
    Visitor,
    /// A run failed.
    Failure,
}

/// What came of an exploration.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// What was covered.
    pub covered: Covered,
    /// Why it ended.
    pub stop: Stop,
    /// How many runs were made, abandoned ones included.
    pub runs: u64,
    /// How many of them were abandoned, because what would have followed was known.
    pub abandoned: u64,
    /// About which part was done of the search that was cut short, between 0 and 1. A guess: it takes branches for
    /// equally large.
    pub progress: Option<f64>,
    /// How many prefixes the queue held when it was left.
    pub pending: Option<usize>,
    /// Were the schedules drawn at random?
    pub random: bool,
    /// The first run that failed.
    pub found: Option<Found>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs;
        match self.covered {
            Covered::Every => write!(f, "every schedule ({runs} runs)")?,
            Covered::Preemptions(bound) => {
                write!(f, "every schedule with at most {bound} preemptions ({runs} runs)")?;
            }
            Covered::Some if self.random => write!(f, "{runs} random schedules")?,
            Covered::Some => write!(f, "{runs} schedules")?,
        }
        match self.progress {
            Some(part) if self.covered != Covered::Every => {
                write!(f, ", by a rough guess {:.2} % of the search that was cut short", part * 100.0)
            }
            _ => Ok(()),
        }
    }
}

/// Explores `program` as `plan` says, and shows every full run to `visit`, which may end the exploration.
pub fn explore(
    program: &dyn Fn(),
    plan: &Plan,
    visit: &mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
) -> Coverage {
    let mut explorer = Explorer::new(program, plan, visit);
    match &plan.search {
        Search::Auto => explorer.auto(),
        search => explorer.single(search),
    }
    explorer.coverage
}

/// Explores `program` with `workers` OS threads; each makes its own visitor with `visitor`. Searches that cannot be
/// shared are made by one.
pub fn explore_in_parallel<V>(
    program: &(dyn Fn() + Sync),
    plan: &Plan,
    workers: usize,
    visitor: &(dyn Fn(usize) -> V + Sync),
) -> Coverage
where
    V: FnMut(Seen<'_>) -> ControlFlow<()>,
{
    let first = match &plan.search {
        Search::Dfs => Dfs::new(),
        Search::BoundedDfs(bound) => Dfs::bounded(*bound),
        Search::RandomWalk | Search::UniformWalk | Search::Pct(_) => {
            return explore_at_random(program, plan, workers, visitor);
        }
        _ => return explore(program, plan, &mut visitor(0)),
    };
    let pool = Pool {
        left: Mutex::new((vec![first], workers)),
        changed: Condvar::new(),
        hungry: AtomicUsize::new(0),
        over: AtomicBool::new(false),
    };
    let runs_each = plan.runs.map(|runs| runs.div_ceil(workers as u64));
    let plan = Plan { runs: runs_each, ..plan.clone() };
    let (pool, plan) = (&pool, &plan);
    let parts: Vec<(Coverage, bool)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mut visit = visitor(worker);
                    let mut explorer = Explorer::new(program, plan, &mut visit);
                    let cut = explorer.share(pool);
                    (explorer.coverage, cut)
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    let cut = parts.iter().any(|part| part.1);
    let mut whole = merge(parts.into_iter().map(|part| part.0));
    if whole.stop == Stop::Done {
        whole.covered = match plan.search {
            Search::BoundedDfs(bound) if cut => Covered::Preemptions(bound),
            _ => Covered::Every,
        };
    }
    whole
}

fn explore_at_random<V>(
    program: &(dyn Fn() + Sync),
    plan: &Plan,
    workers: usize,
    visitor: &(dyn Fn(usize) -> V + Sync),
) -> Coverage
where
    V: FnMut(Seen<'_>) -> ControlFlow<()>,
{
    let runs = plan.runs.map(|runs| runs.div_ceil(workers as u64));
    let parts: Vec<Coverage> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|worker| {
                let plan = Plan { runs, seed: plan.seed.wrapping_add(worker as u64), ..plan.clone() };
                scope.spawn(move || explore(program, &plan, &mut visitor(worker)))
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    merge(parts.into_iter())
}

/// One coverage out of those of the workers: the least of them decides.
fn merge(parts: impl Iterator<Item = Coverage>) -> Coverage {
    let mut whole = Coverage::nothing();
    for part in parts {
        whole.runs += part.runs;
        whole.abandoned += part.abandoned;
        whole.random |= part.random;
        whole.stop = whole.stop.max(part.stop);
        whole.found = whole.found.or(part.found);
        whole.progress = whole.progress.or(part.progress);
    }
    whole
}

impl Coverage {
    fn nothing() -> Coverage {
        Coverage {
            covered: Covered::Some,
            stop: Stop::Done,
            runs: 0,
            abandoned: 0,
            progress: None,
            pending: None,
            random: false,
            found: None,
        }
    }
}

/// The parts of a tree that nobody searches yet.
struct Pool {
    /// They, and how many workers are at work.
    left: Mutex<(Vec<Dfs>, usize)>,
    changed: Condvar,
    hungry: AtomicUsize,
    over: AtomicBool,
}

impl Pool {
    /// Something to do, unless everybody is done.
    fn take(&self) -> Option<Dfs> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.1 -= 1;
        self.hungry.fetch_add(1, Ordering::Relaxed);
        loop {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            if let Some(dfs) = left.0.pop() {
                left.1 += 1;
                self.hungry.fetch_sub(1, Ordering::Relaxed);
                return Some(dfs);
            }
            if left.1 == 0 {
                break;
            }
            left = self.changed.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        self.changed.notify_all();
        None
    }

    fn give(&self, dfs: Dfs) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).0.push(dfs);
        self.changed.notify_one();
    }

    /// Nobody shall go on.
    fn end(&self) {
        let _left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

/// One worker.
struct Explorer<'a> {
    program: &'a dyn Fn(),
    plan: &'a Plan,
    visit: &'a mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
    execution: Box<Execution>,
    clocks: Clocks,
    deadline: Option<Instant>,
    coverage: Coverage,
}

/// How far a part of an exploration may go.
#[derive(Clone, Copy)]
struct Share {
    runs: u64,
    deadline: Option<Instant>,
}

impl<'a> Explorer<'a> {
    fn new(
        program: &'a dyn Fn(),
        plan: &'a Plan,
        visit: &'a mut dyn FnMut(Seen<'_>) -> ControlFlow<()>,
    ) -> Explorer<'a> {
        let deadline = plan.time.and_then(|time| Instant::now().checked_add(time));
        let execution = Execution::new(plan.limits.clone());
        let coverage = Coverage::nothing();
        Explorer { program, plan, visit, execution, clocks: Clocks::new(), deadline, coverage }
    }

    fn all(&self) -> Share {
        Share { runs: self.plan.runs.unwrap_or(u64::MAX), deadline: self.deadline }
    }

    fn auto(&mut self) {
        let mut share = self.all();
        share.runs = share.runs.min(self.plan.queue_runs);
        let mut queue = RaceReversal::new();
        if self.queue(&mut queue, share) {
            return;
        }
        let pending = queue.pending();
        drop(queue);
        self.coverage.pending = Some(pending);
        if self.ended() {
            return;
        }
        let mut share = self.all();
        let now = Instant::now();
        share.deadline = share.deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
        share.runs = self.coverage.runs + (share.runs - self.coverage.runs) / 2;
        let mut dpor = Dpor::new();
        self.walk(&mut dpor, share, |_| false);
        if self.coverage.stop == Stop::Done {
            self.complete();
            return;
        }
        let progress = dpor.progress();
        if !self.ended() {
            let mut bounds = PreemptionBound::new(0, u32::MAX);
            self.walk(&mut bounds, self.all(), |_| false);
            self.bounded(&bounds);
        }
        if self.coverage.covered != Covered::Every {
            self.coverage.progress = Some(progress);
        }
    }

    /// Must whatever comes next be left?
    fn ended(&self) -> bool {
        let all = self.all();
        matches!(self.coverage.stop, Stop::Failure | Stop::Visitor)
            || self.coverage.runs >= all.runs
            || all.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn complete(&mut self) {
        self.coverage.covered = Covered::Every;
        self.coverage.pending = None;
        self.coverage.progress = None;
    }

    fn bounded(&mut self, bounds: &PreemptionBound) {
        if bounds.is_complete() {
            self.complete();
        } else if let Some(bound) = bounds.completed() {
            self.coverage.covered = Covered::Preemptions(bound);
        }
    }

    /// Returns whether the queue emptied.
    fn queue(&mut self, queue: &mut RaceReversal, share: Share) -> bool {
        let most = self.plan.queue_memory;
        self.walk(queue, share, |queue| queue.memory() > most);
        if self.coverage.stop == Stop::Done {
            self.complete();
        }
        self.coverage.stop == Stop::Done
    }

    fn single(&mut self, search: &Search) {
        let share = self.all();
        let (seed, runs) = (self.plan.seed, u64::MAX);
        self.coverage.random = matches!(search, Search::RandomWalk | Search::UniformWalk | Search::Pct(_));
        match search {
            Search::Auto => self.auto(),
            Search::Dfs => {
                let mut dfs = Dfs::new();
                self.walk(&mut dfs, share, |_| false);
                self.coverage.progress = Some(dfs.progress());
                if self.coverage.stop == Stop::Done {
                    self.complete();
                }
            }
            Search::BoundedDfs(bound) => {
                let mut dfs = Dfs::bounded(*bound);
                self.walk(&mut dfs, share, |_| false);
                self.coverage.progress = Some(dfs.progress());
                if self.coverage.stop == Stop::Done {
                    self.complete();
                    if dfs.was_cut() {
                        self.coverage.covered = Covered::Preemptions(*bound);
                    }
                }
            }
            Search::Dpor => {
                let mut dpor = Dpor::new();
                self.walk(&mut dpor, share, |_| false);
                self.coverage.progress = Some(dpor.progress());
                if self.coverage.stop == Stop::Done {
                    self.complete();
                }
            }
            Search::RaceReversal => {
                let mut queue = RaceReversal::new();
                self.queue(&mut queue, share);
                self.coverage.pending = Some(queue.pending());
            }
            Search::Preemptions(last) => {
                let mut bounds = PreemptionBound::new(0, *last);
                self.walk(&mut bounds, share, |_| false);
                self.bounded(&bounds);
            }
            Search::RandomWalk => self.walk(&mut RandomWalk::new(seed, runs), share, |_| false),
            Search::UniformWalk => self.walk(&mut RandomWalk::uniform(seed, runs), share, |_| false),
            Search::Pct(depth) => self.walk(&mut Pct::new(seed, runs, *depth), share, |_| false),
            Search::Replay(schedule) => {
                self.walk(&mut Replay::new(schedule.clone()), share, |_| false);
            }
        }
    }

    /// Works on parts of a shared search. Returns whether its bound kept a schedule out.
    fn share(&mut self, pool: &Pool) -> bool {
        let mut cut = false;
        while let Some(mut dfs) = pool.take() {
            self.walk(&mut dfs, self.all(), |dfs| {
                if pool.hungry.load(Ordering::Relaxed) > 0
                    && let Some(part) = dfs.split()
                {
                    pool.give(part);
                }
                pool.over.load(Ordering::Relaxed)
            });
            cut |= dfs.was_cut();
            if self.coverage.stop != Stop::Done {
                self.coverage.progress = Some(dfs.progress());
                pool.end();
                break;
            }
        }
        cut
    }

    /// Makes the runs of one strategy. `full` is asked before each run but the first whether to leave it.
    fn walk<S: Strategy>(&mut self, strategy: &mut S, share: Share, mut full: impl FnMut(&mut S) -> bool) {
        self.coverage.stop = loop {
            // Not after every run: looking at the clock takes as long as a few steps.
            let look = self.coverage.runs.is_multiple_of(64);
            if look && share.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Stop::Time;
            }
            if self.coverage.runs >= share.runs {
                break Stop::Runs;
            }
            if let Some(stop) = self.run(strategy) {
                break stop;
            }
            if !strategy.advance(self.execution.record()) {
                break Stop::Done;
            }
            if full(strategy) {
                break Stop::Memory;
            }
        };
    }

    /// Makes one run. Returns why it must be the last, if it must.
    fn run(&mut self, strategy: &mut dyn Strategy) -> Option<Stop> {
        let run = self.execution.run(self.program, strategy);
        self.coverage.runs += 1;
        let failure = match &run.ending {
            Ending::Abandoned => {
                self.coverage.abandoned += 1;
                return None;
            }
            Ending::Complete => None,
            Ending::Stuck(failure) => self.plan.stuck_fails.then_some(failure),
            Ending::Failed(failure) => Some(failure),
        };
        let failed = failure.is_some();
        if let Some(failure) = failure
            && self.coverage.found.is_none()
        {
            let (failure, schedule) = (failure.clone(), run.schedule());
            self.coverage.found = Some(Found { failure, schedule, run: self.coverage.runs });
        }
        let seen = Seen { run, strategy, clocks: &mut self.clocks };
        if (self.visit)(seen).is_break() {
            return Some(Stop::Visitor);
        }
        (failed && self.plan.stop_at_failure).then_some(Stop::Failure)
    }
}

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
//! With one worker the result depends on the plan alone, as long as no time limit cuts it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::clocks::Clocks;
use crate::execution::{Execution, Limits};
use crate::run::{Ending, Run};
use crate::strategy::Strategy;
use crate::strategy::dfs::Dfs;
use crate::strategy::dpor::Dpor;
use crate::strategy::pct::Pct;
use crate::strategy::preemption_bound::PreemptionBound;
use crate::strategy::race_reversal::RaceReversal;
use crate::strategy::random_walk::RandomWalk;

mod coverage;
mod parallel;

pub use coverage::{Coverage, Covered, Found, Stop};
pub use parallel::explore_in_parallel;

/// How the schedules are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// The race-reversal queue first, then what fits the program.
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
    /// Every state, where an object is compared with a specification: what may still explain the past is part of the
    /// state. Needs [`crate::Heap`] as the global allocator. A program without a specification is searched as by
    /// [`Search::Auto`].
    States,
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
    /// What became of its claims.
    pub claims: std::cell::Ref<'a, linpoint_claim::Monitor>,
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
            Search::Auto | Search::States => self.auto(),
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
        }
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
            if self.execution.newly_fair() {
                strategy.restart();
                continue;
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
        self.execution.run(self.program, strategy);
        let run = self.execution.record();
        self.coverage.runs += 1;
        self.coverage.fair |= self.execution.held_back();
        self.coverage.unfocused |= self.execution.was_unfocused();
        self.coverage.unwatched = self.execution.unwatched();
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
        let claims = self.execution.claims();
        let seen = Seen { run, claims, strategy, clocks: &mut self.clocks };
        if (self.visit)(seen).is_break() {
            return Some(Stop::Visitor);
        }
        (failed && self.plan.stop_at_failure).then_some(Stop::Failure)
    }
}

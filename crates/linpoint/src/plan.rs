//! Which strategies a scenario is given to, and for how long.
//!
//! **Automatic** choice, level by level, each ten times as far as the one before, over all scenarios that are left: the
//! race-reversal queue, which comes to bugs first and is done with small scenarios at once; then the search over states
//! where states can be compared (long loops under contention have few states and many traces); then source-DPOR. If none
//! of them comes to its end, preemption bounds 0, 1, 2, … as far as they come, so that something can be said for sure.

use std::time::Instant;

use linpoint_sched::Execution;
use linpoint_sched::explore::Search;
use linpoint_sched::strategy::Strategy;
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::dpor::Dpor;
use linpoint_sched::strategy::pct::Pct;
use linpoint_sched::strategy::preemption_bound::PreemptionBound;
use linpoint_sched::strategy::race_reversal::RaceReversal;
use linpoint_sched::strategy::random_walk::RandomWalk;

use crate::claims::Claims;
use crate::explored::{Exploration, Finding, Results, Stop};
use crate::spec::Object;
use crate::stateful::Stateful;

/// How far the exploration of a scenario came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached {
    pub(crate) runs: u64,
    pub(crate) claims: Claims,
    /// Every schedule?
    pub(crate) complete: bool,
    /// Every schedule with at most so many preemptions.
    pub(crate) bound: Option<u32>,
    pub(crate) questions: usize,
    pub(crate) states: usize,
    /// Was everything done that was asked for, though that is not every schedule?
    pub(crate) exhausted: bool,
    /// Which part a reduced search had done when it was left, between 0 and 1. A guess.
    pub(crate) progress: Option<f64>,
    /// Schedules that were drawn at random.
    pub(crate) random: u64,
    /// Did a thread that went round a loop have to let others go first?
    pub(crate) fair: bool,
    /// Runs that freed memory and could not be watched for uses of it.
    pub(crate) unwatched: u64,
}

/// Does the search go further at each level?
pub(crate) fn has_levels(search: Search) -> bool {
    match search {
        Search::Auto | Search::RandomWalk | Search::UniformWalk | Search::Pct(_) => true,
        Search::Dfs
        | Search::BoundedDfs(_)
        | Search::Preemptions(_)
        | Search::Dpor
        | Search::RaceReversal
        | Search::States => false,
    }
}

/// Explores a scenario as far as `level` allows: each level ten times as far as the one before.
pub(crate) fn explore<O: Object>(
    exploration: &mut Exploration<'_, O>,
    execution: &mut Execution,
    search: Search,
    level: u32,
    deadline: Instant,
) -> Result<Reached, Box<Finding<O::Spec>>> {
    let allowed =
        if has_levels(search) { 3_000u64.saturating_mul(10u64.saturating_pow(level)) } else { u64::MAX };
    let unwatched = execution.unwatched();
    // Another seed at each level: the same schedules again would show nothing.
    let seed = u64::from(level);
    let mut walk = Walk { exploration, execution, deadline: Some(deadline), reached: Reached::default() };
    match search {
        Search::Auto => walk.auto(level, allowed)?,
        Search::Dfs => walk.reached.complete = walk.follow(&mut Dfs::new(), allowed)?,
        Search::BoundedDfs(bound) | Search::Preemptions(bound) => walk.bounded(bound)?,
        Search::Dpor => walk.reached.complete = walk.follow(&mut Dpor::new(), allowed)?,
        Search::RaceReversal => walk.reached.complete = walk.follow(&mut RaceReversal::new(), allowed)?,
        Search::States => walk.states(allowed)?,
        Search::RandomWalk => walk.at_random(&mut RandomWalk::new(seed, allowed))?,
        Search::UniformWalk => walk.at_random(&mut RandomWalk::uniform(seed, allowed))?,
        Search::Pct(depth) => walk.at_random(&mut Pct::new(seed, allowed, depth))?,
    }
    let mut reached = walk.reached;
    reached.fair = execution.held_back();
    reached.unwatched = execution.unwatched() - unwatched;
    reached.runs = exploration.runs;
    reached.claims = std::mem::take(&mut exploration.claims);
    reached.questions = exploration.questions();
    Ok(reached)
}

struct Walk<'w, 'a, O: Object> {
    exploration: &'w mut Exploration<'a, O>,
    execution: &'w mut Execution,
    deadline: Option<Instant>,
    reached: Reached,
}

impl<O: Object> Walk<'_, '_, O> {
    fn auto(&mut self, level: u32, allowed: u64) -> Result<(), Box<Finding<O::Spec>>> {
        /// More traces than this cost the queue too much memory.
        const QUEUE: u64 = 30_000;
        let mut queue = RaceReversal::new();
        self.reached.complete = self.follow(&mut queue, allowed.min(QUEUE))?;
        if self.reached.complete || level == 0 {
            return Ok(());
        }
        drop(queue);
        self.states(allowed)?;
        if self.reached.complete {
            return Ok(());
        }
        let mut dpor = Dpor::new();
        self.reached.complete = self.follow(&mut dpor, allowed)?;
        if self.reached.complete {
            return Ok(());
        }
        self.reached.progress = Some(dpor.progress());
        let mut bounds = PreemptionBound::new(0, u32::MAX);
        self.follow(&mut bounds, allowed)?;
        self.reached.bound = bounds.completed();
        self.reached.complete = bounds.is_complete();
        Ok(())
    }

    fn at_random(&mut self, strategy: &mut dyn Strategy) -> Result<(), Box<Finding<O::Spec>>> {
        let before = self.exploration.runs;
        let walked = self.follow(strategy, u64::MAX);
        self.reached.random = self.exploration.runs - before;
        walked.map(|_| ())
    }

    /// Follows `strategy`; has it come to its end?
    fn follow(&mut self, strategy: &mut dyn Strategy, allowed: u64) -> Result<bool, Box<Finding<O::Spec>>> {
        let stop = self.exploration.walk(self.execution, strategy, allowed, self.deadline)?;
        Ok(stop == Stop::Exhausted)
    }

    fn bounded(&mut self, bound: u32) -> Result<(), Box<Finding<O::Spec>>> {
        let mut dfs = Dfs::bounded(bound);
        if self.follow(&mut dfs, u64::MAX)? {
            self.reached.bound = Some(bound);
            self.reached.complete = !dfs.was_cut();
            self.reached.exhausted = true;
        }
        Ok(())
    }

    fn states(&mut self, allowed: u64) -> Result<(), Box<Finding<O::Spec>>> {
        if !self.execution.compare_states(true) {
            return Ok(());
        }
        let results = Results::<O::Spec>::default();
        let ops = self.exploration.operations().to_vec();
        let mut stateful = Stateful::<O::Spec>::new(&ops, &results);
        let stop =
            self.exploration.walk_with(self.execution, &mut stateful, allowed, self.deadline, &results);
        self.execution.compare_states(false);
        self.reached.complete = stop? == Stop::Exhausted && !stateful.unsupported;
        self.reached.states = stateful.states();
        Ok(())
    }
}

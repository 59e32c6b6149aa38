//! Which strategies a scenario is given to, and for how long.

use std::time::Instant;

use linpoint_sched::Execution;
use linpoint_sched::strategy::Strategy;
use linpoint_sched::strategy::dfs::Dfs;
use linpoint_sched::strategy::dpor::Dpor;
use linpoint_sched::strategy::race_reversal::RaceReversal;

use crate::claims::Claims;
use crate::explored::{Exploration, Finding, Results, Stop};
use crate::spec::Object;
use crate::stateful::Stateful;

/// How the schedules of a scenario are walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Search {
    /// The race-reversal queue first, then what fits the program.
    #[default]
    Auto,
    /// Every schedule, one by one.
    Dfs,
    /// Every schedule with at most so many preemptions.
    Preemptions(u32),
    /// One run a trace, by source-DPOR.
    Dpor,
    /// One run a trace, by the race-reversal queue.
    RaceReversal,
    /// Every state: needs [`crate::Heap`] as the global allocator.
    States,
}

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
}

/// Explores a scenario as far as `level` allows: each level ten times as far as the one before.
pub(crate) fn explore<O: Object>(
    exploration: &mut Exploration<'_, O>,
    execution: &mut Execution,
    search: Search,
    level: u32,
    deadline: Instant,
) -> Result<Reached, Box<Finding<O::Spec>>> {
    let allowed = match search {
        Search::Auto => 3_000u64.saturating_mul(10u64.saturating_pow(level)),
        _ => u64::MAX,
    };
    let mut walk = Walk { exploration, execution, deadline: Some(deadline), reached: Reached::default() };
    match search {
        Search::Auto => walk.auto(level, allowed)?,
        Search::Dfs => walk.reached.complete = walk.follow(&mut Dfs::new(), allowed)?,
        Search::Preemptions(bound) => walk.bounded(bound)?,
        Search::Dpor => walk.reached.complete = walk.follow(&mut Dpor::new(), allowed)?,
        Search::RaceReversal => walk.reached.complete = walk.follow(&mut RaceReversal::new(), allowed)?,
        Search::States => walk.states(allowed)?,
    }
    let mut reached = walk.reached;
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
    /// The queue finds bugs first, and is done with small scenarios at once. What it leaves is for a search over states
    /// where states can be compared (long loops under contention have few states and many traces), and for
    /// DPOR where not.
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
        if !self.reached.complete {
            self.reached.complete = self.follow(&mut Dpor::new(), allowed)?;
        }
        Ok(())
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

//! A random walk: every thread that can go is equally likely, at every point.

use crate::event::ThreadId;
use crate::execution::Execution;
use crate::random::Random;
use crate::run::Run;
use crate::strategy::Strategy;

/// Random schedules, as many as asked for.
pub struct RandomWalk {
    random: Random,
    left: u64,
}

impl RandomWalk {
    /// `runs` schedules, determined by `seed`.
    pub fn new(seed: u64, runs: u64) -> RandomWalk {
        RandomWalk { random: Random::new(seed), left: runs }
    }
}

impl Strategy for RandomWalk {
    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        let enabled = at.enabled();
        enabled.iter().nth(self.random.below(enabled.len()))
    }

    fn advance(&mut self, _run: &Run) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

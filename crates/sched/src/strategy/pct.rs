//! Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte 2010).
//!
//! Threads get random priorities, and the one with the highest that can go goes. At d − 1 random steps the running
//! thread's priority falls below all others. A bug of depth d (one that d ordered pairs of steps are enough to show)
//! is hit in a run with probability at least 1 / (n k^(d−1)), for n threads and k steps. k is the longest run so far.

use crate::event::ThreadId;
use crate::execution::Execution;
use crate::random::Random;
use crate::run::Run;
use crate::strategy::Strategy;

/// Random schedules by priorities, as many as asked for.
pub struct Pct {
    random: Random,
    left: u64,
    depth: usize,
    /// The longest run so far.
    longest: usize,
    priorities: Vec<u64>,
    /// At which steps a priority falls.
    falls: Vec<usize>,
}

/// Priorities below this are those of threads that fell.
const FALLEN: u64 = 1 << 32;

impl Pct {
    /// `runs` schedules for bugs of depth `depth`, determined by `seed`.
    pub fn new(seed: u64, runs: u64, depth: usize) -> Pct {
        let (priorities, falls) = (Vec::new(), Vec::new());
        Pct { random: Random::new(seed), left: runs, depth, longest: 0, priorities, falls }
    }
}

impl Strategy for Pct {
    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        let enabled = at.enabled();
        let run = at.record();
        while self.priorities.len() < run.threads.len() {
            self.priorities.push(FALLEN | self.random.bits() >> 1);
        }
        let step = run.steps.len();
        let highest = |priorities: &[u64]| enabled.iter().max_by_key(|thread| priorities[thread.index()]);
        if let Some(fall) = self.falls.iter().position(|&at| at == step)
            && let Some(thread) = highest(&self.priorities)
        {
            self.priorities[thread.index()] = fall as u64;
        }
        highest(&self.priorities)
    }

    fn advance(&mut self, run: &Run) -> bool {
        self.longest = self.longest.max(run.steps.len());
        self.priorities.clear();
        self.falls.clear();
        for _ in 1..self.depth {
            let at = self.random.below(self.longest.max(1));
            self.falls.push(at);
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

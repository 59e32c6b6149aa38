//! Random walks over the schedules.
//!
//! The plain walk takes every thread that can go with the same probability, at every point. Long threads then fall
//! behind short ones, and most schedules are hardly ever seen.
//!
//! The *uniform* walk (Zhao, Wolff, Mathur and Roychoudhury 2025) takes a thread with a probability proportional to the
//! steps it has left. If the numbers of steps were known, and nobody waited, every schedule would be equally likely:
//! of the schedules of threads with a and b steps left, a / (a + b) begin with the first thread. The numbers are
//! estimated from the runs before; the steps of threads not yet created count for the one that will create them.

use crate::event::ThreadId;
use crate::execution::Execution;
use crate::random::Random;
use crate::run::Run;
use crate::strategy::Strategy;

/// Random schedules, as many as asked for.
pub struct RandomWalk {
    random: Random,
    left: u64,
    /// For the uniform walk: what is known of each thread.
    estimates: Option<Vec<Estimate>>,
    weights: Vec<u64>,
}

/// What the runs before tell about a thread.
#[derive(Clone, Copy, Default)]
struct Estimate {
    /// Its steps, times [`SCALE`]: an average over the runs, the later the more.
    steps: u64,
    parent: Option<ThreadId>,
}

const SCALE: u64 = 64;

impl RandomWalk {
    /// `runs` schedules by the plain walk, determined by `seed`.
    pub fn new(seed: u64, runs: u64) -> RandomWalk {
        RandomWalk { random: Random::new(seed), left: runs, estimates: None, weights: Vec::new() }
    }

    /// `runs` schedules by the uniform walk, determined by `seed`.
    pub fn uniform(seed: u64, runs: u64) -> RandomWalk {
        RandomWalk { estimates: Some(Vec::new()), ..RandomWalk::new(seed, runs) }
    }

    fn weigh(&mut self, at: &Execution) {
        let Some(estimates) = &self.estimates else { return };
        let run = at.record();
        let threads = run.threads.len();
        self.weights.clear();
        self.weights.extend((0..threads).map(|index| estimates.get(index).map_or(0, |one| one.steps)));
        for step in &run.steps {
            let weight = &mut self.weights[step.thread.index()];
            *weight = weight.saturating_sub(SCALE);
        }
        for unborn in estimates.iter().skip(threads) {
            let mut creator = unborn.parent;
            while let Some(thread) = creator.filter(|thread| thread.index() >= threads) {
                creator = estimates[thread.index()].parent;
            }
            if let Some(thread) = creator {
                self.weights[thread.index()] += unborn.steps;
            }
        }
    }

    fn learn(&mut self, run: &Run) {
        let Some(estimates) = &mut self.estimates else { return };
        for (index, record) in run.threads.iter().enumerate() {
            let steps = u64::from(record.steps) * SCALE;
            match estimates.get_mut(index) {
                Some(one) => {
                    one.steps = (one.steps * 7 + steps) / 8;
                    one.parent = record.parent;
                }
                None => estimates.push(Estimate { steps, parent: record.parent }),
            }
        }
    }
}

impl Strategy for RandomWalk {
    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        let enabled = at.enabled();
        if self.estimates.is_none() {
            return enabled.iter().nth(self.random.below(enabled.len()));
        }
        self.weigh(at);
        // A thread that outlived its estimate has about one step left.
        let weight = |thread: ThreadId| self.weights[thread.index()].max(SCALE);
        let total: u64 = enabled.iter().map(weight).sum();
        let mut drawn = self.random.below(total as usize) as u64;
        for thread in enabled.iter() {
            let weight = weight(thread);
            if drawn < weight {
                return Some(thread);
            }
            drawn -= weight;
        }
        enabled.first()
    }

    fn advance(&mut self, run: &Run) -> bool {
        self.learn(run);
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

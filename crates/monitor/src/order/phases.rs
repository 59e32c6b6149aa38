//! Is there an order of these operations in which the specification's view goes where the implementation's
//! went?
//!
//! The implementation's view, at the keys in question, goes through *phases*: each begins with the write that
//! changed it. An operation may take effect in a phase that its interval reaches. A phase in which somebody
//! else committed was there to be seen: the specification must come to the same view before the phase ends. A
//! phase that only its own writer saw (one of several writes of one operation, say) may be passed over. In
//! the last phase nothing is open, and the views must be equal.
//!
//! Commits are not asked: this is for finding out whether they are wrong ([`crate::blame`]). Depth first,
//! dead ends remembered with their states.

use std::time::Instant;

use linpoint_history::Value;
use rustc_hash::FxHashMap;

use crate::content::Content;
use crate::model::Model;
use crate::order::search::{Allowance, Outcome, Task};

/// A stretch of numbers in which the implementation's view does not change at the keys in question.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// The number of the write that it begins with.
    pub from: u64,
    /// What the implementation has at each of the keys.
    pub view: Vec<Content>,
    /// Did somebody commit meanwhile who could see it?
    pub seen: bool,
}

/// Looks for an order of `tasks` from `start` through `phases`, the first of which is that of the start.
pub(crate) fn find(
    start: &dyn Model,
    tasks: &[Task],
    keys: &[Value],
    phases: &[Phase],
    allowance: &Allowance,
) -> Outcome {
    let done = vec![0; tasks.len().div_ceil(64)];
    let (order, dead) = (Vec::new(), FxHashMap::default());
    let mut search =
        Search { tasks, keys, phases, allowance, done, order, dead, elements: 0, steps: 0, cut: false };
    match search.go(start, 0) {
        true => Outcome::Found(search.order),
        false if search.cut => Outcome::Cut,
        false => Outcome::None,
    }
}

type DeadEnds = FxHashMap<(Box<[u64]>, usize, u64), Vec<Box<dyn Model>>>;

struct Search<'a> {
    tasks: &'a [Task],
    keys: &'a [Value],
    phases: &'a [Phase],
    allowance: &'a Allowance,
    done: Vec<u64>,
    order: Vec<usize>,
    dead: DeadEnds,
    elements: usize,
    steps: u64,
    cut: bool,
}

impl Search<'_> {
    fn go(&mut self, model: &dyn Model, at: usize) -> bool {
        self.steps += 1;
        let expired = self.steps.is_multiple_of(64) && Instant::now() > self.allowance.deadline;
        self.cut |= expired || self.elements > self.allowance.elements;
        let key = (self.done.clone().into_boxed_slice(), at, model.digest());
        if self.cut || self.dead.get(&key).is_some_and(|models| models.iter().any(|other| other.same(model)))
        {
            return false;
        }
        let phase = &self.phases[at];
        let agrees =
            self.keys.iter().zip(&phase.view).all(|(key, held)| held.is_same(&model.content(key), model));
        let missing = |task: &usize| self.tasks[*task].must && !self.is_done(*task);
        let limit =
            (0..self.tasks.len()).filter(missing).map(|task| self.tasks[task].ret).min().unwrap_or(u64::MAX);
        let next = self.phases.get(at + 1).map(|next| next.from);
        match next {
            None if agrees && limit == u64::MAX => return true,
            Some(next) if (agrees || !phase.seen) && limit >= next && self.go(model, at + 1) => return true,
            None | Some(_) => {}
        }
        let until = limit.min(next.unwrap_or(u64::MAX));
        for task in 0..self.tasks.len() {
            let fits = self.tasks[task].call <= until && self.tasks[task].ret >= phase.from;
            if self.is_done(task) || !fits {
                continue;
            }
            self.flip(task);
            self.order.push(task);
            for outcome in self.tasks[task].outcomes(model) {
                if self.go(&*outcome, at) {
                    return true;
                }
            }
            self.order.pop();
            self.flip(task);
        }
        self.elements += model.size() + self.done.len() + 16;
        self.dead.entry(key).or_default().push(model.fork());
        false
    }

    fn is_done(&self, task: usize) -> bool {
        self.done[task / 64] >> (task % 64) & 1 != 0
    }

    fn flip(&mut self, task: usize) {
        self.done[task / 64] ^= 1 << (task % 64);
    }
}

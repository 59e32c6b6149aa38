//! The orders that configurations stand for, as one tree: each configuration knows the end of its own order,
//! and orders share what they have in common.
//!
//! What all configurations share is written to the witness now and then, and what none leads to is dropped,
//! so the tree stays as small as the disagreement. A write that nobody saw is noted when it returns
//! (`Hidden`) and belongs just before the last visible write before that note: so the last visible write is
//! held back as long as such a note may still come, or may have come in some of the orders.

use crate::engine::Witness;
use crate::timeline::OpId;

/// The tree.
#[derive(Debug, Default)]
pub(super) struct Path {
    steps: Vec<Step>,
    /// Flushed when it grows past this.
    full: usize,
    /// For each step, how many orders and steps go on from it.
    uses: Vec<u32>,
}

/// What an operation does in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A write takes effect and is seen, or may be.
    Write,
    /// A read takes effect.
    Read,
    /// A write took effect just before the last `Write`.
    Hidden,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    before: u32,
    id: OpId,
    what: What,
}

impl Path {
    /// Where orders begin.
    pub const BEGIN: u32 = u32::MAX;

    /// The order that ends in `end`, and then this step; gives its end.
    #[inline]
    pub fn push(&mut self, end: u32, what: What, id: OpId) -> u32 {
        self.steps.push(Step { before: end, id, what });
        self.steps.len() as u32 - 1
    }

    /// Is it time to flush?
    pub fn is_full(&self) -> bool {
        self.steps.len() > self.full.max(1 << 14)
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        self.steps.capacity() * size_of::<Step>() + self.uses.capacity() * 4
    }

    /// Writes down what the orders with these ends share, without the last visible write if a write
    /// `may_hide` before it, and forgets what none of them needs.
    pub fn flush<'a>(
        &mut self,
        ends: impl Iterator<Item = &'a mut u32>,
        may_hide: bool,
        witness: &mut Witness,
    ) {
        let ends: Vec<&mut u32> = ends.collect();
        let orders = self.count_uses(&ends);
        let shared = self.shared(orders);
        let last_write = shared.iter().rposition(|&at| self.steps[at as usize].what == What::Write);
        let settled = if may_hide { last_write.unwrap_or(0) } else { shared.len() };
        self.write_down(&shared[..settled], witness);
        for &at in &shared[..settled] {
            self.uses[at as usize] = 0;
        }
        self.compact(ends);
        self.full = 2 * self.steps.len();
    }

    /// Fills in `uses`; gives how many begin at the beginning.
    fn count_uses(&mut self, ends: &[&mut u32]) -> u32 {
        self.uses.clear();
        self.uses.resize(self.steps.len(), 0);
        let mut beginnings = 0;
        for end in ends {
            let mut at = **end;
            loop {
                if at == Self::BEGIN {
                    beginnings += 1;
                    break;
                }
                self.uses[at as usize] += 1;
                if self.uses[at as usize] > 1 {
                    break;
                }
                at = self.steps[at as usize].before;
            }
        }
        beginnings
    }

    /// The steps every order begins with.
    fn shared(&self, beginnings: u32) -> Vec<u32> {
        let mut shared = Vec::new();
        let (mut last, mut uses) = (Self::BEGIN, beginnings);
        for at in 0..self.steps.len() {
            if uses != 1 {
                break;
            }
            if self.uses[at] > 0 && self.steps[at].before == last {
                shared.push(at as u32);
                (last, uses) = (at as u32, self.uses[at]);
            }
        }
        shared
    }

    fn write_down(&self, steps: &[u32], witness: &mut Witness) {
        let step = |at: &u32| self.steps[*at as usize];
        let mut rest = steps;
        while !rest.is_empty() {
            let next_write = rest[1..].iter().position(|at| step(at).what == What::Write);
            let (part, after) = rest.split_at(next_write.map_or(rest.len(), |at| at + 1));
            let (hidden, seen): (Vec<Step>, Vec<Step>) =
                part.iter().map(step).partition(|step| step.what == What::Hidden);
            witness.order.extend(hidden.iter().chain(&seen).map(|step| step.id));
            rest = after;
        }
    }

    /// Forgets unused steps and renumbers the rest.
    fn compact(&mut self, ends: Vec<&mut u32>) {
        let mut kept = 0;
        for at in 0..self.steps.len() {
            if self.uses[at] == 0 {
                self.uses[at] = Self::BEGIN;
                continue;
            }
            let step = self.steps[at];
            let before =
                if step.before == Self::BEGIN { Self::BEGIN } else { self.uses[step.before as usize] };
            self.steps[kept] = Step { before, ..step };
            self.uses[at] = kept as u32;
            kept += 1;
        }
        self.steps.truncate(kept);
        for end in ends.into_iter().filter(|end| **end != Self::BEGIN) {
            *end = self.uses[*end as usize];
        }
    }
}

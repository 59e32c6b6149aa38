//! Which sets of synchronisations have to be looked at.
//!
//! Let W be the graph with some pairs added. If a legal order extends everything that W orders and everything
//! that a consistent set could order in addition, then it explains every S above W at once. This settles
//! almost all graphs. Otherwise take a legal order that extends what W orders. An S that nothing explains
//! must contradict it: it orders some A before B that the legal order has the other way around, and adding
//! (A, B) to S changes nothing. So the search goes on with W + (A, B) for each such pair, and leaves out
//! pairs that it has tried: each S is met once.

use std::collections::HashSet;

use linpoint_verdict::Counterexample;

use super::order::legal;
use super::world::World;
use super::{EveryClient, Operation, Placed, Sequential, TooMuch, Verdict};

pub(super) struct Search<'a, S> {
    object: &'a S,
    placed: &'a [Placed],
    operations: Vec<Operation>,
    most: u64,
    /// Sets that were looked at.
    pub(super) sets: u64,
    /// Pairs in the largest of them.
    pub(super) largest: usize,
    /// The pairs of the present set.
    chosen: Vec<(usize, usize)>,
    /// Pairs of which no set is left to try.
    excluded: HashSet<(usize, usize)>,
}

/// What comes of a set.
enum Found {
    /// All sets above it are explained.
    Nothing,
    /// The chosen set is not.
    Violation,
    /// There were too many sets.
    Limit,
}

impl<'a, S: Sequential> Search<'a, S> {
    pub(super) fn new(object: &'a S, placed: &'a [Placed], most: u64) -> Search<'a, S> {
        let operations = placed.iter().map(|placed| placed.operation).collect();
        let (chosen, excluded) = (Vec::new(), HashSet::new());
        Search { object, placed, operations, most, sets: 0, largest: 0, chosen, excluded }
    }

    pub(super) fn verdict(&mut self, world: &World) -> Verdict {
        match self.sets_above(world) {
            Found::Nothing => Verdict::Holds(EveryClient(())),
            Found::Violation => {
                Verdict::Violated(Counterexample::new(std::mem::take(&mut self.chosen), false))
            }
            Found::Limit => Verdict::Unknown(TooMuch::Sets),
        }
    }

    fn sets_above(&mut self, world: &World) -> Found {
        if self.sets >= self.most {
            return Found::Limit;
        }
        self.sets += 1;
        self.largest = self.largest.max(self.chosen.len());
        let count = self.placed.len();
        let mut must = vec![0_u64; count];
        for (b, row) in must.iter_mut().enumerate() {
            for a in 0..count {
                if a != b && world.orders(self.placed, a, b) {
                    *row |= 1 << a;
                }
            }
        }
        let mut all = must.clone();
        let mut may = vec![0_u64; count];
        for a in 0..count {
            for b in 0..count {
                let is_ordered = must[b] >> a & 1 == 1 || must[a] >> b & 1 == 1;
                if !is_ordered && self.is_possible(a, b) && world.allows(self.placed, a, b) {
                    may[b] |= 1 << a;
                    all[b] |= 1 << a;
                }
            }
        }
        if legal(self.object, &self.operations, &all).is_some() {
            return Found::Nothing;
        }
        let Some(order) = legal(self.object, &self.operations, &must) else { return Found::Violation };
        self.contradict(world, &order, &may)
    }

    /// Can a client synchronise the end of `a` with the beginning of `b`, and is that left to try?
    fn is_possible(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.placed[a], &self.placed[b]);
        first.end.is_some() && first.thread != second.thread && !self.excluded.contains(&(a, b))
    }

    /// Tries every pair that contradicts the order.
    fn contradict(&mut self, world: &World, order: &[usize], may: &[u64]) -> Found {
        let mut tried = Vec::new();
        let mut found = Found::Nothing;
        'pairs: for (k, &b) in order.iter().enumerate() {
            for &a in &order[k + 1..] {
                if may[b] >> a & 1 == 0 {
                    continue;
                }
                let Some(world) = world.with(self.placed, a, b) else { continue };
                self.chosen.push((a, b));
                found = self.sets_above(&world);
                if !matches!(found, Found::Nothing) {
                    break 'pairs;
                }
                self.chosen.pop();
                self.excluded.insert((a, b));
                tried.push((a, b));
            }
        }
        for pair in tried {
            self.excluded.remove(&pair);
        }
        found
    }
}

//! What `disjoint` says of two processes while a third takes a step.
//!
//! `disjoint` speaks of any two processes, under a condition. Where the condition looks at locals only, it
//! can become true of a pair only by a step of one of the two, and these steps are looked at with the other
//! obligations (`obligation.rs`). A condition that looks at shared memory can become true of q and r by a
//! step of p: then the two must be shown to differ, too. So it is with every annotation whose meaning depends
//! on what others change: an invariant of q is looked at in steps of p, a status of q as well, and the
//! abstraction belongs to nobody.

use std::collections::BTreeSet;

use linpoint_lang::program::Disjoint;

use crate::context::{Subject, changed};
use crate::fact::{Facts, Shared, shared_reads};
use crate::graph::{Graph, Point};
use crate::obligation::{Goal, Question, Scene};
use crate::symbol::{Role, Space};
use crate::term::Term;
use crate::world::World;

impl<'p> Subject<'p> {
    /// Does this step change what a condition of a `disjoint` looks at?
    pub(crate) fn disjoint_readers(&self, world: &mut World<'p>, step: usize) -> bool {
        let (before, after) = self.memories(world, step);
        let changed = changed(&before, &after);
        self.disjoint_lists(&changed).next().is_some()
    }

    /// The lists of a `disjoint` with a condition that looks at one of these slots.
    fn disjoint_lists<'a>(&'a self, changed: &'a [Shared]) -> impl Iterator<Item = &'a Vec<Disjoint>> {
        let reads = |item: &Disjoint| item.when.as_ref().map_or_else(BTreeSet::new, shared_reads);
        let touched = move |item: &Disjoint| changed.iter().any(|slot| reads(item).contains(slot));
        self.program.annotations.disjoint.iter().filter(move |list| list.iter().any(&touched))
    }

    /// Two processes that do not act still differ after the step.
    pub(crate) fn pairs_question(&self, world: &mut World<'p>, facts: &Facts, step: usize) -> Question {
        let memory = world.memory(Space::Program);
        let [me, other, third] = [Role::Actor, Role::Other, Role::Third].map(|role| world.process(role));
        let step = &self.graph.steps[step];
        let frame = world.frame(self.op(step.from), me);
        let mut hypotheses = self.known_of_memory(world, &memory, facts);
        hypotheses.extend(self.known_of(world, step.from, &frame, &memory, facts));
        let taken = self.take(world, step, &memory, &frame);
        hypotheses.extend(taken.guards.iter().copied());
        for (a, b) in [(me, other), (me, third), (other, third)] {
            let same = world.terms.eq(a, b);
            hypotheses.push(world.terms.not(same));
        }
        let changed = changed(&memory, &taken.memory);
        let mut goals: Vec<(Term, Goal)> = Vec::new();
        for (q_at, r_at) in self.compared(&changed) {
            let (q, r) = (world.frame(self.op(q_at), other), world.frame(self.op(r_at), third));
            let mut known = self.known_of(world, q_at, &q, &memory, facts);
            known.extend(self.known_of(world, r_at, &r, &memory, facts));
            for (one, two) in [
                ((step.from, &frame), (q_at, &q)),
                ((step.from, &frame), (r_at, &r)),
                ((q_at, &q), (r_at, &r)),
            ] {
                known.push(self.disjoint(world, one, two, &memory));
                known.push(self.disjoint(world, two, one, &memory));
            }
            let differ = self.disjoint(world, (q_at, &q), (r_at, &r), &taken.memory);
            let known = world.terms.and(known);
            goals.push((world.terms.implies(known, differ), Goal::Differ(q_at)));
        }
        let q = self.graph.running().map(|point| (world.frame(self.op(point), other), point)).collect();
        let scene =
            Scene { memory: (memory, taken.memory), p: (frame, taken.frame), p_at: (step.from, step.to), q };
        Question { hypotheses, goals, scene }
    }

    /// The places of two processes that these lists speak of, in both orders.
    fn compared(&self, changed: &[Shared]) -> BTreeSet<(Point, Point)> {
        let at = |item: &Disjoint| -> Vec<Point> {
            let here =
                |point: &Point| *point != Graph::IDLE && item.at.contains(&self.graph.place(*point).node);
            self.graph.running().filter(here).collect()
        };
        let mut pairs = BTreeSet::new();
        for list in self.disjoint_lists(changed) {
            let places: Vec<Point> = list.iter().flat_map(at).collect();
            pairs.extend(places.iter().flat_map(|q| places.iter().map(move |r| (*q, *r))));
        }
        pairs
    }
}

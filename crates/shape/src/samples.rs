//! Abstract steps against the interpreter, on random small heaps: concretise, step, abstract again, and look
//! whether the abstract step covers it.
//!
//! Each case is one edge of one thread in one random state ([`World::random`]), looked at three ways: what
//! the thread itself sees, what all threads see, and what another thread sees of it. An abstract step that
//! stops (an alarm, something not modelled) covers everything. A run that goes wrong must stop it.

use linpoint_lang::Program;
use linpoint_lang::program::{Action, MarkKind};

use crate::concrete::{Concrete, Dice, World};
use crate::interference::{ANYONE, interference, shaken};
use crate::layout::Layout;
use crate::records::{cut, cuts};
use crate::run::{Steps, Ways};
use crate::structure::{Structure, Thread};

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Edges tried in states.
    pub cases: u64,
    /// Steps of the interpreter whose result was looked up.
    pub looked_up: u64,
    /// Abstract steps that stopped.
    pub stopped: u64,
    /// Those that missed something.
    pub missed: u64,
}

/// A case that was missed.
#[derive(Debug)]
pub struct Miss {
    /// Who missed it: the thread itself, all threads, or another one.
    pub who: &'static str,
    /// The state before.
    pub state: Concrete,
    /// The thread and its edge.
    pub step: (usize, usize),
    /// What was seen before.
    pub before: Structure,
    /// What should be covered; none if the run went wrong.
    pub wanted: Option<Structure>,
    /// What the abstract step leads to.
    pub after: Vec<Structure>,
}

/// A program without what only asks: the interpreter looks at the conditions of queries, the analysis does
/// not.
pub fn without_queries(program: &Program) -> Program {
    let mut program = program.clone();
    for edge in program.nodes.iter_mut().flat_map(|node| &mut node.edges) {
        edge.actions.retain(|action| !matches!(action, Action::Mark(mark) if mark.kind == MarkKind::Query));
    }
    program
}

/// Tries so many edges in random states of two threads. Tells of the first miss.
pub fn sample(steps: &Steps<'_, '_>, seed: u64, cases: u64) -> (Samples, Option<Miss>) {
    sample_in(steps, &World::new(steps.layout, steps.points, 2, u8::MAX), seed, cases)
}

/// The same, in a world of two threads that need not be that of the steps.
pub fn sample_in(
    steps: &Steps<'_, '_>,
    world: &World<'_, '_>,
    seed: u64,
    cases: u64,
) -> (Samples, Option<Miss>) {
    let cuts = cuts(steps.layout, steps.points);
    let keys: Vec<_> = world.keys().collect();
    let mut dice = Dice::new(seed);
    let mut found = Samples::default();
    let mut miss = None;
    // No argument, no call, no state worth looking at.
    if keys.is_empty() || steps.layout.roles.is_empty() {
        return (found, miss);
    }
    let mut states = 0;
    while found.cases < cases && states < cases {
        states += 1;
        let state = world.random(&mut dice);
        if !world.is_small(&state) {
            continue;
        }
        let key = keys[dice.below(keys.len())];
        for thread in 0..2 {
            for edge in 0..world.edges(&state, thread) {
                found.cases += 1;
                let case = Case { steps, world, cuts: &cuts, state: &state, key, step: (thread, edge) };
                if let Some(new) = case.check(&mut found) {
                    found.missed += 1;
                    miss.get_or_insert(new);
                }
            }
        }
    }
    (found, miss)
}

struct Case<'a, 'p> {
    steps: &'a Steps<'a, 'p>,
    world: &'a World<'a, 'p>,
    cuts: &'a [Vec<crate::records::Cut>],
    state: &'a Concrete,
    key: linpoint_lang::program::Word,
    step: (usize, usize),
}

impl Case<'_, '_> {
    fn check(&self, found: &mut Samples) -> Option<Miss> {
        let (thread, edge) = self.step;
        let mut next = self.world.edge(self.state, thread, edge);
        // What no structure shows must stop the analysis as a run that goes wrong does.
        if next.as_ref().is_ok_and(|next| !next.iter().all(|next| self.world.has_records(next))) {
            next = Err("a value of the reference has no record".into());
        }
        match &next {
            // By their values the records of the two sides know each other: a second record with one value is
            // left out.
            Ok(next) if !next.iter().all(|next| self.world.is_distinct(next)) => return None,
            // Answers are compared for operations on the tracked key only.
            Err(_) if !self.world.concerns(self.state, thread, self.key) => return None,
            _ => {}
        }
        let miss = |who, before, wanted, after| {
            Some(Miss { who, state: self.state.clone(), step: self.step, before, wanted, after })
        };
        // What the thread itself sees, and what all see.
        let mut effect = None;
        for threads in [&[thread][..], &[0, 1]] {
            let place = if threads.len() == 1 { 0 } else { thread };
            let who = if threads.len() == 1 { "itself" } else { "all" };
            let s = self.world.seen_by(self.state, threads, self.key);
            let Ok(Ways::After(after)) = self.steps.edge(&s, place, edge, false, false) else {
                found.stopped += 1;
                continue;
            };
            if threads.len() == 1 {
                effect = Some(after.iter().any(|(_, effect)| *effect));
            }
            let after: Vec<Structure> =
                after.into_iter().filter_map(|(s, _)| canonical(self.steps.layout, s)).collect();
            let Ok(next) = &next else { return miss(who, s, None, after) };
            for next in next {
                found.looked_up += 1;
                let wanted = self.world.seen_by(next, threads, self.key);
                if !after.iter().any(|s| s.covers(&wanted)) {
                    return miss(who, s, Some(wanted), after);
                }
            }
        }
        let (Ok(next), Some(effect)) = (&next, effect) else { return None };
        let other = 1 - thread;
        let view = self.world.seen_by(self.state, &[other], self.key);
        let after = if effect { self.shaken(&view, found)? } else { vec![view.clone()] };
        for next in next {
            found.looked_up += 1;
            let wanted = self.world.seen_by(next, &[other], self.key);
            if !after.iter().any(|s| s.covers(&wanted)) {
                return miss("another", view, Some(wanted), after);
            }
        }
        None
    }

    /// What another thread may see after the step; `None` if the analysis stops.
    fn shaken(&self, view: &Structure, found: &mut Samples) -> Option<Vec<Structure>> {
        let (thread, edge) = self.step;
        let layout = self.steps.layout;
        let own = self.world.seen_by(self.state, &[thread], self.key);
        let needs = &self.cuts[usize::from(own.threads[0].pc)][edge];
        let heap = Structure { threads: vec![ANYONE], ..view.clone() };
        let after = cut(layout, &own, edge, needs)
            .and_then(|(at, record)| interference(self.steps, &heap, &record, at).ok());
        let Some(after) = after else {
            found.stopped += 1;
            return None;
        };
        // What the view stands for already is left out of what comes of it.
        let mut views = vec![view.clone()];
        for mut s in after {
            let changed: Thread = shaken(layout, view.threads[0], s.threads[0].seen).ok()?;
            s.threads[0] = changed;
            views.push(s);
        }
        Some(views)
    }
}

fn canonical(layout: &Layout<'_>, mut s: Structure) -> Option<Structure> {
    s.canon(layout).ok()?;
    Some(s)
}

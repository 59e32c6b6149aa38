//! The structures of a proof against the interpreter: states that they stand for, one step further.
//!
//! The closure of a certificate ([`crate::views::is_inductive`]) is found with the same abstract steps as the proof. This is a second opinion that uses none of them: concrete
//! states are made, and those of which every thread's part is covered by a view are *inside*. From there, whatever a thread does must lead inside again and must not go wrong. A thread that is between two steps which others
//! can notice is in no view; it goes on alone until it is, and nobody else may see a difference meanwhile.
//!
//! States come from two sources: runs of three threads that take random steps, for as long as one likes; and random heaps of two threads, reachable or not, of which those are taken that the views stand for. What steps do and what a structure
//! should say of a state is code of its own ([`crate::concrete`]); only the layout of masks is shared.

use crate::concrete::{Concrete, Dice, World};
use crate::exec::Points;
use crate::layout::Layout;
use crate::store::Store;

use linpoint_lang::program::Word;

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Random heaps that were made.
    pub heaps: u64,
    /// States inside whose steps were taken.
    pub inside: u64,
    /// Steps that were taken from there, with what follows unnoticed.
    pub steps: u64,
}

/// Steps that a thread takes alone before it is in a view again.
const MOST_ALONE: usize = 200;

/// A run starts anew after so many steps.
const RUN: usize = 60;

/// Looks at so many states of random runs, and makes so many random heaps.
///
/// # Errors
/// A step that leads out of the views, or goes wrong.
pub fn audit(
    layout: &Layout<'_>,
    points: &Points,
    views: &Store<()>,
    seed: u64,
    states: u64,
    heaps: u64,
) -> Result<Audit, String> {
    let mut dice = Dice(seed);
    let mut found = Audit::default();
    let world = World::new(layout, points, 3, u8::MAX);
    let runs = Auditor { world: &world, threads: 3, views };
    while found.inside < states {
        let key = runs.key(&mut dice);
        let mut at = world.initial();
        for _ in 0..RUN {
            found.inside += 1;
            if !runs.is_inside(&at, key) {
                return Err("a state of a run is in no view".into());
            }
            let next = runs.every_step(&at, key, &mut found)?;
            if next.is_empty() {
                break;
            }
            at = next[dice.below(next.len())].clone();
        }
    }
    let world = World::new(layout, points, 2, u8::MAX);
    let pairs = Auditor { world: &world, threads: 2, views };
    for _ in 0..heaps {
        found.heaps += 1;
        let key = pairs.key(&mut dice);
        let state = world.random(&mut dice);
        if pairs.is_inside(&state, key) {
            found.inside += 1;
            pairs.every_step(&state, key, &mut found)?;
        }
    }
    Ok(found)
}

struct Auditor<'a, 'p> {
    world: &'a World<'a, 'p>,
    threads: usize,
    views: &'a Store<()>,
}

impl Auditor<'_, '_> {
    fn key(&self, dice: &mut Dice) -> Word {
        let keys: Vec<Word> = self.world.keys().collect();
        keys[dice.below(keys.len())]
    }

    /// Does a view stand for what a thread sees?
    fn covers(&self, state: &Concrete, thread: usize, key: Word) -> bool {
        self.views.covers(&(), &self.world.seen_by(state, &[thread], key))
    }

    fn is_inside(&self, state: &Concrete, key: Word) -> bool {
        (0..self.threads).all(|thread| self.covers(state, thread, key))
    }

    /// Where the steps of all threads lead: each must lead inside.
    fn every_step(&self, from: &Concrete, key: Word, found: &mut Audit) -> Result<Vec<Concrete>, String> {
        let mut inside = Vec::new();
        for thread in 0..self.threads {
            let mut open = match self.world.steps_of(from, thread) {
                Ok(next) => next,
                // Answers are compared for operations on the tracked key only.
                Err(_) if !self.world.concerns(from, thread, key) => continue,
                Err(wrong) => return Err(format!("a step goes wrong: {wrong}")),
            };
            let mut alone = 0;
            while let Some(state) = open.pop() {
                found.steps += 1;
                // By their values the records of the two sides know each other: a second record with one value is left out.
                if !self.world.is_distinct(&state) {
                    continue;
                }
                if self.covers(&state, thread, key) {
                    if !self.is_inside(&state, key) {
                        return Err("a step leads another thread out of the views".into());
                    }
                    inside.push(state);
                    continue;
                }
                alone += 1;
                open.extend(self.unnoticed(&state, thread, key, alone)?);
            }
        }
        Ok(inside)
    }

    /// The next steps of a thread that is in no view.
    fn unnoticed(
        &self,
        state: &Concrete,
        thread: usize,
        key: Word,
        alone: usize,
    ) -> Result<Vec<Concrete>, String> {
        let next = match self.world.steps_of(state, thread) {
            Ok(next) => next,
            Err(_) if !self.world.concerns(state, thread, key) => return Ok(Vec::new()),
            Err(wrong) => return Err(format!("a step goes wrong: {wrong}")),
        };
        if next.is_empty() || alone > MOST_ALONE || self.world.is_at_rest(state, thread) {
            return Err("a step leads out of the views".into());
        }
        for other in (0..self.threads).filter(|other| *other != thread) {
            let before = self.world.seen_by(state, &[other], key);
            if next.iter().any(|next| self.world.seen_by(next, &[other], key) != before) {
                return Err("a step leads out of the views, before one that others notice".into());
            }
        }
        Ok(next)
    }
}

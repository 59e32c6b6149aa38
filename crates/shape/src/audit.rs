//! The structures of a proof against the interpreter: states that they stand for, one step further.
//!
//! The closure of a certificate ([`crate::views::is_inductive`]) is found with the same abstract steps as the
//! proof. This is a second opinion that uses none of them: concrete states are made, and those of which every
//! thread's part is covered by a view are *inside*. From there, whatever a thread does must lead inside again
//! and must not go wrong. A thread that is between two steps which others can notice is in no view; it goes
//! on alone until it is, and nobody else may see a difference meanwhile.
//!
//! A proof for so many threads is looked at in the same way, with structures that show all of them.
//!
//! States come from two sources: runs of three threads that take random steps, for as long as one likes; and
//! random heaps of two threads, reachable or not, of which those are taken that the views stand for. What
//! steps do and what a structure should say of a state is code of its own ([`crate::concrete`]); only the
//! layout of masks is shared.

use crate::concrete::{Concrete, Dice, World};
use crate::exec::Points;
use crate::layout::Layout;
use crate::store::Store;
use crate::threads::{Client, Symmetry};

use std::time::Instant;

use linpoint_lang::program::Word;

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Random heaps that were made.
    pub heaps: u64,
    /// States inside whose steps were taken.
    pub inside: u64,
    /// Of these, states of random runs.
    pub of_runs: u64,
    /// Steps that were taken from there, with what follows unnoticed.
    pub steps: u64,
}

/// The structures of a proof.
#[derive(Clone, Copy, Debug)]
pub enum Inside<'a> {
    /// Of any number of threads: each shows one.
    Views(&'a Store<()>),
    /// Of the threads of a client: each shows all of them.
    Whole(&'a Store<()>, &'a Client),
}

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// States of random runs.
    pub states: u64,
    /// Random heaps that are made.
    pub heaps: u64,
    /// Not longer than this.
    pub until: Option<Instant>,
}

impl Amount {
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }

    /// Half of the time is for runs.
    fn of_runs(&self) -> Amount {
        let now = Instant::now();
        Amount { until: self.until.map(|until| now + until.saturating_duration_since(now) / 2), ..*self }
    }

    /// Was a part of it looked at: all, or so much divided by this?
    #[must_use]
    pub fn is_reached(&self, found: &Audit, part: u64) -> bool {
        found.of_runs >= self.states / part && found.heaps >= self.heaps / part
    }
}

/// Threads of random runs, where there are any number.
const THREADS: usize = 3;

/// Steps that a thread takes alone before it is in a view again.
const MOST_ALONE: usize = 200;

/// A run starts anew after so many steps.
const RUN: usize = 60;

/// Looks at states of random runs and at random heaps.
///
/// # Errors
/// A step that leads out of the views, or goes wrong.
pub fn audit(
    layout: &Layout<'_>,
    points: &Points,
    inside: &Inside<'_>,
    seed: u64,
    amount: &Amount,
) -> Result<Audit, String> {
    let mut dice = Dice::new(seed);
    let mut found = Audit::default();
    let threads = match inside {
        Inside::Views(_) => THREADS,
        Inside::Whole(_, client) => client.threads.len(),
    };
    let world = World::new(layout, points, threads, u8::MAX);
    let runs = Auditor::new(layout, &world, threads, inside);
    // Where there are no keys there is nothing to look at.
    let nothing = Audit { heaps: amount.heaps, of_runs: amount.states, ..Audit::default() };
    let in_runs = if amount.heaps == 0 { *amount } else { amount.of_runs() };
    while found.inside < amount.states && !in_runs.is_late() {
        let Some(key) = runs.key(&mut dice) else { return Ok(nothing) };
        let mut at = world.initial();
        for _ in 0..RUN {
            found.inside += 1;
            found.of_runs += 1;
            if !world.is_small(&at) {
                break;
            }
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
    let pairs = Auditor::new(layout, &world, 2, inside);
    for number in 0..amount.heaps {
        if number.is_multiple_of(64) && amount.is_late() {
            break;
        }
        found.heaps += 1;
        let Some(key) = pairs.key(&mut dice) else { return Ok(nothing) };
        let state = world.random(&mut dice);
        if world.is_small(&state) && pairs.is_inside(&state, key) {
            found.inside += 1;
            pairs.every_step(&state, key, &mut found)?;
        }
    }
    Ok(found)
}

struct Auditor<'a, 'p> {
    layout: &'a Layout<'p>,
    world: &'a World<'a, 'p>,
    threads: usize,
    inside: &'a Inside<'a>,
    /// Which threads are interchangeable, where structures show all of them.
    symmetry: Option<Symmetry>,
    /// The operations that each thread may call.
    ops: Vec<Vec<usize>>,
}

impl<'a, 'p> Auditor<'a, 'p> {
    fn new(
        layout: &'a Layout<'p>,
        world: &'a World<'a, 'p>,
        threads: usize,
        inside: &'a Inside<'a>,
    ) -> Auditor<'a, 'p> {
        let (symmetry, ops) = match inside {
            Inside::Views(_) => (None, vec![(0..layout.roles.len()).collect(); threads]),
            Inside::Whole(_, client) => (Some(Symmetry::new(client)), client.threads.clone()),
        };
        Auditor { layout, world, threads, inside, symmetry, ops }
    }

    fn key(&self, dice: &mut Dice) -> Option<Word> {
        let keys: Vec<Word> = self.world.keys().collect();
        if keys.is_empty() { None } else { Some(keys[dice.below(keys.len())]) }
    }

    /// Does a structure stand for what a thread sees, or for what all see?
    fn covers(&self, state: &Concrete, thread: usize, key: Word) -> bool {
        if !self.world.has_records(state) {
            return false;
        }
        match (self.inside, &self.symmetry) {
            (Inside::Views(views), _) => views.covers(&(), &self.world.seen_by(state, &[thread], key)),
            (Inside::Whole(store, _), Some(symmetry)) => {
                let all: Vec<usize> = (0..self.threads).collect();
                let s = self.world.seen_by(state, &all, key);
                // Where not every order of threads was looked at, the structure may be there in another one.
                symmetry.covers(self.layout, store, &s) || !symmetry.is_whole(self.layout, &s)
            }
            (Inside::Whole(..), None) => false,
        }
    }

    fn is_inside(&self, state: &Concrete, key: Word) -> bool {
        match self.inside {
            Inside::Views(_) => (0..self.threads).all(|thread| self.covers(state, thread, key)),
            Inside::Whole(..) => self.covers(state, 0, key),
        }
    }

    /// Where the steps of all threads lead: each must lead inside.
    fn every_step(&self, from: &Concrete, key: Word, found: &mut Audit) -> Result<Vec<Concrete>, String> {
        let mut inside = Vec::new();
        for thread in 0..self.threads {
            let mut open = match self.world.steps_of(from, thread, &self.ops[thread]) {
                Ok(next) => next,
                // Answers are compared for operations on the tracked key only.
                Err(_) if !self.world.concerns(from, thread, key) => continue,
                Err(wrong) => return Err(format!("a step goes wrong: {wrong}")),
            };
            let mut alone = 0;
            while let Some(state) = open.pop() {
                found.steps += 1;
                // By their values the records of the two sides know each other: a second record with one
                // value is left out.
                if !self.world.is_distinct(&state) || !self.world.is_small(&state) {
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
        let next = match self.world.steps_of(state, thread, &self.ops[thread]) {
            Ok(next) => next,
            Err(_) if !self.world.concerns(state, thread, key) => return Ok(Vec::new()),
            Err(wrong) => return Err(format!("a step goes wrong: {wrong}")),
        };
        if next.is_empty() || alone > MOST_ALONE || self.world.is_at_rest(state, thread) {
            return Err("a step leads out of the views".into());
        }
        if self.symmetry.is_some() {
            return Ok(next);
        }
        let both = || std::iter::once(state).chain(&next);
        if !both().all(|state| self.world.is_small(state)) {
            return Ok(Vec::new());
        }
        if !both().all(|state| self.world.has_records(state)) {
            return Err("a value of the reference has no record".into());
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

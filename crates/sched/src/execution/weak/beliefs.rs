//! Is a loop that looks like a spin one?
//!
//! A thread that wrote nothing, and is at a place in the registers and on the stack as it was there before, is taken to do
//! the same for ever as long as it reads the same. What it keeps elsewhere (on the heap, in a static) is not seen. A
//! loop that counts its turns there would be taken for one that waits, and what it does in the end would never be looked at.
//!
//! So before a loop is believed, it is tried. The thread would stop here for good, so nothing is lost by letting it go on
//! apart from the graph: it is told what it was told in the turn before, again and again. If it
//! asks the same for [`TURNS`] turns, it waits. If not, it counts somewhere: that loop is never taken for a spin again,
//! and everything is explored anew. Each loop, by its place in the source, is tried at the first [`TIMES`] occasions.
//! What is left to belief: loops that count elsewhere to more than [`TURNS`], or only later.

use std::sync::{Mutex, PoisonError};

use linpoint_memory::{Step, Value};
use rustc_hash::FxHashMap;

/// So many turns make a spin.
const TURNS: u32 = 200;

/// So often each loop is tried in an exploration.
const TIMES: u32 = 6;

/// What is known of loops, by their places in the source.
#[derive(Debug, Default)]
pub(super) struct Beliefs(Mutex<FxHashMap<usize, Known>>);

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How often it was tried, and went round.
    spins: u32,
    /// Did it do something else in the end?
    counts: bool,
}

/// Is a loop taken for one that waits?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    Waits,
    Counts,
    Unknown,
}

impl Beliefs {
    pub(super) fn of(&self, site: usize) -> Belief {
        let loops = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match loops.get(&site) {
            Some(known) if known.counts => Belief::Counts,
            Some(known) if known.spins >= TIMES => Belief::Waits,
            Some(_) | None => Belief::Unknown,
        }
    }

    fn learn(&self, site: usize, counts: bool) {
        let mut loops = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loops.entry(site).or_default();
        known.spins += 1;
        known.counts |= counts;
    }
}

/// A loop that is being tried.
#[derive(Debug)]
pub(super) struct Trial {
    site: usize,
    /// The event that its last turn began with.
    pub(super) from: usize,
    /// What the thread asked in that turn, and was told.
    turn: Vec<(Step, Value)>,
    at: usize,
    turns: u32,
}

/// What comes next in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The thread is told this.
    Answer(Value),
    /// It waits.
    Waits,
    /// It does something else.
    Differs,
}

impl Trial {
    pub(super) fn new(site: usize, from: usize, turn: &[(Step, Value)]) -> Trial {
        Trial { site, from, turn: turn.to_vec(), at: 0, turns: 0 }
    }

    /// The thread asks this.
    pub(super) fn next(&mut self, step: Option<Step>, beliefs: &Beliefs) -> Next {
        match self.turn.get(self.at) {
            Some(&(expected, answer)) if step == Some(expected) => {
                self.at += 1;
                if self.at == self.turn.len() {
                    self.at = 0;
                    self.turns += 1;
                }
                if self.turns == TURNS {
                    beliefs.learn(self.site, false);
                    return Next::Waits;
                }
                Next::Answer(answer)
            }
            _ => {
                beliefs.learn(self.site, true);
                Next::Differs
            }
        }
    }
}

//! Is a loop that looks like a spin one?
//!
//! A thread that only read, and comes back to the local state it had, is taken to do the same for ever while nobody else goes ([`crate::spin`]). Its local state is its registers, its
//! stack and its thread-local values; what it keeps elsewhere (on the heap, in a static, in std's own thread-local storage) is not seen. A loop that counts its turns there would be
//! taken for one that waits, and what it does in the end would never be looked at.
//!
//! So before a loop is believed, it is tried: in the middle of a run the thread goes on alone, turn after turn. If it goes round [`TURNS`] times and is where it was, it waits. If it writes, blocks,
//! ends, or does not come back, it counts somewhere: that loop is never taken for a spin again, and what was explored with another belief is explored anew. The run is then made
//! again from its beginning, along the same schedule, so nobody sees that it was tried.
//!
//! Each loop, by its place in the source, is tried at the first [`TIMES`] occasions of an exploration, each of them once: nothing is taken over from other programs, which may come to the same
//! place with other things in mind. What is left to belief: loops that count elsewhere to more than [`TURNS`], or only later.

use rustc_hash::FxHashMap;

use super::{Execution, Mode};
use crate::event::{Loc, ThreadId};
use crate::spin::Arrival;

/// So many turns make a spin.
const TURNS: u32 = 200;

/// So many steps it may take for them.
const STEPS: u32 = 10_000;

/// So often each loop is tried in an exploration.
const TIMES: u32 = 6;

/// A loop that is being tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    thread: ThreadId,
    loc: Loc,
    site: usize,
    /// The steps of the run until then.
    after: usize,
    turns: u32,
    steps: u32,
    /// Was it tried long enough? What is left of the run is for nothing.
    over: bool,
}

/// What is known of a loop.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How often it was tried, and went round.
    spins: u32,
    /// Did it do something else in the end?
    counts: bool,
}

/// What an exploration knows of loops.
#[derive(Debug, Default)]
pub(super) struct Beliefs {
    /// By their place in the source.
    loops: FxHashMap<usize, Known>,
    /// Where in this run loops were tried that went round: the steps until then, and the thread.
    tried: Vec<(usize, ThreadId)>,
}

impl Beliefs {
    /// A new run begins.
    pub(super) fn next_run(&mut self) {
        self.tried.clear();
    }
}

/// What to do about a thread that came back to where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// It waits.
    Spins,
    /// It goes on: its turns differ in what is not seen.
    Counts,
    /// It goes on, and is watched: the rest of this run is for that.
    Tried,
}

impl Execution {
    /// The running thread came to `loc` by the code at `site` in a state in which it was there before.
    pub(super) fn believe(&mut self, loc: Loc, site: usize) -> Belief {
        let Known { spins, counts } = self.beliefs.loops.get(&site).copied().unwrap_or_default();
        let after = self.run.steps.len();
        if let Some(probe) = &mut self.probing {
            if !probe.over && probe.thread == self.current && (probe.loc, probe.site) == (loc, site) {
                probe.turns += 1;
            }
            return Belief::Tried;
        }
        if counts {
            return Belief::Counts;
        }
        let tried = spins >= TIMES || self.beliefs.tried.contains(&(after, self.current));
        if tried || self.mode != Mode::Exploring || self.failure.is_some() || self.suspected {
            return Belief::Spins;
        }
        self.probing =
            Some(Probe { thread: self.current, loc, site, after, turns: 0, steps: 0, over: false });
        // The record ends here; this is where the run is made again to.
        self.mode = Mode::Draining;
        self.disturb();
        self.threads[self.current.index()].address = 0;
        Belief::Tried
    }

    /// Who goes next while a loop is tried; nobody if that is done.
    pub(super) fn try_on(&mut self) -> Option<ThreadId> {
        let probe = self.probing.as_mut().filter(|probe| !probe.over)?;
        probe.steps += 1;
        let done = probe.turns >= TURNS || probe.steps >= STEPS;
        if done || !self.enabled.contains(probe.thread) {
            probe.over = true;
            self.suspected = true;
            return None;
        }
        Some(probe.thread)
    }

    /// The run is over: notes what came of the loop that was tried in it, if one was.
    pub(super) fn learn(&mut self) {
        let Some(probe) = self.probing.take() else { return };
        self.suspected = true;
        let counts = probe.turns < TURNS;
        // What was left out as a turn of a spin has to be made.
        self.newly_fair |= counts;
        let known = self.beliefs.loops.entry(probe.site).or_default();
        known.spins += u32::from(!counts);
        known.counts |= counts;
        if !counts {
            self.beliefs.tried.push((probe.after, probe.thread));
        }
    }

    /// An operation begins: no loop goes on into it.
    pub(super) fn leave_loop(&mut self) {
        if self.probing.is_some() {
            self.threads[self.current.index()].spin.clear();
        }
    }
}

/// The head of a turn of a loop that does not wait.
pub(super) fn goes_on(arrival: Arrival, belief: Belief) -> Arrival {
    match belief {
        Belief::Spins => arrival,
        Belief::Counts | Belief::Tried => Arrival::New,
    }
}

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
//! That a loop goes on *for ever* is never a matter of belief. Where a run comes to where nobody can go but threads that turn, a twin of the process looks whether each comes
//! back to the very same state, all memory included ([`crate::twin`]). One that does not counts, and is run on; one that looks at the clock ends the search: nothing can be said.
//! The clock is looked for before a loop is first believed, too, as a loop that it ends has outcomes that no schedule shows.
//!
//! Each loop, by its place in the source, is tried at the first [`TIMES`] occasions of an exploration, each of them once: nothing is taken over from other programs, which may come to the same
//! place with other things in mind. What is left to belief: loops that count elsewhere to more than [`TURNS`], or only later.

use rustc_hash::FxHashMap;

use super::repeat::Turning;
use super::{Execution, Mode};
use crate::event::{Loc, ThreadId};
use crate::failure::{Doubt, Failure};
use crate::spin::Arrival;
use crate::twin::Answer;

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
    /// How often a twin went round it and came back to the very same state.
    seen: u32,
    /// Why a twin could not say.
    doubt: Option<Doubt>,
    /// Did a twin find that something changes from turn to turn?
    changes: bool,
}

/// So often a twin looks at each loop where a run is over but for such loops.
const LOOKS: u32 = 4;

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
        let Known { spins, counts, seen, doubt, changes } =
            self.beliefs.loops.get(&site).copied().unwrap_or_default();
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
        let explores = self.mode == Mode::Exploring && self.failure.is_none() && !self.suspected;
        if tried && explores && seen == 0 && !changes && doubt != Some(Doubt::Unseen) {
            return self.believe_twin();
        }
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

    /// The running thread has tried this loop alone, and went round. A twin looks whether the loop looks at the clock: then no schedule says
    /// when it ends.
    #[cold]
    fn believe_twin(&mut self) -> Belief {
        match self.look(self.current) {
            None => Belief::Tried,
            Some(Answer::Clock) => {
                let waiting = self.waiters().into_iter().filter(|one| one.thread == self.current).collect();
                self.failure = Some(Failure::Unclear { waiting, doubt: Doubt::Clock });
                self.disturb();
                Belief::Spins
            }
            Some(Answer::Repeats | Answer::Changes | Answer::Unseen) => Belief::Spins,
        }
    }

    /// A thread that stands at the head of a turn that would only be the same again: does it come back to this very state? There is no answer in a
    /// twin.
    fn look(&mut self, thread: ThreadId) -> Option<Answer> {
        let state = &self.threads[thread.index()];
        let site = state.site;
        let address = state.intent.map_or(0, |intent| intent.address);
        let Known { seen, doubt, .. } = self.beliefs.loops.get(&site).copied().unwrap_or_default();
        match doubt {
            Some(Doubt::Clock) => return Some(Answer::Clock),
            Some(Doubt::Unseen) => return Some(Answer::Unseen),
            None if seen >= LOOKS => return Some(Answer::Repeats),
            None => {}
        }
        let answer = self.repeats(Turning::Alone { thread, address, site })?;
        let known = self.beliefs.loops.entry(site).or_default();
        match answer {
            Answer::Repeats => known.seen += 1,
            Answer::Changes => known.changes = true,
            Answer::Clock => known.doubt = Some(Doubt::Clock),
            Answer::Unseen => known.doubt = Some(Doubt::Unseen),
        }
        Some(answer)
    }

    /// Nobody can go, but for threads that turn, of which this is one. Does it do so for ever? If not, it says why; it says nothing if the run
    /// is made again, because the loop does not wait. There is no answer in a twin.
    #[cold]
    pub(super) fn comes_back(&mut self, thread: ThreadId) -> Option<Result<(), Option<Doubt>>> {
        Some(match self.look(thread)? {
            Answer::Repeats => Ok(()),
            Answer::Changes => {
                let site = self.threads[thread.index()].site;
                self.beliefs.loops.entry(site).or_default().counts = true;
                self.newly_fair = true;
                self.suspected = true;
                self.disturb();
                Err(None)
            }
            Answer::Clock => Err(Some(Doubt::Clock)),
            Answer::Unseen => Err(Some(Doubt::Unseen)),
        })
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

//! The race-reversal queue: every run a new trace, in any order one likes, so the likeliest to show a bug first.
//!
//! There is no stack and no sleep set. For every race (g, f) of a run (`races.rs`) the run with f before g is put into
//! a queue as a prefix W: the steps of the run that happen neither after g nor after f, without these two, then f's
//! thread. That is done twice: over the whole run (the *long* W), and cut where f stood (the *short* one). The best W
//! is taken out, dropped if it is covered, and otherwise run. It is *covered* if the trace of W is the beginning of the
//! trace of a run made before.
//!
//! **Order:** short before long, fewest preemptions, then the earliest race, then the oldest. After W the running
//! thread is kept; where it cannot go on, one about to touch what was written last is preferred, then one about to
//! read. Bugs need few preemptions, and somebody who looks at what just changed.
//!
//! # Why every trace is found
//! Let T be the trace of a full run, E the one among those made that has the most steps in common with it, as a common
//! beginning P, and suppose that P is not all of T. Let e, by thread p, be a first step of T behind P, and f the
//! next step of p in E behind P. Were the past of f inside P, e and f would be the same step and P longer. So some step
//! outside P is before f.
//!
//! * *f never waits:* then some direct race (g, f) has g outside P. The steps of P happen neither after g nor after f,
//!   so the long W contains P. Its run has P in common with T too, and there f has fewer writes outside P before it, or
//!   as many and fewer reads (f may write where it read before). That cannot go on for ever.
//! * *f may wait:* p can go after P. Write the past of f as P, then the rest X in the order of the run. The writes to
//!   what f waits for are totally ordered; let g be the last one in X before which p can go; there is one, as p can go
//!   after P. The steps after g happen to find p waiting, so the walk of `races.rs` does not stop before g, and
//!   takes (g, f) for a race. W contains P, and of the writes that matter exactly those before g, so f can
//!   follow it; it has fewer of them before it than in E. At a spin loop more writes do no harm, and any g outside P will do.
//! * *p takes no more steps in E:* it waits at the end, as it has a next step, and can go after P. As above, with the
//!   step it announced for f.
//!
//! W can be run: what is before a step of W is in W, and whether a step can go depends on steps it depends on. Only f
//! itself may turn out to wait, where a race was taken for one without knowing; then the run is abandoned.
//! A W that is not covered makes a trace that is not among those made, because its beginning is in none of them. Traces
//! are finitely many, so the queue empties.
//!
//! The short W alone would not do, and neither would comparing last steps by their clocks only: the fingerprints of
//! [`Clocks`] stand for the whole past. Memory grows with the traces; see [`RaceReversal::memory`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashSet;

use crate::clocks::Clocks;
use crate::event::{Access, Action, ThreadId};
use crate::execution::Execution;
use crate::races::Races;
use crate::run::{Ending, Run};
use crate::strategy::Strategy;

mod observers;
mod traces;

use observers::{Observers, Scene};
use traces::Traces;

/// The race-reversal queue.
#[derive(Default)]
pub struct RaceReversal {
    queue: BinaryHeap<Reverse<Candidate>>,
    /// Every W that was ever put into the queue.
    known: FxHashSet<u64>,
    traces: Traces,
    prefix: Vec<ThreadId>,
    /// Who goes right after the prefix.
    then: Option<ThreadId>,
    /// Who goes after it then, as far as they can, from the last to the first.
    tail: Vec<ThreadId>,
    age: u32,
    clocks: Clocks,
    current: bool,
    races: Races,
    observers: Observers,
    /// Claims that might be seen otherwise in a trace that was found.
    scenes: Vec<Option<Scene>>,
    scene_memory: usize,
    /// Per thread: how many of its steps are in W, and which is the last.
    counts: Vec<u32>,
    lasts: Vec<u32>,
}

/// A W, as the run it comes from and its race. Ordered by what is to be run first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    long: bool,
    preemptions: u32,
    g: u32,
    age: u32,
    trace: u32,
    f: u32,
    /// Where W ends.
    end: u32,
    thread: ThreadId,
    /// Is f the step of a claim that does not only look?
    opaque: bool,
}

impl RaceReversal {
    /// Every trace.
    pub fn new() -> RaceReversal {
        RaceReversal::default()
    }

    /// How many prefixes wait to be run; many of them will turn out to be covered.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// How many traces were found.
    pub fn traces(&self) -> usize {
        self.traces.len()
    }

    /// About how many bytes are in use.
    pub fn memory(&self) -> usize {
        self.traces.memory()
            + self.scene_memory
            + self.queue.capacity() * size_of::<Candidate>()
            + self.known.capacity() * (size_of::<u64>() + 1)
    }

    /// Puts the race of `g` with step `f` of `thread` into the queue; `f` is the end of the run for a thread that waits.
    fn push(&mut self, run: &Run, trace: u32, g: usize, f: usize, thread: ThreadId) {
        let len = run.steps.len();
        let mut previous: Option<usize> = None;
        let mut preemptions = 0;
        self.counts.clear();
        self.counts.resize(run.threads.len(), 0);
        self.lasts.clear();
        self.lasts.resize(run.threads.len(), 0);
        let preempts = |previous: Option<usize>, next: ThreadId| {
            previous.is_some_and(|x| {
                let before = run.steps[x].thread;
                before != next && run.enabled_before(x + 1).contains(before)
            })
        };
        let mut anew = true;
        // Races end in no observer.
        let opaque = run.steps.get(f).is_some_and(|step| step.action == Action::Claim);
        for x in 0..=len {
            if x == f || x == len {
                // The short W ends here, then the long one.
                if anew {
                    let long = x == len;
                    if self.known.insert(self.key(thread) ^ u64::from(long)) {
                        let preemptions = preemptions + u32::from(preempts(previous, thread));
                        let (g, f, end, age) = (g as u32, f as u32, x as u32, self.age);
                        self.age += 1;
                        let candidate =
                            Candidate { long, preemptions, g, age, trace, f, end, thread, opaque };
                        self.queue.push(Reverse(candidate));
                    }
                }
                anew = false;
                continue;
            }
            if self.clocks.before_or_equal(g, x) || f < len && self.clocks.before_or_equal(f, x) {
                continue;
            }
            let next = run.steps[x].thread;
            preemptions += u32::from(preempts(previous, next));
            previous = Some(x);
            self.counts[next.index()] += 1;
            self.lasts[next.index()] = x as u32;
            anew = true;
        }
    }

    /// What stands for the W in `counts` and `lasts`, followed by `thread`.
    fn key(&self, thread: ThreadId) -> u64 {
        let print = |index: usize| self.clocks.fingerprint(self.lasts[index] as usize);
        let mut sum = 0_u64;
        for (index, &count) in self.counts.iter().enumerate() {
            if count > 0 {
                sum = sum.wrapping_add(print(index));
            }
        }
        let own = match self.counts[thread.index()] {
            0 => self.clocks.birth_fingerprint(thread),
            _ => print(thread.index()),
        };
        sum ^ own.rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Takes in the run that is over.
    fn learn(&mut self, run: &Run) {
        if matches!(run.ending, Ending::Abandoned) {
            return;
        }
        self.see(run);
        let observers = if run.claims { self.observers.steps.as_slice() } else { &[] };
        let Some(trace) = self.traces.add(run, &self.clocks, observers) else { return };
        if run.claims {
            self.add_scenes(run);
        }
        let mut races = std::mem::take(&mut self.races);
        for f in 0..run.steps.len() {
            races.of_step(run, &self.clocks, f);
            for &g in &races.with {
                self.push(run, trace, g as usize, f, run.steps[f].thread);
            }
        }
        if matches!(run.ending, Ending::Stuck(_)) {
            for &blocked in &run.blocked {
                races.of_blocked(run, &self.clocks, blocked);
                for &g in &races.with {
                    self.push(run, trace, g as usize, run.steps.len(), blocked.thread);
                }
            }
        }
        self.races = races;
    }

    fn see(&mut self, run: &Run) {
        if self.current {
            return;
        }
        self.current = true;
        if run.claims {
            self.observers.prepare(run);
            self.clocks.update_without(run, &self.observers.steps);
        } else {
            self.clocks.update_without(run, &[]);
        }
    }

    /// Puts the claims of a new trace into the queue.
    fn add_scenes(&mut self, run: &Run) {
        let first = self.scenes.len();
        let mut observers = std::mem::take(&mut self.observers);
        observers.scenes(run, &self.clocks, |scene| {
            self.scene_memory += scene.memory();
            self.scenes.push(Some(scene));
        });
        self.observers = observers;
        for scene in first..self.scenes.len() {
            self.ask(scene, None);
        }
    }

    /// Has `scene` something new to show? If it is among the best there is, as `candidate` says, its run is made.
    fn ask(&mut self, scene: usize, candidate: Option<Candidate>) -> bool {
        let Some(look) = self.scenes[scene].as_ref().and_then(|asked| self.observers.look(asked)) else {
            if let Some(done) = self.scenes[scene].take() {
                self.scene_memory -= done.memory();
            }
            return false;
        };
        let g = self.scenes[scene].as_ref().map_or(0, |asked| asked.claim);
        let (trace, end, age) = (SCENE, scene as u32, self.age);
        let again = Candidate {
            long: false,
            preemptions: look.preemptions,
            g,
            age,
            trace,
            f: 0,
            end,
            thread: ThreadId(0),
            opaque: false,
        };
        self.age += 1;
        self.queue.push(Reverse(again));
        if candidate.is_none_or(|candidate| candidate.preemptions < look.preemptions) {
            return false;
        }
        self.observers.made(&look);
        self.prefix.clear();
        let (certain, tail) = look.schedule.split_at(look.certain);
        self.prefix.extend_from_slice(certain);
        self.tail.extend(tail.iter().rev());
        self.then = None;
        true
    }
}

/// In place of the number of a trace: the candidate is a scene.
const SCENE: u32 = u32::MAX;

impl Strategy for RaceReversal {
    fn prefix(&self) -> &[ThreadId] {
        &self.prefix
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        let enabled = at.enabled();
        if let Some(thread) = self.then.take() {
            return Some(thread).filter(|&thread| enabled.contains(thread));
        }
        if let Some(thread) = self.tail.pop() {
            if enabled.contains(thread) {
                return Some(thread);
            }
            self.tail.clear();
        }
        if let Some(last) = at.last_thread().filter(|&thread| enabled.contains(thread)) {
            return Some(last);
        }
        let changes = |access: &&Access| access.effect.writes() && access.loc.is_memory();
        let written = at.record().accesses.iter().rev().find(changes);
        let looks =
            |&thread: &ThreadId| written.is_some_and(|access| at.intended_loc(thread) == Some(access.loc));
        let reads =
            |&thread: &ThreadId| at.intent(thread).is_some_and(|intent| intent.action == Action::Load);
        enabled.iter().find(looks).or_else(|| enabled.iter().find(reads)).or_else(|| enabled.first())
    }

    fn restart(&mut self) {
        *self = RaceReversal::new();
    }

    fn clocks(&mut self, run: &Run) -> Option<&Clocks> {
        self.see(run);
        Some(&self.clocks)
    }

    fn advance(&mut self, run: &Run) -> bool {
        self.learn(run);
        self.current = false;
        self.tail.clear();
        while let Some(Reverse(candidate)) = self.queue.pop() {
            if candidate.trace == SCENE {
                if self.ask(candidate.end as usize, Some(candidate)) {
                    return true;
                }
                continue;
            }
            let (g, f) = (candidate.g as usize, candidate.f as usize);
            let (trace, end) = (candidate.trace as usize, candidate.end as usize);
            self.traces.cut(trace, g, f, end);
            if self.traces.covered(trace, candidate.thread, candidate.opaque) {
                continue;
            }
            self.then = Some(self.traces.schedule(trace, g, f, end, candidate.thread, &mut self.prefix));
            return true;
        }
        false
    }
}

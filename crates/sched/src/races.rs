//! Which pairs of steps of a run could have happened the other way round.
//!
//! Steps g, then f, of different threads are a *direct race* if f depends on g and nothing between the two is after g
//! and before f. If neither ever waits, the two can be exchanged, and every other trace of the program is reached by
//! exchanging races again and again (Flanagan and Godefroid 2005). Steps that may wait need more thought.
//!
//! # Steps that wait
//! Let f, by thread p, be a step that may wait: for a lock, for a message, or at the head of a spin loop for a change
//! of something it read. What is asked of such steps:
//!
//! * **Whether f can go depends on what f touches.** A step that makes f possible or impossible depends on f. For a
//!   spin loop that is so because the step that leaves a turn counts as a read of everything the turn read.
//! * **f waits on one location**, whose writes are thus totally ordered; or it is a spin loop, where more writes never
//!   make it wait again.
//!
//! A direct race (g, f) can be exchanged only if p could have gone before g. Unlocking is what lets the next one lock:
//! the race between them cannot be exchanged, but the one between the two times the lock is *taken* can, and the
//! steps in between hide it from the search for direct races. So for a step that may wait we look at *all* earlier
//! writes to what it touches that are not in the past of p's step before it, latest first, and ask of each, g, whether
//! p could have gone before g (and without what comes after g):
//!
//! * *Yes:* (g, f) is a race. What is in the past of g is left alone: it is a race of the run with f before g.
//! * *No:* on to the next write.
//! * *Unknown:* (g, f) is taken for a race, and we go on to the next write. The price is a run in vain.
//!
//! If p stood at its announcement before g, the run says whether p could go there. If p came later, the kinds of g and
//! f may tell (before an unlock, the lock was held); otherwise it is unknown. It is not enough to look for a thread
//! that was able to go before some step and not after it: in `q.lock; q.unlock; p.store; p.lock` nobody is ever seen
//! to wait, and yet p could have locked first.
//!
//! A thread that still waits when the run ends has such races as well, with its announced step for f. One that spins
//! at the end has none: all writes to what it read came before its reads.
//!
//! The end of a thread and a join, the creation of a thread and its first step are ordered, and are never races.

use crate::clocks::Clocks;
use crate::event::{Access, Action, Effect, Loc, ThreadId};
use crate::run::{Blocked, Run};

/// The races that end in one step. Reused.
#[derive(Default)]
pub(crate) struct Races {
    /// The earlier steps, in no order.
    pub(crate) with: Vec<u32>,
    candidates: Vec<u32>,
    writes: Vec<u32>,
}

/// Could the waiting thread have gone?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Could {
    Yes,
    No,
    Unknown,
}

/// What waits, or might have.
struct Waiter {
    thread: ThreadId,
    /// Its step before, or the one that created it; none if the program began with it.
    previous: Option<usize>,
    /// From here on it stood at its announcement.
    stands: usize,
    action: Action,
    /// Does it stand at the head of a turn, where it may have to let others go first?
    yields: bool,
}

impl Races {
    /// Finds the races that end in step `f`.
    pub(crate) fn of_step(&mut self, run: &Run, clocks: &Clocks, f: usize) {
        self.with.clear();
        let thread = run.steps[f].thread;
        let previous = clocks.previous(f).or_else(|| creation(run, clocks, thread));
        self.candidates.clear();
        let candidates = &mut self.candidates;
        clocks.dependences(f, |g| {
            let known = run.steps[g].thread == thread
                || previous.is_some_and(|previous| clocks.before_or_equal(g, previous))
                || candidates.contains(&(g as u32));
            if !known {
                candidates.push(g as u32);
            }
        });
        if self.candidates.is_empty() {
            return;
        }
        let waits = run.steps[f].may_wait;
        for &g in &self.candidates {
            let hidden =
                self.candidates.iter().any(|&h| h != g && clocks.before_or_equal(g as usize, h as usize));
            // A write to what f waits for is looked at below; a read never lets anybody go, nor does a claim.
            let matters = |access: &Access| access.action != Action::Claim;
            let later = waits
                && run.accesses_of(g as usize).iter().any(|write| {
                    let same = |access: &Access| matters(access) && access.loc == write.loc;
                    matters(write) && write.effect.writes() && run.accesses_of(f).iter().any(same)
                });
            if !hidden && !later {
                self.with.push(g);
            }
        }
        if waits {
            self.writes.clear();
            let writes = &mut self.writes;
            clocks.writes_before(f, |g| writes.push(g as u32));
            let accesses = run.accesses_of(f);
            let own = accesses.iter().find(|access| access.loc.progressing_thread().is_none());
            let action = own.map_or(Action::Yield, |access| access.action);
            let yields =
                accesses.iter().any(|access| access.action == Action::Yield && access.effect.reads());
            let stands = previous.map_or(0, |step| step + 1);
            self.walk(run, clocks, &Waiter { thread, previous, stands, action, yields });
        }
    }

    /// Finds the races of a thread that waits at the end of the run.
    pub(crate) fn of_blocked(&mut self, run: &Run, clocks: &Clocks, blocked: Blocked) {
        self.with.clear();
        self.writes.clear();
        let writes = &mut self.writes;
        let yields = blocked.action == Action::Yield;
        for index in 0..if yields { run.threads.len() } else { 0 } {
            clocks.writes_to(Loc::progress_of(ThreadId(index as u8)), |g| writes.push(g as u32));
        }
        clocks.writes_to(blocked.loc, |g| writes.push(g as u32));
        let last = clocks.steps_of(blocked.thread).last().map(|&step| step as usize);
        let previous = last.or_else(|| creation(run, clocks, blocked.thread));
        let stands = previous.map_or(0, |step| step + 1);
        let action = blocked.action;
        self.walk(run, clocks, &Waiter { thread: blocked.thread, previous, stands, action, yields });
    }

    /// Goes through the writes before a step that may wait.
    fn walk(&mut self, run: &Run, clocks: &Clocks, waiter: &Waiter) {
        self.writes.retain(|&g| {
            let g = g as usize;
            run.steps[g].thread != waiter.thread
                && waiter.previous.is_none_or(|previous| !clocks.before_or_equal(g, previous))
        });
        self.writes.sort_unstable_by(|a, b| b.cmp(a));
        self.writes.dedup();
        self.candidates.clear();
        for &g in &self.writes {
            let hidden = |sure: &[u32]| sure.iter().any(|&h| clocks.before_or_equal(g as usize, h as usize));
            if hidden(&self.candidates) {
                continue;
            }
            let could = could_go(run, clocks, waiter, &self.writes, g as usize);
            if could != Could::No {
                self.with.push(g);
            }
            if could == Could::Yes {
                self.candidates.push(g);
            }
        }
    }
}

/// The step after which `thread` was created, by its creator or a creator of that one: it is before all that the
/// thread does. None if that was before every step.
fn creation(run: &Run, clocks: &Clocks, thread: ThreadId) -> Option<usize> {
    let mut record = run.threads[thread.index()];
    while let Some(parent) = record.parent {
        if let Some(at) = (record.born_at as usize).checked_sub(1) {
            return clocks.steps_of(parent).get(at).map(|&step| step as usize);
        }
        record = run.threads[parent.index()];
    }
    None
}

/// Could the waiter have gone before `g`, without what happens after `g`? `writes` are all the writes that count.
fn could_go(run: &Run, clocks: &Clocks, waiter: &Waiter, writes: &[u32], g: usize) -> Could {
    let aside = |&&w: &&u32| w as usize != g && !clocks.before_or_equal(g, w as usize);
    let spins = waiter.action == Action::Look && !waiter.yields;
    if spins && writes.iter().any(|w| aside(&w)) {
        // Any change lets it go on; but a lock that is taken and released need not be one.
        let plain = |access: &Access| {
            !access.effect.writes() || access.action.is_atomic() || access.action == Action::Yield
        };
        let sure = writes.iter().all(|&w| run.accesses_of(w as usize).iter().all(plain));
        return if sure { Could::Yes } else { Could::Unknown };
    }
    if writes.iter().filter(aside).any(|&w| w as usize > g) {
        return Could::Unknown;
    }
    if waiter.stands <= g {
        let enabled = run.enabled_before(g).contains(waiter.thread);
        return if enabled { Could::Yes } else { Could::No };
    }
    if waiter.yields {
        return Could::Unknown;
    }
    let kind =
        run.accesses_of(g).iter().find(|access| access.effect != Effect::Read && access.loc.is_memory());
    match (kind.map(|access| access.action), waiter.action) {
        (Some(Action::Unlock | Action::ReadUnlock), Action::Lock)
        // A writer that comes while others read begins to wait: it can go.
        | (Some(Action::Unlock), Action::ReadLock | Action::WriteLock) => Could::No,
        (
            Some(Action::Lock | Action::TryLock | Action::WriteLock),
            Action::Lock | Action::ReadLock | Action::WriteLock,
        ) => Could::Yes,
        (Some(Action::Exit), Action::Join) => Could::No,
        _ => Could::Unknown,
    }
}

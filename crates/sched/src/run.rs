//! What one execution left behind: the steps taken, the accesses they made, and how it ended.

use crate::cycle::Cycle;
use crate::event::{Access, Action, Effect, Loc, Step, ThreadId, ThreadSet};
use crate::failure::Failure;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// The record of one execution. It is reused from run to run.
#[derive(Debug, Default)]
pub struct Run {
    /// The steps in the order taken.
    pub steps: Vec<Step>,
    /// The accesses of all steps, one after the other.
    pub accesses: Vec<Access>,
    /// The marks that the program set: calls and returns of operations.
    pub marks: Vec<Mark>,
    /// The operations that made a step and returned, a bit for each below 64.
    pub answered: u64,
    /// What threads did between their steps that counts for races on cells, in the order it happened.
    pub asides: Vec<Aside>,
    /// The threads, by number.
    pub threads: Vec<ThreadRecord>,
    /// Who could have gone on after the last step.
    pub enabled_at_end: ThreadSet,
    /// Who waits where the record of a stuck or abandoned run ends, for something other than the end of a thread.
    pub blocked: Vec<Blocked>,
    /// Is the progress of threads among what steps touch ([`Loc::progress_of`])?
    pub fair: bool,
    /// The steps that were taken again and again, if that is why it ended.
    pub cycle: Option<Cycle>,
    /// Was a claim made?
    pub claims: bool,
    /// The claims that were made in a step of their own, in the order they were made.
    pub claim_steps: Vec<ClaimStep>,
    /// What claims looked at when they were made, one after the other.
    pub looks: Vec<Loc>,
    /// How it ended.
    pub ending: Ending,
}

/// How an execution ended.
#[derive(Debug, Default)]
pub enum Ending {
    /// Every thread came to its end.
    #[default]
    Complete,
    /// The strategy had no use for the rest of it.
    Abandoned,
    /// Nobody could go on, though some had not finished: a deadlock, a livelock, or threads left behind. Whether
    /// that is wrong is for the caller to say: an operation may be meant to wait.
    Stuck(Failure),
    /// Something went wrong in it.
    Failed(Failure),
}

/// A thread of an execution.
#[derive(Clone, Copy, Debug)]
pub struct ThreadRecord {
    /// Who created it; `None` for the program itself.
    pub parent: Option<ThreadId>,
    /// How many steps its creator had taken then.
    pub born_at: u32,
    /// How many steps it took.
    pub steps: u32,
    /// Did it come to its end?
    pub finished: bool,
}

/// A thread that waits, and what for.
#[derive(Clone, Copy, Debug)]
pub struct Blocked {
    /// Who.
    pub thread: ThreadId,
    /// What it would touch.
    pub loc: Loc,
    /// What it would do.
    pub action: Action,
}

/// A step in which a claim was made and nothing else was done.
#[derive(Clone, Copy, Debug)]
pub struct ClaimStep {
    /// Its number.
    pub step: u32,
    /// What it looked at, as a range of the run's looks.
    pub looks: (u32, u32),
    /// How many accesses the step had made by then.
    pub accesses: u32,
    /// Is it decided by what its own thread does, but for what it looked at?
    pub looks_only: bool,
    /// Is it true whatever happens?
    pub held: bool,
    /// How many steps all threads had taken when it was decided; nothing if it never was.
    pub decided: Option<u32>,
}

/// A point in a thread's program that is not a step: the call or the return of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Whose.
    pub thread: ThreadId,
    /// How many steps the thread had taken.
    pub own_steps: u32,
    /// Which operation.
    pub operation: u32,
    /// Its begin or its end?
    pub kind: MarkKind,
    /// For a call: the first step of the operation, as an index into the run's steps, or [`Mark::NEVER`]. For a return:
    /// its last step.
    pub at: u32,
    /// For a call: the operations that had returned when this one made its first step, a bit for each below 64. For a
    /// return: those that had made their first step.
    pub seen: u64,
}

impl Mark {
    /// The operation made no step.
    pub const NEVER: u32 = u32::MAX;

    /// The call of an operation that has made no step yet.
    #[inline]
    pub(crate) fn call(thread: ThreadId, own_steps: u32, operation: u32) -> Mark {
        Mark { thread, own_steps, operation, kind: MarkKind::Call, at: Mark::NEVER, seen: 0 }
    }

    /// The return of an operation whose last step was `at`, when those in `begun` had made a step.
    #[inline]
    pub(crate) fn of_return(thread: ThreadId, own_steps: u32, operation: u32, at: u32, begun: u64) -> Mark {
        Mark { thread, own_steps, operation, kind: MarkKind::Return, at, seen: begun }
    }

    /// The operation that is called here makes its first step, when those in `returned` had returned. As a bit, if it has
    /// one.
    #[inline]
    pub(crate) fn begin(&mut self, step: usize, returned: u64) -> u64 {
        self.at = step as u32;
        self.seen = returned;
        1u64.checked_shl(self.operation).unwrap_or(0)
    }
}

/// What a [`Mark`] marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// The operation begins.
    Call,
    /// The operation ends.
    Return,
}

/// Something a thread did that is not a step and that nobody else can see, but that counts for races on cells.
#[derive(Clone, Copy, Debug)]
pub struct Aside {
    /// Whose.
    pub thread: ThreadId,
    /// How many accesses all threads had made.
    pub at: u32,
    /// What it did.
    pub kind: AsideKind,
}

/// What an [`Aside`] is.
#[derive(Clone, Copy, Debug)]
pub enum AsideKind {
    /// An access to a plain cell.
    Cell {
        /// Which, numbered by first access.
        cell: u32,
        /// Does it look or overwrite?
        effect: Effect,
        /// Where in the source.
        site: &'static Location<'static>,
    },
    /// The end of an access to a plain cell that lasted over steps of its thread.
    CellEnd {
        /// Which.
        cell: u32,
        /// Does it look or overwrite?
        effect: Effect,
        /// Where in the source it began.
        site: &'static Location<'static>,
    },
    /// A plain access to an atomic.
    Plain {
        /// Which.
        loc: Loc,
        /// Does it look or overwrite?
        effect: Effect,
        /// Where in the source.
        site: &'static Location<'static>,
    },
    /// An atomic that had plain accesses goes: what comes to be at its place is another.
    Gone(Loc),
    /// A fence.
    Fence(Ordering),
    /// The thread created this one.
    Spawn(ThreadId),
    /// What the thread did so far was sent along with something, under this number.
    Post(u32),
    /// What was sent under this number arrived.
    Take(u32),
}

impl Run {
    /// An empty record with room for a small run, so that the first ones do not grow it again and again.
    pub(crate) fn with_room() -> Run {
        const STEPS: usize = 64;
        Run {
            steps: Vec::with_capacity(STEPS),
            accesses: Vec::with_capacity(STEPS),
            marks: Vec::with_capacity(STEPS / 2),
            asides: Vec::with_capacity(STEPS / 8),
            threads: Vec::with_capacity(STEPS / 8),
            ..Run::default()
        }
    }

    /// The accesses of step `index`.
    #[inline]
    pub fn accesses_of(&self, index: usize) -> &[Access] {
        let from = self.steps[index].first as usize;
        let to = self.steps.get(index + 1).map_or(self.accesses.len(), |next| next.first as usize);
        &self.accesses[from..to]
    }

    /// Who could go before step `index`; with the number of steps, who could go after the last.
    pub fn enabled_before(&self, index: usize) -> ThreadSet {
        self.steps.get(index).map_or(self.enabled_at_end, |step| step.enabled)
    }

    /// Who went, step by step.
    pub fn schedule(&self) -> Vec<ThreadId> {
        self.steps.iter().map(|step| step.thread).collect()
    }

    /// The number of preemptions: switches away from a thread that could have gone on.
    pub fn preemptions(&self) -> usize {
        self.steps
            .windows(2)
            .filter(|pair| pair[0].thread != pair[1].thread && pair[1].enabled.contains(pair[0].thread))
            .count()
    }

    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.accesses.clear();
        self.marks.clear();
        self.answered = 0;
        self.asides.clear();
        self.threads.clear();
        self.blocked.clear();
        self.enabled_at_end = ThreadSet::EMPTY;
        self.cycle = None;
        self.claims = false;
        self.claim_steps.clear();
        self.looks.clear();
        self.ending = Ending::Complete;
    }
}

//! Spin loops without annotation.
//!
//! A thread that goes once round a loop, only reading, and comes back to *exactly* the local state it had, will do
//! the same again until somebody writes to something it read: such a turn is a stutter, and scheduling it explores
//! nothing. So the thread waits until one of the locations it read in that turn is written.
//!
//! "Exactly the local state" is taken literally: the registers that survive a call and every byte of the fiber's
//! stack are hashed at the head of the turn. A loop with a bound keeps its counter there, so it is never mistaken for
//! a spin. What escapes is a counter on the heap: a loop that turns at most n times by such a counter would be taken
//! for a spin that waits, and that is reported as a livelock, not passed over.

use crate::event::Loc;

/// What one thread has read since it last wrote.
#[derive(Default)]
pub(crate) struct Spin {
    reads: Vec<(Loc, u32, usize)>,
    heads: Vec<(usize, u64)>,
    /// While it waits: the reads of the turn that is repeated.
    turn: Option<usize>,
}

/// Longest streak of reads that is watched for a turn.
const LONGEST: usize = 256;

impl Spin {
    /// Forgets everything: the thread wrote, or begins anew.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.reads.is_empty() {
            self.reads.clear();
            self.heads.clear();
        }
        self.turn = None;
    }

    /// Notes a read of `loc` when it had been written `version` times, by the code at `site`.
    #[inline]
    pub(crate) fn read(&mut self, loc: Loc, version: u32, site: usize) {
        if self.reads.len() >= LONGEST {
            self.clear();
        }
        self.reads.push((loc, version, site));
    }

    /// Nothing read since it last wrote?
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.reads.is_empty()
    }

    /// Might the thread, about to touch `loc` by the code at `site`, be at the head of a turn it made before?
    #[inline]
    pub(crate) fn suspects(&self, loc: Loc, site: usize) -> bool {
        self.reads.iter().any(|read| read.0 == loc && read.2 == site)
    }

    /// The thread is at the head of a possible turn, in the local state that hashes to `state`. Returns whether it
    /// was there before in the same state. Whether something it read since then has been written is left to
    /// [`Spin::ready`], so that the answer depends on what the thread did alone, and not on who was faster.
    pub(crate) fn arrive(&mut self, state: u64) -> bool {
        let now = self.reads.len();
        let before = self.heads.iter().rev().find(|head| head.1 == state).map(|head| head.0);
        self.heads.push((now, state));
        self.turn = before.filter(|&from| from < now);
        self.turn.is_some()
    }

    /// The locations it read in the turn that it would repeat.
    pub(crate) fn turn(&self, mut look: impl FnMut(Loc)) {
        if let Some(from) = self.turn {
            for (at, read) in self.reads.iter().enumerate().skip(from) {
                if !self.reads[from..at].iter().any(|other| other.0 == read.0) {
                    look(read.0);
                }
            }
        }
    }

    /// Is it waiting for somebody to write?
    pub(crate) fn waits(&self) -> bool {
        self.turn.is_some()
    }

    /// Could it see something new now?
    pub(crate) fn ready(&self, version: impl Fn(Loc) -> u32) -> bool {
        self.turn.is_none_or(|from| self.reads[from..].iter().any(|&(loc, seen, _)| version(loc) != seen))
    }

    /// It was chosen to go on.
    pub(crate) fn resume(&mut self) {
        self.turn = None;
    }
}

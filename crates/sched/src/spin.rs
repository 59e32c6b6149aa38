//! Spin loops without annotation.
//!
//! A thread that goes once round a loop, only reading, and comes back to *exactly* the local state it had, will do
//! the same again until somebody writes to something it read: such a turn is a stutter, and scheduling it explores
//! nothing. So the thread waits until one of the locations it read in that turn is written.
//!
//! "Exactly the local state" is taken literally: the registers that survive a call and every byte of the fiber's
//! stack are hashed at the head of the turn. A loop with a bound keeps its counter there, so it is never mistaken for
//! a spin; so do the values of `thread_local!`, which count as well. What escapes is a counter on the heap: a loop
//! that turns at most n times by such a counter would be taken for a spin that waits, and that is reported as a
//! livelock, not passed over.
//!
//! A turn may also take a lock, look at what it protects, and release it: all is as it was. Such a thread must not wait
//! while it holds the lock, so the head of the turn is found where it holds nothing that it takes in the turn.

use crate::event::Loc;

/// What one thread has read since it last wrote.
#[derive(Default)]
pub(crate) struct Spin {
    reads: Vec<(Loc, u32, usize)>,
    heads: Vec<(usize, u64)>,
    /// While it waits: the reads of the turn that is repeated.
    turn: Option<usize>,
    /// What it has taken and not given back since it last wrote, with the number of reads at that time.
    open: Vec<(Loc, usize)>,
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
            self.open.clear();
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

    /// The thread took something that it will give back as it was, a lock for one. That is a read, and until it is
    /// given back the thread is in nobody's way only if it keeps it for whole turns.
    pub(crate) fn open(&mut self, loc: Loc, version: u32, site: usize) {
        self.read(loc, version, site);
        self.open.push((loc, self.reads.len() - 1));
    }

    /// It gave it back.
    pub(crate) fn close(&mut self, loc: Loc) {
        if let Some(last) = self.open.iter().rposition(|open| open.0 == loc) {
            self.open.remove(last);
        }
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
        // What was taken within the turn is given back within it, so this is not the place to wait.
        let midway = |from: usize| self.open.iter().any(|open| open.1 >= from);
        self.turn = before.filter(|&from| from < now && !midway(from));
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

    /// Could it see something new now?
    pub(crate) fn ready(&self, version: impl Fn(Loc) -> u32) -> bool {
        self.turn.is_none_or(|from| self.reads[from..].iter().any(|&(loc, seen, _)| version(loc) != seen))
    }

    /// It was chosen to go on.
    pub(crate) fn resume(&mut self) {
        self.turn = None;
    }
}

//! Threads that wait for ever.
//!
//! A thread that is blocked stopped after a read that did not give what it waits for. If that read reads an
//! older write, the thread would read on, and another graph shows what comes of it. If it reads the newest
//! write of its location, then nothing else will ever be there, since all other threads have ended or wait,
//! too.

use super::Graph;
use crate::event::{EventId, Kind};

impl Graph {
    /// The threads that are blocked: a bit for each.
    pub(crate) fn set_blocked(&mut self, threads: u32) {
        self.blocked = threads;
    }

    /// Is this thread blocked?
    #[must_use]
    pub fn is_blocked(&self, thread: usize) -> bool {
        thread < self.threads.len() && self.blocked >> thread & 1 == 1
    }

    /// Does a read read the last write of its location?
    #[must_use]
    pub fn reads_newest(&self, read: EventId) -> bool {
        let event = self.event(read);
        event.kind == Kind::Read && self.place(event.place).writes.last().copied() == event.source
    }

    /// Where every blocked thread waits for a value of the location that it read last: is this a deadlock,
    /// one in which all of them wait for ever? Each deadlock is one such graph.
    #[must_use]
    pub fn is_deadlock(&self) -> bool {
        let waits_in_vain = |thread: &usize| {
            let Some(&last) = self.threads[*thread].last() else { return false };
            self.reads_newest(last)
        };
        let mut blocked = (0..self.threads.len()).filter(|&thread| self.is_blocked(thread)).peekable();
        blocked.peek().is_some() && blocked.all(|thread| waits_in_vain(&thread))
    }
}

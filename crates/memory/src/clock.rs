//! Vector clocks: how many events of each thread lie in the past of an event.
//!
//! The past of an event under `porf` and under `hb` depends only on events in its `porf` past, and an
//! exploration changes an event only together with everything after it. So the clocks of an event are
//! computed once, when it is added, and again only for the one read that a revisit changes.

/// The most threads a program may have.
pub const MAX_THREADS: usize = 16;

/// How many events of each thread are in the past.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock([u16; MAX_THREADS]);

impl Clock {
    /// How many events of `thread`.
    #[inline]
    #[must_use]
    pub fn of(&self, thread: usize) -> usize {
        usize::from(self.0[thread])
    }

    /// Does it contain the event at `index` of `thread`?
    #[inline]
    #[must_use]
    pub fn contains(&self, thread: usize, index: usize) -> bool {
        index < usize::from(self.0[thread])
    }

    /// Makes it contain all events of `thread` up to `index`.
    #[inline]
    pub(crate) fn reach(&mut self, thread: usize, index: usize) {
        // The graph has no thread with more events than this: see `Graph::MOST_EVENTS`.
        self.0[thread] = self.0[thread].max(u16::try_from(index + 1).unwrap_or(u16::MAX));
    }

    /// Adds the past that `other` describes.
    #[inline]
    pub(crate) fn join(&mut self, other: &Clock) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}

/// The clocks of one event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// The past under `porf`: program order, reads-from, creating and joining threads.
    pub porf: Clock,
    /// The past under happens-before.
    pub hb: Clock,
    /// `hb` at the latest release fence of the thread: what a relaxed write publishes.
    pub(crate) fenced: Clock,
    /// What the relaxed reads of the thread have seen: an acquire fence takes it over.
    pub(crate) pending: Clock,
    /// Of a write: what an acquire that reads it takes over.
    pub(crate) message: Clock,
}

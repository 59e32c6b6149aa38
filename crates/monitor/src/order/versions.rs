//! Commits ordered by numbers of the object's own: tickets, indices, versions.
//!
//! An operation that took effect as version v is placed by v; one that only read what v left, after v and
//! before the next. Versions need not be dense. The object gives them out one after another in time, so
//! whoever has a smaller version than an operation A had been called before A returned. Hence A may be placed
//! once every operation that was called before that has returned.
//!
//! The order must also agree with real time. If an operation was called after A returned and has a smaller
//! version, the versions are not the order of taking effect; whether an order exists is left to
//! [`crate::blame`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::finding::Mistake;
use crate::trail::Past;

/// Operations that returned and wait for their turn.
#[derive(Default)]
pub(crate) struct Versions {
    waiting: BinaryHeap<Reverse<Placed>>,
    /// The version placed last, by an operation that took effect as it.
    last: Option<(u64, Box<Past>)>,
    /// The latest call among what must come before the next operation that only reads.
    latest: u64,
    /// And among all that was placed.
    latest_of_all: u64,
    /// The version that `latest_of_all` goes with.
    version: u64,
    /// Operations that never answered and never said their version: they may have taken effect anywhere.
    pub unplaced: usize,
}

/// An operation and its place.
pub(crate) struct Placed {
    pub version: u64,
    pub reads: bool,
    pub past: Past,
}

impl Placed {
    fn key(&self) -> (u64, bool, u64) {
        (self.version, self.reads, self.past.commit)
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Placed) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Placed) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Placed) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// How an operation fits in.
pub(crate) enum Turn {
    /// It is the next.
    Next(Placed),
    /// It is the next by its version, but in real time it came before one already placed.
    Early(Placed),
}

impl Versions {
    pub fn push(&mut self, placed: Placed) {
        self.waiting.push(Reverse(placed));
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Those that wait.
    pub fn waiting(&self) -> impl Iterator<Item = &Past> {
        self.waiting.iter().map(|Reverse(placed)| &placed.past)
    }

    /// The next operation, if every operation called by its return (by its commit, where it never returns)
    /// has returned; `oldest` is the oldest call that has not.
    pub fn next(&mut self, oldest: u64) -> Option<Turn> {
        let Reverse(first) = self.waiting.peek()?;
        let last = if first.past.known { first.past.ret } else { first.past.commit };
        if last >= oldest {
            return None;
        }
        let Reverse(placed) = self.waiting.pop()?;
        let early = if placed.reads && placed.version == self.version {
            placed.past.ret < self.latest
        } else {
            placed.past.ret < self.latest_of_all || placed.version < self.version
        };
        Some(if early { Turn::Early(placed) } else { Turn::Next(placed) })
    }

    /// Notes that an operation was placed.
    pub fn place(&mut self, placed: &Placed, signature: &linpoint_history::Signature) -> Result<(), Mistake> {
        let Placed { version, reads, past } = placed;
        if !reads {
            if let Some((last, first)) = &self.last
                && last == version
            {
                let (first, second) = (first.seen(signature), past.seen(signature));
                let (first, second) = (Box::new(first), Box::new(second));
                return Err(Mistake::VersionTwice { version: *version, first, second });
            }
            self.last = Some((*version, Box::new(past.clone())));
        }
        if *version != self.version || !reads {
            // What only reads comes after all that was placed before this version, and after the one that
            // made it.
            self.latest = self.latest_of_all.max(if *reads { 0 } else { past.look });
        }
        self.version = *version;
        self.latest_of_all = self.latest_of_all.max(past.look);
        Ok(())
    }
}

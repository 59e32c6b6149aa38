//! Which values were surely inside, kept for the day an answer must be shown to be impossible.
//!
//! A value is surely inside in the gaps after its insertion returned and before its removal was called: its
//! *cover*. An answer is impossible when covers span its whole window, and the fewest that do are the core.
//! Covers of values that left must be remembered as long as an answer is open that they might refute; when
//! many gather, only those that a smallest refutation could use are kept.

use linpoint_history::{Operation, ValueId};

/// A value's cover: gaps `from..to`, and the operations that show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover {
    pub value: ValueId,
    pub from: u32,
    pub to: u32,
    /// The insertion; none for what was there from the start.
    pub insertion: Option<Operation>,
    /// The removal; none if none was seen yet.
    pub removal: Option<Operation>,
}

/// The covers of values that left.
#[derive(Debug, Default)]
pub(crate) struct PastCovers {
    covers: Vec<Cover>,
    kept: usize,
}

impl PastCovers {
    /// Remembers a cover.
    #[inline]
    pub fn add(&mut self, cover: Cover) {
        if cover.from < cover.to {
            self.covers.push(cover);
        }
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.covers.clear();
        self.kept = 0;
    }

    /// Have so many gathered that it is time to [`PastCovers::retain`]?
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.covers.len() >= 2 * self.kept + 256
    }

    /// Keeps what `useful` says.
    pub fn retain(&mut self, useful: impl FnMut(&Cover) -> bool) {
        self.covers.retain(useful);
        self.kept = self.covers.len();
    }

    /// The covers, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Cover> {
        self.covers.iter()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.covers.capacity() * size_of::<Cover>()
    }
}

/// The fewest of `covers` that span the gaps `first..=last`; as far as they reach, if they do not.
pub(crate) fn fewest(covers: &[Cover], first: u32, last: u32) -> Vec<Cover> {
    let mut chosen = Vec::new();
    let mut next = first;
    while next <= last {
        let best = covers.iter().filter(|c| c.from <= next && next < c.to).max_by_key(|c| c.to);
        let Some(best) = best else { break };
        chosen.push(*best);
        next = best.to;
    }
    chosen
}

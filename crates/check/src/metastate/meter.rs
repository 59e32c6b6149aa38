//! Limits inside the work for one return, which may be exponential: work is counted, and the clock looked at
//! now and then.

use crate::engine::{Budget, Limit, Stop};

/// So many small steps between two looks at the clock: a few milliseconds at most.
const WORK: usize = 1 << 15;

/// Bytes that are worth a look at the memory of the process.
const PIECE: usize = 1 << 20;

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    budget: Budget,
    work: usize,
    limit: Option<Limit>,
}

impl Meter {
    /// From now on this budget counts.
    pub fn start(&mut self, budget: &Budget) {
        self.budget = budget.clone();
    }

    /// So many more steps were taken, and so many bytes are held. Is it time to give up?
    #[inline]
    pub fn is_over(&mut self, steps: usize, bytes: impl FnOnce() -> usize) -> bool {
        self.work += steps;
        if self.work >= WORK {
            self.work = 0;
            self.limit = self.limit.or_else(|| self.budget.limit(bytes()));
        }
        self.limit.is_some()
    }

    /// So many more bytes will be taken in one piece. Is there no room for them?
    pub fn is_full(&mut self, more: usize) -> bool {
        if more >= PIECE {
            self.limit = self.limit.or_else(|| self.budget.limit_with(more));
        }
        self.limit.is_some()
    }

    /// The limit that was reached, if one was.
    pub fn stop(&self) -> Result<(), Stop> {
        self.limit.map_or(Ok(()), |limit| Err(Stop::Limit(limit)))
    }
}

//! Limits of time and memory while a history is read: whoever set them is asked before large pieces are
//! taken, and every few MB.
//!
//! Rows are counted by those who ask for them; but one record may be long, and many may be passed over before
//! there is a row. So a reader asks by itself: for every [`EVERY`] bytes that it takes from the input, and
//! where a piece that it builds grows.

use std::fmt;
use std::sync::Arc;

use super::problem;
use crate::diagnostic::Diagnostic;

/// Bytes taken from the input between two questions.
pub(super) const EVERY: usize = 2 << 20;

/// Things in a list between two questions.
const ITEMS: usize = 1 << 16;

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The time is up.
    Time,
    /// The memory is used up.
    Memory,
}

type Ask = dyn Fn(usize) -> Option<Reached> + Send + Sync;

/// Who is asked whether to read on. By default nobody: there is no limit.
#[derive(Clone, Default)]
pub struct Guard(Option<Arc<Ask>>);

impl Guard {
    /// `ask` is given the bytes that are about to be taken, and says which limit is reached then.
    pub fn new(ask: impl Fn(usize) -> Option<Reached> + Send + Sync + 'static) -> Guard {
        Guard(Some(Arc::new(ask)))
    }

    /// May `more` bytes be taken? The diagnostic is nobody's fault: [`reached`] knows it.
    pub fn ask(&self, more: usize) -> Result<(), Diagnostic> {
        let Some(ask) = &self.0 else { return Ok(()) };
        match ask(more) {
            None => Ok(()),
            Some(Reached::Time) => {
                Err(Diagnostic::new(problem::TIME, "the time limit was reached", "a longer time limit"))
            }
            Some(Reached::Memory) => {
                Err(Diagnostic::new(problem::MEMORY, "the memory limit was reached", "a larger memory limit"))
            }
        }
    }

    /// May one more be added? Asks now and then.
    #[inline]
    pub(super) fn one_more<T>(&self, list: &Vec<T>) -> Result<(), Diagnostic> {
        let count = list.len();
        if !count.is_multiple_of(ITEMS) || count == 0 {
            return Ok(());
        }
        // A list grows by as much as it is.
        self.ask(if count == list.capacity() { count * size_of::<T>() } else { 0 })
    }
}

/// The same, if the same is asked.
impl PartialEq for Guard {
    fn eq(&self, other: &Guard) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Guard {}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Guard" } else { "Guard::default()" })
    }
}

/// The limit that a reader stopped at, if that is why it did.
pub fn reached(problem: &Diagnostic) -> Option<Reached> {
    match problem.code {
        problem::TIME => Some(Reached::Time),
        problem::MEMORY => Some(Reached::Memory),
        _ => None,
    }
}

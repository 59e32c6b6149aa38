//! Evidence, and what came of a second look at it.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// What shows a violation. It stands for its evidence wherever that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample<Evidence> {
    /// Did independent code come to the same end?
    pub rechecked: bool,
    /// What shows it.
    pub evidence: Evidence,
}

impl<Evidence> Counterexample<Evidence> {
    /// Evidence, and whether independent code came to the same end.
    pub fn new(evidence: Evidence, rechecked: bool) -> Self {
        Counterexample { rechecked, evidence }
    }

    /// The same evidence in another form.
    pub fn map<Other>(self, form: impl FnOnce(Evidence) -> Other) -> Counterexample<Other> {
        Counterexample { rechecked: self.rechecked, evidence: form(self.evidence) }
    }

    /// The same, borrowed.
    pub fn as_ref(&self) -> Counterexample<&Evidence> {
        Counterexample { rechecked: self.rechecked, evidence: &self.evidence }
    }
}

impl<Evidence> Deref for Counterexample<Evidence> {
    type Target = Evidence;

    fn deref(&self) -> &Evidence {
        &self.evidence
    }
}

impl<Evidence> DerefMut for Counterexample<Evidence> {
    fn deref_mut(&mut self) -> &mut Evidence {
        &mut self.evidence
    }
}

impl<Evidence: fmt::Display> fmt::Display for Counterexample<Evidence> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.evidence.fmt(f)
    }
}

//! Claims about the future of a run, as view data.

use serde::{Deserialize, Serialize};

/// A claim. Steps are numbers in [`crate::view::Run::steps`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its text.
    pub text: String,
    /// Where it stands in the source.
    pub place: String,
    /// Who made it.
    pub thread: String,
    /// The step before which it was made.
    pub made: usize,
    /// The step that decided it.
    pub decided: usize,
    /// Its terms.
    pub terms: Vec<Term>,
    /// What came of it: `false`, or that deciding it panicked.
    pub outcome: String,
}

/// A term of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// Its text.
    pub text: String,
    /// Its value.
    pub value: String,
    /// The step that showed the value.
    pub seen: usize,
    /// The step after which it could not change.
    pub fixed: usize,
}

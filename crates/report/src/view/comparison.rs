//! Two states that should be one, as view data.

use serde::{Deserialize, Serialize};

/// The state of the specification beside that of the implementation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Which object.
    pub object: String,
    /// Whose state stands on the left.
    pub left: String,
    /// Whose on the right.
    pub right: String,
    /// Entries that differ, and some that do not.
    pub entries: Vec<Entry>,
    /// How many differ in all.
    pub different: usize,
    /// After what they were first seen to differ.
    pub after: String,
    /// The last writes that may be to blame, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Write>,
}

/// One entry of both states. Empty text: it is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// On the left.
    pub left: String,
    /// On the right.
    pub right: String,
}

/// A write to the implementation's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Its number in the log.
    pub number: u64,
    /// Who wrote.
    pub thread: String,
    /// Where.
    pub location: String,
    /// What.
    pub value: String,
}

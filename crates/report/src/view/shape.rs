//! Abstract heaps as view data: the candidate and the reference drawn over each other.

use serde::{Deserialize, Serialize};

/// Abstract heaps of a proof, or the one at which it stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shapes {
    /// How many there are in all; some are shown.
    pub total: usize,
    /// Those shown.
    pub structures: Vec<Structure>,
    /// Where operations take effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<String>,
}

/// One abstract heap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    /// Where threads are.
    pub title: String,
    /// More about each thread.
    pub threads: Vec<String>,
    /// Its nodes; the first is `null`.
    pub nodes: Vec<ShapeNode>,
    /// Its links.
    pub edges: Vec<Edge>,
}

/// An abstract node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeNode {
    /// Variables that point to it.
    pub names: Vec<String>,
    /// What else is known of it.
    pub kinds: Vec<String>,
    /// Does it stand for any number of records?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub many: bool,
    /// In which of the two heaps it is.
    pub of: Duo,
}

/// A link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// From this node.
    pub from: usize,
    /// To this.
    pub to: usize,
    /// It may lead there, and may lead elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may: bool,
    /// In which heap.
    pub of: Duo,
}

/// In which of two heaps something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duo {
    /// In both, and the same.
    #[default]
    Both,
    /// Only in the one under test.
    Candidate,
    /// Only in the reference.
    Reference,
}

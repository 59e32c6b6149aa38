//! A proof by obligations as view data: a table, and the states that break what is open.

use serde::{Deserialize, Serialize};

/// A row a step, a column a kind of obligation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The kinds, and what each says.
    pub kinds: Vec<(String, String)>,
    /// The steps.
    pub rows: Vec<Row>,
    /// States that break an obligation.
    pub countermodels: Vec<Countermodel>,
    /// Facts that were used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
}

/// The obligations of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub step: String,
    /// The line of the source, from 1; 0 where there is none.
    #[serde(default)]
    pub line: u32,
    /// One a kind.
    pub cells: Vec<Cell>,
    /// Milliseconds for all of them.
    pub took_ms: u64,
}

/// The obligations of one kind of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The worst of them.
    pub outcome: Outcome,
    /// How many there are.
    pub of: usize,
    /// How many are not proved.
    #[serde(default)]
    pub open: usize,
    /// The states that break them, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub countermodels: Vec<usize>,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What came of obligations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// There are none.
    #[default]
    None,
    /// They hold.
    Proved,
    /// There is no answer about one.
    Unknown,
    /// One is broken by a state.
    Open,
}

/// A state that the hypotheses allow and that breaks an obligation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Countermodel {
    /// Which obligation.
    pub title: String,
    /// Symbolic sizes.
    pub sizes: Vec<(String, String)>,
    /// The process that takes the step, and another.
    pub processes: Vec<Process>,
    /// Shared memory.
    pub slots: Vec<Slot>,
}

/// A process of a countermodel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Who.
    pub name: String,
    /// Where it is, and where it comes to.
    pub at: String,
    /// Its locals.
    pub locals: Vec<Slot>,
}

/// A value before and after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

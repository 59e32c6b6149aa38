//! A run as view data: who took which step, and what the shared memory was after it.

use serde::{Deserialize, Serialize};

/// Steps in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The names of columns.
    pub threads: Vec<String>,
    /// The memory before the first step.
    pub initial: Memory,
    /// The steps.
    pub steps: Vec<Step>,
    /// The step at which it is wrong, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<usize>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// So many of the last steps can be repeated for ever.
    #[serde(default)]
    pub repeats: usize,
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Who, by number of the column.
    pub thread: usize,
    /// What kind.
    pub kind: StepKind,
    /// What, in a few words.
    pub text: String,
    /// The line of the source, from 1; 0 where there is none.
    #[serde(default)]
    pub line: u32,
    /// Where that is, if not in the view's source: a file and its line's text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The bar of the history that this step is the call or the return of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<usize>,
    /// The memory after it; `None` where that is the same as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Nothing that is wrong depends on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

/// Kinds of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// An operation is called.
    Call,
    /// Something is read or written.
    #[default]
    Step,
    /// An operation returns.
    Return,
}

/// Shared variables and the records they lead to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Variables.
    pub variables: Vec<Variable>,
    /// Records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
}

/// A shared variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// The record it leads to, by [`Node::id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<usize>,
}

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number, the same in every step.
    pub id: usize,
    /// What kind of record it is.
    pub kind: String,
    /// What is in it.
    pub fields: Vec<Field>,
    /// Was it given back?
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub freed: bool,
}

/// A field is a variable of a record.
pub type Field = Variable;

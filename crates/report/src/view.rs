//! View data: what a page, a picture or a trace is made from, as plain values.
//!
//! Engines turn what they found into a [`View`]; everything in this crate draws a [`View`] and knows nothing
//! else. It is written as JSON with a version (`docs/view-data.md` has the fields), so that a page can be
//! made by anybody who can write JSON.
//!
//! A view has parts, and each is there or not: a [`History`] (bars in lanes), a [`Run`] (steps in columns,
//! memory beside them), [`Claim`]s about a run, a [`Comparison`] of two views, a [`Proof`] (a table of
//! obligations) and [`Shapes`] (abstract heaps).

pub mod claim;
pub mod comparison;
pub mod history;
pub mod proof;
pub mod run;
pub mod shape;
mod word;

use serde::{Deserialize, Serialize};

pub use claim::{Claim, Term};
pub use comparison::{Comparison, Entry, Write};
pub use history::{Bar, History, Next, Order};
pub use linpoint_verdict::VerdictKind;
pub use proof::{Cell, Countermodel, Outcome, Process, Proof, Row, Slot};
pub use run::{Field, Memory, Node, Run, Step, StepKind, Variable};
pub use shape::{Duo, Edge, ShapeNode, Shapes, Structure};

/// The version of the form that [`View`] has as JSON.
pub const VERSION: u32 = 1;

/// Everything that one page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// The version of this form: [`VERSION`].
    pub version: u32,
    /// What came out.
    #[serde(with = "word::Word")]
    pub verdict: VerdictKind,
    /// The verdict in the words of the command: `not linearizable`, `proved`.
    pub word: String,
    /// What is the matter, in one sentence.
    pub headline: String,
    /// What a reader must know to judge it.
    pub summary: Summary,
    /// Bars in lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
    /// Steps in columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Claims made in the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Two states that should be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Obligations, step by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Abstract heaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shapes: Option<Shapes>,
    /// The program that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The same as text, as a terminal shows it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What was looked at, why the verdict can be believed, and where it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What was checked against what.
    pub checked: String,
    /// On what the verdict rests.
    pub rests_on: String,
    /// What it says nothing about.
    pub not_covered: String,
    /// Figures: a name and a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<(String, String)>,
    /// How to come to this verdict again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub again: String,
}

/// A text that steps point into.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its file.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl View {
    /// A view with a verdict and no parts.
    pub fn new(verdict: VerdictKind, word: &str, headline: &str) -> View {
        View {
            version: VERSION,
            verdict,
            word: word.to_owned(),
            headline: headline.to_owned(),
            ..View::default()
        }
    }

    /// As JSON, in one line.
    pub fn to_json(&self) -> String {
        // Every field is text, a number or a list of these: there is nothing that JSON cannot write.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// From JSON, if it is of this version.
    ///
    /// # Errors
    /// With a sentence, where the text is no view data of this version.
    pub fn from_json(text: &str) -> Result<View, BadView> {
        let view: View = serde_json::from_str(text).map_err(|error| BadView(error.to_string()))?;
        match view.version {
            VERSION => Ok(view),
            other => Err(BadView(format!("view data of version {other}; this is version {VERSION}"))),
        }
    }
}

/// The text is no view data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadView(
    /// What is wrong with it.
    pub String,
);

impl std::fmt::Display for BadView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadView {}

//! What came out, ready to be told.

use std::fmt;
use std::path::Path;

use linpoint_check::Answer;
use linpoint_explain::page::{Rows, view};
use linpoint_explain::{Shown, json, text};
use linpoint_history::{Builtin, Operation, Symbols, Verdict};
use linpoint_report::{Style, page};

use super::{HistoryError, output};

/// Of longer histories a page shows the counterexample only.
pub(super) const MOST_KEPT: u64 = 100_000;

/// A verdict about a history, with what it takes to tell it. Shown as text it is what `linpoint check` prints.
#[must_use]
pub struct Checked {
    spec: Builtin,
    symbols: Symbols,
    answer: Answer,
    rows: Vec<Operation>,
    name: String,
}

impl Checked {
    pub(super) fn new(
        spec: Builtin,
        symbols: Symbols,
        answer: Answer,
        rows: Vec<Operation>,
        name: String,
    ) -> Checked {
        Checked { spec, symbols, answer, rows, name }
    }

    /// The verdict.
    pub fn verdict(&self) -> &Verdict {
        &self.answer.verdict
    }

    /// How many operations there were, and how many of them never answered.
    pub fn operations(&self) -> (u64, u64) {
        (self.answer.operations, self.answer.pending)
    }

    /// Writes one page that shows everything; it needs nothing but a browser.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn page(&self, path: impl AsRef<Path>) -> Result<(), HistoryError> {
        let rows = Rows { all: self.rows.clone(), ..Rows::default() };
        let drawn = page::page(&view(&self.shown(), &self.name, &rows));
        std::fs::write(path.as_ref(), drawn).map_err(|error| output(path.as_ref(), error))
    }

    /// One JSON object, as `linpoint check --json` prints it.
    pub fn json(&self) -> String {
        json::render(&self.shown())
    }

    /// Ends a test where the history is not explained.
    ///
    /// # Panics
    /// With the counterexample, or with the reason why nothing is known.
    #[track_caller]
    pub fn assert_linearizable(&self) {
        match self.verdict() {
            Verdict::Holds(_) => {}
            Verdict::Violated(_) | Verdict::Unknown(_) => panic!("{self}"),
        }
    }

    fn shown(&self) -> Shown<'_> {
        Shown {
            file: None,
            spec: &self.spec,
            spec_name: self.spec.name(),
            symbols: &self.symbols,
            answer: &self.answer,
            again: String::new(),
        }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::render(&self.shown(), Style { width: 110, colour: false }))
    }
}

impl fmt::Debug for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").field("verdict", &self.answer.verdict).finish_non_exhaustive()
    }
}

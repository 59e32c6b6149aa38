//! What is told of a model: one line on standard output, and one in a file for who runs the tests.
//!
//! `cargo linpoint test` names the file in `LINPOINT_RECORD`. Each line of it is one model, its fields separated by tabs:
//! name, place, outcome, executions, milliseconds, coverage in words.

use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;
use std::time::Duration;

/// What came of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything that was asked for was covered.
    Covered,
    /// Nothing wrong, in what could be covered within the limits.
    Cut,
    /// Something is wrong.
    Failed,
    /// It cannot be explored.
    Refused,
    /// It was not run.
    Skipped,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Outcome::Covered => "covered",
            Outcome::Cut => "cut",
            Outcome::Failed => "failed",
            Outcome::Refused => "refused",
            Outcome::Skipped => "skipped",
        }
    }
}

/// A model that is over.
pub(crate) struct Model<'a> {
    pub(crate) name: &'a str,
    pub(crate) site: &'static Location<'static>,
    pub(crate) outcome: Outcome,
    pub(crate) executions: u64,
    pub(crate) time: Duration,
    pub(crate) coverage: &'a str,
}

impl Model<'_> {
    /// Tells it.
    pub(crate) fn tell(&self) {
        let Model { name, site, coverage, time, .. } = self;
        println!(
            "linpoint: {name} ({site}): {coverage}, {:.2} s, memory sequentially consistent",
            time.as_secs_f64()
        );
        let Some(file) = std::env::var_os("LINPOINT_RECORD") else { return };
        let line = format!(
            "{name}\t{site}\t{}\t{}\t{}\t{}\n",
            self.outcome.name(),
            self.executions,
            time.as_millis(),
            coverage.replace(['\t', '\n'], " "),
        );
        let file = OpenOptions::new().create(true).append(true).open(&file);
        // One write for a line: models of several threads and processes do not mix. The tests do not fail for it.
        if file.and_then(|mut file| file.write_all(line.as_bytes())).is_err() {
            println!("linpoint: this line cannot be written to the file that LINPOINT_RECORD names");
        }
    }
}

//! Recorded histories against a specification that is a Rust type.
//!
//! The type that says what an object should do in explorations also judges what was recorded of it: a file in any of the
//! formats that `linpoint check` reads, operations that a test collected in memory, or events as they happen.
//!
//! ```
//! use linpoint::history::{self, History};
//!
//! #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
//! struct Tickets(u32);
//!
//! #[linpoint::spec]
//! impl Tickets {
//!     fn take(&mut self) -> u32 {
//!         self.0 += 1;
//!         self.0
//!     }
//! }
//!
//! let mut history = History::<Tickets>::new();
//! history.completed(1, TicketsOp::Take(), TicketsRet::Take(1), 0..10);
//! history.completed(2, TicketsOp::Take(), TicketsRet::Take(2), 5..15);
//! history.check().assert_linearizable();
//!
//! let log = r#"{"process":1,"op":"take","ret":2,"call":0,"return":10}"#;
//! let checked = history::check_bytes::<Tickets>(log)?;
//! assert!(checked.to_string().starts_with("not linearizable: "));
//! # Ok::<(), linpoint::history::HistoryError>(())
//! ```

mod checked;
mod online;
mod rust_spec;
mod value;

use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use linpoint_check::decide::Unwatched;
use linpoint_check::{CheckError, Options, check, check_rows};
use linpoint_history::formats::{self, Input, ReadOptions};
use linpoint_history::{Builtin, Diagnostic, Operation, Symbols, Value};

use crate::spec::Specification;

pub use checked::Checked;
#[doc(no_inline)]
pub use linpoint_check::online::{EventError, Status};
#[doc(no_inline)]
pub use linpoint_history::specs::Catalog;
#[doc(no_inline)]
pub use linpoint_history::{Form, Value as HistoryValue, Verdict};
pub use online::Online;
pub use rust_spec::{Recorded, Unrecorded, model, own, specification};
pub use value::InHistory;
#[doc(hidden)]
pub use value::{Known, Probe, Unknown};

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The specification has operations that a history cannot hold.
    #[error(transparent)]
    Specification(#[from] Unrecorded),
    /// The history cannot be read, or does not fit the specification.
    #[error("{0}")]
    Input(Diagnostic),
    /// A mistake of Linpoint's own.
    #[error("internal error: {0}")]
    Bug(String),
}

impl From<CheckError> for HistoryError {
    fn from(error: CheckError) -> HistoryError {
        match error {
            CheckError::Input(diagnostic) => HistoryError::Input(diagnostic),
            other => HistoryError::Bug(other.to_string()),
        }
    }
}

/// Checks a file against the specification `S`; every format that `linpoint formats` lists.
///
/// # Errors
/// Where the file cannot be read, or has operations that `S` does not have.
pub fn check_file<S: Recorded>(path: impl AsRef<Path>) -> Result<Checked, HistoryError> {
    HistoryCheck::<S>::new().file(path)
}

/// Checks a history in memory, in any of the formats.
///
/// # Errors
/// As [`check_file`].
pub fn check_bytes<S: Recorded>(text: impl Into<Vec<u8>>) -> Result<Checked, HistoryError> {
    HistoryCheck::<S>::new().bytes(text)
}

/// How to check, where the usual way will not do.
#[derive(Clone, Debug)]
pub struct HistoryCheck<S> {
    options: Options,
    format: Option<String>,
    spec: PhantomData<fn() -> S>,
}

impl<S: Recorded> Default for HistoryCheck<S> {
    fn default() -> Self {
        HistoryCheck { options: Options::default(), format: None, spec: PhantomData }
    }
}

impl<S: Recorded> HistoryCheck<S> {
    /// Without limits of time and memory; the format is found from the content.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives up after this long: the verdict is then `unknown`.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.options.time_limit = Some(limit);
        self
    }

    /// Gives up when the process holds this many bytes: the verdict is then `unknown`.
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.options.memory_limit_bytes = Some(bytes);
        self
    }

    /// Reads this format (`linpoint formats`) and does not guess.
    #[must_use]
    pub fn format(mut self, name: &str) -> Self {
        self.format = Some(name.to_owned());
        self
    }

    /// Checks a file.
    ///
    /// # Errors
    /// Where the file cannot be read, or does not fit the specification.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<Checked, HistoryError> {
        let path = path.as_ref();
        self.input(Input::File(path.to_owned()), path.display().to_string())
    }

    /// Checks a history in memory.
    ///
    /// # Errors
    /// As [`HistoryCheck::file`].
    pub fn bytes(&self, text: impl Into<Vec<u8>>) -> Result<Checked, HistoryError> {
        self.input(Input::Bytes(text.into()), "-".to_owned())
    }

    /// Checks operations that were collected one by one.
    pub fn history(&self, history: History<S>) -> Checked {
        let History { rows, mut symbols, spec, .. } = history;
        let kept = rows.clone();
        match check_rows(rows, &spec, &mut symbols, &self.options) {
            Ok(answer) => Checked::new(spec, symbols, answer, kept, "in memory".to_owned()),
            Err(error) => panic!("{error}: this is a mistake of Linpoint's own"),
        }
    }

    fn input(&self, from: Input, name: String) -> Result<Checked, HistoryError> {
        let spec = specification::<S>()?;
        let format = match &self.format {
            None => None,
            Some(name) => Some(formats::Format::find(name).ok_or_else(|| {
                let help = "`linpoint formats` lists those there are";
                HistoryError::Input(Diagnostic::new("", format!("unknown format `{name}`"), help))
            })?),
        };
        let options = ReadOptions { format, ..ReadOptions::default() };
        let mut symbols = Symbols::new();
        let open = || formats::open(&from, &spec, &options);
        let answer = check(&open, &spec, &mut symbols, &self.options, &Unwatched, None)?;
        let mut rows = Vec::new();
        if answer.operations <= checked::MOST_KEPT {
            let mut reader = open().map_err(HistoryError::Input)?;
            while reader.read(&mut symbols, &mut rows, 1 << 16).map_err(HistoryError::Input)? {}
        }
        Ok(Checked::new(spec, symbols, answer, rows, name))
    }
}

/// A history that a program collects in memory.
#[derive(Clone, Debug)]
pub struct History<S> {
    rows: Vec<Operation>,
    symbols: Symbols,
    spec: Builtin,
    of: PhantomData<fn() -> S>,
}

impl<S: Recorded> Default for History<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Recorded> History<S> {
    /// No operations.
    ///
    /// # Panics
    /// If an operation of the specification has a type that no history can hold ([`InHistory`]).
    #[must_use]
    pub fn new() -> History<S> {
        let spec = specification::<S>().unwrap_or_else(|why| panic!("{why}"));
        History { rows: Vec::new(), symbols: Symbols::new(), spec, of: PhantomData }
    }

    /// An operation of `process` that was called and answered at the ends of `when`. Of two operations the one precedes
    /// the other if it returned before the other was called.
    pub fn completed(&mut self, process: u64, op: S::Op, answer: S::Ret, when: Range<i64>) {
        let result =
            S::write_answer(&answer).expect("every answer can be held: this was looked at when it began");
        let mut row = self.row(process, &op, when.start);
        row.ret = when.end;
        row.result = self.symbols.intern(&result);
        self.rows.push(row);
    }

    /// An operation that was called and never answered: it may or may not have taken effect.
    pub fn pending(&mut self, process: u64, op: S::Op, call: i64) {
        let row = self.row(process, &op, call);
        self.rows.push(row);
    }

    /// Is there one order of the operations that respects real time and that the specification allows?
    pub fn check(self) -> Checked {
        HistoryCheck::new().history(self)
    }

    fn row(&mut self, process: u64, op: &S::Op, call: i64) -> Operation {
        let name = i64::try_from(process).map_or_else(|_| Value::text(&process.to_string()), Value::Int);
        let process = self.symbols.process(&name);
        let code = linpoint_history::OpCode(<S as Specification>::index(op) as u8);
        let arg = S::write_op(op).expect("every argument can be held: this was looked at when it began");
        let mut row = Operation::new(process, code);
        (row.call, row.ret) = (call, Operation::NEVER);
        row.arg = self.symbols.intern(&arg);
        row
    }
}

/// Where a page is written to, for messages.
fn output(path: &Path, error: std::io::Error) -> HistoryError {
    let path: PathBuf = path.to_owned();
    let message = format!("cannot write {}: {error}", path.display());
    HistoryError::Input(Diagnostic::new("", message, "name another file"))
}

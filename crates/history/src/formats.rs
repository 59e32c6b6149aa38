//! Reading and writing histories, in every format Linpoint knows.
//!
//! [`open`] gives a [`Reader`] that hands out operations a few thousand at a time, so a file of any length is
//! read in the memory of one buffer; [`read_all`] is for those who want it all. The format is found from the
//! first bytes, then from the file's name; `.gz` and `.zst` are recognised by their first bytes and unpacked
//! on the way.
//!
//! Two families share the work. In the *row* forms (JSON lines, CSV, Parquet, binary) a record is an
//! operation with both its stamps. In the *event* forms (JSON events, Jepsen EDN, the etcd and kv logs) a
//! record is a call or a return, the order of records is the only clock, and `formats/pairing.rs` joins them.
//!
//! Bad input is a [`Diagnostic`] with a code from [`problem`], never a panic and never a guess.

mod binary;
mod csv;
mod detect;
mod edn;
mod etcd_log;
mod event_order;
pub mod guard;
mod jepsen;
mod json;
mod json_events;
mod json_lines;
mod misspelt;
mod pairing;
#[cfg(feature = "parquet")]
mod parquet;
pub mod problem;
mod process_order;
mod schema;
mod source;
mod unpack;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::Operation;
use crate::signature::Signature;
use crate::specs::Builtin;
use crate::symbols::Symbols;
use crate::value::Value;

pub use binary::is_binary;
pub use guard::Guard;
pub use json_lines::write_row;
pub use process_order::ProcessOrder;

/// A way to write histories down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// One JSON object an operation, one a line.
    JsonLines,
    /// One JSON object a call or a return, one a line, in time order.
    JsonEvents,
    /// Jepsen's histories: maps in Clojure's notation.
    JepsenEdn,
    /// Jepsen's log lines, as in the etcd histories that come with porcupine.
    EtcdLog,
    /// The key-value histories that come with porcupine.
    KvLog,
    /// Comma-separated values with a header.
    Csv,
    /// Apache Parquet, with the columns of the CSV form.
    Parquet,
    /// Linpoint's own: small, and read many times faster than text.
    Binary,
}

const ALL: &[(Format, &str, &str)] = &[
    (Format::JsonLines, "jsonl", "JSON lines, one operation a line, in any order"),
    (Format::JsonEvents, "json-events", "JSON lines, one call or return a line, in time order"),
    (Format::JepsenEdn, "jepsen", "Jepsen's EDN: a vector or list of maps, or one map a line"),
    (Format::EtcdLog, "etcd-log", "Jepsen's log lines, as in porcupine's etcd histories"),
    (Format::KvLog, "kv-log", "porcupine's key-value histories; a missing key reads as \"\""),
    (Format::Csv, "csv", "comma-separated values: process,op,arg,ret,call,return[,key]"),
    (Format::Parquet, "parquet", "Apache Parquet with the columns of csv (cargo feature `parquet`)"),
    (Format::Binary, "binary", "Linpoint's own binary form, the fastest to read"),
];

impl Format {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(format, ..)| *format == self).map_or("", |(_, name, _)| name)
    }

    /// What it is, in a line.
    pub fn describe(self) -> &'static str {
        ALL.iter().find(|(format, ..)| *format == self).map_or("", |(.., text)| text)
    }

    /// Every format.
    pub fn all() -> impl Iterator<Item = Format> {
        ALL.iter().map(|(format, ..)| *format)
    }

    /// The format called `name`, which may also be the ending of its files, such as `edn`.
    pub fn find(name: &str) -> Option<Format> {
        Format::all().find(|format| format.name() == name).or_else(|| detect::by_ending(name))
    }

    /// Can this build read and write it?
    pub fn is_built_in(self) -> bool {
        self != Format::Parquet || cfg!(feature = "parquet")
    }

    /// Is a record a call or a return, rather than a whole operation?
    pub fn is_events(self) -> bool {
        matches!(self, Format::JsonEvents | Format::JepsenEdn | Format::EtcdLog | Format::KvLog)
    }
}

/// Where a history is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory.
    Bytes(Vec<u8>),
}

/// How a history is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; `None`: found from the content, then from the file's name.
    pub format: Option<Format>,
    /// What diagnostics call the input; `None`: the path, `-` for standard input.
    pub file_name: Option<String>,
    /// The field or column that names the object of an operation; `None`: `key`.
    pub key_field: Option<String>,
    /// Is every value of an event a pair `[key value]`, as `jepsen.independent` writes them?
    pub independent: bool,
    /// Is the stamp of an event the line it begins in, rather than its number? For files whose lines one clock
    /// numbered.
    pub stamped_by_line: bool,
    /// Who is asked whether to read on.
    pub guard: Guard,
}

/// Hands out the operations of a history.
pub trait Reader: Send {
    /// Adds up to about `max` operations (at least one, unless at the end) in file order; event forms: in
    /// order of return, those that never returned at the end. `false` when there are no more.
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic>;

    /// Asks `guard` from now on whether to go on, in place of that of the options.
    fn set_guard(&mut self, guard: Guard) {
        let _ = guard;
    }

    /// What is being read.
    fn format(&self) -> Format;

    /// The value that an untouched object has by the format's convention, such as `""` in porcupine's kv
    /// logs.
    fn implied_initial(&self) -> Option<Value> {
        None
    }

    /// Bytes of the input taken so far, before unpacking.
    fn bytes_read(&self) -> u64;

    /// Bytes of the input, where that is known.
    fn bytes_total(&self) -> Option<u64>;

    /// The line of the last operation handed out (of its return, in event forms); 0 where there are no lines.
    fn line(&self) -> u64 {
        0
    }
}

/// Starts reading. The specification says which operations there are and what they take and give back.
pub fn open(input: &Input, spec: &Builtin, options: &ReadOptions) -> Result<Box<dyn Reader>, Diagnostic> {
    let mut source = source::Source::open(input, options)?;
    let name = source.name().to_owned();
    let format =
        detect::format(&mut source, spec, options).map_err(|problem| problem.in_file(name.clone()))?;
    if options.independent && !format.is_events() {
        return Err(problem::no_values(format).in_file(name));
    }
    let schema = schema::Schema::new(spec, options);
    let mut reader: Box<dyn Reader> = match format {
        Format::JsonLines => Box::new(json_lines::JsonLines::new(source, schema)),
        Format::JsonEvents => {
            Box::new(pairing::Events::new(source, schema, json_events::JsonEvents, options))
        }
        Format::JepsenEdn => Box::new(pairing::Events::new(source, schema, jepsen::Jepsen::edn(), options)),
        Format::KvLog => Box::new(pairing::Events::new(source, schema, jepsen::Jepsen::kv_log(), options)),
        Format::EtcdLog => Box::new(pairing::Events::new(source, schema, etcd_log::EtcdLog, options)),
        Format::Csv => Box::new(csv::Csv::new(source, schema)),
        Format::Binary => Box::new(binary::Binary::new(source, schema)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::ParquetRows::new(source, schema)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(problem::not_built_in(format).in_file(name)),
    };
    reader.set_guard(options.guard.clone());
    Ok(reader)
}

/// Reads a whole history, puts it in order of return (ties in order of call) and checks that no process has
/// two operations open at once.
pub fn read_all(input: &Input, spec: &Builtin, options: &ReadOptions) -> Result<History, Diagnostic> {
    const CHUNK: usize = 1 << 16;
    let mut history = History::new();
    let mut reader = open(input, spec, options)?;
    while reader.read(&mut history.symbols, &mut history.operations, CHUNK)? {}
    if !history.operations.is_sorted_by_key(|op| (op.ret, op.call)) {
        history.operations.sort_by_key(|op| (op.ret, op.call));
    }
    let signature = crate::spec::Spec::signature(spec);
    let mut order = ProcessOrder::default();
    for row in &history.operations {
        if let Err(problem) = order.check(row, &history.symbols, signature) {
            let both = [Some(*row), order.previous(row.process())];
            let lines = locate(input, spec, options, &both);
            let name = source::input_name(input, options);
            return Err(problem.at(lines, 0).in_file(name));
        }
    }
    Ok(history)
}

/// Gives a [`problem::TWO_OPEN`] that was found after reading (by [`ProcessOrder`], which knows no lines) its
/// line, by reading again; other diagnostics stay as they are.
pub fn with_line(found: Diagnostic, input: &Input, spec: &Builtin, options: &ReadOptions) -> Diagnostic {
    if found.code != problem::TWO_OPEN || found.line != 0 || *input == Input::Stdin {
        return found;
    }
    match read_all(input, spec, options) {
        Err(again) if again.code == found.code => again,
        _ => found,
    }
}

/// The line of the last of `wanted` in file order; 0 where there are no lines, or the input cannot be read
/// again.
fn locate(input: &Input, spec: &Builtin, options: &ReadOptions, wanted: &[Option<Operation>]) -> u64 {
    if *input == Input::Stdin {
        return 0;
    }
    let Ok(mut reader) = open(input, spec, options) else { return 0 };
    // Numbers are given in order of appearance, so that a second reading gives the same ones.
    let (mut symbols, mut rows, mut line) = (Symbols::new(), Vec::new(), 0);
    while let Ok(more) = reader.read(&mut symbols, &mut rows, 1) {
        if rows.drain(..).any(|row| wanted.contains(&Some(row))) {
            line = reader.line();
        }
        if !more {
            break;
        }
    }
    line
}

/// Writes a history.
///
/// # Errors
/// What writing gives; and `InvalidInput` where the format cannot say what the history says (operations it
/// has no words for; stamps that touch in a way no order of events repeats).
pub fn write(
    format: Format,
    history: &History,
    signature: &Signature,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::JsonLines => json_lines::write(history, signature, out),
        Format::JsonEvents => json_events::write(history, signature, out),
        Format::JepsenEdn => jepsen::write_edn(history, signature, out),
        Format::KvLog => jepsen::write_kv_log(history, signature, out),
        Format::EtcdLog => etcd_log::write(history, signature, out),
        Format::Csv => csv::write(history, signature, out),
        Format::Binary => binary::write(history, signature, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(history, signature, out),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {
            let problem = problem::not_built_in(format);
            Err(io::Error::new(io::ErrorKind::Unsupported, problem))
        }
    }
}

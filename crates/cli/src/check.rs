//! `linpoint check`: reads histories, has them decided, says what came out.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use linpoint_check::decide::SEARCH_BYTES;
use linpoint_check::portfolio::Choice;
use linpoint_check::{Answer, CheckError, Options, Partition, check};
use linpoint_explain::page::{MOST_BARS, Rows, view};
use linpoint_explain::{Shown, text};
use linpoint_history::formats::{self, Input, ReadOptions, Reader};
use linpoint_history::{
    Builtin, Diagnostic, History, Kind, Operation, Spec, Symbols, Unknown, Value, Verdict,
};
use linpoint_report::Style;

use crate::args::{CheckArgs, EngineArg};
use crate::fault::{Exit, Fault};
use crate::progress::Progress;
use crate::{input, json};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Result<Exit, Fault> {
    let prepared = prepare(args);
    let (spec, format) = match prepared {
        Ok(prepared) => prepared,
        // There is one object a file, whatever is wrong.
        Err(fault) => {
            args.files.iter().for_each(|file| say_fault(args, file, &fault));
            return Err(fault);
        }
    };
    let mut exit = Exit::Holds;
    for file in &args.files {
        let outcome = Task { args, file, spec: &spec, format }.run();
        exit = exit.and(outcome.unwrap_or_else(|fault| {
            say_fault(args, file, &fault);
            crate::fault::say_on!("{fault}");
            fault.exit()
        }));
    }
    Ok(exit)
}

/// What is wrong with the arguments is wrong with all files.
fn prepare(args: &CheckArgs) -> Result<(Builtin, Option<formats::Format>), Fault> {
    let spec = input::spec(&args.spec, args.initial.as_deref())?;
    let format = input::format(args.format.as_deref())?;
    input::partition(args.partition.as_deref())?;
    if args.files.len() > 1 && (args.witness.is_some() || args.output.wanted()) {
        return Err(Fault::usage(
            "--witness, --report, --svg, --trace and --view-data take one history",
            "check the files one by one",
        ));
    }
    let witness = args.witness.as_deref().map(|path| ("--witness", path));
    input::not_over(&args.files, args.output.files().chain(witness))?;
    Ok((spec, format))
}

/// The object of a file that got no verdict, where objects are asked for.
pub fn say_fault(args: &CheckArgs, file: &Path, fault: &Fault) {
    if args.json {
        let _ = writeln!(std::io::stdout(), "{}", json::render_fault(file, fault));
    }
}

/// Is a file whose name ends in `.lin` a program? Histories in the binary form have the same ending, and a
/// first byte that no text has.
fn is_program(file: &Path) -> bool {
    let mut head = [0; 16];
    let read = File::open(file).and_then(|mut file| std::io::Read::read(&mut file, &mut head));
    read.is_ok_and(|length| length > 0 && !formats::is_binary(&head[..length]))
}

/// Histories longer than this are not read a second time for a page: it shows their core.
const MOST_READ_AGAIN: u64 = 5_000_000;

/// One file.
struct Task<'a> {
    args: &'a CheckArgs,
    file: &'a Path,
    spec: &'a Builtin,
    format: Option<formats::Format>,
}

impl Task<'_> {
    fn run(&self) -> Result<Exit, Fault> {
        if self.file.extension().is_some_and(|extension| extension == "lin") && is_program(self.file) {
            return Err(Fault::usage(
                format!("{} is a program, not a history", self.file.display()),
                "run it with `linpoint explore`, prove it with `linpoint prove`",
            ));
        }
        let from = self.input()?;
        let mut options = read_options(self.args.partition.as_deref(), self.format);
        options.file_name = (self.file == Path::new("-")).then(|| "-".to_owned());
        let reader = formats::open(&from, self.spec, &options)?;
        let spec = self.starting(reader.implied_initial());
        let mut symbols = Symbols::new();
        let progress = Progress::new(&self.file.display().to_string());
        let mut rows = Rows::default();
        let answer = self.decide(&from, &options, &spec, reader, &mut symbols, &progress, &mut rows);
        progress.finish();
        let answer = answer?;
        let is_cut_short =
            matches!(answer.verdict, Verdict::Unknown(Unknown::Time { .. } | Unknown::Memory { .. }));
        if let (Some(field), 0, 1.., false) =
            (&options.key_field, symbols.key_count(), answer.operations, is_cut_short)
        {
            let message = format!("no operation has the field `{field}` that --partition names");
            return Err(Fault::usage(message, "name a field of the history, `key` or `none`"));
        }
        if self.args.output.wanted() {
            self.read_again(&from, &options, &spec, &mut symbols, &answer, &mut rows)?;
        }
        let several = self.args.files.len() > 1;
        let shown = Shown {
            file: several.then(|| self.file.display().to_string()),
            spec: &spec,
            spec_name: &self.args.spec,
            symbols: &symbols,
            answer: &answer,
            again: self.again(),
        };
        self.print(&shown)?;
        let name = if from == Input::Stdin || self.file == Path::new("-") {
            "-".to_owned()
        } else {
            self.file.display().to_string()
        };
        self.args.output.write(|| view(&shown, &name, &rows))?;
        Ok(answer.verdict.kind().into())
    }

    /// The command that checks the file once more, as a shell reads it.
    fn again(&self) -> String {
        let args = self.args;
        let mut words = vec!["linpoint".to_owned(), "check".to_owned(), self.file.display().to_string()];
        let mut option = |name: &str, value: Option<&str>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value.to_owned()]));
        };
        option("--spec", Some(&args.spec));
        option("--initial", args.initial.as_deref());
        option("--format", args.format.as_deref());
        option("--partition", args.partition.as_deref());
        let engine = match args.engine {
            EngineArg::Auto => None,
            EngineArg::Monitor => Some("monitor"),
            EngineArg::Metastate => Some("metastate"),
            EngineArg::Search => Some("search"),
            EngineArg::Brute => Some("brute"),
        };
        option("--engine", engine);
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The history; standard input is kept where a page is to show it.
    fn input(&self) -> Result<Input, Fault> {
        let from = input::input(self.file);
        if from != Input::Stdin || !self.args.output.wanted() {
            return Ok(from);
        }
        let mut bytes = Vec::new();
        let read = std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes);
        read.map_err(|error| Fault::usage(format!("cannot read standard input: {error}"), "give a file"))?;
        Ok(Input::Bytes(bytes))
    }

    /// Reads the operations once more, for the page. Numbers stay what they are: they are given by name.
    fn read_again(
        &self,
        from: &Input,
        options: &ReadOptions,
        spec: &Builtin,
        symbols: &mut Symbols,
        answer: &Answer,
        rows: &mut Rows,
    ) -> Result<(), Fault> {
        if answer.operations > MOST_READ_AGAIN {
            return Ok(());
        }
        let mut reader = formats::open(from, spec, options)?;
        while reader.read(symbols, &mut rows.all, 1 << 16)? {}
        if let Some(object) = &answer.object {
            // Of several objects only the one that is violated is of interest.
            let before = rows.all.len();
            rows.all.retain(|op| symbols.key_name(op.key) == *object);
            rows.left_out = (before - rows.all.len()) as u64;
        }
        Ok(())
    }

    /// The specification, starting from what the format implies if the user did not say.
    fn starting(&self, implied: Option<Value>) -> Builtin {
        match implied {
            Some(initial) if self.args.initial.is_none() && self.spec.kind == Kind::Kv => {
                self.spec.clone().with_initial(initial)
            }
            _ => self.spec.clone(),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn decide(
        &self,
        from: &Input,
        read: &ReadOptions,
        spec: &Builtin,
        reader: Box<dyn Reader>,
        symbols: &mut Symbols,
        progress: &Progress,
        rows: &mut Rows,
    ) -> Result<Answer, Fault> {
        let options = Options { may_read_again: *from != Input::Stdin, ..self.options() };
        let reader = RefCell::new(Some(reader));
        let open = || match (reader.take(), from) {
            (Some(reader), _) => Ok(reader),
            (None, Input::Stdin) => {
                Err(Diagnostic::new("", "standard input was read already", "give a file instead"))
            }
            (None, from) => formats::open(from, spec, read),
        };
        let mut witness = self.args.witness.as_deref().map(WitnessFile::create).transpose()?;
        let signature = spec.signature().clone();
        let drawn = self.args.output.wanted();
        let kept = &mut rows.witness;
        let mut write = |symbols: &Symbols, op: &Operation| {
            if let Some(file) = &mut witness {
                file.add(symbols, &signature, op);
            }
            if drawn && kept.len() < MOST_BARS {
                kept.push(*op);
            }
        };
        let wanted = self.args.witness.is_some() || drawn;
        let sink: Option<linpoint_check::drive::Sink<'_>> = if wanted { Some(&mut write) } else { None };
        let answer = check(&open, spec, symbols, &options, progress, sink);
        if let Some(file) = witness {
            file.finish(matches!(&answer, Ok(Answer { verdict: Verdict::Holds(_), .. })))?;
        }
        answer.map_err(|error| match error {
            CheckError::Input(diagnostic) if diagnostic.line == 0 => {
                let found = formats::with_line(diagnostic, from, spec, read);
                let named = !found.file.is_empty() || found.code.is_empty();
                Fault::Input(if named { found } else { found.in_file(self.file.display().to_string()) })
            }
            error => self.fault(error, symbols, spec),
        })
    }

    fn options(&self) -> Options {
        let machine = linpoint_check::resident::machine_bytes().map(|bytes| bytes / 4 * 3);
        Options {
            choice: match self.args.engine {
                EngineArg::Auto => Choice::Auto,
                EngineArg::Monitor => Choice::Monitor,
                EngineArg::Metastate => Choice::Metastate,
                EngineArg::Search => Choice::Search,
                EngineArg::Brute => Choice::Brute,
            },
            time_limit: self.args.time_limit,
            memory_limit_bytes: self.args.memory_limit.or(machine),
            search_limit_bytes: self.args.memory_limit.is_none().then_some(SEARCH_BYTES),
            partition: match self.args.partition.as_deref() {
                Some("none") => Partition::None,
                _ => Partition::ByKey,
            },
            ..Options::default()
        }
    }

    fn print(&self, shown: &Shown<'_>) -> Result<(), Fault> {
        let mut out = std::io::stdout().lock();
        let text = if self.args.json {
            linpoint_explain::json::render(shown) + "\n"
        } else {
            text::render(shown, style(out.is_terminal()))
        };
        // A closed pipe is the reader's choice; the exit code still tells.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        Ok(())
    }

    /// A bug is reported with a history that shows it.
    fn fault(&self, error: CheckError, symbols: &Symbols, spec: &Builtin) -> Fault {
        match error {
            CheckError::Input(diagnostic) => Fault::Input(diagnostic),
            CheckError::Bug { engine, why, rows } => {
                let path = PathBuf::from("linpoint-bug.jsonl");
                let history = History { operations: rows, symbols: symbols.clone() };
                let saved = !history.operations.is_empty()
                    && File::create(&path).is_ok_and(|mut file| {
                        formats::write(formats::Format::JsonLines, &history, spec.signature(), &mut file)
                            .is_ok()
                    });
                Fault::Bug {
                    what: format!("internal error in the {engine}: {why}"),
                    saved: saved.then_some(path),
                }
            }
            other => Fault::Bug { what: other.to_string(), saved: None },
        }
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// How a file is read, as `--partition` and `--format` say.
pub fn read_options(partition: Option<&str>, format: Option<formats::Format>) -> ReadOptions {
    let (key_field, independent) = match partition {
        None | Some("key" | "none") => (None, false),
        Some("value") => (None, true),
        Some(field) => (Some(field.to_owned()), false),
    };
    ReadOptions { format, key_field, independent, ..ReadOptions::default() }
}

/// The drawing's style for this terminal.
pub fn style(terminal: bool) -> Style {
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(110);
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    Style { width, colour }
}

/// Writes the order found, operation by operation, and takes it back if there is none.
struct WitnessFile {
    path: PathBuf,
    out: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl WitnessFile {
    fn create(path: &Path) -> Result<WitnessFile, Fault> {
        let file = File::create(path).map_err(|error| Fault::Output(path.to_owned(), error))?;
        Ok(WitnessFile { path: path.to_owned(), out: BufWriter::new(file), failed: None })
    }

    fn add(&mut self, symbols: &Symbols, signature: &linpoint_history::Signature, op: &Operation) {
        if self.failed.is_none() {
            self.failed = formats::write_row(symbols, signature, op, &mut self.out).err();
        }
    }

    fn finish(mut self, holds: bool) -> Result<(), Fault> {
        let flushed = self.out.flush();
        if let Some(error) = self.failed.or(flushed.err()) {
            return Err(Fault::Output(self.path, error));
        }
        if !holds {
            // Half an order explains nothing.
            let _ = std::fs::remove_file(&self.path);
        }
        Ok(())
    }
}

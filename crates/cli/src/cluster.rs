//! `linpoint check` on one history that comes in parts: the dataflow of `linpoint-cluster`, in this process
//! or over many hosts.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use clap::Args;
use linpoint_check::Budget;
use linpoint_cluster::hosts::{Hosts, read_hosts};
use linpoint_cluster::progress::Progress;
use linpoint_cluster::report::{Outcome, What};
use linpoint_cluster::run::{Feeds, Job, Named, Resolve, RunError};
use linpoint_cluster::source::{FileFeed, Unreadable};
use linpoint_cluster::wire::{About, Wire};
use linpoint_explain::{Shown, json, text};
use linpoint_history::formats::{self, Input, ReadOptions, guard};
use linpoint_history::{Diagnostic, Kind, Value};

use crate::args::{CheckArgs, EngineArg, duration};
use crate::check;
use crate::fault::{Exit, Fault};
use crate::{input, own};

/// Files from this size on are checked object by object while they are read, where `--partition key` asks for
/// it.
const LARGE: u64 = 64 << 20;

/// What `check` takes for histories in parts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Histories in parts, many hosts")]
pub struct ClusterArgs {
    /// The files are parts of one history: read side by side, merged by their stamps, checked object by
    /// object. `FILE@SPEC` gives a part a specification of its own
    #[arg(long)]
    pub merge: bool,
    /// The hosts that check together, one address a line; each reads its own files. Needs --host
    #[arg(long, value_name = "FILE", requires = "host")]
    pub hosts: Option<PathBuf>,
    /// Which line of the hosts file this process is, from 0
    #[arg(long, value_name = "N", requires = "hosts")]
    pub host: Option<usize>,
    /// Threads of this process that check
    #[arg(long, value_name = "W")]
    pub workers: Option<usize>,
    /// A file with the token that all hosts must know; needed where addresses are not of this machine alone
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,
    /// The files share one clock: in files of calls and returns, which have no stamps, the line of an event is
    /// its stamp, blank lines and comments counted, and events on the same line of two files are concurrent
    #[arg(long)]
    pub shared_clock: bool,
    /// How far the clock behind a file's stamps may be off, in units of the stamps: `N` for all files,
    /// `FILE=N` for one
    #[arg(long, value_name = "[FILE=]N")]
    pub clock_error: Vec<String>,
    /// Stop all hosts when an object is violated
    #[arg(long)]
    pub stop_on_violation: bool,
    /// Where a file cannot be read on, go on with the others: the objects concerned are unknown
    #[arg(long)]
    pub keep_going: bool,
    /// Keep progress in this directory, a file a worker; a run that was interrupted goes on from there
    #[arg(long, value_name = "DIR")]
    pub progress: Option<PathBuf>,
    /// How long to wait for the other hosts: until all are there, and when one falls silent
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    pub patience: Duration,
}

/// Is this a case for the dataflow?
pub fn is_wanted(args: &CheckArgs) -> bool {
    let asked = &args.cluster;
    if asked.merge || asked.hosts.is_some() || asked.workers.is_some() || asked.progress.is_some() {
        return true;
    }
    let large =
        |file: &PathBuf| std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() >= LARGE);
    let plain = args.witness.is_none() && !args.output.wanted() && args.engine == EngineArg::Auto;
    plain && args.partition.as_deref() == Some("key") && args.files.len() == 1 && args.files.iter().all(large)
}

/// A part of the history.
#[derive(Clone)]
struct Part {
    file: PathBuf,
    spec: String,
    epsilon: i64,
}

/// Runs it.
pub fn run(args: &CheckArgs) -> Result<Exit, Fault> {
    let ended = decide(args);
    if let Err(fault) = &ended {
        // The history has many files: the object is of the one that is to blame, if one is.
        let blamed = match fault {
            Fault::Input(found) if !found.file.is_empty() => PathBuf::from(&found.file),
            _ => args.files.first().cloned().unwrap_or_default(),
        };
        check::say_fault(args, &blamed, fault);
    }
    ended
}

fn decide(args: &CheckArgs) -> Result<Exit, Fault> {
    input::partition(args.partition.as_deref())?;
    if args.witness.is_some() || args.output.wanted() || args.engine != EngineArg::Auto {
        let message = "--witness, --report and --engine are for histories checked whole";
        return Err(Fault::usage(message, "leave out --merge, --hosts and --workers"));
    }
    if args.partition.as_deref() == Some("none") {
        let message = "--partition none makes one object of all, and there is nothing to spread";
        return Err(Fault::usage(message, "leave out --merge, --hosts and --workers"));
    }
    let started = Instant::now();
    let parts = parts(args)?;
    alike(args, &parts)?;
    let asked = &args.cluster;
    let job = Job {
        workers: asked.workers.unwrap_or(1).max(1),
        hosts: hosts(args)?,
        stop_on_violation: asked.stop_on_violation,
        keep_going: asked.keep_going,
        deadline: args.time_limit.map(|limit| started + limit),
        memory_bytes: args.memory_limit,
        progress: asked.progress.clone().map(|dir| Progress { dir, of: of(args, &parts), every: None }),
        specs: resolve(),
        ..Job::new(feeds(args, parts, started)?)
    };
    let outcome = match job.run() {
        // A host went away: that is an answer, and it is told like any other.
        Err(RunError::Broken(why)) => Outcome::broken(why, started.elapsed()),
        // So is a limit that came while files were read for the first time.
        Err(RunError::Input(found)) if guard::reached(&found).is_some() => {
            Outcome::broken(found.message, started.elapsed())
        }
        other => other.map_err(fault)?,
    };
    show(args, &outcome)
}

/// What is checked, in words: progress is of this run only if they are the same.
fn of(args: &CheckArgs, parts: &[Part]) -> String {
    let (version, clock) = (env!("CARGO_PKG_VERSION"), args.cluster.shared_clock);
    let mut text = format!("{version} {:?} {:?} {clock}", args.initial, args.partition);
    for part in parts {
        let about = std::fs::metadata(&part.file).ok();
        let size = about.as_ref().map_or(0, std::fs::Metadata::len);
        let written = about.and_then(|about| about.modified().ok());
        let written = written.and_then(|when| when.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let (name, when) = (part.file.display(), written.as_nanos());
        text += &format!("\n{name} {size} {when} {} {}", part.spec, part.epsilon);
    }
    text
}

/// What a run that failed comes to.
pub fn fault(error: RunError) -> Fault {
    match error {
        RunError::Input(diagnostic) => Fault::Input(diagnostic),
        RunError::Broken(why) => Fault::Broken(why),
        other => Fault::usage(other.to_string(), ""),
    }
}

fn hosts(args: &CheckArgs) -> Result<Option<Hosts>, Fault> {
    let (Some(path), Some(own)) = (&args.cluster.hosts, args.cluster.host) else { return Ok(None) };
    let addresses =
        read_hosts(path).map_err(|error| Fault::usage(error.to_string(), "one name:port a line"))?;
    let token = token(args.cluster.token.as_deref())?;
    Ok(Some(Hosts { addresses, own, token, patience: args.cluster.patience }))
}

/// Reads a token from its file.
pub fn token(path: Option<&Path>) -> Result<String, Fault> {
    path.map_or_else(|| Ok(String::new()), |path| secret("token", path))
}

/// Reads what nobody else should know from its file.
pub fn secret(what: &str, path: &Path) -> Result<String, Fault> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::usage(format!("cannot read the {what} {shown}: {error}"), ""))?;
    match text.trim() {
        "" => Err(Fault::usage(format!("the {what} {shown} is empty"), "a line of text")),
        secret => Ok(secret.to_owned()),
    }
}

fn parts(args: &CheckArgs) -> Result<Vec<Part>, Fault> {
    let (mut all, mut own): (Option<i64>, Vec<(&Path, i64)>) = (None, Vec::new());
    let twice = |of: &str| {
        Fault::usage(
            format!("`--clock-error` says twice how far the clock {of} may be off"),
            "each bound once",
        )
    };
    for text in &args.cluster.clock_error {
        let (file, number) = text.rsplit_once('=').map_or((None, text.as_str()), |(file, n)| (Some(file), n));
        let bound = number.parse::<i64>().ok().filter(|bound| *bound >= 0);
        let bound = bound
            .ok_or_else(|| Fault::usage(format!("`--clock-error {text}` is no bound"), "N or FILE=N"))?;
        match file {
            Some(file) if own.iter().any(|(other, _)| *other == Path::new(file)) => {
                return Err(twice(&format!("of {file}")));
            }
            Some(file) => own.push((Path::new(file), bound)),
            None if all.is_some() => return Err(twice("of all files")),
            None => all = Some(bound),
        }
    }
    let mut files = BTreeMap::new();
    let mut part = |file: &PathBuf| {
        let name = file.display().to_string();
        let (path, spec) = match name.rsplit_once('@') {
            Some((path, spec)) if !file.exists() => (path.to_owned(), spec.to_owned()),
            _ => (name, args.spec.clone()),
        };
        let spec = match own::identity(&spec) {
            // However its file is written, it is one specification.
            Some(same) => files.entry(same).or_insert(spec).clone(),
            None => spec,
        };
        input::spec(&spec, args.initial.as_deref())?;
        let epsilon = own.iter().find(|(file, _)| *file == Path::new(&path)).map(|(_, bound)| *bound);
        let epsilon = epsilon.or(all).unwrap_or(0);
        Ok(Part { file: PathBuf::from(path), spec, epsilon })
    };
    let parts: Result<Vec<Part>, Fault> = args.files.iter().map(&mut part).collect();
    let parts = parts?;
    for (index, part) in parts.iter().enumerate() {
        if let Some(before) = parts[..index].iter().find(|before| input::is_same(&before.file, &part.file)) {
            let (first, again) = (before.file.display(), part.file.display());
            let message = format!("{first} and {again} are the same file: its operations would count twice");
            return Err(Fault::usage(message, "each part of the history once"));
        }
    }
    match own.iter().find(|(file, _)| parts.iter().all(|part| part.file != *file)) {
        Some((file, _)) => {
            let message = format!("`--clock-error {}=…` names no file of this run", file.display());
            Err(Fault::usage(message, ""))
        }
        None => Ok(parts),
    }
}

/// Do the parts measure time, and begin, alike? What cannot be opened is told later.
fn alike(args: &CheckArgs, parts: &[Part]) -> Result<(), Fault> {
    let initial = args.initial.as_deref();
    let options = check::read_options(args.partition.as_deref(), input::format(args.format.as_deref())?);
    let several = parts.len() > 1 || args.cluster.hosts.is_some();
    let mut begun: Option<(Value, &Part)> = None;
    for part in parts {
        let from = input::input(&part.file);
        let spec = input::spec(&part.spec, initial)?;
        let Some(reader) =
            (from != Input::Stdin).then(|| formats::open(&from, &spec, &options).ok()).flatten()
        else {
            continue;
        };
        let shown = part.file.display();
        if several && reader.format().is_events() && !args.cluster.shared_clock {
            let message = format!(
                "{shown} is of the format {}, whose only clock is the order of its own lines: it says nothing of what happened before what in other files",
                reader.format().name()
            );
            let help =
                "files with stamps; or --shared-clock if the lines of all files were numbered by one clock";
            return Err(Fault::usage(message, help));
        }
        if spec.kind != Kind::Kv || initial.is_some() {
            continue;
        }
        let begins = reader.implied_initial().unwrap_or_default();
        match &begun {
            Some((other, before)) if *other != begins => {
                let message = format!(
                    "a missing key reads {other} in {} and {begins} in {shown}, and one store has one answer",
                    before.file.display()
                );
                return Err(Fault::usage(message, "--initial VALUE, for all files"));
            }
            _ => begun = Some((begins, part)),
        }
    }
    Ok(())
}

/// What the names of specifications mean here: built-in ones, the program's own, and files.
pub fn resolve() -> Resolve {
    Arc::new(|name| {
        input::spec(name, None).map_err(|fault| match fault {
            Fault::Input(diagnostic) => diagnostic.message,
            other => other.to_string(),
        })
    })
}

fn feeds(args: &CheckArgs, parts: Vec<Part>, started: Instant) -> Result<Feeds, Fault> {
    let format = input::format(args.format.as_deref())?;
    let mut options = check::read_options(args.partition.as_deref(), format);
    options.stamped_by_line = args.cluster.shared_clock;
    let limits = Budget {
        deadline: args.time_limit.map(|limit| started + limit),
        memory_bytes: args.memory_limit,
        ..Budget::unlimited()
    };
    options.guard = limits.guard();
    let initial = args.initial.clone();
    let host = args.cluster.host;
    let workers = args.cluster.workers.unwrap_or(1).max(1);
    let keep_going = args.cluster.keep_going;
    Ok(Arc::new(move |worker| {
        let mine = parts.iter().enumerate().filter(|(part, _)| part % workers == worker);
        let opened = mine.map(|(_, part)| {
            let found = open(part, initial.as_deref(), &options, host);
            found.or_else(|diagnostic| match keep_going {
                // Lost from the beginning; the others go on.
                true => Ok(Unreadable::source(&diagnostic.in_file(part.file.display().to_string()))),
                false => Err(diagnostic),
            })
        });
        opened.collect()
    }))
}

fn open(
    part: &Part,
    initial: Option<&str>,
    options: &ReadOptions,
    host: Option<usize>,
) -> Result<Named, Diagnostic> {
    let plain = |fault: Fault| match fault {
        Fault::Input(diagnostic) => diagnostic,
        other => Diagnostic::new("", other.to_string(), ""),
    };
    let mut spec = input::spec(&part.spec, initial).map_err(plain)?;
    let from = input::input(&part.file);
    if from == Input::Stdin {
        return Err(Diagnostic::new(
            "",
            "standard input cannot be a part of a history: it is read twice",
            "a file",
        ));
    }
    let mut start = initial.is_some().then(|| spec.initial.clone());
    if let (None, Some(implied), Kind::Kv) =
        (initial, formats::open(&from, &spec, options)?.implied_initial(), spec.kind)
    {
        spec = spec.with_initial(implied.clone());
        start = Some(implied);
    }
    let feed = FileFeed::open(&from, &spec, options).map_err(|found| match found.file.is_empty() {
        true => formats::with_line(found, &from, &spec, options).in_file(part.file.display().to_string()),
        false => found,
    })?;
    let host = host.map(|host| format!("host {host}, ")).unwrap_or_default();
    Ok(Named {
        about: About {
            name: format!("{host}{}", part.file.display()),
            spec: part.spec.clone(),
            initial: start.map(Wire),
            epsilon: part.epsilon,
        },
        feed: Box::new(feed),
    })
}

/// Prints what came out.
fn show(args: &CheckArgs, outcome: &Outcome) -> Result<Exit, Fault> {
    show_as(&args.spec, args.initial.as_deref(), args.json, outcome)
}

/// Prints what came out of a run of objects of `spec`.
pub fn show_as(
    spec_name: &str,
    initial: Option<&str>,
    as_json: bool,
    outcome: &Outcome,
) -> Result<Exit, Fault> {
    let (answer, symbols) = outcome.answer();
    // One object is violated or unknown, and it has its own; all that are explained have all there are.
    let report = &outcome.report;
    let of_one = report.violated.first().or(report.unknown.first()).map(|found| found.spec.as_str());
    let spec =
        input::spec(of_one.or(report.specs.first().map(String::as_str)).unwrap_or(spec_name), initial)?;
    let all = report.specs.join(", ");
    let spec_name = match of_one {
        Some(spec_name) => spec_name,
        None if all.is_empty() => spec_name,
        None => &all,
    };
    let shown = Shown {
        file: None,
        spec: &spec,
        spec_name,
        symbols: &symbols,
        answer: &answer,
        again: String::new(),
    };
    let mut out = std::io::stdout().lock();
    let text = if as_json {
        json_with_parts(&json::render(&shown), outcome) + "\n"
    } else {
        text::render(&shown, check::style(out.is_terminal())) + &notes(outcome)
    };
    // A closed pipe is the reader's choice; the exit code still tells.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(answer.verdict.kind().into())
}

/// What there is to say besides.
fn notes(outcome: &Outcome) -> String {
    let report = &outcome.report;
    let mut text = String::new();
    if let Some(What::Violated(example)) = report.violated.first().map(|found| &found.what) {
        let sources = example.sources();
        if !sources.is_empty() {
            text += &format!("  these operations came from {}\n", sources.join("; "));
        }
    }
    if report.objects > 1 && report.violations + report.unknowns > 0 {
        text += &format!(
            "  of {} objects {} are explained, {} violated, {} unknown\n",
            report.objects, report.explained, report.violations, report.unknowns
        );
    }
    if let Some((key, share)) = outcome.hot() {
        text += &format!("  object {key} has {:.0} % of all operations\n", 100.0 * share);
    }
    for trouble in &report.troubles {
        text += &format!("  {trouble}\n");
    }
    text
}

fn json_with_parts(rendered: &str, outcome: &Outcome) -> String {
    let Ok(mut object) = serde_json::from_str::<serde_json::Value>(rendered) else {
        return rendered.to_owned();
    };
    let report = &outcome.report;
    let named = |found: &linpoint_cluster::report::Found| serde_json::Value::String(found.key.0.to_string());
    object["explained_objects"] = report.explained.into();
    object["violated_objects"] = report.violations.into();
    object["unknown_objects"] = report.unknowns.into();
    object["violated"] = report.violated.iter().map(named).collect();
    object["unknown"] = report.unknown.iter().map(named).collect();
    object["troubles"] = report.troubles.clone().into();
    object["read"] = report.read.into();
    object["resumed"] = report.resumed.into();
    if let Some(What::Violated(example)) = report.violated.first().map(|found| &found.what) {
        object["sources"] = example.sources().into();
    }
    if let Some((key, share)) = outcome.hot() {
        object["hot"] = serde_json::json!({"object": key.to_string(), "share": share});
    }
    object.to_string()
}

//! The loom tests of published crates, under loom and under the explorer: who passes, and how long it takes.
//!
//! Each crate is taken from the registry by name, and unpacked into `target/suites`. It is built twice as it is, once with
//! loom and once with the patch that puts linpoint-loom in its place, and each of its tests is run by itself on both sides,
//! within a time limit. What came of it is kept in `target/suites/results`, and all of that is the table `docs/suites.md`: so
//! crates can be run one by one. A test that makes no model is no model, and is not counted.
//!
//! The run fails if a model passes under loom and not under the explorer.
//!
//! With `--mutants N` small mistakes are made in the crate's own sources, N of them one at a time, and counted is who finds
//! them. That run fails if loom finds one that the explorer does not, other than an ordering that is too weak.

mod crates;
mod execute;
mod kill;
mod mutants;
mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_linpoint::patch::Allocator;
use crates::Crate;

/// The crates that are run where none is named.
const LIST: &[&str] = &[
    "parking",
    "concurrent-queue",
    "event-listener",
    "oneshot",
    "arcstr",
    "sharded-slab",
    "diatomic-waker",
    "st3",
    "waitfree-sync",
    "crossbeam-epoch",
    "bytes",
    "async-lock",
    "thingbuf",
    "maitake-sync",
    "state",
    "scc",
    "moka",
    "left-right",
    "multishot",
    "mcslock",
    "clhlock",
    "async-event",
    "tachyonix",
    "boxcar",
    "cordyceps",
    "ecow",
    "hipstr",
    "lean_string",
    "haphazard",
    "atomic_once_cell",
    "swap-buffer-queue",
    "swmr-cell",
    "synctools",
    "rtic-sync",
    "dumpster",
    "saa",
    "sdd",
    "asynchronix",
    "nexosim",
    "tokio-util",
    "tokio",
];

/// How the crates are run.
#[derive(Clone, Debug)]
struct Options {
    /// For a test, on each side.
    test: Duration,
    /// For the tests of a crate together, on each side.
    suite: Duration,
    /// Only under the explorer: for who mends it.
    ours_only: bool,
    /// How many mutants are tried, in place of the suite itself.
    mutants: Option<usize>,
    crates: Vec<String>,
}

/// Runs the crates that are named, or all of the list.
pub fn run(words: &[&str]) -> Result<(), String> {
    let options = read(words)?;
    let folder = folder();
    if let Some(count) = options.mutants {
        return kill_mutants(&folder, &options, count);
    }
    let mut worse = Vec::new();
    for name in &options.crates {
        eprintln!("{name}");
        let suite = match Crate::fetch(&folder, name) {
            Ok(one) => execute::run(&folder, &one, &options),
            Err(why) => table::Suite::not_built(name, "?", &why),
        };
        eprintln!("{suite}");
        worse.extend(suite.worse().map(|model| format!("{name}: {model}")));
        // What was run on both sides says more.
        if !options.ours_only || !folder.join("results").join(&suite.name).exists() {
            suite.keep(&folder)?;
        }
    }
    table::write(&folder)?;
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!("models that pass under loom and not under the explorer:\n{}", worse.join("\n")))
}

/// Tries mutants of the crates.
fn kill_mutants(folder: &Path, options: &Options, count: usize) -> Result<(), String> {
    let mut missed = Vec::new();
    for name in &options.crates {
        eprintln!("{name}");
        // A lost count shows in memory that is used after its free, and loom's side may crash there.
        let one = Crate { allocator: Allocator::Explorers, ..Crate::fetch(folder, name)? };
        let trials = kill::run(folder, &one, count, options.test)?;
        eprintln!("{}", trials.row());
        missed.extend(trials.missed().map(|trial| format!("{name}: {trial}")));
        trials.keep(folder)?;
    }
    table::write(folder)?;
    if missed.is_empty() {
        return Ok(());
    }
    Err(format!("mutants that loom finds and the explorer does not:\n{}", missed.join("\n")))
}

fn folder() -> PathBuf {
    crate::root().join("target/suites")
}

fn read(words: &[&str]) -> Result<Options, String> {
    let minute = Duration::from_secs(60);
    let mut options =
        Options { test: minute, suite: 10 * minute, ours_only: false, mutants: None, crates: Vec::new() };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let number = words.next().and_then(|number| number.parse::<u32>().ok());
            number.filter(|&number| number > 0).ok_or(format!("{word} needs a whole number, at least 1"))
        };
        match word {
            "--seconds" => options.test = Duration::from_secs(number()?.into()),
            "--minutes" => options.suite = number()? * minute,
            "--ours" => options.ours_only = true,
            "--mutants" => options.mutants = Some(number()? as usize),
            other if other.starts_with('-') => return Err(format!("suites has no option {other}")),
            name => options.crates.push(name.to_owned()),
        }
    }
    if options.crates.is_empty() {
        options.crates = LIST.iter().map(|&name| name.to_owned()).collect();
    }
    Ok(options)
}

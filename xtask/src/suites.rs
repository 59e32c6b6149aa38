//! The loom tests of published crates, under loom and under the explorer: who passes, and how long it takes.
//!
//! Each crate is taken from the registry by name, and unpacked into `target/suites`. It is built twice as it is, once with
//! loom and once with the patch that puts linpoint-loom in its place, and each of its tests is run by itself on both sides,
//! within a time limit. What came of it is kept in `target/suites/results`, and all of that is the table `docs/suites.md`: so
//! crates can be run one by one. A test that makes no model is no model, and is not counted.
//!
//! The run fails if a model passes under loom and not under the explorer.

mod crates;
mod execute;
mod table;

use std::path::PathBuf;
use std::time::Duration;

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
    crates: Vec<String>,
}

/// Runs the crates that are named, or all of the list.
pub fn run(words: &[&str]) -> Result<(), String> {
    let options = read(words)?;
    let folder = folder();
    let mut worse = Vec::new();
    for name in &options.crates {
        eprintln!("{name}");
        let suite = match Crate::fetch(&folder, name) {
            Ok(one) => execute::run(&folder, &one, &options),
            Err(why) => table::Suite::not_built(name, "?", &why),
        };
        eprintln!("{suite}");
        worse.extend(suite.worse().map(|model| format!("{name}: {model}")));
        suite.keep(&folder)?;
    }
    if options.ours_only {
        return Ok(());
    }
    table::write(&folder)?;
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!("models that pass under loom and not under the explorer:\n{}", worse.join("\n")))
}

fn folder() -> PathBuf {
    crate::root().join("target/suites")
}

fn read(words: &[&str]) -> Result<Options, String> {
    let minute = Duration::from_secs(60);
    let mut options = Options { test: minute, suite: 10 * minute, ours_only: false, crates: Vec::new() };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut number = || {
            let number = words.next().and_then(|number| number.parse().ok());
            number.map(Duration::from_secs).ok_or(format!("{word} needs a whole number"))
        };
        match word {
            "--seconds" => options.test = number()?,
            "--minutes" => options.suite = number()? * 60,
            "--ours" => options.ours_only = true,
            other if other.starts_with('-') => return Err(format!("suites has no option {other}")),
            name => options.crates.push(name.to_owned()),
        }
    }
    if options.crates.is_empty() {
        options.crates = LIST.iter().map(|&name| name.to_owned()).collect();
    }
    Ok(options)
}

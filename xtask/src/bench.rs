//! Speed and memory of the release binary on generated histories, beside other checkers where they can be had.
//!
//! Every figure is of a whole process, reading included, on one core. Rates are per second of that process's CPU time, which other
//! work on the machine disturbs least; wall time is shown beside it. Files are generated into `target/bench` and kept for the next
//! run. Other checkers are not part of this repository: `--peers DIR` names a folder that holds what was built of them
//! (`fastlin/fastlin`, `porcupine-driver/porcupine-driver`), see `docs/benchmarks.md`.

pub mod bars;
pub mod charts;
pub(crate) mod child;
mod file;
pub mod history;
mod peers;
mod provers;
pub mod shape;

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::Value as Json;

use child::Usage;
use file::Case;

/// What was asked for.
#[derive(Debug, Default)]
pub struct Options {
    /// Fewer and shorter histories.
    pub quick: bool,
    /// A folder with other checkers.
    pub peers: Option<PathBuf>,
}

impl Options {
    /// Reads the words after the suite's name.
    pub fn read(words: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--quick" => options.quick = true,
                "--peers" => options.peers = Some(PathBuf::from(words.next()?)),
                _ => return None,
            }
        }
        Some(options)
    }

    /// The same as words, for the head of a table.
    fn show(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let peers = if self.peers.is_some() { " --peers DIR" } else { "" };
        format!("{quick}{peers}")
    }
}

/// Builds and runs a benchmark that has its peers as dependencies and so is a workspace of its own.
pub fn workspace(suite: &str) -> Result<(), String> {
    let manifest = crate::root().join("benches").join(suite).join("Cargo.toml");
    // What it prints is shown, and charts are made of the figures in it.
    let output = Command::new("cargo")
        .args(["run", "--release", "--manifest-path"])
        .arg(manifest)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    if !output.status.success() {
        return Err("the benchmark failed".to_owned());
    }
    if suite == "explore" {
        return executions_to_bug();
    }
    if suite == "monitor" {
        let title = "What logging an operation costs (call, commit, return)";
        charts::bars(
            "monitor-cost.svg",
            title,
            "nanoseconds",
            &["one thread", "two threads"],
            &charts::figures(&text, "ns"),
        );
    }
    Ok(())
}

/// How many executions the explorer of Rust code makes until it finds what is wrong with each broken subject, as a chart.
fn executions_to_bug() -> Result<(), String> {
    let mut verdicts = Command::new("cargo");
    verdicts.args(["run", "--release", "--quiet", "--package", "linpoint-subjects", "--example", "verdicts"]);
    verdicts.args(["--", "broken"]).current_dir(crate::root()).stderr(std::process::Stdio::inherit());
    let output = verdicts.output().map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err("a broken subject was not found to be broken".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let title = "Executions until the error of a subject is found";
    charts::bars(
        "executions-to-bug.svg",
        title,
        "executions",
        &["default settings"],
        &charts::figures(&text, "executions"),
    );
    Ok(())
}

/// One run of `linpoint check`.
#[derive(Clone, Debug)]
struct Run {
    usage: Usage,
    answer: Json,
}

impl Run {
    fn verdict(&self) -> &str {
        self.answer["verdict"].as_str().unwrap_or("no answer")
    }

    fn engine(&self) -> &str {
        self.answer["engine"].as_str().unwrap_or("")
    }
}

/// Seconds after which nothing is measured once more: long runs vary least.
const REPEAT_S: f64 = 1.0;

/// Builds the release binary and says where it is.
fn binary() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--profile", "dist", "--quiet", "--package", "linpoint-cli"])
        .current_dir(crate::root());
    match build.status() {
        Ok(status) if status.success() => Ok(target().join("dist/linpoint")),
        Ok(_) => Err("the binary does not build".into()),
        Err(error) => Err(format!("cannot run cargo: {error}")),
    }
}

pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::root().join("target"), PathBuf::from)
}

/// Checks the history of `case`, `times` times or for [`REPEAT_S`]; the run with the least CPU time counts.
fn check(binary: &PathBuf, case: &Case, times: u32, limit_s: u32) -> Result<Run, String> {
    let path = case.write()?;
    let mut best: Option<Run> = None;
    let started = Instant::now();
    for _ in 0..times {
        if started.elapsed().as_secs_f64() > REPEAT_S {
            break;
        }
        let mut command = child::pinned(binary);
        command.arg("check").arg(&path).args(["--spec", &case.spec_name(), "--json"]);
        command.args(["--time-limit", &format!("{limit_s}s")]);
        if let Some(engine) = case.engine {
            command.args(["--engine", engine]);
        }
        if let Some(limit) = case.memory_mib {
            command.args(["--memory-limit", &format!("{limit}MiB")]);
        }
        let (usage, text) = child::run(command, limit_s + 30)?;
        let answer = serde_json::from_str(text.trim()).unwrap_or(Json::Null);
        if best.as_ref().is_none_or(|best| usage.cpu_s < best.usage.cpu_s) {
            best = Some(Run { usage, answer });
        }
    }
    best.ok_or_else(|| "nothing was run".into())
}

/// Today, from the system's clock, as `2025-03-31` (days since 1970 to a date: Howard Hinnant's `civil_from_days`).
fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let days = (since.as_secs() / 86_400) as i64 + 719_468;
    let era_day = days % 146_097;
    let era_year = (era_day - era_day / 1460 + era_day / 36_524 - era_day / 146_096) / 365;
    let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    let shifted = (5 * year_day + 2) / 153;
    let (day, month) = (year_day - (153 * shifted + 2) / 5 + 1, (shifted + 2) % 12 + 1);
    let year = era_year + days / 146_097 * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

/// `1000000` as `1M`.
fn short(n: u64) -> String {
    match n {
        1_000_000.. if n.is_multiple_of(1_000_000) => format!("{}M", n / 1_000_000),
        1000.. if n.is_multiple_of(1000) => format!("{}k", n / 1000),
        _ => n.to_string(),
    }
}

/// Operations per second, in a form that fits in a table.
fn rate(operations: u64, seconds: f64) -> String {
    let rate = operations as f64 / seconds.max(1e-9);
    match rate {
        1e6.. => format!("{:.1}M", rate / 1e6),
        1e4.. => format!("{:.0}k", rate / 1e3),
        _ => format!("{rate:.0}"),
    }
}

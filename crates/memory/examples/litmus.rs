//! `litmus FILE…`: counts the execution graphs of litmus tests, and compares with what the files say.
//!
//! `--enumerate` compares the graphs with those of the plain enumerator, too, where there are few enough;
//! `--quiet` shows only tests that differ. Exit code 0: all as expected; 1: something differs; 2: bad use or
//! bad input.

use std::io::Write;
use std::ops::ControlFlow;
use std::process::ExitCode;

use linpoint_memory::litmus::{self, Expected, Litmus};
use linpoint_memory::{Coverage, End, Model, Options, Report, explore, oracle};

const USAGE: &str = "usage: cargo xtask litmus [--quiet] [--enumerate] FILE…";

fn main() -> ExitCode {
    let mut files = Vec::new();
    let (mut quiet, mut enumerate) = (false, false);
    for word in std::env::args_os().skip(1) {
        match word.to_str() {
            Some("--quiet") => quiet = true,
            Some("--enumerate") => enumerate = true,
            Some(option) if option.starts_with("--") => {
                eprintln!("{option} is not an option\n{USAGE}");
                return ExitCode::from(2);
            }
            _ => files.push(std::path::PathBuf::from(word)),
        }
    }
    if files.is_empty() {
        eprintln!("no file is named\n{USAGE}");
        return ExitCode::from(2);
    }
    let mut tests = Vec::new();
    let mut bad = false;
    for file in &files {
        match read(file) {
            Ok(found) => tests.extend(found),
            Err(lines) => {
                bad = true;
                lines.iter().for_each(|line| eprintln!("{line}"));
            }
        }
    }
    if bad {
        return ExitCode::from(2);
    }
    match run(&tests, quiet, enumerate) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot write: {error}");
            ExitCode::from(2)
        }
    }
}

/// The tests of a file, or what is wrong with it.
fn read(file: &std::path::Path) -> Result<Vec<Litmus>, Vec<String>> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| vec![format!("{name}: cannot be read: {error}")])?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        vec![format!("{name}:{line}:1: the file is not text; expected: UTF-8")]
    })?;
    litmus::read(&text).map_err(|wrong| wrong.iter().map(|one| format!("{name}:{one}")).collect())
}

/// Decides all tests. How many differ?
fn run(tests: &[Litmus], quiet: bool, enumerate: bool) -> std::io::Result<usize> {
    let mut out = std::io::stdout().lock();
    let width = tests.iter().map(|test| test.name.chars().count()).max().unwrap_or(0);
    let (mut counts, mut different, mut enumerated) = (0, 0, 0);
    for test in tests {
        let mut line = format!("{:width$}", test.name);
        let mut is_same = true;
        let models = match &test.expected {
            Expected::Graphs { .. } => &[Model::Rc11, Model::Sc][..],
            Expected::Outcome { .. } => &[Model::Rc11],
        };
        for &model in models {
            let (same, word) = decide(test, model);
            counts += 1;
            is_same &= same;
            line += &word;
            if enumerate {
                let (same, word) = compare(&test.program, model);
                is_same &= same;
                enumerated += usize::from(same && !word.is_empty());
                line += word;
            }
        }
        different += usize::from(!is_same);
        if !is_same || !quiet {
            writeln!(out, "{line} | {}", if is_same { "ok" } else { "DIFFERENT" })?;
        }
    }
    let also = if enumerate { format!(", {enumerated} enumerated") } else { String::new() };
    writeln!(out, "{} tests, {counts} results{also}: {different} different", tests.len())?;
    Ok(different)
}

/// Is the test as expected under this model, and what is told of it?
fn decide(test: &Litmus, model: Model) -> (bool, String) {
    let mut met = false;
    let mut options = Options::of(model);
    // A test has no loops: a thread is as long as its text.
    options.limits.events_per_thread = usize::MAX;
    let report = explore(&mut test.program.clone(), &options, |graph, end| {
        if let (Expected::Outcome { outcome, .. }, End::Complete) = (&test.expected, end) {
            met = met || outcome.holds(&test.program, graph);
        }
        ControlFlow::Continue(())
    });
    let Report { complete, blocked, .. } = report;
    let is_whole = report.coverage() == Coverage::Everything;
    let whole = if is_whole { "" } else { ", NOT ALL OF THEM" };
    let found = format!(" | {}: {complete} graphs, {blocked} blocked{whole}", model.name());
    let word = |allowed| if allowed { "allowed" } else { "forbidden" };
    match &test.expected {
        Expected::Graphs { rc11, sc } => {
            let expected = if model == Model::Sc { *sc } else { *rc11 };
            (is_whole && complete == expected, format!("{found}, expected {expected}"))
        }
        Expected::Outcome { allowed, .. } => {
            let line = format!("{found}, outcome {}, expected {}", word(met), word(*allowed));
            (is_whole && met == *allowed, line)
        }
    }
}

/// Are the graphs those of the enumerator? True with no word if there are too many to enumerate.
fn compare(program: &linpoint_memory::machine::Machine, model: Model) -> (bool, &'static str) {
    match oracle::agrees(&mut program.clone(), &Options::of(model)) {
        Some(Ok(_)) => (true, " = enumerated"),
        Some(Err(_)) => (false, " ENUMERATOR DIFFERS"),
        None => (true, ""),
    }
}

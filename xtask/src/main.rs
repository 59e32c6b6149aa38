//! What the repository does to itself.
//!
//! ```text
//! cargo xtask ci [--without TOOL]                    everything a change must pass; without solver, browser or valgrind where that cannot be had
//! cargo xtask solvers                                z3 and cvc5, which proofs need, into a folder of the project's own
//! cargo xtask browser                                Chromium, which tests of pages need, where it can be installed
//! cargo xtask valgrind [memcheck|helgrind]           the queues and sets under Valgrind: no report, and those with a data race reported
//! cargo xtask attack [ENGINE] [--minutes N] [--debug] random programs, histories and logs against every engine, judged a second way
//! cargo xtask litmus FILE…                           execution graphs of litmus tests under RC11 and SC, compared with what the files say
//! cargo xtask suites [OPTIONS] [CRATE…]              loom tests of published crates, under loom and under the explorer: docs/suites.md
//! cargo xtask gallery                                pictures of six pages, light and dark, into docs/gallery
//! cargo xtask bench history [--quick] [--peers DIR]  speed and memory of `linpoint check`, as a Markdown table
//! cargo xtask bench bars [--peers DIR]               the figures the history checker is held to, pass or fail
//! cargo xtask bench charts [--quick]                 how time grows with operations, processes and both, as SVG in docs/charts
//! cargo xtask evaluate [--quick] [--peers DIR]       Dragicevic's evaluation on recorded histories: CSV and charts in docs/evaluation
//! cargo xtask evaluate --draw                        its charts again, from the CSV
//! cargo xtask bench explore                          executions per second of the explorer, beside loom and shuttle
//! cargo xtask bench model                            states per second of the explorer of models, beside stateright
//! cargo xtask bench shape [--peers DIR]              proofs of linked structures, beside Amit's table 5.1 and other provers
//! cargo xtask bench monitor                          what logging costs and how fast it is checked, beside other ways to log
//! ```

mod attack;
mod bench;
mod browser;
mod ci;
mod evaluate;
mod gallery;
mod litmus;
mod packages;
mod plot;
#[path = "../../crates/cli/src/solvers.rs"]
mod solvers;
mod suites;
mod valgrind;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask ci [--without solver|browser|valgrind] | solvers | browser | valgrind [memcheck|helgrind] | attack [ENGINE] [--minutes N] [--debug] | litmus FILE… | suites [--seconds N] [--minutes N] [--ours] [--mutants N] [CRATE[@VERSION]…] | gallery | bench history [--quick] [--peers DIR] | bench bars [--peers DIR] | bench charts [--quick] | evaluate [--quick] [--peers DIR] | evaluate --draw | bench explore | bench model | bench shape [--peers DIR] | bench monitor";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["ci"] => ci::run(&[]),
        ["ci", options @ ..] => match without(options) {
            Some(tools) => ci::run(&tools),
            None => Err(USAGE.into()),
        },
        ["solvers"] => set_up_solvers(),
        ["browser"] => browser::run(),
        ["valgrind"] => valgrind::run(None),
        ["valgrind", tool @ ("memcheck" | "helgrind")] => valgrind::run(Some(tool)),
        ["attack", options @ ..] => attack::run(options),
        ["litmus", words @ ..] => litmus::run(words),
        ["suites", options @ ..] => suites::run(options),
        ["gallery"] => gallery::run(),
        ["bench", suite @ ("history" | "bars" | "charts" | "shape"), options @ ..] => {
            match bench::Options::read(options) {
                Some(options) if *suite == "history" => bench::history::run(&options),
                Some(options) if *suite == "charts" => bench::charts::run(&options),
                Some(options) if *suite == "shape" => bench::shape::run(&options),
                Some(options) => bench::bars::run(&options),
                None => Err(USAGE.into()),
            }
        }
        ["evaluate", "--draw"] => evaluate::draw_again(),
        ["evaluate", options @ ..] => match bench::Options::read(options) {
            Some(options) => evaluate::run(&options),
            None => Err(USAGE.into()),
        },
        ["bench", suite @ ("explore" | "model" | "monitor")] => bench::workspace(suite),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Sets up the solvers as `linpoint solvers` does, before the command is built.
fn set_up_solvers() -> Result<(), String> {
    let found = solvers::set_up();
    found.iter().for_each(|(name, found)| eprintln!("   {}", solvers::line(name, found)));
    match found.iter().any(|(name, found)| *name == "z3" && found.is_err()) {
        true => Err("z3 is missing: proofs cannot be decided".into()),
        false => Ok(()),
    }
}

/// Reads `--without TOOL`, as often as it is there.
fn without(options: &[&str]) -> Option<Vec<ci::Tool>> {
    options
        .chunks(2)
        .map(|pair| if let ["--without", name] = pair { ci::Tool::named(name) } else { None })
        .collect()
}

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

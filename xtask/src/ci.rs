//! Everything a change must pass, in the order in which mistakes are cheapest to find.
//!
//! Needs a Rust toolchain with rustfmt and clippy and nothing else; runs tests with `cargo nextest` where that is installed. The solvers that tests of proofs need, and the
//! browser that tests of pages need, are set up first; where they cannot be had, those tests say by name that they were skipped. So does the run of the queues and sets under Valgrind.

mod dependencies;

use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs all steps; stops at the first that fails.
pub fn run() -> Result<(), String> {
    step("format", cargo(&["fmt", "--all", "--check"]))?;
    step("clippy", cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let parquet = ["clippy", "--package", "linpoint-history", "--features", "parquet", "--all-targets"];
    step("clippy, with Parquet", cargo(&[&parquet[..], &["--", "-D", "warnings"]].concat()))?;
    eprintln!("== solvers");
    crate::solvers::set_up();
    eprintln!("== browser");
    crate::browser::set_up();
    if is_installed("nextest") {
        step("tests", cargo(&["nextest", "run", "--workspace", "--no-tests=pass"]))?;
    } else {
        step("tests", cargo(&["test", "--workspace", "--all-targets"]))?;
    }
    eprintln!("== valgrind");
    crate::valgrind::run_where_it_can_be_had()?;
    // A workspace of its own, so that nothing else depends on those crates.
    step("adapters", cargo(&["test", "--quiet", "--manifest-path", "adapters/Cargo.toml"]))?;
    step("doctests", cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    // Private items are documented too, so links to them resolve.
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    step("documentation", doc)?;
    let graph = dependencies::Graph::read()?;
    check("licences", graph.unwelcome_licences())?;
    check("unused dependencies", graph.unused())
}

fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(crate::root());
    command
}

fn step(name: &str, mut command: Command) -> Result<(), String> {
    eprintln!("== {name}");
    let started = Instant::now();
    let status = command.status().map_err(|error| format!("{name}: cannot run {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{name} failed: {command:?}"));
    }
    eprintln!("   {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn check(name: &str, problems: Vec<String>) -> Result<(), String> {
    eprintln!("== {name}");
    if problems.is_empty() { Ok(()) } else { Err(format!("{name}:\n  {}", problems.join("\n  "))) }
}

/// Is there a `cargo <name>`?
fn is_installed(name: &str) -> bool {
    let quiet = cargo(&[name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

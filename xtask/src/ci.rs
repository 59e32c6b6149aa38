//! Everything a change must pass, in the order in which mistakes are cheapest to find.
//!
//! Needs a Rust toolchain with rustfmt and clippy and nothing else; runs tests with `cargo nextest` where that is installed. The solvers that tests of proofs need, the
//! browser that tests of pages need, and Valgrind are set up first. A test without its tool fails: where a tool cannot be had, `--without` says so, the tests that need it are
//! left out by name, and the last line says which. A green run never means less than it says.

mod dependencies;

use std::process::{Command, Stdio};
use std::time::Instant;

/// A tool that some tests need and that not every machine can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// z3 and cvc5, for proofs by local obligations.
    Solver,
    /// Chromium, for pages.
    Browser,
    /// Valgrind, for the code that is `unsafe`.
    Valgrind,
}

impl Tool {
    const ALL: [Tool; 3] = [Tool::Solver, Tool::Browser, Tool::Valgrind];

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Tool> {
        Tool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Tool::Solver => "solver",
            Tool::Browser => "browser",
            Tool::Valgrind => "valgrind",
        }
    }

    /// Sets it up where it is missing. Is it there in the end?
    fn set_up(self) -> bool {
        eprintln!("== {}", self.name());
        match self {
            Tool::Solver => {
                let found = crate::solvers::set_up();
                found.iter().for_each(|(name, found)| eprintln!("   {}", crate::solvers::line(name, found)));
                found.iter().all(|(_, found)| found.is_ok())
            }
            Tool::Browser => crate::browser::set_up(),
            Tool::Valgrind => crate::valgrind::set_up(),
        }
    }

    /// What the names of the tests that need it have in common.
    fn tests(self) -> &'static [&'static str] {
        match self {
            Tool::Solver => &["with_solver::", "prove::", "obligations"],
            Tool::Browser => &["browser::"],
            Tool::Valgrind => &[],
        }
    }
}

/// Runs all steps; stops at the first that fails.
pub fn run(without: &[Tool]) -> Result<(), String> {
    step("format", cargo(&["fmt", "--all", "--check"]))?;
    let missing: Vec<Tool> =
        Tool::ALL.into_iter().filter(|tool| !without.contains(tool) && !tool.set_up()).collect();
    if let Some(tool) = missing.first() {
        let name = tool.name();
        return Err(format!(
            "{name}: cannot be set up here; `cargo xtask ci --without {name}` leaves out what needs it"
        ));
    }
    step("clippy", cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let parquet = ["clippy", "--package", "linpoint-history", "--features", "parquet", "--all-targets"];
    step("clippy, with Parquet", cargo(&[&parquet[..], &["--", "-D", "warnings"]].concat()))?;
    step("tests", tests(without))?;
    if !without.contains(&Tool::Valgrind) {
        eprintln!("== valgrind");
        crate::valgrind::run(None)?;
    }
    // A workspace of its own, so that nothing else depends on those crates.
    step("adapters", cargo(&["test", "--quiet", "--manifest-path", "adapters/Cargo.toml"]))?;
    step("doctests", cargo(&["test", "--workspace", "--doc", "--quiet"]))?;
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    // Private items are documented too, so links to them resolve.
    doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links");
    step("documentation", doc)?;
    let graph = dependencies::Graph::read()?;
    check("licences", graph.unwelcome_licences())?;
    check("unused dependencies", graph.unused())?;
    if !without.is_empty() {
        let names: Vec<&str> = without.iter().map(|tool| tool.name()).collect();
        eprintln!("== passed, but for what needs {}: that was not run", names.join(", "));
    }
    Ok(())
}

/// All tests of the workspace but those of the tools that are not there.
fn tests(without: &[Tool]) -> Command {
    let names = || without.iter().flat_map(|tool| tool.tests());
    if is_installed("nextest") {
        let mut command = cargo(&["nextest", "run", "--workspace"]);
        let left_out: Vec<String> = names().map(|name| format!("test({name})")).collect();
        if !left_out.is_empty() {
            command.args(["-E", &format!("not ({})", left_out.join(" or "))]);
        }
        command
    } else {
        let mut command = cargo(&["test", "--workspace", "--all-targets", "--"]);
        names().for_each(|name| _ = command.args(["--skip", name]));
        command
    }
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

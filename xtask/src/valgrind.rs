//! The queues and sets, and the monitor's log, under Valgrind: Memcheck (no access to freed memory, nothing lost) and Helgrind (no data race).
//!
//! Every correct object is used by four threads for a few thousand operations (`subjects/examples/exercise.rs`), and any report fails. So that silence means something, Helgrind is also run on objects with
//! a data race, and it fails if one of those is *not* reported. The shims tell Helgrind what atomics and locks order (`crates/sched/src/helgrind.rs`); what std and crossbeam-epoch do inside is in `subjects/helgrind.supp`, with reasons.
//!
//! The log is its own sources with the shims under them, on real threads (`crates/monitor/tests/it/outside.rs`). It shares nothing but atomics, of which Helgrind is told not to look at the bytes; so what its silence says is that nothing else is shared.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// The exit code that Valgrind is asked for where it reported something.
const REPORTED: i32 = 9;

/// The tools.
const TOOLS: [&str; 2] = ["memcheck", "helgrind"];

/// Runs one tool, or all.
pub fn run(tool: Option<&str>) -> Result<(), String> {
    if !is_there() {
        return Err(
            "valgrind is not installed: `apt-get install valgrind`, or what your system calls it".into()
        );
    }
    let program = build()?;
    for tool in TOOLS.into_iter().filter(|one| tool.is_none_or(|tool| tool == *one)) {
        watch(tool, &program)?;
        watch_log(tool)?;
    }
    Ok(())
}

/// The log's own code.
fn watch_log(tool: &str) -> Result<(), String> {
    let started = Instant::now();
    let runner: Vec<String> = std::iter::once("valgrind".to_owned()).chain(options(tool)).collect();
    let runner = format!("target.'cfg(unix)'.runner={runner:?}");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "--package", "linpoint-monitor", "--features", "linpoint/helgrind"]);
    cargo.args(["--config", &runner, "--test", "it", "outside::", "--", "--test-threads=1", "--nocapture"]);
    let output = cargo
        .current_dir(crate::root())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {cargo:?}: {error}"))?;
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() || !out.contains("1 passed") {
        return Err(format!("{tool} on the monitor's log:\n{out}{said}"));
    }
    println!("{tool} {:<36} no report, {:.1} s", "the monitor's log", started.elapsed().as_secs_f64());
    Ok(())
}

/// Sets it up where that is allowed, and tells on standard error. Says whether it is there.
pub fn set_up() -> bool {
    if !is_there() {
        crate::packages::install(&["valgrind", "libc6-dbg"]);
    }
    let there = is_there();
    eprintln!("   valgrind: {}", if there { "installed" } else { "MISSING (apt-get cannot install it)" });
    there
}

fn is_there() -> bool {
    let mut ask = Command::new("valgrind");
    ask.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}

/// Builds what is run, with the optimisation that tests have and names of functions.
fn build() -> Result<std::path::PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--profile", "test", "--package", "linpoint-subjects"]);
    cargo.args(["--features", "helgrind", "--example", "exercise"]).current_dir(crate::root());
    let status = cargo.status().map_err(|error| format!("cannot run {cargo:?}: {error}"))?;
    if !status.success() {
        return Err(format!("failed: {cargo:?}"));
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::root().join("target"), Into::into);
    Ok(target.join("debug/examples/exercise"))
}

fn watch(tool: &str, program: &Path) -> Result<(), String> {
    let names = Command::new(program).output().map_err(|error| format!("cannot run {program:?}: {error}"))?;
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    for name in names.lines() {
        let (name, races) = name.strip_prefix('!').map_or((name, false), |name| (name, true));
        if races && (tool != "helgrind" || !cfg!(target_arch = "x86_64")) {
            continue;
        }
        let started = Instant::now();
        let output = under(tool, program, name)?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) if !races => {}
            Some(REPORTED) if races => {}
            Some(0) => return Err(format!("{tool} reports nothing on {name}, which has a data race")),
            Some(REPORTED) => return Err(format!("{tool} on {name}:\n{said}")),
            code => return Err(format!("{name} under {tool} ended with {code:?}:\n{said}")),
        }
        let result = if races { "a data race, as it should be" } else { "no report" };
        println!("{tool} {name:<36} {result}, {:.1} s", started.elapsed().as_secs_f64());
    }
    Ok(())
}

fn under(tool: &str, program: &Path, name: &str) -> Result<Output, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(options(tool)).arg(program).arg(name).stdin(Stdio::null());
    valgrind.output().map_err(|error| format!("cannot run {valgrind:?}: {error}"))
}

fn options(tool: &str) -> Vec<String> {
    // Deep stacks, since the functions that suppressions name are at their lower end.
    let mut options =
        vec![format!("--tool={tool}"), format!("--error-exitcode={REPORTED}"), "--num-callers=60".to_owned()];
    match tool {
        "helgrind" => {
            let suppressions = crate::root().join("subjects/helgrind.supp");
            options.push(format!("--suppressions={}", suppressions.display()));
        }
        _ => options.extend(["--leak-check=full", "--errors-for-leak-kinds=definite"].map(str::to_owned)),
    }
    options
}

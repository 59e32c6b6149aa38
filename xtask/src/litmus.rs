//! Litmus tests of the memory model (`crates/memory`): are there as many execution graphs as the files say?

use std::process::Command;

/// Builds the example `litmus` of `linpoint-memory`, optimised, and gives it the words that follow.
pub fn run(words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--release", "--package", "linpoint-memory", "--example", "litmus"]);
    // Files are named from where the command is given.
    command.args(["--manifest-path".into(), crate::root().join("Cargo.toml")]);
    command.arg("--").args(words);
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err("not all litmus tests are as the files say: see above".into()) }
}

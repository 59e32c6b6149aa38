//! Attacks on the engines (`attack/`), by the minute.

use std::process::Command;

/// Builds the packs, optimised unless `--debug` is among the options, and runs those that are named.
pub fn run(options: &[&str]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--package", "linpoint-attack"]).current_dir(crate::root());
    if !options.contains(&"--debug") {
        command.arg("--release");
    }
    command.arg("--").args(options.iter().filter(|option| **option != "--debug"));
    let status = command.status().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err("the engines and their judges do not agree: see above".into()) }
}

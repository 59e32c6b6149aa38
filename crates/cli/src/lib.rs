//! The command `linpoint`: arguments, files, progress, exit codes. The only crate that prints.
//!
//! Exit codes are a contract: 0 holds, 1 violated, 2 bad use or bad input, 3 unknown, 101 a bug of ours.
//!
//! A program can be the whole command and know specifications of its own by name. This one checks logs of a
//! ticket machine with `tickets check run.jsonl --spec Tickets`:
//!
//! ```no_run
//! #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
//! struct Tickets(u32);
//!
//! #[linpoint::spec]
//! impl Tickets {
//!     fn take(&mut self) -> u32 {
//!         self.0 += 1;
//!         self.0
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     let mut catalog = linpoint::history::Catalog::default();
//!     catalog.add(linpoint::history::own::<Tickets>().expect("histories can hold it")).expect("a free name");
//!     linpoint_cli::run(catalog)
//! }
//! ```

mod args;
mod check;
mod cluster;
mod collect;
mod confidence;
mod explore;
mod fault;
mod fmt;
mod generate;
mod input;
mod json;
mod own;
mod program;
mod progress;
mod prove;
mod refine;
mod solvers;
mod tour;
mod view;
mod watch;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use linpoint_history::Kind;
use linpoint_history::formats::Format;
use linpoint_history::specs::{self, Catalog};

use args::{Cli, Command};
use fault::{Exit, Fault};

/// Runs the command with the arguments of the process; specifications of `catalog` are known besides the
/// built-in ones.
pub fn run(catalog: Catalog) -> ExitCode {
    run_with(std::env::args_os(), catalog)
}

/// The same with these words for arguments, the name of the program first. The first catalog of a process
/// stays.
pub fn run_with<W: Into<OsString> + Clone>(words: impl IntoIterator<Item = W>, catalog: Catalog) -> ExitCode {
    input::know(catalog);
    let done = match Cli::parse_from(words).command {
        Command::Check(args) if cluster::is_wanted(&args) => cluster::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Refine(args) => refine::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Prove(args) => prove::run(&args),
        Command::Confidence(args) => confidence::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Collect(args) => collect::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Tour(args) => tour::run(&args),
        Command::Solvers => set_up_solvers(),
        Command::Specs => list(Kind::all().map(specs::describe).chain(input::own_specs())),
        Command::Formats => list(Format::all().map(format_line)),
    };
    let exit = done.unwrap_or_else(|fault| {
        crate::fault::say_on!("{fault}");
        fault.exit()
    });
    ExitCode::from(exit as u8)
}

/// Fetches the solvers that are missing. Proofs need z3; cvc5 is asked only with `--confirm`.
fn set_up_solvers() -> Result<Exit, Fault> {
    let found = solvers::set_up();
    list(found.iter().map(|(name, found)| solvers::line(name, found)))?;
    match found.iter().find(|(name, _)| *name == "z3") {
        Some((_, Err(why))) => {
            let help = "install it so that it is on the path, or name it with `prove --solver PROGRAM`";
            Err(Fault::usage(format!("z3 cannot be had here: {why}"), help))
        }
        _ => Ok(Exit::Holds),
    }
}

/// Prints entries; a closed pipe is not an error.
fn list(entries: impl Iterator<Item = String>) -> Result<Exit, Fault> {
    let mut out = std::io::stdout().lock();
    for entry in entries {
        if writeln!(out, "{}", entry.trim_end()).is_err() {
            break;
        }
    }
    Ok(Exit::Holds)
}

fn format_line(format: Format) -> String {
    let note = if format.is_built_in() { "" } else { " (not in this build)" };
    format!("{:<14} {}{note}", format.name(), format.describe())
}

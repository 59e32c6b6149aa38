//! `linpoint fmt`: writes programs of the algorithm language in the one layout.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use linpoint_lang::{parse, print};

use crate::fault::{Exit, Fault};
use crate::program::{read, show};

/// What `fmt` takes.
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// Programs; `-` reads standard input and writes standard output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change nothing; name the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
}

/// Formats every file; files with mistakes stay as they are, and the mistakes are shown.
pub fn run(args: &FmtArgs) -> Result<Exit, Fault> {
    let mut exit = Exit::Holds;
    for path in &args.files {
        let text = read(path)?;
        let (file, wrong) = parse(&text);
        if !wrong.is_empty() {
            show(path, &text, &wrong);
            exit = exit.and(Exit::Bad);
            continue;
        }
        let printed = print(&file, &text);
        if args.check {
            if printed != text {
                let _ = writeln!(std::io::stdout(), "{}", path.display());
                exit = exit.and(Exit::Violated);
            }
        } else if path == Path::new("-") {
            let _ = std::io::stdout().write_all(printed.as_bytes());
        } else if printed != text {
            std::fs::write(path, printed).map_err(|error| Fault::Output(path.clone(), error))?;
        }
    }
    Ok(exit)
}

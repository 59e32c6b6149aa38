//! The command `linpoint`.

use std::process::ExitCode;

use linpoint_history::specs::Catalog;

fn main() -> ExitCode {
    linpoint_cli::run(Catalog::default())
}

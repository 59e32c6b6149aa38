//! Where solvers are, and programs that only look like solvers.

use std::path::{Path, PathBuf};

use linpoint_prove::Options;
use linpoint_prove::solver::{Program, SolverKind, find};

/// The usual settings, if z3 is here.
#[track_caller]
pub fn options() -> Option<Options> {
    match find(SolverKind::Z3, None) {
        Some(solver) => Some(Options { jobs: 2, ..Options::new(solver) }),
        None => {
            let test = std::thread::current().name().unwrap_or("a test").to_owned();
            eprintln!("SKIPPED: {test}: z3 is missing; run `cargo xtask solvers`");
            None
        }
    }
}

/// A program that answers what a script says.
pub fn fake(name: &str, script: &str) -> Options {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fake-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("an executable");
    }
    Options { jobs: 2, ..Options::new(Program { path, kind: SolverKind::Z3 }) }
}

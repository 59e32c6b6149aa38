//! Where solvers are, and programs that only look like solvers.

use std::path::{Path, PathBuf};

use linpoint_prove::Options;
use linpoint_prove::solver::{Program, SolverKind, find};

/// The usual settings. Without a solver nothing here can be tested, so a test without one fails; `cargo xtask
/// ci --without solver` leaves these tests out by name.
#[track_caller]
pub fn options() -> Options {
    let solver = find(SolverKind::Z3, None).expect("this test needs z3: `cargo xtask solvers` sets it up");
    Options { jobs: 2, ..Options::new(solver) }
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

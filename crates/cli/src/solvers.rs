//! `linpoint solvers`: sets up the solvers that proofs need: z3, and cvc5 for a second opinion.
//!
//! This file has no dependency: the set-up of the tests is this same file.
//!
//! A solver on the path is left alone. Otherwise it is put into a folder of the project's own,
//! `~/.cache/linpoint/solvers`, where `linpoint prove` looks: z3 from the wheel of Python's package index,
//! which has the program in it; cvc5 from Debian's packages, taken apart without installing them. What cannot
//! be had is said, by name; tests that need it fail.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Puts a solver into a folder, as `bin/<name>`.
type Fetch = fn(&Path) -> Result<(), String>;

/// Sets up every solver: where each is, or why it cannot be had.
pub fn set_up() -> Vec<(&'static str, Result<PathBuf, String>)> {
    let solvers: [(&str, Fetch); 2] = [("z3", z3), ("cvc5", cvc5)];
    solvers.into_iter().map(|(name, fetch)| (name, provide(name, fetch))).collect()
}

/// Sets up z3, without which no proof by obligations is decided.
#[allow(dead_code)]
pub fn set_up_z3() -> Result<PathBuf, String> {
    provide("z3", z3)
}

/// A line about a solver, as people read it.
pub fn line(name: &str, found: &Result<PathBuf, String>) -> String {
    match found {
        Ok(path) => format!("{name}: {}", path.display()),
        Err(why) => format!("{name}: MISSING ({why})"),
    }
}

/// Where solvers are put.
fn folder() -> Result<PathBuf, String> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("linpoint").join("solvers"))
}

fn provide(name: &str, fetch: Fetch) -> Result<PathBuf, String> {
    let on_path = std::env::var_os("PATH")
        .and_then(|paths| std::env::split_paths(&paths).map(|p| p.join(name)).find(|p| p.is_file()));
    if let Some(path) = on_path.filter(|path| answers(path)) {
        return Ok(path);
    }
    let home = folder()?.join(name);
    let program = home.join("bin").join(name);
    if program.is_file() && answers(&program) {
        return Ok(program);
    }
    // Made ready beside it and moved in whole: two set-ups at once do not meet.
    let fresh = folder()?.join(format!("{name}.{}", std::process::id()));
    std::fs::create_dir_all(fresh.join("bin")).map_err(|error| format!("{}: {error}", fresh.display()))?;
    let done = fetch(&fresh).and_then(|()| match answers(&fresh.join("bin").join(name)) {
        true => Ok(()),
        false => Err("what was fetched does not run".into()),
    });
    if done.is_ok() {
        let _ = std::fs::remove_dir_all(&home);
        std::fs::rename(&fresh, &home).map_err(|error| format!("{}: {error}", home.display()))?;
    }
    let _ = std::fs::remove_dir_all(&fresh);
    done.map(|()| program)
}

/// Does it start and say its version?
fn answers(program: &Path) -> bool {
    let run = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

fn command(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), String> {
    let mut run = Command::new(program);
    run.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    match run.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} ended with {status}")),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// The files in a folder whose names end so.
fn files(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(ending)).collect()
}

/// The program out of the wheel `z3-solver`; else Debian's package.
fn z3(folder: &Path) -> Result<(), String> {
    let wheel = || -> Result<(), String> {
        command(folder, "python3", &["-m", "pip", "download", "--quiet", "--no-deps", "z3-solver"])?;
        let wheel = files(folder, ".whl").pop().ok_or("pip fetched no wheel")?;
        command(folder, "python3", &["-m", "zipfile", "-e", &wheel, "wheel"])?;
        let data = files(&folder.join("wheel"), ".data").pop().ok_or("the wheel has no program in it")?;
        let program = folder.join("wheel").join(data).join("data").join("bin").join("z3");
        install(&program, &folder.join("bin").join("z3"))?;
        let _ = std::fs::remove_dir_all(folder.join("wheel"));
        let _ = std::fs::remove_file(folder.join(wheel));
        Ok(())
    };
    wheel().or_else(|why| debian(folder, "z3", &["z3", "libz3-4"]).map_err(|other| format!("{why}; {other}")))
}

/// Debian's package, with the libraries that it alone needs.
fn cvc5(folder: &Path) -> Result<(), String> {
    let packages = [
        "cvc5",
        "libcvc5-1",
        "libcvc5parser1",
        "libpoly0",
        "libpolyxx0",
        "libcln6",
        "libcadical1",
        "libantlr3c-3.4-0",
        "libcryptominisat5-5.11",
        "libgmp10",
    ];
    debian(folder, "cvc5", &packages)
}

/// Takes Debian packages apart into the folder; a script there starts the program with its own libraries.
fn debian(folder: &Path, name: &str, packages: &[&str]) -> Result<(), String> {
    let mut fetched = false;
    for package in packages {
        // Which libraries a release needs differs: what it does not have is not missed.
        fetched |= command(folder, "apt-get", &["download", package]).is_ok();
    }
    if !fetched {
        return Err("apt-get fetched no package".into());
    }
    for file in files(folder, ".deb") {
        command(folder, "dpkg-deb", &["-x", &file, "root"])?;
        let _ = std::fs::remove_file(folder.join(file));
    }
    let script = format!(
        "#!/bin/sh\nhere=$(dirname \"$(dirname \"$(readlink -f \"$0\")\")\")\nLD_LIBRARY_PATH=$(echo \"$here\"/root/usr/lib/*-linux-gnu):$LD_LIBRARY_PATH exec \"$here/root/usr/bin/{name}\" \"$@\"\n"
    );
    let program = folder.join("bin").join(name);
    std::fs::write(&program, script).map_err(|error| error.to_string())?;
    executable(&program)
}

fn install(from: &Path, to: &Path) -> Result<(), String> {
    std::fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    executable(to)
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).map_err(|error| error.to_string())
}

#[cfg(not(unix))]
fn executable(_: &Path) -> Result<(), String> {
    Ok(())
}

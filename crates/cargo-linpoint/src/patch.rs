//! A package named `loom` or `shuttle` for each version that a crate may ask for, and the options by which cargo takes it.
//!
//! A patch counts only if its version is the one that the lock file names; where there is none, it is the newest that there was
//! of its kind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What something stands in for: a kind of versions of a package.
struct Kind {
    package: &'static str,
    kind: &'static str,
    /// The newest there was.
    newest: &'static str,
    /// What loom's `MAX_THREADS` was.
    max_threads: Option<u32>,
}

const fn loom(kind: &'static str, newest: &'static str, threads: u32) -> Kind {
    Kind { package: "loom", kind, newest, max_threads: Some(threads) }
}

const fn shuttle(kind: &'static str, newest: &'static str) -> Kind {
    Kind { package: "shuttle", kind, newest, max_threads: None }
}

const KINDS: [Kind; 7] = [
    loom("0.3", "0.3.6", 4),
    loom("0.4", "0.4.1", 4),
    loom("0.5", "0.5.6", 4),
    loom("0.6", "0.6.1", 5),
    loom("0.7", "0.7.2", 5),
    shuttle("0.8", "0.8.1"),
    shuttle("0.9", "0.9.9"),
];

/// The versions of a package that a lock file names.
pub fn locked(lock: &str, package: &str) -> Vec<String> {
    let name = format!("name = \"{package}\"");
    let mut versions = Vec::new();
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line.trim() == name
            && let Some(version) = lines.next().and_then(|line| line.trim().strip_prefix("version = \""))
        {
            versions.push(version.trim_end_matches('"').to_owned());
        }
    }
    versions
}

/// What is built with `linpoint-loom`, and from which version on: what a lock file has of the same kind and older cannot stay.
const NEEDS: [(&str, [u64; 3]); 5] = [
    ("autocfg", [1, 1, 0]),
    ("cfg-if", [1, 0, 0]),
    ("libc", [0, 2, 119]),
    ("rustc-hash", [2, 0, 0]),
    ("scopeguard", [1, 2, 0]),
];

/// A lock file without what is too old for `linpoint-loom`, so that cargo chooses anew, and the names of that; nothing if all
/// of it may stay.
pub fn loosen(lock: &str) -> Option<(String, Vec<&'static str>)> {
    let number = |text: &str| {
        let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().unwrap_or(0));
        [(); 3].map(|()| parts.next().unwrap_or(0))
    };
    // Two versions of one kind are not built into one program: `1.x`, or `0.2.x`.
    let same_kind = |a: [u64; 3], b: [u64; 3]| a[0] == b[0] && (a[0] > 0 || a[1] == b[1]);
    let mut names = Vec::new();
    let entries: Vec<&str> = lock.split("[[package]]\n").collect();
    let stays = |entry: &&str| {
        let value = |key: &str| entry.lines().find_map(|line| line.strip_prefix(key)?.strip_suffix('"'));
        let (Some(name), Some(version)) = (value("name = \""), value("version = \"")) else { return true };
        let old = NEEDS.iter().find(|(needed, least)| {
            *needed == name && same_kind(number(version), *least) && number(version) < *least
        });
        names.extend(old.map(|(name, _)| *name));
        old.is_none()
    };
    let kept: Vec<&str> = entries.into_iter().filter(stays).collect();
    (!names.is_empty()).then(|| (kept.join("[[package]]\n"), names))
}

/// Where the sources of `linpoint-loom` and `linpoint-shuttle` are: beside this package.
pub fn facades() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Which allocator the tests have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allocator {
    /// Their own, or std's.
    #[default]
    Own,
    /// The explorer's, which sees uses of freed memory.
    Explorers,
}

/// Writes the packages into `folder`, for a crate with this lock file, and returns the options for cargo.
///
/// # Errors
/// If a file cannot be written, or the lock file names a version that nothing stands in for.
pub fn write(folder: &Path, lock: &str, facades: &Path, allocator: Allocator) -> io::Result<Vec<String>> {
    let facades = fs::canonicalize(facades)
        .map_err(|error| io::Error::other(format!("linpoint is not at {}: {error}", facades.display())))?;
    for package in ["loom", "shuttle"] {
        if let Some(other) = locked(lock, package).iter().find(|version| kind(package, version).is_none()) {
            let known = KINDS.iter().filter(|kind| kind.package == package).map(|kind| kind.kind);
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(io::Error::other(format!(
                "Cargo.lock names {package} {other}, and what stands in for {package} are its versions {known}: depend on one of \
                 these"
            )));
        }
    }
    let mut options = Vec::new();
    for one in &KINDS {
        let locked = locked(lock, one.package);
        if one.package == "shuttle" && locked.is_empty() && !lock.is_empty() {
            continue;
        }
        let version = locked.iter().find(|version| kind(one.package, version) == Some(one.kind));
        let package = folder.join(format!("{}-{}", one.package, one.kind));
        fs::create_dir_all(package.join("src"))?;
        put(
            &package.join("Cargo.toml"),
            &manifest(one, version.map_or(one.newest, |one| one), &facades, allocator),
        )?;
        put(&package.join("src/lib.rs"), &source(one))?;
        let key = format!("patch.crates-io.{}-{}", one.package, one.kind.replace('.', "-"));
        options.push("--config".to_owned());
        options.push(format!("{key}.path={:?}", package.display().to_string()));
        options.push("--config".to_owned());
        options.push(format!("{key}.package={:?}", one.package));
    }
    Ok(options)
}

/// The kind of a version.
fn kind(package: &str, version: &str) -> Option<&'static str> {
    KINDS
        .iter()
        .filter(|kind| kind.package == package)
        .map(|kind| kind.kind)
        .find(|kind| version.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Writes a file, unless it is so already: what is older than what was built from it is not built again.
fn put(file: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(file, text)
}

fn manifest(one: &Kind, version: &str, facades: &Path, allocator: Allocator) -> String {
    let features = match one.package {
        "loom" => "futures = []\ncheckpoint = []",
        _ => "vector-clocks = []\nbench-no-vector-clocks = []",
    };
    let mut asked = Vec::new();
    if !cfg!(target_os = "linux") {
        asked.push("default-stack");
    }
    if one.package == "loom" && allocator == Allocator::Explorers {
        asked.push("heap");
    }
    format!(
        "[package]\nname = {:?}\nversion = \"{version}\"\nedition = \"2021\"\n\n[features]\n{features}\n\n\
         [dependencies]\nlinpoint-{} = {{ path = {:?}, features = {asked:?} }}\n\n[workspace]\n",
        one.package,
        one.package,
        facades.join(one.package).display().to_string(),
    )
}

fn source(one: &Kind) -> String {
    let package = one.package;
    let mut text = format!(
        "//! Stands in for {package}: the names of linpoint-{package}.\n\nextern crate {package} as facade;\n\npub use facade::*;\n"
    );
    if let Some(threads) = one.max_threads {
        text.push_str(&format!(
            "\n/// How many threads loom allows in a model. Here there may be 64.\npub const MAX_THREADS: usize = {threads};\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"loom\"\nversion = \"0.5.1\"\n\n[[package]]\nname = \"loom-not\"\nversion = \"1.0.0\"\n\n\
                        [[package]]\nname = \"loom\"\nversion = \"0.7.2\"\n";

    #[test]
    fn the_versions_of_a_lock_file_are_taken() {
        assert_eq!(locked(LOCK, "loom"), ["0.5.1", "0.7.2"]);
        assert_eq!(kind("loom", "0.5.1"), Some("0.5"));
        assert_eq!(kind("loom", "0.50.1"), None);
        assert_eq!(kind("loom", "0.7"), Some("0.7"));
    }

    #[test]
    fn what_a_lock_file_has_too_old_is_chosen_anew() {
        let entry = |name: &str, version: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nchecksum = \"0\"\n\n")
        };
        let lock = format!(
            "version = 4\n\n{}{}{}{}",
            entry("libc", "0.2.171"),
            entry("rustc-hash", "1.1.0"),
            entry("scopeguard", "1.1.0"),
            entry("serde", "1.0.0")
        );
        let (loose, names) = loosen(&lock).unwrap();
        assert_eq!(names, ["scopeguard"]);
        assert_eq!(loose, lock.replace(&entry("scopeguard", "1.1.0"), ""));
        assert_eq!(loosen(&loose), None);
        assert!(loosen(&entry("libc", "0.2.98")).is_some());
    }

    #[test]
    fn a_version_that_nothing_stands_in_for_is_named() {
        let folder = std::env::temp_dir().join(format!("linpoint-patch-{}", std::process::id()));
        let lock = "name = \"loom\"\nversion = \"0.9.0\"\n";
        let told = write(&folder, lock, &facades(), Allocator::Explorers).unwrap_err().to_string();
        assert!(told.contains("loom 0.9.0") && told.contains("0.5, 0.6, 0.7"), "{told}");
        let options = write(&folder, LOCK, &facades(), Allocator::Explorers).unwrap();
        assert!(options.iter().any(|option| option.contains("patch.crates-io.loom-0-5.path=")));
        let made = fs::read_to_string(folder.join("loom-0.5/Cargo.toml")).unwrap();
        assert!(made.contains("version = \"0.5.1\""), "{made}");
        assert!(made.contains("features = [\"heap\"]"), "{made}");
        write(&folder, LOCK, &facades(), Allocator::Own).unwrap();
        let own = fs::read_to_string(folder.join("loom-0.5/Cargo.toml")).unwrap();
        assert!(own.contains("features = []"), "{own}");
        assert!(!options.iter().any(|option| option.contains("shuttle")));
        let lock = "name = \"shuttle\"\nversion = \"0.8.0\"\n";
        let options = write(&folder, lock, &facades(), Allocator::Explorers).unwrap();
        assert!(options.iter().any(|option| option.contains("patch.crates-io.shuttle-0-8.path=")));
        let made = fs::read_to_string(folder.join("shuttle-0.8/Cargo.toml")).unwrap();
        assert!(made.contains("version = \"0.8.0\"") && made.contains("linpoint-shuttle"), "{made}");
        fs::remove_dir_all(folder).unwrap();
    }
}

//! A package named `loom` for each version that a crate may ask for, and the options by which cargo takes it.
//!
//! A patch counts only if its version is the one that the lock file names; where there is none, it is the newest that loom
//! had of its kind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The kinds of versions there are, each with its newest, and what its `MAX_THREADS` is.
const KINDS: [(&str, &str, u32); 5] =
    [("0.3", "0.3.6", 4), ("0.4", "0.4.1", 4), ("0.5", "0.5.6", 4), ("0.6", "0.6.1", 5), ("0.7", "0.7.2", 5)];

/// The versions of `loom` that a lock file names.
pub fn locked(lock: &str) -> Vec<String> {
    let mut versions = Vec::new();
    let mut lines = lock.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "name = \"loom\""
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

/// Where the sources of `linpoint-loom` are: beside this package.
pub fn facade() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../loom")
}

/// Writes the packages into `folder`, for a crate with this lock file, and returns the options for cargo.
///
/// # Errors
/// If a file cannot be written, or the lock file names a version that nothing stands in for.
pub fn write(folder: &Path, lock: &str, facade: &Path) -> io::Result<Vec<String>> {
    let facade = fs::canonicalize(facade).map_err(|error| {
        io::Error::other(format!("linpoint-loom is not at {}: {error}", facade.display()))
    })?;
    let locked = locked(lock);
    if let Some(other) = locked.iter().find(|version| kind(version).is_none()) {
        let known: Vec<_> = KINDS.iter().map(|kind| kind.0).collect();
        return Err(io::Error::other(format!(
            "Cargo.lock names loom {other}, and what stands in for loom are its versions {}: depend on one of these",
            known.join(", ")
        )));
    }
    let mut options = Vec::new();
    for (name, newest, threads) in KINDS {
        let version = locked.iter().find(|version| kind(version) == Some(name)).map_or(newest, |one| one);
        let package = folder.join(format!("loom-{name}"));
        fs::create_dir_all(package.join("src"))?;
        put(&package.join("Cargo.toml"), &manifest(version, &facade))?;
        put(&package.join("src/lib.rs"), &source(threads))?;
        let key = format!("patch.crates-io.loom-{}", name.replace('.', "-"));
        options.push("--config".to_owned());
        options.push(format!("{key}.path={:?}", package.display().to_string()));
        options.push("--config".to_owned());
        options.push(format!("{key}.package=\"loom\""));
    }
    Ok(options)
}

/// The kind of a version.
fn kind(version: &str) -> Option<&'static str> {
    KINDS
        .iter()
        .map(|kind| kind.0)
        .find(|kind| version.strip_prefix(kind).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Writes a file, unless it is so already: what is older than what was built from it is not built again.
fn put(file: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(file, text)
}

fn manifest(version: &str, facade: &Path) -> String {
    format!(
        "[package]\nname = \"loom\"\nversion = \"{version}\"\nedition = \"2021\"\n\n[features]\nfutures = []\n\
         checkpoint = []\n\n[dependencies]\nlinpoint-loom = {{ path = {:?}{} }}\n\n[workspace]\n",
        facade.display().to_string(),
        if cfg!(target_os = "linux") { "" } else { ", features = [\"default-stack\"]" }
    )
}

fn source(threads: u32) -> String {
    format!(
        "//! Stands in for loom: the names of linpoint-loom.\n\nextern crate loom as facade;\n\npub use facade::*;\n\n\
         /// How many threads loom allows in a model. Here there may be 64.\npub const MAX_THREADS: usize = {threads};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"loom\"\nversion = \"0.5.1\"\n\n[[package]]\nname = \"loom-not\"\nversion = \"1.0.0\"\n\n\
                        [[package]]\nname = \"loom\"\nversion = \"0.7.2\"\n";

    #[test]
    fn the_versions_of_a_lock_file_are_taken() {
        assert_eq!(locked(LOCK), ["0.5.1", "0.7.2"]);
        assert_eq!(kind("0.5.1"), Some("0.5"));
        assert_eq!(kind("0.50.1"), None);
        assert_eq!(kind("0.7"), Some("0.7"));
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
        let told = write(&folder, lock, &facade()).unwrap_err().to_string();
        assert!(told.contains("loom 0.9.0") && told.contains("0.5, 0.6, 0.7"), "{told}");
        let options = write(&folder, LOCK, &facade()).unwrap();
        assert!(options.iter().any(|option| option.contains("patch.crates-io.loom-0-5.path=")));
        let made = fs::read_to_string(folder.join("loom-0.5/Cargo.toml")).unwrap();
        assert!(made.contains("version = \"0.5.1\""), "{made}");
        fs::remove_dir_all(folder).unwrap();
    }
}

//! What we depend on: is it all free to use, and is it all used?
//!
//! Both questions are asked of `cargo metadata`. A licence expression is read as SPDX has it: `OR` needs one side, `AND` both.
//! A dependency counts as used if its name, as Rust spells it, is a word of some source file of the crate: crude, but it has no
//! false alarms as long as dependencies are named where they are used.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

/// Licences that ask for no more than to be mentioned.
const WELCOME: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The packages of the workspace and all they need.
pub struct Graph(Json);

impl Graph {
    /// Asks Cargo.
    pub fn read() -> Result<Graph, String> {
        let output = super::cargo(&["metadata", "--format-version", "1", "--all-features", "--locked"])
            .output()
            .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
        }
        serde_json::from_slice(&output.stdout).map(Graph).map_err(|error| format!("cargo metadata: {error}"))
    }

    fn packages(&self) -> impl Iterator<Item = &Json> {
        self.0["packages"].as_array().into_iter().flatten()
    }

    /// Packages whose licence is not welcome, a sentence each.
    pub fn unwelcome_licences(&self) -> Vec<String> {
        let unwelcome = |package: &&Json| !is_welcome(package["license"].as_str().unwrap_or_default());
        let name = |package: &Json| {
            format!("{} {} has the licence {}", package["name"], package["version"], package["license"])
        };
        self.packages().filter(unwelcome).map(name).collect()
    }

    /// Dependencies of the workspace's own crates that no source file names.
    pub fn unused(&self) -> Vec<String> {
        let mut unused = Vec::new();
        for package in self.packages().filter(|package| package["source"].is_null()) {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
            let mut source = String::new();
            for folder in ["src", "tests", "benches", "examples", "build.rs"] {
                read_sources(&manifest.with_file_name(folder), &mut source);
            }
            for dependency in package["dependencies"].as_array().into_iter().flatten() {
                let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default();
                if !has_word(&source, &name.replace('-', "_")) {
                    unused.push(format!("{} does not use {name}", package["name"]));
                }
            }
        }
        unused
    }
}

/// Is a licence expression welcome?
fn is_welcome(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    any_of(&mut rest) && rest.is_empty()
}

fn any_of(rest: &mut &[&str]) -> bool {
    let mut welcome = all_of(rest);
    while rest.first() == Some(&"OR") {
        *rest = &rest[1..];
        welcome |= all_of(rest);
    }
    welcome
}

fn all_of(rest: &mut &[&str]) -> bool {
    let mut welcome = one(rest);
    while rest.first() == Some(&"AND") {
        *rest = &rest[1..];
        welcome &= one(rest);
    }
    welcome
}

fn one(rest: &mut &[&str]) -> bool {
    match **rest {
        ["(", ..] => {
            *rest = &rest[1..];
            let welcome = any_of(rest);
            let closed = rest.first() == Some(&")");
            *rest = rest.get(1..).unwrap_or_default();
            welcome && closed
        }
        [licence, "WITH", exception, ..] => {
            *rest = &rest[3..];
            WELCOME.contains(&format!("{licence} WITH {exception}").as_str())
        }
        [licence, ..] => {
            *rest = &rest[1..];
            WELCOME.contains(&licence)
        }
        [] => false,
    }
}

fn read_sources(path: &Path, text: &mut String) {
    if path.extension().is_some_and(|ending| ending == "rs") {
        text.push_str(&fs::read_to_string(path).unwrap_or_default());
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        read_sources(&entry.path(), text);
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside))
}

#[cfg(test)]
mod tests {
    use super::{has_word, is_welcome};

    #[test]
    fn licence_expressions() {
        for (expression, welcome) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("MIT OR GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", true),
            ("GPL-3.0", false),
            ("", false),
            ("(MIT", false),
        ] {
            assert_eq!(is_welcome(expression), welcome, "{expression}");
        }
    }

    #[test]
    fn words() {
        assert!(has_word("use memchr::memchr;", "memchr"));
        assert!(!has_word("use memchr2::x;", "memchr"));
    }
}

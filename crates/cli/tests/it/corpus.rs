//! Recorded histories get the verdicts they should.

use std::path::Path;

use crate::run::{linpoint, root};

/// Checks every file that `expected.csv` in `folder` lists.
fn check_all(folder: &Path) -> usize {
    let table = std::fs::read_to_string(folder.join("expected.csv")).expect("a table of verdicts");
    let mut checked = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [file, spec, expected] = fields[..] else { panic!("three fields: {line}") };
        let path = folder.join(file);
        let ran = linpoint(&["check", &path.display().to_string(), "--spec", spec], b"");
        checked += 1;
        // A log in which nothing returned is listed as what it is to others.
        if ran.out.starts_with("unknown: there is nothing to check") {
            assert_eq!((ran.code, expected), (3, "linearizable"), "{file}");
            continue;
        }
        assert!(ran.out.starts_with(&format!("{expected}:")), "{file}: {}{}", ran.out, ran.err);
        assert_eq!(ran.code, i32::from(expected != "linearizable"), "{file}");
    }
    checked
}

#[test]
fn our_own() {
    assert!(check_all(&root().join("corpus/histories")) >= 10);
}

#[test]
fn those_beside_the_project_if_there_are_any() {
    let folder = root().join("../shared/histories");
    if folder.join("expected.csv").exists() {
        check_all(&folder);
    }
}

//! The README shows what the command prints, to the letter.

use crate::run::{linpoint, root, scratch};

#[test]
fn the_first_command_shows_every_method() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let (_, rest) = readme.split_once("$ cargo run --release -- ").expect("the first command");
    assert!(rest.starts_with("tour\n"));
    let folder = scratch("tour", b"").with_extension("d");
    let ran = linpoint(&["tour", "--no-pause", "--to", &folder.display().to_string()], b"");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for page in ["1-history", "2-run", "3-views", "4-heaps", "5-proof"] {
        let text = std::fs::read_to_string(folder.join(format!("{page}.html"))).expect(page);
        assert!(text.len() < 300_000 && text.starts_with("<!doctype html>"), "{page}");
        assert!(ran.out.contains(&format!("{page}.html")), "{page} is named");
    }
    for word in
        ["not linearizable: dequeue -> 4", "violated", "does not refine", "proved", "the views differ"]
    {
        assert!(ran.out.contains(word), "{word}");
    }
}

/// Where no solver can be had, the last stop shows what it came to before, and says so.
#[test]
fn the_tour_is_whole_without_a_solver() {
    let folder = scratch("bare-tour", b"").with_extension("d");
    let ran = std::process::Command::new(env!("CARGO_BIN_EXE_linpoint"))
        .args(["tour", "--no-pause", "--to"])
        .arg(&folder)
        .env("PATH", &folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .expect("the binary starts");
    let out = String::from_utf8(ran.stdout).expect("text");
    assert_eq!(ran.status.code(), Some(0), "{out}");
    assert!(out.contains("What follows was recorded before"), "{out}");
    assert!(folder.join("5-proof.html").is_file(), "{out}");
}

/// What was recorded for the last stop is what the program says today.
#[test]
fn the_recorded_stop_is_current_with_solver() {
    let fresh = scratch("fresh.json", b"");
    let path = fresh.to_str().expect("text");
    let program = "corpus/broken/multiset-lookup-no-lock.lin";
    linpoint(&["prove", program, "--engine", "obligations", "--view-data", path], b"");
    let read = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
    };
    let (fresh, recorded) = (read(&fresh), read(&root().join("corpus/tour/5-proof.json")));
    for field in ["version", "verdict", "word", "headline"] {
        assert_eq!(fresh[field], recorded[field], "record it again: --view-data corpus/tour/5-proof.json");
    }
}

#[test]
fn the_second_command_prints_what_the_readme_shows() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let (_, rest) = readme.split_once("$ cargo run --release -- check").expect("the second command");
    let (command, rest) = rest.split_once('\n').expect("its output");
    let command = &format!("check{command}");
    let (expected, _) = rest.split_once("```").expect("the end of its output");
    let ran = linpoint(&command.split(' ').collect::<Vec<_>>(), b"");
    assert_eq!(ran.out, expected);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
}

#[test]
fn help_teaches() {
    for (args, words) in [
        (&["--help"][..], &["check", "generate", "specs", "formats", "Exit codes"][..]),
        (&["check", "--help"], &["Examples:", "--spec", "--time-limit", "\"process\":3"]),
        (&["generate", "--help"], &["Examples:", "--spoil", "--seed"]),
        (&["specs"], &["priority-queue-max", "change_key", "remove_min", "also: enq"]),
        (&["formats"], &["jsonl", "jepsen", "binary"]),
    ] {
        let ran = linpoint(args, b"");
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        for word in words {
            assert!(ran.out.contains(word), "{args:?} does not say {word}:\n{}", ran.out);
        }
    }
}

//! The README shows what the command prints, to the letter.

use crate::run::{linpoint, root};

#[test]
fn the_first_command_prints_what_the_readme_shows() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let (_, rest) = readme.split_once("$ cargo run --release -- ").expect("the first command");
    let (command, rest) = rest.split_once('\n').expect("its output");
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

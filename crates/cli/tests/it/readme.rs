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
    for page in ["1-history", "2-run", "3-views", "4-heaps"] {
        let text = std::fs::read_to_string(folder.join(format!("{page}.html"))).expect(page);
        assert!(text.len() < 300_000 && text.starts_with("<!doctype html>"), "{page}");
        assert!(ran.out.contains(&format!("{page}.html")), "{page} is named");
    }
    let proved = folder.join("5-proof.html").is_file();
    assert!(proved || ran.out.contains("needs a solver"), "a stop that is left out is told:\n{}", ran.out);
    for word in
        ["not linearizable: dequeue -> 4", "violated", "does not refine", "proved", "the views differ"]
    {
        assert!(ran.out.contains(word), "{word}");
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

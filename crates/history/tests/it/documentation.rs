//! `docs/formats.md` says what the code does: its examples are read, and every code is listed.

use linpoint_history::formats::{Format, problem};

use crate::samples::{read, spec};

const PAGE: &str = include_str!("../../../../docs/formats.md");

/// The first block of code of `language`.
#[track_caller]
fn example(heading: &str, language: &str) -> &'static str {
    let section = PAGE.split_once(&format!("\n## {heading}\n")).expect("the heading is there").1;
    let block = section.split_once(&format!("```{language}\n")).expect("it has an example").1;
    block.split_once("```").expect("the example ends").0
}

#[track_caller]
fn check(heading: &str, language: &str, spec_name: &str, format: Format, operations: usize) {
    let text = example(heading, language);
    let found = read(&spec(spec_name), None, text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}"));
    let asked = read(&spec(spec_name), Some(format), text.as_bytes()).unwrap();
    assert_eq!((found.operations.len(), asked.operations.len()), (operations, operations));
}

#[test]
fn examples_are_read() {
    check("JSON lines", "json", "queue", Format::JsonLines, 1);
    check("JSON events", "json", "queue", Format::JsonEvents, 1);
    check("Jepsen's EDN", "clojure", "cas-register", Format::JepsenEdn, 1);
    check("kv logs", "clojure", "kv", Format::KvLog, 1);
    check("etcd logs", "text", "cas-register", Format::EtcdLog, 2);
    let csv = example("CSV", "csv").replace("enqueue", "write");
    assert_eq!(read(&spec("cas-register"), None, csv.as_bytes()).unwrap().operations.len(), 3);
}

#[test]
fn every_format_and_every_code_is_listed() {
    for format in Format::all() {
        assert!(PAGE.contains(&format!("| [`{}`](#", format.name())), "{} is missing", format.name());
    }
    for number in 1..=26 {
        assert_eq!(PAGE.matches(&format!("| H{number:03} | ")).count(), 1);
    }
    assert_eq!(problem::LINE_TAKEN, "H026", "a newer code belongs on the page, and here");
}

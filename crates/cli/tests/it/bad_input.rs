//! Bad input gets one diagnostic with the place, what is wrong and what was expected, and exit code 2.

use crate::run::{linpoint, scratch};

/// Checks `content` as a queue's history; standard error must contain all of `words`.
#[track_caller]
fn check(name: &str, content: &[u8], words: &[&str]) {
    let path = scratch(name, content);
    let ran = linpoint(&["check", &path.display().to_string(), "--spec", "queue"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{name}: {}", ran.err);
    assert!(ran.err.starts_with("error"), "{name}: {}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{name} does not say `{word}`:\n{}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

const GOOD: &str = "{\"process\":0,\"op\":\"enqueue\",\"arg\":1,\"ret\":null,\"call\":1,\"return\":2}\n";

fn after_a_good_line(line: &str) -> Vec<u8> {
    format!("{GOOD}{line}\n").into_bytes()
}

#[test]
fn truncated_json() {
    check("truncated.jsonl", &after_a_good_line("{\"process\":0,\"op\":\"enq"), &["truncated.jsonl:2"]);
}

#[test]
fn not_utf8() {
    let mut content = GOOD.as_bytes().to_vec();
    content.extend(b"{\"process\":0,\"op\":\"\xff\xfe\",\"call\":3,\"return\":4}\n");
    check("latin.jsonl", &content, &["latin.jsonl:2", "UTF-8"]);
}

#[test]
fn return_before_call() {
    let line = r#"{"process":0,"op":"dequeue","arg":null,"ret":1,"call":9,"return":4}"#;
    check("backwards.jsonl", &after_a_good_line(line), &["backwards.jsonl:2", "before"]);
}

#[test]
fn two_operations_open_at_once() {
    let line = r#"{"process":0,"op":"dequeue","arg":null,"ret":1,"call":1,"return":4}"#;
    check("twice.jsonl", &after_a_good_line(line), &["twice.jsonl:2", "process 0"]);
}

#[test]
fn unknown_operation() {
    let line = r#"{"process":0,"op":"shove","arg":1,"ret":null,"call":3,"return":4}"#;
    check(
        "shove.jsonl",
        &after_a_good_line(line),
        &["shove.jsonl:2", "shove", "enqueue (enq", "dequeue (deq"],
    );
}

#[test]
fn wrong_argument() {
    let line = r#"{"process":0,"op":"enqueue","arg":{"a":1},"ret":null,"call":3,"return":4}"#;
    check("object.jsonl", &after_a_good_line(line), &["object.jsonl:2"]);
    let line = r#"{"process":0,"op":"enqueue","arg":null,"ret":null,"call":3,"return":4}"#;
    check("nothing.jsonl", &after_a_good_line(line), &["nothing.jsonl:2", "null"]);
}

#[test]
fn integers_past_64_bits() {
    let line = r#"{"process":0,"op":"enqueue","arg":99999999999999999999,"ret":null,"call":3,"return":4}"#;
    check("large.jsonl", &after_a_good_line(line), &["large.jsonl:2", "64"]);
}

#[test]
fn a_change_of_format_half_way() {
    check("mixed.jsonl", &after_a_good_line("0,enqueue,2,,3,4"), &["mixed.jsonl:2"]);
    let line = r#"{"process":0,"type":"invoke","op":"enqueue","value":2}"#;
    check("events.jsonl", &after_a_good_line(line), &["events.jsonl:2"]);
}

#[test]
fn files_that_are_none() {
    for (args, word) in [
        (["check", "no-such-file.jsonl", "--spec", "queue"], "no-such-file.jsonl"),
        (["check", "corpus", "--spec", "queue"], "directory"),
        (["check", "README.md", "--spec", "queue"], "README.md"),
    ] {
        let ran = linpoint(&args, b"");
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(word), "{args:?}: {}", ran.err);
    }
}

#[test]
fn unknown_specs_suggest_the_nearest() {
    let ran = linpoint(&["check", "corpus/histories/queue.jsonl", "--spec", "queu"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("did you mean `queue`?"), "{}", ran.err);
    let ran = linpoint(&["check", "corpus/histories/queue.jsonl", "--spec", "zebra"], b"");
    assert!(ran.code == 2 && ran.err.contains("known: register"), "{}", ran.err);
    let ran = linpoint(&["check", "corpus/histories/queue.jsonl", "--spec", "queue:size=3"], b"");
    assert!(ran.code == 2 && ran.err.contains("capacity=N"), "{}", ran.err);
}

#[test]
fn an_empty_file_is_a_history() {
    let path = scratch("empty.jsonl", b"");
    let ran = linpoint(&["check", &path.display().to_string(), "--spec", "queue"], b"");
    assert_eq!(ran.code, 0);
    assert!(ran.out.starts_with("linearizable: 0 operations"), "{}", ran.out);
}

#[test]
fn a_script_gets_the_diagnostic_in_fields() {
    let line = r#"{"process":0,"op":"shove","arg":1,"ret":null,"call":3,"return":4}"#;
    let path = scratch("fields.jsonl", &after_a_good_line(line));
    let ran = linpoint(&["check", &path.display().to_string(), "--spec", "queue", "--json"], b"");
    assert_eq!(ran.code, 2);
    let said: serde_json::Value = serde_json::from_str(&ran.out).expect("one JSON object");
    assert_eq!((&said["verdict"], &said["code"]), (&serde_json::Value::Null, &"H008".into()));
    assert_eq!((&said["line"], &said["column"]), (&2.into(), &19.into()));
    assert!(
        said["error"].as_str().is_some_and(|text| text.starts_with("unknown operation `shove`")),
        "{said}"
    );
    assert!(said["help"].as_str().is_some_and(|text| text.contains("dequeue")), "{said}");
}

/// Programs and binary histories have the same ending.
#[test]
fn a_program_is_no_history_and_a_binary_history_is_no_program() {
    let ran = linpoint(&["check", "corpus/correct/treiber.lin", "--spec", "stack"], b"");
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("is a program"), "{}", ran.err);
    let path = scratch("queue.lin", b"").display().to_string();
    let made = linpoint(&["generate", "--spec", "queue", "--ops", "50", "-o", &path], b"");
    assert_eq!(made.code, 0, "{}", made.err);
    let ran = linpoint(&["check", &path, "--spec", "queue"], b"");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

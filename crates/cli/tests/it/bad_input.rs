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

/// The line stands in the message, with a caret at the place, as for programs; from a pipe as well.
#[test]
fn the_line_and_the_place_in_it() {
    let text = after_a_good_line(r#"{"process":0,"op":"dequeue","res":1,"call":3,"return":4}"#);
    let expected = r#"
  |
2 | {"process":0,"op":"dequeue","res":1,"call":3,"return":4}
  |                                   ^
  help: `ret` if that is meant"#;
    check("misspelt.jsonl", &text, &["misspelt.jsonl:2:35", expected]);
    let ran = linpoint(&["check", "-", "--spec", "queue"], &text);
    assert!(ran.err.contains(expected), "{}", ran.err);
}

#[test]
fn json_of_another_shape() {
    let object = GOOD.trim_end();
    check("array.json", format!("[{object}]").as_bytes(), &["a JSON array", "jq -c '.[]'"]);
    let pretty = object.replace(',', ",\n  ").replace('{', "{\n  ");
    check("pretty.json", pretty.as_bytes(), &["in the middle of an object", "jq -c ."]);
    check("comment.jsonl", format!("# a run\n{GOOD}").as_bytes(), &["a comment", "grep -v"]);
    check("doubled.jsonl", GOOD.repeat(2).as_bytes(), &["the same operation twice", "sort -u"]);
    check(
        "capitals.jsonl",
        GOOD.replace("enq", "ENQ").as_bytes(),
        &["unknown operation `ENQueue`", "`enqueue`"],
    );
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

/// Nothing was found wrong with it, and nothing was looked at.
#[test]
fn a_history_with_nothing_to_check_is_unknown() {
    let pending = r#"{"process":0,"op":"enqueue","arg":1,"call":3}"#;
    let failed = r#"{"process":0,"op":"enqueue","arg":1,"call":3,"return":4,"failed":true}"#;
    for (text, why) in [
        (String::new(), "the history has no operation"),
        (format!("{pending}\n"), "the one operation never returned"),
        (format!("{pending}\n{}\n", pending.replace(":0", ":1")), "none of the 2 operations ever returned"),
        (format!("{failed}\n"), "the history has no operation"),
    ] {
        let path = scratch("nothing.jsonl", text.as_bytes()).display().to_string();
        for more in [&[][..], &["--merge"], &["--engine", "brute"], &["--engine", "monitor"]] {
            let ran = linpoint(&[&["check", &path, "--spec", "queue"], more].concat(), b"");
            assert_eq!(ran.code, 3, "{more:?}: {}{}", ran.out, ran.err);
            let said = format!("unknown: there is nothing to check: {why}");
            assert!(ran.out.starts_with(&said), "{more:?}: {}", ran.out);
        }
        let ran = linpoint(&["check", &path, "--spec", "queue", "--json"], b"");
        let said: serde_json::Value = serde_json::from_str(&ran.out).expect("one JSON object");
        assert_eq!((ran.code, &said["verdict"]), (3, &"unknown".into()));
    }
}

fn refused(args: &[&str], words: &str) {
    let ran = linpoint(args, b"");
    assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
    assert!(ran.err.contains(words), "{args:?} does not say `{words}`:\n{}", ran.err);
    assert!(args.contains(&"--json") || ran.out.is_empty(), "{args:?}: {}", ran.out);
}

#[test]
fn specifications_that_contradict_themselves() {
    let file = "corpus/histories/queue.jsonl";
    refused(&["check", file, "--spec", "queue:capacity=1:capacity=2"], "the setting `capacity` twice");
    refused(&["check", file, "--spec", "queue:spurious:spurious"], "the setting `spurious` twice");
    let bounded = ["queue:capacity=1", "stack:capacity=1", "list:capacity=1", "set:capacity=1"];
    for spec in bounded {
        let words = "with room for 1 cannot start with 2 elements";
        refused(&["check", file, "--spec", spec, "--initial", "[1,2]"], words);
        refused(&["generate", "--spec", spec, "--initial", "[1,2]"], words);
    }
    // A set has each element once, however often it is given.
    let ran = linpoint(&["generate", "--spec", "set:capacity=1", "--initial", "[1,1]", "--ops", "3"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// What is JSON is not called something else; and a script gets its object.
#[test]
fn starts_that_no_object_has() {
    let file = "corpus/histories/queue.jsonl";
    for (text, words) in [
        ("{}", "`--initial {}` has an object"),
        ("1.0", "has a number that is no integer of 64 bits"),
        ("[9223372036854775808]", "has an integer that does not fit into 64 bits"),
        ("[1", "is not JSON"),
    ] {
        let args = ["check", file, "--spec", "queue", "--initial", text];
        refused(&args, words);
        let ran = linpoint(&[&args[..], &["--json"]].concat(), b"");
        let said: serde_json::Value = serde_json::from_str(&ran.out).expect("one JSON object");
        assert_eq!((ran.code, &said["verdict"]), (2, &serde_json::Value::Null));
        assert!(said["error"].as_str().is_some_and(|error| error.contains(words)), "{said}");
    }
}

#[test]
fn fields_that_name_no_object() {
    for field in ["process", "op", "arg", "ret", "call", "return", "type"] {
        for more in [&[][..], &["--merge"]] {
            let args = ["check", "corpus/histories/queue.jsonl", "--spec", "queue", "--partition", field];
            refused(&[&args[..], more].concat(), &format!("the field `{field}` says"));
        }
    }
    refused(
        &["check", "corpus/histories/queue.jsonl", "--spec", "queue", "--partition", "value"],
        "the format jsonl has no values [key value]",
    );
    refused(
        &["check", "corpus/histories/queue.jsonl", "--spec", "queue", "--partition", "colour"],
        "no operation has the field `colour`",
    );
}

#[test]
fn what_is_read_is_not_written_over() {
    let path = scratch("kept.jsonl", GOOD.as_bytes());
    let shown = path.display().to_string();
    let other = path.parent().expect("a folder").join(".").join("kept.jsonl").display().to_string();
    for option in ["--witness", "--report", "--svg", "--trace", "--view-data"] {
        for name in [&shown, &other] {
            refused(&["check", &shown, "--spec", "queue", option, name], "would write over");
        }
    }
    assert_eq!(std::fs::read(&path).expect("it is still there"), GOOD.as_bytes());
}

#[test]
fn a_part_of_a_history_counts_once() {
    let path = scratch("part.jsonl", GOOD.as_bytes()).display().to_string();
    refused(&["check", "--merge", &path, &path, "--spec", "queue"], "are the same file");
    refused(&["check", "--merge", &path, &format!("{path}@queue"), "--spec", "queue"], "are the same file");
}

/// Pairs are taken apart in all formats of calls and returns.
#[test]
fn objects_in_the_values_of_json_events() {
    let events = "{\"process\":0,\"type\":\"invoke\",\"op\":\"write\",\"value\":[1,5]}\n\
                  {\"process\":0,\"type\":\"ok\",\"op\":\"write\",\"value\":[1,5]}\n\
                  {\"process\":0,\"type\":\"invoke\",\"op\":\"write\",\"value\":[2,6]}\n\
                  {\"process\":0,\"type\":\"ok\",\"op\":\"write\",\"value\":[2,6]}\n\
                  {\"process\":0,\"type\":\"invoke\",\"op\":\"read\",\"value\":[1,null]}\n\
                  {\"process\":0,\"type\":\"ok\",\"op\":\"read\",\"value\":[1,5]}\n";
    let ran = linpoint(&["check", "-", "--spec", "register", "--partition", "value"], events.as_bytes());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

/// An argument that begins as an option does.
#[test]
fn an_object_may_start_below_zero() {
    let line = r#"{"process":0,"op":"read","ret":-1,"call":3,"return":4}"#;
    for spec in ["register", "counter", "rmw-register"] {
        for start in [&["--initial", "-1"][..], &["--initial=-1"]] {
            let ran = linpoint(&[&["check", "-", "--spec", spec], start].concat(), line.as_bytes());
            assert_eq!(ran.code, 0, "{spec}, {start:?}: {}{}", ran.out, ran.err);
        }
        let ran = linpoint(&["generate", "--spec", spec, "--ops", "3", "--initial", "-7"], b"");
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
}

/// Fields by other words: they would be passed over, and an operation would pass for one that never returned.
#[test]
fn other_words_for_fields_are_named() {
    for (line, meant) in [
        (r#"{"process":0,"op":"dequeue","ret":3,"call":3,"end":4}"#, "`return`"),
        (r#"{"process":0,"op":"dequeue","res":3,"call":3,"return":4}"#, "`ret`"),
        (r#"{"process":0,"op":"dequeue","output":3,"call":3,"return":4}"#, "`ret`"),
        (r#"{"process":0,"op":"enqueue","value":3,"call":3,"return":4}"#, "`arg`"),
        (r#"{"process":0,"type":"invoke","op":"enqueue","arg":3}"#, "`value`"),
    ] {
        let ran = linpoint(&["check", "-", "--spec", "queue"], format!("{line}\n").as_bytes());
        assert!(ran.code == 2 && ran.err.contains("H023") && ran.err.contains(meant), "{line}: {}", ran.err);
    }
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

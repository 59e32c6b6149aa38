//! Bad input: each kind has its code, its place and a message that says what was expected.

use std::path::PathBuf;

use linpoint_history::formats::{self, Format, Input, ReadOptions, problem};
use linpoint_history::rng::Rng;

use crate::samples::{Taste, history, read, spec, write};

/// The text is refused with this code, at this line, and the message has these words in it.
#[track_caller]
fn check(
    spec_name: &str,
    format: Option<Format>,
    text: impl AsRef<[u8]>,
    code: &str,
    line: u64,
    words: &str,
) {
    let text = text.as_ref();
    let shown = String::from_utf8_lossy(text);
    match read(&spec(spec_name), format, text) {
        Ok(history) => panic!("{} operations were read from {shown}", history.operations.len()),
        Err(problem) => {
            assert_eq!((problem.code, problem.line), (code, line), "{problem} in {shown}");
            assert!(problem.message.contains(words), "`{}` does not say `{words}`", problem.message);
            assert_eq!(problem.file, "h");
            assert!(!problem.help.is_empty());
        }
    }
}

#[track_caller]
fn jsonl(text: &str, code: &str, line: u64, words: &str) {
    check("queue", None, text, code, line, words);
}

const GOOD: &str = "{\"process\":1,\"op\":\"enqueue\",\"arg\":5,\"ret\":null,\"call\":1,\"return\":2}\n";

/// The usual line and then one with a field changed.
fn after(from: &str, to: &str) -> String {
    let bad = GOOD.replace("\"call\":1,\"return\":2", "\"call\":3,\"return\":4").replace(from, to);
    format!("{GOOD}{bad}")
}

#[test]
fn json_that_is_cut_off_or_wrong() {
    jsonl(&GOOD[..GOOD.len() - 5], problem::TRUNCATED, 1, "expected");
    jsonl(&format!("{GOOD}{}", &GOOD[..20]), problem::TRUNCATED, 2, "the closing quote");
    jsonl(&after("\"arg\":5", "\"arg\":"), problem::SYNTAX, 2, "found `,`");
    jsonl(&after("\"arg\":5", "\"arg\":[1"), problem::SYNTAX, 2, "`,` or `]`");
    jsonl(&after("\"arg\":5", "\"arg\" 5"), problem::SYNTAX, 2, "`:`");
    jsonl(&after("}", "} x"), problem::SYNTAX, 2, "the end of the line");
    jsonl(&after("5", "\"\\ud800\""), problem::SYNTAX, 2, "surrogates");
    jsonl(&after("5", &"[".repeat(500)), problem::TOO_BIG, 2, "nested");
    jsonl(&after("5", &format!("5,\"more\":{}", "[".repeat(500))), problem::TOO_BIG, 2, "nested");
    check(
        "queue",
        None,
        [GOOD.as_bytes(), b"{\"process\":\"\xff\"}"].concat(),
        problem::NOT_UTF8,
        2,
        "UTF-8",
    );
}

#[test]
fn fields_that_are_missing_or_wrong() {
    jsonl(&after("\"process\":1,", ""), problem::MISSING_FIELD, 2, "`process`");
    jsonl(&after("\"op\":\"enqueue\",", ""), problem::MISSING_FIELD, 2, "`op`");
    jsonl(&after("\"call\":3,", ""), problem::MISSING_FIELD, 2, "`call`");
    jsonl(&after("\"process\":1", "\"process\":true"), problem::FIELD_TYPE, 2, "`process`");
    jsonl(&after("\"enqueue\"", "5"), problem::FIELD_TYPE, 2, "`op`");
    jsonl(&after("\"call\":3", "\"call\":\"3\""), problem::FIELD_TYPE, 2, "`call`");
    jsonl(&after("\"call\":3", "\"call\":3.5"), problem::FIELD_TYPE, 2, "`call`");
    jsonl(&after("\"call\":3", "\"call\":3,\"failed\":7"), problem::FIELD_TYPE, 2, "`failed`");
    jsonl(&after("\"call\":3", "\"call\":3,\"call\":3"), problem::FIELD_TWICE, 2, "`call`");
}

#[test]
fn operations_and_values_that_do_not_fit() {
    jsonl(&after("enqueue", "enqeue"), problem::UNKNOWN_OPERATION, 2, "queue has enqueue (enq, push");
    jsonl(
        &after("\"arg\":5", "\"arg\":null"),
        problem::ARGUMENT,
        2,
        "is null; expected a value other than null",
    );
    jsonl(&after("null", "7"), problem::RESULT, 2, "the result of `enqueue` is 7, an integer; expected null");
    jsonl(&after("5", "1.5"), problem::NOT_A_VALUE, 2, "fraction");
    jsonl(&after("5", "{\"a\":1}"), problem::NOT_A_VALUE, 2, "an object");
    jsonl(&after("5", "18446744073709551616"), problem::TOO_LARGE, 2, "18446744073709551616");
    jsonl(&after("\"return\":4", "\"return\":9223372036854775807"), problem::TOO_LARGE, 2, "stamp");
    check("cas-register", None, GOOD.replace("enqueue", "cas"), problem::ARGUMENT, 1, "a list of two values");
}

#[test]
fn times_that_cannot_be() {
    jsonl(
        &after("\"call\":3", "\"call\":5"),
        problem::RETURN_BEFORE_CALL,
        2,
        "returns at 4 before it is called at 5",
    );
    let words = "process 1 has two operations open at once: enqueue(5) [1,2] and enqueue(5) [1,4]";
    jsonl(&after("\"call\":3", "\"call\":1"), problem::TWO_OPEN, 2, words);
    let words = "enqueue(5) [1,..] and enqueue(5) [3,4]";
    jsonl(&after("x", "x").replacen('2', "null", 1), problem::TWO_OPEN, 2, words);
}

#[test]
fn a_line_is_found_afterwards() {
    let input = Input::Bytes(after("\"call\":3", "\"call\":1").into());
    let (spec, options) = (spec("queue"), ReadOptions::default());
    let mut symbols = linpoint_history::Symbols::new();
    let mut rows = Vec::new();
    formats::open(&input, &spec, &options).unwrap().read(&mut symbols, &mut rows, 10).unwrap();
    let mut order = formats::ProcessOrder::default();
    let signature = linpoint_history::Spec::signature(&spec);
    order.check(&rows[0], &symbols, signature).unwrap();
    let found = order.check(&rows[1], &symbols, signature).unwrap_err();
    assert_eq!((found.code, found.line), (problem::TWO_OPEN, 0));
    assert_eq!(formats::with_line(found, &input, &spec, &options).line, 2);
}

#[test]
fn touching_operations_of_one_process_are_fine_in_any_order() {
    let touching = "{\"process\":1,\"op\":\"enqueue\",\"arg\":5,\"ret\":null,\"call\":2,\"return\":2}\n";
    assert!(read(&spec("queue"), None, format!("{touching}{GOOD}").as_bytes()).is_ok());
}

#[test]
fn formats_that_change_half_way() {
    let event = "{\"process\":1,\"type\":\"invoke\",\"op\":\"enqueue\",\"value\":5}\n";
    let edn = "{:process 1, :type :invoke, :f :enqueue, :value 5}\n";
    let log = "INFO  jepsen.util - 0\t:invoke\t:enqueue\t5\n";
    let csv = "process,op,arg,ret,call,return\n1,enqueue,5,,1,2\n";
    let texts = [(GOOD, "jsonl"), (event, "json-events"), (edn, "jepsen"), (log, "etcd-log"), (csv, "csv")];
    for (first, from) in texts {
        for (second, to) in texts {
            if from != to {
                let line = first.lines().count() as u64 + 1;
                let words = format!("begins as {from} and goes on as {to}");
                jsonl(&format!("{first}{second}"), problem::FORMAT_CHANGE, line, &words);
            }
        }
    }
}

#[test]
fn formats_that_are_not_known() {
    assert_eq!(Format::find("edn"), Some(Format::JepsenEdn));
    assert_eq!(Format::find("jepsn"), None);
    jsonl("hello\nworld\n", problem::UNKNOWN_FORMAT, 1, "not recognised");
    jsonl("[{\"process\":1}]", problem::UNKNOWN_FORMAT, 1, "not recognised");
    if !Format::Parquet.is_built_in() {
        check("queue", None, "PAR1", problem::NOT_BUILT_IN, 0, "parquet");
    }
}

#[test]
fn events_that_do_not_match() {
    let event =
        |kind: &str, op: &str| format!("{{\"process\":1,\"type\":\"{kind}\",\"op\":\"{op}\",\"value\":5}}\n");
    let call = event("invoke", "enqueue");
    jsonl(&event("ok", "enqueue"), problem::RETURN_WITHOUT_CALL, 1, "nothing open");
    jsonl(
        &format!("{call}{}", event("ok", "dequeue")),
        problem::RETURN_WITHOUT_CALL,
        2,
        "returns from `dequeue`",
    );
    let words = "enqueue(5) [0,..] of line 1 and enqueue(5) [1,..]";
    jsonl(&format!("{call}{call}"), problem::TWO_OPEN, 2, words);
    jsonl(&format!("{call}{}", event("done", "enqueue")), problem::FIELD_TYPE, 2, "`done`");
    jsonl(&format!("{call}{}", event("ok", "enq?")), problem::UNKNOWN_OPERATION, 2, "enq?");
    jsonl(&call.replace("\"process\":1,", ""), problem::MISSING_FIELD, 1, "`process`");
    jsonl(&call.replace("5}", "5.5}"), problem::NOT_A_VALUE, 1, "fraction");
    let failed = format!("{call}{}", event("ok", "enqueue").replace('5', "false"));
    jsonl(&failed, problem::RESULT, 2, "the result of `enqueue` is false");
}

#[test]
fn edn_that_is_wrong() {
    let edn = |text: &str, code, line, words: &str| {
        check("register", Some(Format::JepsenEdn), text, code, line, words)
    };
    let map = "{:process 1, :type :invoke, :f :write, :value 5}\n";
    edn(&map[..20], problem::TRUNCATED, 1, "expected");
    edn(&format!("[{map}"), problem::TRUNCATED, 2, "`]`");
    edn(&format!("[{map}] {map}"), problem::SYNTAX, 2, "after the end");
    edn(&format!("{map}\n7"), problem::SYNTAX, 3, "not a map");
    edn(&format!("{map}\n{{:process 2, :type\n:invoke :f ]"), problem::SYNTAX, 4, "closing bracket");
    edn(&map.replace("5", "5.5"), problem::NOT_A_VALUE, 1, "not an integer");
    edn(&map.replace("5", "99999999999999999999"), problem::TOO_LARGE, 1, "99999999999999999999");
    edn(&map.replace("5", "5y"), problem::SYNTAX, 1, "number");
    edn(&map.replace("5", "{:a 1}"), problem::NOT_A_VALUE, 1, "a map");
    edn(&map.replace(":f :write", ""), problem::MISSING_FIELD, 1, ":f");
    edn(&map.replace(":write", ":wriite"), problem::UNKNOWN_OPERATION, 1, "wriite");
    edn(&map.replace("5", &"[".repeat(500)), problem::TOO_BIG, 1, "nested");
    let log =
        |text: &str, code, words: &str| check("cas-register", Some(Format::EtcdLog), text, code, 1, words);
    log("INFO  jepsen.util - 3\t:invoke", problem::TRUNCATED, "tabs");
    log("INFO  jepsen.util - 3\t:invoke\t:read\t[1", problem::TRUNCATED, "`]`");
    log("INFO  jepsen.util - 3\t:invoke\t:read\t1 2", problem::SYNTAX, "after the value");
    log("INFO  jepsen.util - 99999999999999999999\t:invoke\t:read\t1", problem::TOO_LARGE, "64 bits");
}

#[test]
fn csv_that_is_wrong() {
    let csv =
        |text: &str, code, line, words: &str| check("queue", Some(Format::Csv), text, code, line, words);
    let head = "process,op,arg,ret,call,return\n";
    let words = "the header has no column `call`; expected process,op,arg,ret,call,return[,key]";
    csv("process,op,arg\n", problem::MISSING_FIELD, 1, words);
    csv("1,enqueue,5,,1,2\n", problem::MISSING_FIELD, 1, "the header has no column `process`");
    csv("process,op,call,call\n", problem::FIELD_TWICE, 1, "call");
    csv("process,op,a\\g,ret,call,return\n", problem::MISSPELT, 1, "none `arg`");
    csv("process,op,arg,ret,call,until\n", problem::MISSPELT, 1, "none `return`");
    csv(&format!("{head}1,enqueue,5,,1\n"), problem::SYNTAX, 2, "5 fields; expected 6");
    csv(&format!("{head}1,enqueue,\"5,,1,2\n"), problem::TRUNCATED, 2, "quote");
    csv(&format!("{head}1,enqueue,5.5,,1,2\n"), problem::NOT_A_VALUE, 2, "fraction");
    csv(&format!("{head}1,enqueue,\"a\nb\",,1,2\n1,enqueue,6,,x,2"), problem::FIELD_TYPE, 4, "`call`");
    csv(&format!("{head}1,enqueue,5,,3,2\n"), problem::RETURN_BEFORE_CALL, 2, "before");
    csv(&format!("{head}1,jump,5,,1,2\n"), problem::UNKNOWN_OPERATION, 2, "jump");
    csv(&format!("{head}1,enqueue,5,,1.5,2\n"), problem::FIELD_TYPE, 2, "`call` is a number with a fraction");
    // Two halves of a character with a comma or a quote between them are no character.
    for bad in [&b"\xff"[..], b"1,enqueue,\xcc,\xac,1,2", b"1,enqueue,\"\xcc\"\xac,,1,2"] {
        let text = [head.as_bytes(), bad].concat();
        check("queue", Some(Format::Csv), text, problem::NOT_UTF8, 2, "UTF-8");
    }
}

#[test]
fn binary_that_is_torn_or_damaged() {
    let spec = spec("queue");
    let taste = Taste { odd_values: true, odd_processes: false, keys: true, event_stamps: false };
    let bytes = write(Format::Binary, &history(&spec, 3000, taste, &mut Rng::new(1)), &spec);
    for length in [5, 7, 8, 9, 23, 24, 30, 100, bytes.len() / 2, bytes.len() - 1] {
        check("queue", None, &bytes[..length], problem::TRUNCATED, 0, "ends in the middle");
    }
    for at in [8, 12, 20, 30, 1000, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(read(&spec, None, &damaged).is_err(), "a change at byte {at} went unnoticed");
    }
    check("queue", None, [&bytes[..], b"x"].concat(), problem::DAMAGED, 0, "follows after its end");
    check("queue", Some(Format::Binary), "hello, world", problem::DAMAGED, 0, "magic number");
    let mut newer = bytes.clone();
    newer[7] = 9;
    check("queue", None, &newer, problem::DAMAGED, 0, "version 9");
    check("stack", None, &bytes, problem::UNKNOWN_OPERATION, 0, "enqueue");
}

#[test]
fn files_that_cannot_be_read() {
    let open = |path: PathBuf| {
        let options = ReadOptions::default();
        formats::open(&Input::File(path), &spec("queue"), &options).err().expect("it cannot be read")
    };
    let missing = open("no/such/file.jsonl".into());
    assert_eq!((missing.code, missing.file.as_str()), (problem::UNREADABLE, "no/such/file.jsonl"));
    assert_eq!(open(std::env::temp_dir()).code, problem::DIRECTORY);
}

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

/// JSON that is right, but not one object a line: the sentence says what it is, and the help how to make lines of it.
#[test]
fn json_that_is_not_a_line_for_each_operation() {
    let object = GOOD.trim_end();
    jsonl(&format!("[{object}]"), problem::SYNTAX, 1, "a JSON array");
    jsonl(&format!("[\n  {object},\n  {object}\n]\n"), problem::SYNTAX, 1, "a JSON array");
    jsonl(&format!("{GOOD}[{object}]"), problem::SYNTAX, 2, "a JSON array");
    jsonl(
        &object.replace(',', ",\n  ").replace('{', "{\n  "),
        problem::TRUNCATED,
        1,
        "in the middle of an object",
    );
    jsonl(&object.replace(',', ",\n"), problem::TRUNCATED, 1, "in the middle of an object");
    let event = "{\"process\":1,\"type\":\"invoke\",\n\"op\":\"enqueue\",\"value\":5}\n";
    jsonl(event, problem::TRUNCATED, 1, "in the middle of an object");
    for comment in ["# made by hand", "#", "// made by hand"] {
        jsonl(&format!("{GOOD}{comment}\n"), problem::SYNTAX, 2, "a comment");
    }
    jsonl(&format!("# made by hand\n#\n\n{GOOD}"), problem::SYNTAX, 1, "a comment");
}

#[test]
fn names_in_capitals_and_lines_that_are_there_twice() {
    let found =
        read(&spec("queue"), None, after("enqueue", "Enqueue").as_bytes()).expect_err("there is no Enqueue");
    assert_eq!((found.code, found.line), (problem::UNKNOWN_OPERATION, 2));
    assert!(found.help.starts_with("`enqueue`, if that is meant"), "{}", found.help);
    jsonl(&format!("{GOOD}{GOOD}"), problem::TWO_OPEN, 2, "the same operation twice");
}

/// A diagnostic has the line that it speaks of, however the input came.
#[test]
fn the_line_is_shown() {
    #[track_caller]
    fn shows(text: &str, line: &str, caret: Option<usize>) {
        let found = read(&spec("queue"), None, text.as_bytes()).expect_err("it is wrong");
        let excerpt = found.excerpt.as_deref().unwrap_or_else(|| panic!("{found} shows nothing"));
        assert_eq!((excerpt.text.as_str(), excerpt.caret), (line, caret), "{found}");
    }
    let bad = GOOD.trim_end().replace("\"ret\"", "\"res\"").replace("null", "7");
    let at = bad.find('7').expect("it is there");
    shows(&format!("{GOOD}{bad}\n{GOOD}"), &bad, Some(at));
    shows(&format!("{GOOD}{bad}"), &bad, Some(at));
    let csv = "process,op,arg,ret,call,return\n1,enqueue,5,,1,x\n";
    let found = read(&spec("queue"), None, csv.as_bytes()).expect_err("x is no stamp");
    assert_eq!(found.excerpt.map(|excerpt| excerpt.text).as_deref(), Some("1,enqueue,5,,1,x"));
}

#[test]
fn formats_that_are_not_known() {
    assert_eq!(Format::find("edn"), Some(Format::JepsenEdn));
    assert_eq!(Format::find("jepsn"), None);
    jsonl("hello\nworld\n", problem::UNKNOWN_FORMAT, 1, "not recognised");
    jsonl("[1, 2]", problem::UNKNOWN_FORMAT, 1, "not recognised");
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
    // What is neither an answer nor the argument again.
    let other = format!("{call}{}", event("ok", "enqueue").replace('5', "6"));
    jsonl(&other, problem::RESULT, 2, "the result of `enqueue` is 6");
    let lock = "{\"process\":1,\"type\":\"invoke\",\"op\":\"acquire\"}\n\
                {\"process\":1,\"type\":\"ok\",\"op\":\"acquire\",\"value\":7}\n";
    check("lock", None, lock, problem::RESULT, 2, "the result of `acquire` is 7");
    let repeated = lock.replace("\"op\":\"acquire\"}", "\"op\":\"acquire\",\"value\":7}");
    assert_eq!(read(&spec("lock"), None, repeated.as_bytes()).unwrap().operations.len(), 1);
}

/// An answer is one of the object that was asked.
#[test]
fn returns_from_other_objects() {
    let event = |kind: &str, key: &str| {
        format!("{{\"process\":1,\"type\":\"{kind}\",\"op\":\"read\",\"value\":null{key}}}\n")
    };
    let one = ",\"key\":1";
    for (called, ended, words) in [
        (one, ",\"key\":2", "called `read` of object 1 and returns from object 2"),
        ("", one, "called `read` of the object without a name and returns from object 1"),
    ] {
        for kind in ["ok", "fail", "info"] {
            let text = event("invoke", called) + &event(kind, ended);
            check("register", None, text, problem::RETURN_WITHOUT_CALL, 2, words);
        }
    }
    for (called, ended) in [(one, one), (one, ""), (one, ",\"key\":null"), ("", "")] {
        let text = event("invoke", called) + &event("ok", ended);
        assert_eq!(read(&spec("register"), None, text.as_bytes()).unwrap().operations.len(), 1);
    }
    let edn =
        "{:process 0 :type :invoke :f :read :key :a} {:process 0 :type :ok :f :read :key \"a\" :value nil}";
    check("register", None, edn, problem::RETURN_WITHOUT_CALL, 1, "object \":a\"");
}

/// In values that are pairs too; and pairs are looked for in all formats of events, and in no others.
#[test]
fn objects_in_values() {
    let read = |text: &str, format| {
        let options = ReadOptions { independent: true, format, ..ReadOptions::default() };
        formats::read_all(&Input::Bytes(text.into()), &spec("register"), &options)
    };
    for other in ["2", "nil"] {
        let edn = "{:process 0 :type :invoke :f :read :value [1 nil]}\n{:process 0 :type :ok :f :read :value [2 5]}";
        let found = read(&edn.replace("[2", &format!("[{other}")), None).unwrap_err();
        assert_eq!((found.code, found.line), (problem::RETURN_WITHOUT_CALL, 2));
    }
    let json = "{\"process\":0,\"type\":\"invoke\",\"op\":\"read\",\"value\":[1,null]}\n\
                {\"process\":0,\"type\":\"ok\",\"op\":\"read\",\"value\":[1,5]}\n";
    assert_eq!(read(json, None).unwrap().symbols.key_count(), 1);
    // Then a field says nothing about the object.
    let failed = json.replace("\"type\":\"ok\"", "\"type\":\"fail\",\"key\":7");
    assert_eq!(read(&failed, None).unwrap().operations.len(), 0);
    assert_eq!(read(&json.replace("[1,5]", "5"), None).unwrap_err().code, problem::FIELD_TYPE);
    let log = "INFO  jepsen.util - 0\t:invoke\t:read\t[1 nil]\nINFO  jepsen.util - 0\t:ok\t:read\t[1 5]\n";
    assert_eq!(read(log, None).unwrap().symbols.key_count(), 1);
    for (text, format) in [
        ("{\"process\":1,\"op\":\"read\",\"ret\":[1,5],\"call\":1,\"return\":2}", Format::JsonLines),
        ("process,op,arg,ret,call,return\n", Format::Csv),
        ("", Format::Binary),
    ] {
        assert_eq!(read(text, Some(format)).unwrap_err().code, problem::NO_OBJECTS);
    }
}

#[test]
fn cells_that_a_snapshot_does_not_have() {
    let row = |cell: &str| {
        format!(
            "{{\"process\":0,\"op\":\"write\",\"arg\":[{cell},5],\"ret\":null,\"call\":0,\"return\":1}}\n"
        )
    };
    let good = row("3") + &row("65535").replace("\"process\":0", "\"process\":1");
    assert_eq!(read(&spec("snapshot"), None, good.as_bytes()).unwrap().operations.len(), 2);
    for cell in ["65536", "-1", "\"a\"", "true", "null"] {
        check("snapshot", None, row(cell), problem::ARGUMENT, 1, "a cell from 0 to 65535");
        // Where a line is read by the shape of those before it.
        check(
            "snapshot",
            None,
            row("3").repeat(3) + &row(cell),
            problem::ARGUMENT,
            4,
            "a cell from 0 to 65535",
        );
        let event =
            format!("{{:process 0 :type :invoke :f :write :value [{} 5]}}", cell.replace("null", "nil"));
        check("snapshot", None, event, problem::ARGUMENT, 1, "a cell from 0 to 65535");
        // In a table of values, under the name of an operation that takes them.
        let history = read(&spec("register"), None, row(cell).as_bytes()).unwrap();
        let bytes = write(Format::Binary, &history, &spec("snapshot"));
        check("snapshot", None, bytes, problem::ARGUMENT, 0, "a cell from 0 to 65535");
    }
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
    edn(&map.replace("5", "4 :value 5"), problem::FIELD_TWICE, 1, "`:value` appears twice");
    edn(&map.replace("1", "1 :process 2"), problem::FIELD_TWICE, 1, "`:process` appears twice");
    // Eight for some, ten for others.
    for number in ["010", "-010", "00", "+07", "010N"] {
        edn(&map.replace("5", number), problem::NOT_A_VALUE, 1, "a number with a leading zero");
    }
    // Nobody's events are left out without a word, but the nemesis'.
    for process in ["1.0", "nil", ":client", "true", "one", "[1]", "01", "#p 1"] {
        edn(&map.replace("1", process), problem::FIELD_TYPE, 1, "`:process` is ");
    }
    edn(&map.replace("1", "99999999999999999999"), problem::TOO_LARGE, 1, "64 bits");
    let log =
        |text: &str, code, words: &str| check("cas-register", Some(Format::EtcdLog), text, code, 1, words);
    log("INFO  jepsen.util - -1\t:invoke\t:read\tnil", problem::FIELD_TYPE, "process");
    log("INFO  jepsen.util - one\t:invoke\t:read\tnil", problem::FIELD_TYPE, "`one`");
    log("INFO  jepsen.util - 03\t:invoke\t:read\tnil", problem::FIELD_TYPE, "`03`");
    log(
        "INFO  jepsen.util - 3\t:invoke\t:read\t010\nINFO  jepsen.util - 3\t:ok\t:read\t1",
        problem::NOT_A_VALUE,
        "zero",
    );
    log("INFO  jepsen.util - 3\t:invoke", problem::TRUNCATED, "tabs");
    log("INFO  jepsen.util - 3", problem::TRUNCATED, "tabs");
    log("INFO  jepsen.util - ", problem::TRUNCATED, "tabs");
    log("INFO  jepsen.ut", problem::TRUNCATED, "tabs");
    log("INFO  jepsen.util - x\t:invoke", problem::TRUNCATED, "tabs");
    log("INFO  jepsen.core - 3\t:invoke\t:read\tnil", problem::SYNTAX, "`jepsen.core` logs");
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
    csv(&format!("{head}1,enqueue,\"5\"x,,1,2\n"), problem::SYNTAX, 2, "after its closing quote");
    csv(&format!("{head}1,enqueue,\"5\" \"\",,1,2\n"), problem::SYNTAX, 2, "after its closing quote");
    csv(&format!("{head}1,enqueue,\"\"\"5\",,1,2\n"), problem::TRUNCATED, 2, "quote");
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
    let mut late = read(&spec, None, GOOD.as_bytes()).unwrap();
    late.operations[0].ret = linpoint_history::Operation::NEVER;
    assert!(read(&spec, None, &write(Format::Binary, &late, &spec)).is_ok());
    late.operations[0].call = linpoint_history::Operation::NEVER;
    check("queue", None, write(Format::Binary, &late, &spec), problem::TOO_LARGE, 0, "too large");
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

#[test]
fn edn_fields_that_are_nearly_named() {
    let edn = |field: &str, code, words: &str| {
        let text =
            format!("{{:process 0 :type :invoke :f :read}}\n{{:process 0 :type :ok :f :read {field} 5}}\n");
        check("register", Some(Format::JepsenEdn), text, code, 2, words);
    };
    edn(":vaule", problem::MISSPELT, "a field `:vaule`, and none `:value`");
    edn(":Value", problem::MISSPELT, "a field `:Value`");
    edn(":result", problem::MISSPELT, "a field `:result`");
    edn("\"value\"", problem::MISSPELT, "a field `\"value\"`, and none `:value`");
    edn("value", problem::MISSPELT, "a field `value`, and none `:value`");
    edn(":value 5 :kee", problem::MISSPELT, "a field `:kee`, and none `:key`");
    // What Jepsen writes besides.
    let more = "{:process 0 :type :invoke :f :read :index 0 :time 1 :error [:x] \"a\" 1 2 3}";
    assert!(read(&spec("register"), Some(Format::JepsenEdn), more.as_bytes()).is_ok());
}

/// Clojure puts metadata before a value with `^`; EDN has no such thing, and a symbol it is not.
#[test]
fn signs_that_begin_no_value_in_edn() {
    for value in ["^{:a 1} 1", "^1 2", "@a", "~a", "`a", "'a", "a^b", "::a", ":", "#^a 1", "#1 2"] {
        let text = format!("{{:process 0 :type :invoke :f :write :value {value}}}");
        check("register", Some(Format::JepsenEdn), text, problem::SYNTAX, 1, "found");
    }
    for value in ["a", "a.b/c", "->x", "x'", "+", "-a", ":a/b", ":1", "ü", "$a_1", "<=?", "#t a", ":a#b"] {
        let text = format!("{{:process 0 :type :invoke :f :write :value {value}}}");
        let history = read(&spec("register"), Some(Format::JepsenEdn), text.as_bytes());
        assert_eq!(history.map(|history| history.operations.len()), Ok(1), "{value}");
    }
}

#[test]
fn short_fields_that_are_nearly_named() {
    for name in ["rets", "rett", "retv", "re"] {
        jsonl(&after("\"ret\"", &format!("\"{name}\"")), problem::MISSPELT, 2, "none `ret`");
    }
    for name in ["keys", "kee"] {
        let field = format!("\"{name}\":1,\"call\"");
        jsonl(&after("\"call\"", &field), problem::MISSPELT, 2, "none `key`");
    }
    for name in ["rev", "req", "index", "time", "node"] {
        let text = after("\"ret\"", &format!("\"{name}\""));
        assert!(read(&spec("queue"), None, text.as_bytes()).is_ok(), "{name}");
    }
}

/// A setting that changes nothing was meant to change something.
#[test]
fn settings_that_change_nothing() {
    use linpoint_history::specs::{SpecError, parse};
    for name in ["set", "multiset", "list"] {
        assert!(matches!(parse(&format!("{name}:spurious")), Err(SpecError::Pointless { .. })), "{name}");
        assert!(parse(&format!("{name}:capacity=2:spurious")).is_ok());
        assert!(parse(&format!("{name}:spurious:capacity=2")).is_ok());
    }
    for name in ["queue", "stack", "deque", "priority-queue"] {
        assert!(parse(&format!("{name}:spurious")).is_ok());
    }
}

/// An argument that is repeated says nothing of what was answered, where two answers are possible.
#[test]
fn the_argument_again_is_no_answer() {
    let json = |op: &str, value: &str| {
        let event = |moment: &str| {
            format!("{{\"process\":0,\"type\":\"{moment}\",\"op\":\"{op}\",\"value\":{value}}}\n")
        };
        event("invoke") + &event("ok")
    };
    let edn = |op: &str, value: &str| {
        let event = |moment: &str| format!("{{:process 0, :type :{moment}, :f :{op}, :value {value}}}\n");
        event("invoke") + &event("ok")
    };
    let cases = [
        ("set", "add", "5"),
        ("set", "remove", "5"),
        ("multiset", "remove", "5"),
        ("multiset", "insert_pair", "[1,2]"),
        ("list", "remove", "5"),
        ("priority-queue", "change_key", "[1,2]"),
        ("queue:capacity=2", "enqueue", "5"),
        ("stack:capacity=2", "push", "5"),
        ("deque:capacity=2", "push_back", "5"),
    ];
    let says = "only repeats the value of its `invoke`";
    for (spec, op, value) in cases {
        check(spec, Some(Format::JsonEvents), json(op, value), problem::RESULT, 2, says);
        check(spec, Some(Format::JepsenEdn), edn(op, value), problem::RESULT, 2, says);
    }
    // Only Jepsen's logs write a comparison that succeeded so.
    for spec_name in ["cas-register", "kv"] {
        check(spec_name, Some(Format::JsonEvents), json("cas", "[1,2]"), problem::RESULT, 2, says);
        let read = read(&spec(spec_name), Some(Format::JepsenEdn), edn("cas", "[1 2]").as_bytes());
        assert_eq!(read.expect("it can be read").operations[0].result, linpoint_history::ValueId::TRUE);
    }
}

/// A key is no null, whoever names it.
#[test]
fn keys_of_a_map_are_not_null() {
    let row = |op: &str, arg: &str| {
        format!("{{\"process\":1,\"op\":\"{op}\",\"arg\":{arg},\"ret\":null,\"call\":1,\"return\":2}}\n")
    };
    for (op, arg) in [("insert", "[null,1]"), ("put", "[null,null]"), ("get", "null"), ("remove", "null")] {
        // On the quick path and off it.
        check("map", None, row(op, arg), problem::ARGUMENT, 1, "is");
        let usual = row("insert", "[3,4]").replace("\"call\":1,\"return\":2", "\"call\":3,\"return\":4");
        check("map", None, usual + &row(op, arg), problem::ARGUMENT, 2, "is");
    }
    let fine = row("insert", "[3,null]") + &row("insert", "[\"a\",1]").replace(":1,\"op", ":2,\"op");
    assert_eq!(read(&spec("map"), None, fine.as_bytes()).expect("it can be read").operations.len(), 2);
    // Pairs that are no entries may begin with null.
    let cas = row("cas", "[null,1]").replace("\"ret\":null", "\"ret\":true");
    let twice = cas.clone() + &cas.replace("\"call\":1,\"return\":2", "\"call\":3,\"return\":4");
    assert_eq!(read(&spec("kv"), None, twice.as_bytes()).expect("it can be read").operations.len(), 2);
}

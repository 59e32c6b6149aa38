//! JSON lines in all their freedom; the fast path must give what the slow path gives.

use linpoint_history::formats::{self, Format, Input, ReadOptions};

use crate::samples::{read, show, spec};

#[track_caller]
fn check(spec_name: &str, text: &str, expected: &str) {
    let spec = spec(spec_name);
    let history = read(&spec, None, text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(show(&history, &spec), expected.replace("\n            ", "\n").trim_start());
}

#[test]
fn fields_come_in_any_order_with_any_spacing() {
    check(
        "queue",
        "{\"process\":3,\"op\":\"enqueue\",\"arg\":5,\"ret\":null,\"call\":1,\"return\":2}\n\
         { \"return\" : 4 , \"call\":3,\"ret\":5, \"node\":\"n1\", \"op\":\"deq\",\"process\":3}  \r\n\
         \n\
         {\"op\":\"enqueue\",\"process\":\"a\",\"arg\":\"x\",\"call\":5,\"more\":{\"a\":[1.5,{}]},\"return\":6}\n\
         {\"process\":4,\"op\":\"enqueue\",\"arg\":7,\"ret\":true,\"call\":-9,\"return\":-8,\"failed\":false}\n\
         {\"process\":5,\"op\":\"dequeue\",\"call\":8,\"return\":null}\n\
         {\"process\":6,\"op\":\"dequeue\",\"call\":9}\n\
         {\"process\":7,\"op\":\"dequeue\",\"call\":9,\"return\":10,\"failed\":true}",
        "4 null: enqueue(7) -> null [-9,-8]
            3 null: enqueue(5) -> null [1,2]
            3 null: dequeue(null) -> 5 [3,4]
            \"a\" null: enqueue(\"x\") -> null [5,6]
            5 null: dequeue(null) -> null [8,..]
            6 null: dequeue(null) -> null [9,..]
",
    );
}

#[test]
fn large_numbers_stay_exact() {
    check(
        "register",
        "{\"process\":0,\"op\":\"write\",\"arg\":9223372036854775807,\"ret\":null,\"call\":1,\"return\":2}\n\
         {\"process\":0,\"op\":\"write\",\"arg\":-9223372036854775808,\"ret\":null,\"call\":3,\"return\":4}\n\
         {\"process\":0,\"op\":\"write\",\"arg\":123456789012345678,\"ret\":null,\"call\":123456789012345,\"return\":123456789012345678}\n\
         {\"process\":0,\"op\":\"write\",\"arg\":12345678,\"ret\":null,\"call\":1234567890123456789,\"return\":1234567890123456790}\n\
         {\"process\":12345678,\"op\":\"write\",\"arg\":3221225472,\"ret\":null,\"call\":1,\"return\":9223372036854775806}\n",
        "0 null: write(9223372036854775807) -> null [1,2]
            0 null: write(-9223372036854775808) -> null [3,4]
            0 null: write(123456789012345678) -> null [123456789012345,123456789012345678]
            0 null: write(12345678) -> null [1234567890123456789,1234567890123456790]
            12345678 null: write(3221225472) -> null [1,9223372036854775806]
",
    );
}

#[test]
fn results_of_operations_that_never_returned_do_not_matter() {
    check(
        "set",
        "{\"process\":1,\"op\":\"add\",\"arg\":5,\"ret\":null,\"call\":1,\"return\":null}\n\
         {\"process\":2,\"op\":\"add\",\"arg\":5,\"ret\":null,\"call\":2,\"return\":null}\n\
         {\"process\":3,\"op\":\"add\",\"arg\":5,\"ret\":true,\"call\":2,\"return\":3}\n",
        "3 null: add(5) -> true [2,3]
            1 null: add(5) -> null [1,..]
            2 null: add(5) -> null [2,..]
",
    );
}

#[test]
fn another_field_may_name_the_object() {
    let text = b"{\"process\":1,\"op\":\"read\",\"ret\":5,\"call\":1,\"return\":2,\"shard\":\"s1\"}\n\
                 {\"process\":2,\"op\":\"read\",\"ret\":5,\"call\":1,\"return\":2,\"shard\":7}";
    let options = ReadOptions { key_field: Some("shard".into()), ..ReadOptions::default() };
    let spec = spec("register");
    let history = formats::read_all(&Input::Bytes(text.to_vec()), &spec, &options).unwrap();
    assert_eq!(show(&history, &spec), "1 \"s1\": read(null) -> 5 [1,2]\n2 7: read(null) -> 5 [1,2]\n");
}

#[test]
fn nothing_is_a_history_of_no_operations() {
    for text in ["", "\n", " \r\n\n"] {
        for format in [None, Some(Format::JsonLines), Some(Format::JsonEvents), Some(Format::Csv)] {
            assert!(read(&spec("queue"), format, text.as_bytes()).unwrap().operations.is_empty());
        }
    }
    for format in [Format::JepsenEdn, Format::KvLog, Format::EtcdLog, Format::Binary] {
        assert!(read(&spec("kv"), Some(format), b"").unwrap().operations.is_empty());
    }
    assert!(read(&spec("register"), None, b"[]").unwrap().operations.is_empty());
}

#[test]
fn lists_are_read_on_the_fast_path_too() {
    check(
        "cas-register",
        "\u{feff}{\"process\":0,\"op\":\"cas\",\"arg\":[1,2],\"ret\":true,\"call\":1,\"return\":2}\n\
         {\"process\":0,\"op\":\"cas\",\"arg\":[ 1, [\"]\"]],\"ret\":false,\"call\":3,\"return\":4}\n\
         {\"process\":0,\"op\":\"write\",\"arg\":[],\"ret\":null,\"call\":5,\"return\":6}\n",
        "0 null: cas([1,2]) -> true [1,2]
            0 null: cas([1,[\"]\"]]) -> false [3,4]
            0 null: write([]) -> null [5,6]
",
    );
}

/// A line after many like it is read the same as alone.
#[test]
fn the_fast_path_accepts_nothing_the_slow_path_refuses() {
    let usual = "{\"process\":1,\"op\":\"write\",\"arg\":5,\"ret\":null,\"call\":10,\"return\":20}\n";
    for odd in [
        usual.replace("5", "05"),
        usual.replace("5", "5.0"),
        usual.replace("5", "5e1"),
        usual.replace("5", "-"),
        usual.replace("5", "nul"),
        usual.replace("5", "[1,"),
        usual.replace("5", "[1.5]"),
        usual.replace("5", "[1,\n2]"),
        usual.replace("5", "nulll"),
        usual.replace("5", "\"a\\x\""),
        usual.replace("5", "\"a\u{1}\""),
        usual.replace("5", "99999999999999999999"),
        usual.replace("10", "30"),
        usual.replace("10", "010"),
        usual.replace("10", "null"),
        usual.replace("null", "7"),
        usual.replace("null", "false"),
        usual.replace("write", "writ"),
        usual.replace("write", "write\""),
        usual.replace("}", ""),
        usual.replace("}\n", "}}\n"),
        usual.replace("}\n", "},\n"),
        usual.replace("20", "9223372036854775807"),
    ] {
        let alone = read(&spec("register"), Some(Format::JsonLines), odd.as_bytes());
        let after = read(&spec("register"), None, (usual.to_owned() + &odd).as_bytes());
        let (alone, after) = (alone.unwrap_err(), after.unwrap_err());
        assert_eq!((alone.code, &alone.message, 1), (after.code, &after.message, after.line - 1), "{odd}");
    }
}

/// Lines that straddle the end of the buffer are whole.
#[test]
fn any_length_of_line_is_read() {
    let mut text = String::new();
    let mut expected = String::new();
    for n in 0..30_000 {
        let name = "x".repeat(if n == 17_000 { 700_000 } else { n % 50 });
        let line = format!(
            "{{\"process\":{},\"op\":\"write\",\"arg\":\"{name}\",\"call\":{n},\"return\":{n}}}\n",
            n % 7
        );
        text.push_str(&line);
        expected.push_str(&format!("{} null: write(\"{name}\") -> null [{n},{n}]\n", n % 7));
    }
    let spec = spec("register");
    let history = read(&spec, None, text.as_bytes()).unwrap();
    assert!(show(&history, &spec) == expected);
}

//! The event forms: calls and returns joined, each log with its own habits.

use linpoint_history::formats::{self, Format, Input, ReadOptions};
use linpoint_history::{Spec as _, Value};

use crate::samples::{show, spec};

#[track_caller]
fn check(spec_name: &str, format: Format, text: &str, expected: &[&str]) {
    check_with(spec_name, format, ReadOptions::default(), text, expected);
}

#[track_caller]
fn check_with(spec_name: &str, format: Format, options: ReadOptions, text: &str, expected: &[&str]) {
    let spec = spec(spec_name);
    let input = Input::Bytes(text.into());
    assert_eq!(formats::open(&input, &spec, &options).unwrap().format(), format);
    let history = formats::read_all(&input, &spec, &options).unwrap_or_else(|problem| panic!("{problem}"));
    let shown = show(&history, &spec);
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn json_events_are_joined() {
    check(
        "queue",
        Format::JsonEvents,
        "{\"process\":3,\"type\":\"invoke\",\"op\":\"enqueue\",\"value\":5}\n\
         {\"process\":4,\"type\":\"invoke\",\"f\":\"dequeue\",\"value\":null}\n\
         {\"process\":\"nemesis\",\"type\":\"info\",\"f\":\"kill\",\"value\":null}\n\
         {\"process\":3,\"type\":\"ok\",\"op\":\"enqueue\",\"value\":5}\n\
         {\"process\":4,\"type\":\"ok\",\"f\":\"dequeue\",\"value\":5,\"time\":1.5}\n\
         {\"process\":4,\"type\":\"invoke\",\"f\":\"dequeue\"}\n\
         {\"process\":3,\"type\":\"invoke\",\"op\":\"enqueue\",\"value\":6}\n\
         {\"process\":3,\"type\":\"fail\",\"op\":\"enqueue\",\"value\":6}\n",
        &[
            "3 null: enqueue(5) -> null [0,3]",
            "4 null: dequeue(null) -> 5 [1,4]",
            "4 null: dequeue(null) -> null [5,..]",
        ],
    );
}

#[test]
fn a_number_used_again_after_a_timeout_is_a_new_process() {
    check(
        "register",
        Format::JsonEvents,
        "{\"process\":3,\"type\":\"invoke\",\"op\":\"write\",\"value\":5}\n\
         {\"process\":3,\"type\":\"info\",\"op\":\"write\",\"value\":5}\n\
         {\"process\":3,\"type\":\"invoke\",\"op\":\"read\"}\n\
         {\"process\":3,\"type\":\"ok\",\"op\":\"read\",\"value\":5}\n",
        &["[3,2] null: read(null) -> 5 [2,3]", "3 null: write(5) -> null [0,..]"],
    );
}

/// Names that look alike: the number 3 and the text "3", which both go on, and a process whose own name is
/// `3#2`.
#[test]
fn a_process_that_goes_on_is_nobody_else() {
    let event = |process: &str, kind: &str| {
        format!("{{\"process\":{process},\"type\":\"{kind}\",\"op\":\"acquire\",\"value\":null}}\n")
    };
    let mut text = String::new();
    for process in ["3", "\"3\""] {
        text += &event(process, "invoke");
        text += &event(process, "info");
        text += &event(process, "invoke");
    }
    text += &event("\"3#2\"", "invoke");
    let lock = spec("lock");
    let input = Input::Bytes(text.into());
    let history = formats::read_all(&input, &lock, &ReadOptions::default()).unwrap();
    assert_eq!(history.symbols.process_count(), 5);
    // Written as rows the names stay what they are; written as events there are as many processes.
    for format in [Format::JsonLines, Format::Csv, Format::Binary, Format::JsonEvents, Format::JepsenEdn] {
        let mut bytes = Vec::new();
        formats::write(format, &history, lock.signature(), &mut bytes).unwrap();
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let again = formats::read_all(&Input::Bytes(bytes), &lock, &options).unwrap();
        assert_eq!(again.symbols.process_count(), 5, "{}", format.name());
        if !format.is_events() {
            assert_eq!(show(&again, &lock), show(&history, &lock));
        }
    }
}

#[test]
fn the_name_of_a_later_process_is_shown_apart() {
    use linpoint_history::symbols::{later, show_process};
    let names = [Value::Int(3), Value::text("3"), Value::text("3#2")];
    let mut shown: Vec<String> = names.iter().map(show_process).collect();
    shown.extend(names.iter().map(|name| show_process(&later(name, 2))));
    assert_eq!(shown, ["3", "\"3\"", "\"3#2\"", "3#2", "\"3\"#2", "\"3#2\"#2"]);
}

#[test]
fn events_are_of_processes_with_plain_names() {
    let spec = spec("register");
    let text = "{\"process\":[3,2],\"type\":\"invoke\",\"op\":\"read\"}\n";
    let problem = formats::read_all(&Input::Bytes(text.into()), &spec, &ReadOptions::default()).unwrap_err();
    assert_eq!(problem.code, formats::problem::FIELD_TYPE);
}

#[test]
fn jepsen_in_all_its_forms() {
    let maps = "{:type :invoke, :f :cas, :value [1 4], :process 1, :time 99}
        ; a comment { with a brace
        #jepsen.history.Op{:index 7, :type :invoke, :f :read, :process 0, :value nil, :extra #{1 \\a 2.5 1/2 10N}}
        {:type :info :f :kill :process :nemesis :value {:a [\"b\"]}},
        {:process 1 :type :ok :f :cas :value [1 4]}
        #_{:ignored true}
        {:type :ok, :f :read, :value 4, :process 0, :error [:timed-out \"x\\n\\u0041\"]}
        {:process 2, :type :invoke, :f :cas, :value [4 5]} {:process 2, :type :fail, :f :cas, :value [4 5]}
        {:process 3, :type :invoke, :f :write, :value -1}\n";
    let expected = &[
        "1 null: cas([1,4]) -> true [0,3]",
        "0 null: read(null) -> 4 [1,4]",
        "3 null: write(-1) -> null [7,..]",
    ];
    for text in
        [maps.replace("#_{:ignored true}", ""), format!("[{maps}]"), format!(" ; first\n({maps}) ; last")]
    {
        check("cas-register", Format::JepsenEdn, &text, expected);
    }
}

#[test]
fn jepsen_with_independent_keys() {
    let text = "{:process 1, :type :invoke, :f :write, :value [\"x\" 4]}\n\
                {:process 1, :type :ok, :f :write, :value [\"x\" 4]}\n\
                {:process 1, :type :invoke, :f :read, :value [\"y\" nil]}\n\
                {:process 1, :type :ok, :f :read, :value [\"y\" 7]}\n";
    let options = ReadOptions { independent: true, ..ReadOptions::default() };
    let expected = &["1 \"x\": write(4) -> null [0,1]", "1 \"y\": read(null) -> 7 [2,3]"];
    check_with("register", Format::JepsenEdn, options, text, expected);
}

#[test]
fn etcd_logs_say_fail_for_false() {
    check(
        "cas-register",
        Format::EtcdLog,
        "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n\
         INFO  jepsen.util - 1\t:invoke\t:cas\t[1 0]\r\n\
         INFO  jepsen.core - Worker 3 starting\n\
         INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n\
         INFO  jepsen.util - 1\t:fail\t:cas\t[1 0]\n\
         INFO  jepsen.util - 0\t:ok\t:read\tnil\n\
         INFO  jepsen.util - 0\t:invoke\t:write\t3\n\
         INFO  jepsen.util - 0\t:info\t:write\t:timed-out\n\
         INFO  jepsen.util - 1\t:invoke\t:cas\t[1 0]\n\
         INFO  jepsen.util - 1\t:ok\t:cas\t[1 0]\n",
        &[
            "1 null: cas([1,0]) -> false [1,3]",
            "0 null: read(null) -> null [0,4]",
            "1 null: cas([1,0]) -> true [7,8]",
            "0 null: write(3) -> null [5,..]",
        ],
    );
}

#[test]
fn kv_logs_start_from_the_empty_string() {
    let text = "{:process 0, :type :invoke, :f :append, :key \"0\", :value \"x 0 0 y\"}\n\
                {:process 1, :type :invoke, :f :get, :key \"7\", :value nil}\n\
                {:process 0, :type :ok, :f :append, :key \"0\", :value \"x 0 0 y\"}\n\
                {:process 1, :type :ok, :f :get, :key \"7\", :value \"\"}";
    check(
        "kv",
        Format::KvLog,
        text,
        &["0 \"0\": append(\"x 0 0 y\") -> null [0,2]", "1 \"7\": get(null) -> \"\" [1,3]"],
    );
    let reader = formats::open(&Input::Bytes(text.into()), &spec("kv"), &ReadOptions::default()).unwrap();
    assert_eq!(reader.implied_initial(), Some(Value::text("")));
}

/// Tabs may have been expanded on the way.
#[test]
fn etcd_logs_with_blanks() {
    let expected = [
        "1 null: write(3) -> null [0,2]",
        "4 null: cas([1,2]) -> false [1,3]",
        "12 null: read(null) -> 3 [4,5]",
        "12 null: write(0) -> null [6,..]",
    ];
    let tabs = "INFO  jepsen.util - 1\t:invoke\t:write\t3\n\
         INFO  jepsen.util - 4\t:invoke\t:cas\t[1 2]\n\
         INFO  jepsen.util - 1\t:ok\t:write\t3\n\
         INFO  jepsen.util - 4\t:fail\t:cas\t[1 2]\n\
         INFO  jepsen.util - 12\t:invoke\t:read\tnil\n\
         INFO  jepsen.util - 12\t:ok\t:read\t3\n\
         INFO  jepsen.util - 12\t:invoke\t:write\t0\n\
         INFO  jepsen.util - 12\t:info\t:write\t:timed-out\n";
    let expanded = |line: &str| {
        let (head, message) = line.split_once(" - ").expect("a log line");
        let mut text = String::new();
        for field in message.split('\t') {
            text += field;
            text += " ";
            while !text.len().is_multiple_of(4) {
                text += " ";
            }
        }
        format!("{head} - {}\n", text.trim_end())
    };
    let blanks: String = tabs.lines().map(expanded).collect();
    check("cas-register", Format::EtcdLog, tabs, &expected);
    check("cas-register", Format::EtcdLog, &blanks, &expected);
    // Without what a logger puts before the message.
    let bare = blanks.replace("INFO  jepsen.util - ", "");
    check("cas-register", Format::EtcdLog, &bare, &expected);
}

/// Keywords, symbols, tags and text are different values, each with its own spelling.
#[test]
fn keywords_are_no_text() {
    let text = "{:process 0 :type :invoke :f :write :value :a} {:process 0 :type :ok :f :write :value :a}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value \"a\"}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value a}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value #inst \"2020\"}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value #uuid \"2020\"}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value \"2020\"}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value #t [:a a \"a\" nil 1]}
        {:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value [:a (nil) true]}";
    check(
        "register",
        Format::JepsenEdn,
        text,
        &[
            "0 null: write(\":a\") -> null [0,1]",
            "0 null: read(null) -> \"a\" [2,3]",
            "0 null: read(null) -> \"'a\" [4,5]",
            "0 null: read(null) -> \"#inst \\\"2020\\\"\" [6,7]",
            "0 null: read(null) -> \"#uuid \\\"2020\\\"\" [8,9]",
            "0 null: read(null) -> \"2020\" [10,11]",
            "0 null: read(null) -> \"#t [:a 'a \\\"a\\\" nil 1]\" [12,13]",
            "0 null: read(null) -> [\":a\",[null],true] [14,15]",
        ],
    );
}

/// Processes may have names; only the nemesis is none.
#[test]
fn processes_with_names() {
    let maps = "{:process \"one\" :type :invoke :f :put :key \"k\" :value \"1\"}
        {:process :nemesis :type :info :f :kill :value nil}
        {:process \"one\" :type :ok :f :put :key \"k\" :value \"1\"}";
    let expected = ["\"one\" \"k\": put(\"1\") -> null [0,2]"];
    check("kv", Format::KvLog, maps, &expected);
    check_with(
        "kv",
        Format::JepsenEdn,
        ReadOptions { format: Some(Format::JepsenEdn), ..ReadOptions::default() },
        maps,
        &expected,
    );
}

/// Lines about other things, however many words they have.
#[test]
fn etcd_logs_tell_of_other_things() {
    let log = "INFO  jepsen.core - Worker 3 starting up now\n\
               INFO  jepsen.util - 0\t:invoke\t:write\t1\n\
               INFO  jepsen.util - 0\t:ok\t:write\t1\n";
    check("register", Format::EtcdLog, log, &["0 null: write(1) -> null [0,1]"]);
    let others = [
        "INFO hello",
        "hello",
        "WARN  jepsen.core - 3 processes crashed",
        "INFO  jepsen.core - :nemesis\t:info\t:start\tnil",
        "INFO  jepsen.util - all is well",
        "java.lang.RuntimeException: timed out - :info",
        "\tat jepsen.core$run.invoke(core.clj:12)",
        "Caused by: java.io.IOException",
        "2015-01-01 12:00:01 something else",
        "...",
    ];
    for other in others {
        let mixed =
            log.replace("INFO  jepsen.util - 0\t:ok", &format!("{other}\nINFO  jepsen.util - 0\t:ok"));
        check("register", Format::EtcdLog, &mixed, &["0 null: write(1) -> null [0,1]"]);
    }
    // A dash in a value is no logger's.
    let bare = "0\t:invoke\t:write\t\"a - b\"\n0\t:ok\t:write\t\"a - b\"\n";
    check("register", Format::EtcdLog, bare, &["0 null: write(\"a - b\") -> null [0,1]"]);
}

/// White space and comments that are longer than any buffer are passed over in no more than one.
#[test]
fn blanks_between_events() {
    let blank = format!("{}; {}\n", "\n".repeat(300_000), "a comment { ".repeat(100_000));
    let text = format!(
        "[{blank}{{:process 0 :type :invoke :f :read}}{blank}{{:process 0 :type :ok :f :read :value 1}}{blank}] {blank}"
    );
    let options = ReadOptions { format: Some(Format::JepsenEdn), ..ReadOptions::default() };
    check_with("register", Format::JepsenEdn, options, &text, &["0 null: read(null) -> 1 [0,1]"]);
}

/// The text is another process than the keyword.
#[test]
fn only_the_keyword_is_the_nemesis() {
    let text = "{:process \"nemesis\" :type :invoke :f :write :value 1}
        {:process :nemesis :type :invoke :f :start}
        {:process \"nemesis\" :type :ok :f :write :value 1}";
    check("register", Format::JepsenEdn, text, &["\"nemesis\" null: write(1) -> null [0,2]"]);
}

/// A process that a row form calls so is no nemesis where events are written.
#[test]
fn a_client_called_nemesis_is_written_as_a_client() {
    let row = "{\"process\":\"nemesis\",\"op\":\"write\",\"arg\":1,\"call\":0,\"return\":1}\n";
    let spec = spec("register");
    let history = crate::samples::read(&spec, None, row.as_bytes()).unwrap();
    for format in [Format::JsonEvents, Format::JepsenEdn, Format::EtcdLog] {
        let again =
            crate::samples::read(&spec, Some(format), &crate::samples::write(format, &history, &spec));
        assert_eq!(again.unwrap().operations.len(), 1, "{}", format.name());
    }
}

#[test]
fn what_edn_takes_out_may_stand_before_any_end() {
    let text = "#_ #_ 1 2 [ #_x {:process 0 #_ x :type :invoke :f :read #_ :value #_ 1} #_ {:process 1}
         {:process 0 :type :ok :f :read :value [1 #_ 2]} #_ [] ] #_ x #_\"the end\"";
    check("register", Format::JepsenEdn, text, &["0 null: read(null) -> [1] [0,1]"]);
    let bare = "{:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value 1} #_{:process 3}";
    check("register", Format::JepsenEdn, bare, &["0 null: read(null) -> 1 [0,1]"]);
    let log = "INFO  jepsen.util - 0\t:invoke\t:write\t1 #_ 2\nINFO  jepsen.util - 0\t:ok\t:write\t1\n";
    check("register", Format::EtcdLog, log, &["0 null: write(1) -> null [0,1]"]);
    // Longer than any buffer.
    let long = format!("[#_ [{}] {{:process 0 :type :invoke :f :read}}]", "1 ".repeat(400_000));
    check("register", Format::JepsenEdn, &long, &["0 null: read(null) -> null [0,..]"]);
}

/// The log of a compare-and-set is the exception; `fail` of anything else is no answer.
#[test]
fn etcd_logs_let_other_operations_fail_as_everywhere() {
    let log = "INFO  jepsen.util - 0\t:invoke\t:add\t1\n\
               INFO  jepsen.util - 0\t:fail\t:add\t1\n\
               INFO  jepsen.util - 0\t:invoke\t:contains\t1\n\
               INFO  jepsen.util - 0\t:ok\t:contains\tfalse\n";
    check("set", Format::EtcdLog, log, &["0 null: contains(1) -> false [2,3]"]);
}

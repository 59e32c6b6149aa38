//! What is written is read back as it was, in every format.

use linpoint_history::formats::Format;
use linpoint_history::rng::Rng;
use linpoint_history::{Kind, Value};

use crate::samples::{Taste, history, read, show, spec, write};

/// Writes random histories of a specification, reads them with and without saying the format, and compares.
#[track_caller]
fn check(format: Format, name: &str, taste: Taste) {
    let spec = spec(name);
    let mut rng = Rng::new(format.name().len() as u64 + name.len() as u64);
    for round in 0..60 {
        let history = history(&spec, 1 + round * 2, taste, &mut rng);
        let bytes = write(format, &history, &spec);
        for asked in [Some(format), None] {
            let back = match read(&spec, asked, &bytes) {
                Ok(back) => back,
                Err(problem) => panic!("{problem} in\n{}", String::from_utf8_lossy(&bytes)),
            };
            assert_eq!(show(&back, &spec), show(&history, &spec), "{}", String::from_utf8_lossy(&bytes));
        }
    }
}

const ROWS: Taste = Taste { odd_values: true, odd_processes: false, keys: false, event_stamps: false };
const EVENTS: Taste = Taste { event_stamps: true, ..ROWS };

#[test]
fn row_forms() {
    for format in [Format::JsonLines, Format::Csv, Format::Binary] {
        for name in Kind::all().map(Kind::name).chain(["queue:capacity=3"]) {
            check(format, name, ROWS);
            check(format, name, Taste { odd_values: false, odd_processes: true, keys: true, ..ROWS });
            check(format, name, Taste { keys: true, ..ROWS });
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet() {
    for name in Kind::all().map(Kind::name) {
        check(Format::Parquet, name, ROWS);
        check(Format::Parquet, name, Taste { odd_values: false, odd_processes: true, keys: true, ..ROWS });
    }
}

#[test]
fn json_events() {
    for name in Kind::all().map(Kind::name) {
        check(Format::JsonEvents, name, EVENTS);
        check(Format::JsonEvents, name, Taste { odd_processes: true, keys: true, ..EVENTS });
    }
}

#[test]
fn jepsen_edn() {
    for name in Kind::all().map(Kind::name) {
        check(Format::JepsenEdn, name, EVENTS);
    }
    check(Format::JepsenEdn, "register", Taste { keys: true, ..EVENTS });
}

#[test]
fn etcd_log() {
    for name in Kind::all().map(Kind::name) {
        check(Format::EtcdLog, name, EVENTS);
    }
    check(Format::EtcdLog, "cas-register", Taste { odd_values: false, ..EVENTS });
}

#[test]
fn kv_log() {
    check(Format::KvLog, "kv", Taste { keys: true, ..EVENTS });
}

#[test]
fn binary_of_many_blocks() {
    let spec = spec("map");
    let history = history(&spec, 20_000, Taste { keys: true, ..ROWS }, &mut Rng::new(5));
    let back = read(&spec, None, &write(Format::Binary, &history, &spec)).unwrap();
    assert_eq!(show(&back, &spec), show(&history, &spec));
}

#[test]
fn touching_stamps_that_no_order_of_events_repeats_are_not_written() {
    let spec = spec("register");
    let touching = "p1: write 1 [1,5]; p1: write 2 [5,9]; p2: write 3 [2,5]; p3: read -> 1 [5,5]";
    let mut history =
        linpoint_history::notation::parse(linpoint_history::Spec::signature(&spec), touching).unwrap();
    let text = String::from_utf8(write(Format::JsonEvents, &history, &spec)).unwrap();
    let order: Vec<&str> = text.lines().map(|line| &line[11..27]).collect();
    assert_eq!(
        order,
        [
            "1,\"type\":\"invoke",
            "2,\"type\":\"invoke",
            "3,\"type\":\"invoke",
            "1,\"type\":\"ok\",\"o",
            "1,\"type\":\"invoke",
            "2,\"type\":\"ok\",\"o",
            "3,\"type\":\"ok\",\"o",
            "1,\"type\":\"ok\",\"o",
        ]
    );
    let mut more = history.operations[0];
    (more.call, more.ret) = (5, 8);
    let process = history.symbols.process(&Value::Int(2));
    let mut row = linpoint_history::Operation::new(process, more.op());
    (row.call, row.ret, row.arg) = (5, 8, more.arg);
    history.operations.push(row);
    let mut bytes = Vec::new();
    let signature = linpoint_history::Spec::signature(&spec);
    let error = linpoint_history::formats::write(Format::JsonEvents, &history, signature, &mut bytes);
    assert!(error.unwrap_err().to_string().contains("at stamp 5"));
}

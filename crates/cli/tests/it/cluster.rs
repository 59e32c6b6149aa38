//! Histories in parts, hosts and streams, as people and scripts meet them.

use std::net::TcpListener;
use std::path::PathBuf;

use crate::run::{Ran, linpoint, scratch};

/// A history of two processes on one register, a part each: what the second reads, the first wrote.
const WRITES: &str = r#"{"process":0,"op":"put","key":"x","arg":1,"ret":null,"call":0,"return":10}
{"process":0,"op":"put","key":"x","arg":2,"ret":null,"call":20,"return":30}
"#;
const READS: &str = r#"{"process":1,"op":"get","key":"x","arg":null,"ret":1,"call":12,"return":15}
{"process":1,"op":"get","key":"x","arg":null,"ret":2,"call":40,"return":50}
"#;
/// The last read answers what was overwritten before it was called.
const STALE: &str = r#"{"process":1,"op":"get","key":"x","arg":null,"ret":1,"call":12,"return":15}
{"process":1,"op":"get","key":"x","arg":null,"ret":1,"call":40,"return":50}
"#;

fn file(name: &str, content: &str) -> String {
    scratch(name, content.as_bytes()).to_str().expect("text").to_owned()
}

fn check(args: &[&str]) -> Ran {
    linpoint(&[&["check", "--spec", "kv"], args].concat(), b"")
}

#[test]
fn parts_have_the_verdict_of_the_whole() {
    let (writes, reads, stale) =
        (file("m-writes.jsonl", WRITES), file("m-reads.jsonl", READS), file("m-stale.jsonl", STALE));
    let ran = check(&["--merge", &writes, &reads]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(ran.out.starts_with("linearizable: 4 operations"), "{}", ran.out);
    let ran = check(&["--merge", &writes, &stale]);
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert!(ran.out.starts_with("not linearizable"), "{}", ran.out);
    assert!(
        ran.out.contains("these operations came from") && ran.out.contains("m-stale.jsonl"),
        "{}",
        ran.out
    );
    // Each part alone is another history: nobody wrote what is read.
    assert_eq!(check(&["--merge", &reads]).code, 1);
}

#[test]
fn a_part_that_is_missing_is_an_error_or_unknown_as_asked() {
    let reads = file("k-reads.jsonl", READS);
    let ran = check(&["--merge", &reads, "nothing-here.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("nothing-here.jsonl"), "{}", ran.err);
    let ran = check(&["--merge", "--keep-going", &reads, "nothing-here.jsonl"]);
    assert_eq!(ran.code, 3, "{}", ran.out);
    assert!(ran.out.starts_with("unknown: source nothing-here.jsonl broke off"), "{}", ran.out);
    let torn = file("k-torn.jsonl", &WRITES[..WRITES.len() - 20]);
    let ran = check(&["--merge", "--keep-going", &reads, &torn]);
    assert_eq!(ran.code, 3, "{}", ran.out);
    assert!(ran.out.starts_with("unknown: source") && ran.out.contains("k-torn.jsonl"), "{}", ran.out);
}

#[test]
fn clock_errors_widen_and_raise_no_alarm() {
    let (writes, stale) = (file("e-writes.jsonl", WRITES), file("e-stale.jsonl", STALE));
    let ran = check(&["--merge", "--clock-error", "4", &writes, &stale]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let ran = check(&["--merge", "--clock-error", &format!("{stale}=30"), &writes, &stale]);
    assert_ne!(ran.code, 1, "{}", ran.out);
    let ran = check(&["--merge", "--clock-error", "other=3", &writes, &stale]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("names no file of this run"), "{}", ran.err);
}

#[test]
fn what_keeps_hosts_apart_is_named() {
    let reads = file("h-reads.jsonl", READS);
    let said = |hosts: &str, own: &str, cause: &str| {
        let ran = check(&["--hosts", hosts, "--host", own, "--patience", "1s", &reads]);
        assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
        assert!(ran.err.contains(cause), "{cause}: {}", ran.err);
    };
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = (taken.local_addr().expect("an address"), taken);
    let free = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    said("no-such-hosts", "0", "cannot read the hosts file no-such-hosts");
    said(&file("h-bad", "127.0.0.1:7000\nhere\n"), "0", "line 2: `here` is no address");
    let hosts = file("h-taken", &format!("{}\n{free}\n", taken.0));
    said(&hosts, "0", &format!("host 0 cannot listen at {}", taken.0));
    said(&hosts, "2", "host 2 is not in the hosts file");
    let absent = file("h-absent", &format!("{free}\n127.0.0.1:1\n"));
    said(&absent, "0", "host 1 (127.0.0.1:1) did not answer within 1 s");
    said(&file("h-open", "0.0.0.0:7399\n127.0.0.1:7398\n"), "0", "need a shared token");
}

#[test]
fn two_hosts_say_the_same() {
    let (writes, stale) = (file("t-writes.jsonl", WRITES), file("t-stale.jsonl", STALE));
    let free = || TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let hosts: PathBuf = scratch("t-hosts", format!("{}\n{}\n", free(), free()).as_bytes());
    let hosts = hosts.to_str().expect("text");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| check(&["--hosts", hosts, "--host", "0", &writes]));
        let second = check(&["--hosts", hosts, "--host", "1", &stale]);
        let first = first.join().expect("no panic");
        for ran in [first, second] {
            assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
            assert!(ran.out.contains("came from host 1, "), "{}", ran.out);
        }
    });
}

#[test]
fn a_watch_needs_a_token_and_a_port() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let token = file("w-token", "a word\n");
    let said = |token: &str, cause: &str| {
        let ran = linpoint(&["watch", "--spec", "kv", "--listen", &address, "--token", token], b"");
        assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
        assert!(ran.err.contains(cause), "{cause}: {}", ran.err);
    };
    said(&token, &format!("cannot listen at {address}"));
    said(&file("w-empty", "\n"), "is empty");
    said("no-such-token", "cannot read the token no-such-token");
    let open =
        ["watch", "--spec", "kv", "--listen", "127.0.0.1:0", "--token", &token, "--status", "0.0.0.0:0"];
    let ran = linpoint(&open, b"");
    assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("for this machine alone"), "{}", ran.err);
}

#[test]
fn parts_that_measure_time_by_their_own_lines_are_not_merged() {
    let event = |process: u32, kind: &str, op: &str, value: &str| {
        format!(
            "{{\"process\":{process},\"type\":\"{kind}\",\"op\":\"{op}\",\"key\":\"x\",\"value\":{value}}}\n"
        )
    };
    let writes = file("e-writes.jsonl", &(event(1, "invoke", "put", "5") + &event(1, "ok", "put", "5")));
    let reads = file("e-reads.jsonl", &(event(2, "invoke", "get", "null") + &event(2, "ok", "get", "null")));
    let ran = check(&["--merge", &writes, &reads]);
    assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("order of its own lines") && ran.err.contains("--shared-clock"), "{}", ran.err);
    assert_eq!(check(&["--merge", "--shared-clock", &writes, &reads]).code, 0);
    assert_eq!(check(&["--merge", &writes]).code, 0);
}

#[test]
fn an_object_of_parts_may_begin_with_an_empty_list() {
    let rows = "{\"process\":1,\"op\":\"dequeue\",\"call\":1,\"return\":2}\n";
    let part = file("i-empty.jsonl", rows);
    let ran = linpoint(&["check", "--spec", "queue", "--initial", "[]", "--merge", &part], b"");
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
}

#[test]
fn names_of_one_specification_are_one_object() {
    let part = |name: &str, stamp: u32| {
        let row = format!("{{\"process\":{stamp},\"op\":\"acquire\",\"call\":{stamp},\"return\":{stamp}}}\n");
        file(name, &row)
    };
    let (first, second) = (part("n-1.jsonl", 1), part("n-2.jsonl", 2));
    let ran = check(&["--merge", &format!("{first}@lock"), &format!("{second}@Lock")]);
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
}

/// What is told is of the specification that was used, whatever `--spec` says.
#[test]
fn the_specification_of_a_part_is_named() {
    let register = file("s-r.jsonl", r#"{"process":1,"op":"write","arg":1,"call":1,"return":2}"#);
    let queue = file("s-q.jsonl", r#"{"process":2,"op":"enqueue","arg":1,"call":1,"return":2}"#);
    let said = |args: &[&str]| {
        let mut all = vec!["check", "--spec", "stack", "--merge"];
        all.extend(args);
        let ran = linpoint(&all, b"");
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
        all.push("--json");
        let json: serde_json::Value = serde_json::from_str(&linpoint(&all, b"").out).expect("JSON");
        (ran.out.lines().next().unwrap_or_default().to_owned(), json["spec"].clone())
    };
    let (register, queue) = (format!("{register}@register"), format!("{queue}@queue"));
    let (line, spec) = said(&[&register]);
    assert!(line.starts_with("linearizable: 1 operation of `register`"), "{line}");
    assert_eq!(spec, "register");
    let (line, spec) = said(&[&register, &queue]);
    assert!(line.starts_with("linearizable: 2 operations of `queue, register`"), "{line}");
    assert_eq!(spec, "queue, register");
}

/// A shared clock numbers lines: what is written between the events counts as well.
#[test]
fn lines_are_the_clock_that_files_share() {
    let write = r#"{:process 1, :type :invoke, :f :write, :value 5}
{:process 1, :type :ok, :f :write, :value 5}
"#;
    let read = |value: &str| {
        format!(
            "{{:process 2, :type :invoke, :f :read, :value nil}}\n{{:process 2, :type :ok, :f :read, :value {value}}}\n"
        )
    };
    let check = |first: &str, second: &str| {
        let (first, second) = (file("c-1.edn", first), file("c-2.edn", second));
        linpoint(&["check", "--spec", "register", "--merge", "--shared-clock", &first, &second], b"")
    };
    // Side by side: the read may come first. A line later it begins where the write ends, and so it may.
    assert_eq!(check(write, &read("nil")).code, 0);
    assert_eq!(check(write, &format!("\n{}", read("nil"))).code, 0);
    for before in ["\n\n", "; one\n; two\n", "\n{:process :nemesis, :type :info, :f :kill, :value nil}\n"] {
        let ran = check(write, &format!("{before}{}", read("nil")));
        assert_eq!(ran.code, 1, "{before:?}: {}{}", ran.out, ran.err);
        assert_eq!(check(write, &format!("{before}{}", read("5"))).code, 0);
    }
    // The same in JSON, where blank lines are all there is besides.
    let json = |kind: &str, process: u8, op: &str, value: &str| {
        format!(r#"{{"process":{process},"type":"{kind}","op":"{op}","value":{value}}}"#)
    };
    let write = [json("invoke", 1, "write", "5"), json("ok", 1, "write", "5")].join("\n");
    let read = [json("invoke", 2, "read", "null"), json("ok", 2, "read", "null")].join("\n");
    assert_eq!(check(&write, &format!("\n{read}")).code, 0);
    assert_eq!(check(&write, &format!("\n\n{read}")).code, 1);
    // Two events in one line have one moment, and nobody said so.
    let ran =
        check("{:process 1, :type :invoke, :f :write, :value 5} {:process 1, :type :ok, :f :write}", "");
    assert!(ran.code == 2 && ran.err.contains("H026"), "{}{}", ran.out, ran.err);
    let ran = check("{:process :nemesis, :type :info, :f :kill} {:process 1, :type :invoke, :f :read}", "");
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
}

#[test]
fn a_bound_of_a_clock_is_given_once() {
    let (writes, stale) = (file("b-writes.jsonl", WRITES), file("b-stale.jsonl", STALE));
    let own = |bound: u8| format!("{stale}={bound}");
    let said = |bounds: [&str; 2]| {
        let [first, second] = bounds;
        check(&["--merge", &writes, &stale, "--clock-error", first, "--clock-error", second])
    };
    let (small, large) = (own(4), own(30));
    for bounds in [["4", "30"], ["30", "4"], ["4", "4"], [&small, &large], [&large, &small]] {
        let ran = said(bounds);
        assert!(ran.code == 2 && ran.err.contains("says twice"), "{bounds:?}: {}{}", ran.out, ran.err);
    }
    // One for all and one for this file are two bounds.
    assert_eq!(said(["4", &small]).code, 1);
    assert_eq!(said(["4", &large]).code, 0);
    assert_eq!(said(["30", &small]).code, 0);
}

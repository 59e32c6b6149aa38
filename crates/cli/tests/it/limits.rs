//! Limits are honoured on a history that is too much for everybody: the process gives up, near its limit.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::{linpoint, scratch};

/// Many values go in at once and come out at once, in an order that nobody can foresee.
fn crowded() -> String {
    let many = 60;
    let mut rows: Vec<(u32, String)> = Vec::new();
    let mut add = |process: u32, op: &str, arg: &str, ret: &str, call: u32, done: u32| {
        let mut line = String::new();
        let _ = writeln!(
            line,
            r#"{{"process":{process},"op":"{op}","arg":{arg},"ret":{ret},"call":{call},"return":{done}}}"#
        );
        rows.push((done, line));
    };
    for k in 0..many {
        // Every value twice, so that no monitor takes it.
        add(k, "insert", &(k * 13 % 30).to_string(), "null", k, 1000 + 2 * k);
        let out = k * 7 % many * 13 % 30;
        add(many + k, "remove_min", "null", &out.to_string(), many + k, 1001 + 2 * k);
    }
    rows.sort();
    rows.into_iter().map(|(_, line)| line).collect()
}

/// The most memory resident so far, where the system tells.
fn peak_mib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024)
}

/// How long it worked so far, where the system tells: in its own code and in the kernel's.
fn processor_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may have anything in it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut hundredths = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (hundredths()? + hundredths()?)))
}

/// What it says, the most memory it had, in MiB, and how long it worked.
fn watched(args: &[&str], path: &Path) -> (String, u64, Duration) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_linpoint"))
        .arg("check")
        .args(args)
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let (mut peak, mut worked) = (0, Duration::ZERO);
    while child.try_wait().expect("it can be asked").is_none() {
        peak = peak_mib(child.id()).unwrap_or(0).max(peak);
        worked = processor_time(child.id()).unwrap_or_default().max(worked);
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("it ends");
    (String::from_utf8_lossy(&output.stdout).into_owned(), peak, worked)
}

#[test]
fn memory_stays_near_its_limit() {
    let path = scratch("crowded.jsonl", crowded().as_bytes());
    let args = ["--spec", "priority-queue", "--engine", "metastate", "--time-limit", "60s"];
    let (said, peak, _) = watched(&[&args[..], &["--memory-limit", "150MiB"]].concat(), &path);
    // A machine on which this takes a minute has other limits.
    assert!(said.contains("limit reached") || said.contains("linearizable"), "{said}");
    assert!(peak < 200, "{peak} MiB: {said}");
}

/// One record may be more than there is room for, as it stands or when it is taken apart.
#[test]
fn memory_is_looked_at_inside_a_record() {
    let text = "a".repeat(60 << 20);
    let escaped = format!("{}\\n", "b".repeat(998)).repeat(10 << 10);
    let list = format!("[{}1]", "1,".repeat(6 << 20));
    let row = |arg: &str| {
        format!("{{\"process\":0,\"op\":\"write\",\"arg\":{arg},\"ret\":null,\"call\":1,\"return\":2}}\n")
    };
    let event = |value: &str| format!("{{:process 0 :type :invoke :f :write :value {value}}}\n");
    let csv = |arg: &str| format!("process,op,arg,ret,call,return\n0,write,{arg},,1,2\n");
    let records = [
        ("text.jsonl", row(&format!("\"{text}\""))),
        ("escaped.jsonl", row(&format!("\"{}\"", escaped.repeat(4)))),
        ("list.jsonl", row(&list)),
        ("text.edn", event(&format!("\"{text}\""))),
        ("list.edn", event(&list.replace(',', " "))),
        ("text.csv", csv(&text)),
        ("list.csv", csv(&format!("\"{list}\""))),
    ];
    for (name, record) in records {
        let path = scratch(name, record.as_bytes());
        let (said, peak, _) = watched(&["--spec", "register", "--memory-limit", "64MiB"], &path);
        assert!(said.starts_with("unknown: memory limit reached"), "{name}: {said}");
        assert!(peak < 72, "{name}: {peak} MiB: {said}");
        std::fs::remove_file(path).expect("it is there");
    }
}

/// Rows that are taken apart by object are counted before they are there twice.
#[test]
fn memory_is_looked_at_before_rows_are_copied() {
    let path = scratch("keyed.lin", b"");
    let name = path.display().to_string();
    let plan = ["generate", "--spec", "stack", "--ops", "1200000", "--keys", "5", "-o", &name];
    let made = linpoint(&[&plan[..], &["--format", "binary"]].concat(), b"");
    assert_eq!(made.code, 0, "{}", made.err);
    let (said, peak, _) = watched(&["--spec", "stack", "--memory-limit", "50MiB"], &path);
    assert!(said.contains("memory limit reached") || said.starts_with("linearizable"), "{said}");
    assert!(peak <= 55, "{peak} MiB: {said}");
    std::fs::remove_file(path).expect("it is there");
}

/// Nobody waits until all that is passed over was read.
#[test]
fn time_is_looked_at_while_rows_are_passed_over() {
    let failed = "{\"process\":0,\"op\":\"write\",\"arg\":1,\"call\":1,\"return\":2,\"failed\":true}\n";
    let nemesis = "{:process :nemesis, :type :info, :f :kill, :value nil}\n";
    let log = "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n";
    for (name, format, line, count) in [
        ("blank.jsonl", "jsonl", "\n", 150 << 20),
        ("failed.jsonl", "jsonl", failed, 1 << 20),
        ("nemesis.edn", "jepsen", nemesis, 1 << 20),
        ("nemesis.log", "etcd-log", log, 2 << 20),
        ("blank.csv", "csv", "\n", 100 << 20),
        ("blank.edn", "jepsen", "\n", 300 << 20),
    ] {
        let path = scratch(name, line.repeat(count).as_bytes());
        let args = ["--spec", "register", "--format", format, "--time-limit", "100ms", "--json"];
        let (said, _, worked) = watched(&args, &path);
        std::fs::remove_file(path).expect("it is there");
        let said: serde_json::Value = serde_json::from_str(&said).expect("one JSON object");
        // Not the time that went by: where others have the processor, much of that is theirs.
        assert!(worked < Duration::from_millis(500), "{name}: {worked:?}: {said}");
        // A machine that is faster than this has nothing to give up.
        let kind = &said["basis"]["kind"];
        assert!(*kind == "time" || *kind == "nothing", "{name}: {said}");
    }
}

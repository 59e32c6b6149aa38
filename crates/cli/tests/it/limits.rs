//! Limits are honoured on a history that is too much for everybody: the process gives up, near its limit.

use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::run::scratch;

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

#[test]
fn memory_stays_near_its_limit() {
    let path = scratch("crowded.jsonl", crowded().as_bytes());
    let mut child = Command::new(env!("CARGO_BIN_EXE_linpoint"))
        .args(["check", "--spec", "priority-queue", "--engine", "metastate"])
        .args(["--time-limit", "60s", "--memory-limit", "150MiB"])
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut peak = 0;
    while child.try_wait().expect("it can be asked").is_none() {
        peak = peak_mib(child.id()).unwrap_or(0).max(peak);
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    // A machine on which this takes a minute has other limits.
    assert!(said.contains("limit reached") || said.contains("linearizable"), "{said}");
    assert!(peak < 200, "{peak} MiB: {said}");
}

//! Verdicts, their JSON, limits, witnesses, several files, pipes.

use crate::run::{linpoint, scratch};

fn generated(args: &str) -> Vec<u8> {
    let args: Vec<&str> = args.split(' ').collect();
    let ran = linpoint(&args, b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out.into_bytes()
}

#[test]
fn what_is_generated_holds_and_what_is_spoiled_does_not() {
    for spec in [
        "register",
        "cas-register",
        "rmw-register",
        "kv",
        "queue",
        "stack",
        "deque",
        "priority-queue",
        "priority-queue-max",
        "set",
        "multiset",
        "list",
        "map",
        "counter",
        "lock",
        "rw-lock",
        "semaphore",
        "snapshot",
    ] {
        let plan = format!("generate --spec {spec} --processes 3 --ops 60 --seed 5");
        let ran = linpoint(&["check", "-", "--spec", spec], &generated(&plan));
        assert!(ran.code == 0 && ran.out.starts_with("linearizable: "), "{spec}: {}{}", ran.out, ran.err);
        let ran = linpoint(&["check", "-", "--spec", spec], &generated(&format!("{plan} --spoil")));
        assert!(ran.code == 1 && ran.out.starts_with("not linearizable: "), "{spec}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn json_has_the_fields_scripts_rely_on() {
    let ran = linpoint(&["check", "corpus/histories/broken-queue.jsonl", "--spec", "queue", "--json"], b"");
    assert_eq!(ran.code, 1);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("one JSON object");
    assert_eq!(json["verdict"], "violated");
    assert_eq!(json["engine"], "queue monitor");
    assert_eq!(json["operations"], 13);
    assert!(json["elapsed_s"].is_number() && json["basis"].is_object());
    let core = json["counterexample"]["operations"].as_array().expect("a core");
    assert!((1..=8).contains(&core.len()));
    assert!(core[0]["op"].is_string() && core[0]["call"].is_number());
    let ran = linpoint(&["check", "corpus/histories/queue.jsonl", "--spec", "queue", "--json"], b"");
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("one JSON object");
    assert_eq!((&json["verdict"], &json["counterexample"]), (&"holds".into(), &serde_json::Value::Null));
}

#[test]
fn a_witness_is_a_history_that_holds_by_itself() {
    for spec in ["queue", "stack", "register", "kv"] {
        let plan = format!("generate --spec {spec} --processes 4 --ops 200 --seed 2 --keys 0");
        let path = scratch(&format!("witness-{spec}.jsonl"), b"");
        let path = path.display().to_string();
        let ran = linpoint(&["check", "-", "--spec", spec, "--witness", &path], &generated(&plan));
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        // In the order given, one after another, the operations are a sequential history.
        let text = std::fs::read_to_string(&path).expect("the witness");
        let sequential: String = text
            .lines()
            .enumerate()
            .map(|(i, line)| {
                let mut row: serde_json::Value = serde_json::from_str(line).expect("a row");
                (row["call"], row["return"]) = ((2 * i).into(), (2 * i + 1).into());
                format!("{row}\n")
            })
            .collect();
        assert_eq!(text.lines().count(), 200);
        let ran = linpoint(&["check", "-", "--spec", spec, "--engine", "auto"], sequential.as_bytes());
        assert_eq!(ran.code, 0, "{spec}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn several_files_and_the_worst_exit_code() {
    let (good, bad) = ("corpus/histories/queue.jsonl", "corpus/histories/broken-queue.jsonl");
    let ran = linpoint(&["check", good, bad, "--spec", "queue"], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains(&format!("linearizable: {good}: ")), "{}", ran.out);
    assert!(ran.out.contains(&format!("not linearizable: {bad}: ")), "{}", ran.out);
    let ran = linpoint(&["check", good, "nowhere.jsonl", "--spec", "queue"], b"");
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("linearizable") && ran.err.contains("nowhere.jsonl"), "{}{}", ran.out, ran.err);
}

#[test]
fn limits_are_honoured() {
    let plan = "generate --spec deque --processes 24 --ops 30000 --seed 1 --values 2";
    let history = generated(plan);
    let started = std::time::Instant::now();
    let ran = linpoint(&["check", "-", "--spec", "deque", "--time-limit", "300ms"], &history);
    assert!(started.elapsed().as_secs() < 20, "a limit of 300 ms took {:?}", started.elapsed());
    assert!(ran.code == 3 && ran.out.starts_with("unknown: time limit reached"), "{}{}", ran.out, ran.err);
    // By metastates alone: a lucky depth-first search may decide this within the limit.
    let args = ["check", "-", "--spec", "deque", "--engine", "metastate", "--memory-limit", "60MiB"];
    let ran = linpoint(&args, &history);
    assert!(ran.code == 3 && ran.out.starts_with("unknown: memory limit reached"), "{}{}", ran.out, ran.err);
}

#[test]
fn engines_can_be_chosen() {
    for (engine, name) in [
        ("auto", "queue monitor"),
        ("monitor", "queue monitor"),
        ("metastate", "metastates"),
        ("search", "depth-first search"),
        ("brute", "brute force"),
    ] {
        let args = ["check", "corpus/histories/queue.jsonl", "--spec", "queue", "--engine", engine];
        let ran = linpoint(&args, b"");
        assert!(ran.code == 0 && ran.out.contains(name), "{engine}: {}{}", ran.out, ran.err);
    }
    let history = generated("generate --spec queue --processes 3 --ops 50 --values 2");
    let ran = linpoint(&["check", "-", "--spec", "queue", "--engine", "monitor"], &history);
    assert!(ran.code == 3 && ran.out.starts_with("unknown: "), "{}{}", ran.out, ran.err);
}

#[test]
fn keys_are_objects() {
    let history = generated("generate --spec register --processes 4 --ops 500 --seed 3 --keys 10");
    let ran = linpoint(&["check", "-", "--spec", "register"], &history);
    assert!(ran.code == 0 && ran.out.contains("10 objects"), "{}{}", ran.out, ran.err);
    let ran = linpoint(&["check", "-", "--spec", "register", "--partition", "none"], &history);
    assert_eq!(ran.code, 1, "all keys as one register cannot hold");
}

#[test]
fn a_report_is_one_page() {
    let path = scratch("report.html", b"").display().to_string();
    let args = ["check", "corpus/histories/broken-queue.jsonl", "--spec", "queue", "--report", &path];
    assert_eq!(linpoint(&args, b"").code, 1);
    let page = std::fs::read_to_string(&path).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("dequeue → 4"));
}

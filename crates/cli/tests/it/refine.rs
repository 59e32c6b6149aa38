//! `linpoint refine`: exit code, first line, JSON.

use std::path::{Path, PathBuf};

use linpoint_monitor::replay::{Refine, refine_from};
use linpoint_monitor::{Conclusion, Monitor, Object, View};

use crate::run::{linpoint, scratch};

/// A log of a register that is written and read by one thread, as `run` does it.
fn log(name: &str, run: impl FnOnce(&Object)) -> PathBuf {
    let path = scratch(name, b"");
    let monitor = Monitor::builder().log_file(&path).start().expect("a monitor");
    let object =
        monitor.object("counts", "map").expect("built in").view(View::Map).watch().expect("few objects");
    run(&object);
    monitor.finish();
    path
}

/// Inserts `value` at `key`, and logs `logged` as what the place holds.
fn insert(object: &Object, key: u64, value: u64, logged: u64) {
    let op = object.call(object.op("insert"), (key, value));
    op.commit_block(|block| block.write(key, (key, logged)));
    op.returns(None::<u64>);
}

fn get(object: &Object, key: u64, answer: Option<u64>) {
    let op = object.call(object.op("get"), key);
    op.commit();
    op.returns(answer);
}

#[track_caller]
fn check(path: &Path, more: &[&str], code: i32, first: &str) -> String {
    let path = path.display().to_string();
    let ran = linpoint(&[&["refine", &path], more].concat(), b"");
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    let line = if code == 2 { &ran.err } else { &ran.out };
    assert!(line.starts_with(first), "{}{}", ran.out, ran.err);
    ran.out + &ran.err
}

#[test]
fn a_clean_log_refines() {
    let path = log("clean.linlog", |object| {
        insert(object, 1, 10, 10);
        get(object, 1, Some(10));
    });
    check(&path, &[], 0, "refines: 2 operations, 6 events, 1 objects");
    check(&path, &["--view"], 0, "refines: 2 operations");
    let json = check(&path, &["--view", "--json"], 0, "{");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["verdict"], &json["operations"]), (&"holds".into(), &2.into()));
    assert_eq!(json["basis"]["torn_bytes"], 0);
}

/// A log with an answer that the specification does not allow.
pub fn wrong_answer(name: &str) -> PathBuf {
    log(name, |object| {
        insert(object, 1, 10, 10);
        get(object, 1, None);
    })
}

/// A log with a write that does not add up to the specification's state.
pub fn wrong_view(name: &str) -> PathBuf {
    log(name, |object| insert(object, 1, 10, 11))
}

#[test]
fn a_wrong_answer_does_not() {
    let path = wrong_answer("wrong.linlog");
    let said = check(&path, &[], 1, "does not refine");
    assert!(said.contains("get(1) -> null"), "{said}");
    let json = check(&path, &["--json"], 1, "{");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["verdict"], "violated");
    assert_eq!(json["counterexample"][0]["kind"], "violation");
    // Operations are known by their names: what another specification does not have is refused.
    let path = path.display().to_string();
    let ran = linpoint(&["refine", &path, "--spec", "queue"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("did `insert`, which `queue` does not have"), "{}", ran.err);
}

#[test]
fn a_view_that_differs_is_seen_with_the_view_only() {
    let path = wrong_view("view.linlog");
    check(&path, &[], 0, "refines");
    let said = check(&path, &["--view"], 1, "does not refine");
    assert!(said.contains("at 1 the specification has 10, the implementation 11"), "{said}");
}

#[test]
fn what_is_torn_is_counted() {
    let path = log("torn.linlog", |object| (0..100).for_each(|key| insert(object, key, key, key)));
    let bytes = std::fs::read(&path).expect("a log");
    let torn = scratch("torn-off.linlog", &bytes[..bytes.len() - 3]);
    let said = check(&torn, &["--view"], 3, "unknown: 100 operations");
    assert!(said.contains("21 bytes at the end of the log are torn"), "{said}");
    assert!(said.contains("the log was not closed"), "{said}");
}

#[test]
fn bad_use_is_told() {
    check(
        Path::new("corpus/histories/broken-queue.jsonl"),
        &[],
        2,
        "error: this is not a log of the monitor",
    );
    check(Path::new("corpus"), &[], 2, "error: corpus is a folder");
    check(Path::new("no-such-file"), &[], 2, "error: cannot read the log");
    let path = log("spec.linlog", |_| ());
    check(&path, &["--spec", "mapp"], 2, "error: ");
    // A log in which nothing happened shows nothing.
    check(&path, &[], 3, "unknown: 0 operations");
}

/// One byte changed in a log with a violation: whatever is said, it is not that the object refines.
#[test]
fn a_flipped_byte_is_no_pass() {
    let path = wrong_answer("flipped.linlog");
    let bytes = std::fs::read(&path).expect("a log");
    for at in 8..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let read = refine_from(&flipped[..], flipped.len() as u64, &Refine::default(), &mut |_| {});
        let report = read.expect("the head is whole").report;
        assert_ne!(report.conclusion(), Conclusion::Clean, "byte {at}: {report}");
        assert_ne!(report.conclusion(), Conclusion::Mistaken, "byte {at}: {report}");
    }
    // And so with the command.
    let mut flipped = bytes;
    flipped[30] ^= 1;
    let flipped = scratch("flipped-byte.linlog", &flipped);
    let said = check(&flipped, &[], 3, "unknown: 0 operations");
    assert!(said.contains("no operation that returned was judged, so nothing is known"), "{said}");
}

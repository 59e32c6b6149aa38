//! A program that is killed leaves a log that can be checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linpoint_monitor::replay::{Refine, Refined, refine};
use linpoint_monitor::{Conclusion, Shortfall};

/// The example `sharded_map`, which cargo builds beside the tests.
fn example() -> PathBuf {
    let tests = std::env::current_exe().expect("a test has a path");
    let path = tests.ancestors().nth(2).expect("two folders up").join("examples/sharded_map");
    assert!(path.exists(), "cargo test builds the examples; {} is missing", path.display());
    path
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

fn check(log: &Path) -> Refined {
    refine(log, &Refine { spec: None, view: true }, &mut |_| {}).expect("the log can be read")
}

/// Every operation that could be judged fits; but nobody knows what is missing, so that is no pass.
#[track_caller]
fn nothing_wrong_but_not_the_whole(refined: &Refined) {
    let report = &refined.report;
    assert_eq!(report.conclusion(), Conclusion::Unknown, "{report}");
    assert!(report.shortfalls().contains(&Shortfall::NotClosed), "{report}");
    assert_eq!(report.findings().count(), 0, "{report}");
}

#[test]
fn what_a_killed_program_logged_is_checked() {
    let log = scratch("killed.linlog");
    let mut child = Command::new(example())
        .args(["60", "--log"])
        .arg(&log)
        .stdout(Stdio::null())
        .spawn()
        .expect("the example starts");
    // A thread that is off its processor holds up the judging of what comes after, so what counts is what can
    // be judged, not how long the log is.
    let start = Instant::now();
    let length = || std::fs::metadata(&log).map_or(0, |log| log.len());
    while length() < 1 << 20 || check(&log).report.operations() <= 5_000 {
        assert!(start.elapsed() < Duration::from_secs(50), "nothing is logged, or nothing can be judged");
        std::thread::sleep(Duration::from_millis(5));
    }
    // SIGKILL, in the middle of whatever it does.
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let whole = check(&log);
    assert!(!whole.closed);
    nothing_wrong_but_not_the_whole(&whole);
    assert!(whole.report.operations() > 5_000, "{}", whole.report);

    // Torn anywhere, the rest is checked, and what is torn is counted.
    let bytes = std::fs::read(&log).expect("the log");
    for cut in [1, 7, 1000, 54_321, 500_000] {
        let torn = scratch("torn.linlog");
        std::fs::write(&torn, &bytes[..bytes.len() - cut]).expect("a file");
        let refined = check(&torn);
        nothing_wrong_but_not_the_whole(&refined);
        assert_eq!(refined.good_bytes + refined.torn_bytes, (bytes.len() - cut) as u64);
        assert!(refined.report.operations() <= whole.report.operations());
        std::fs::remove_file(&torn).expect("it is there");
    }
    // A flipped bit in the middle ends the log there.
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    let path = scratch("flipped.linlog");
    std::fs::write(&path, flipped).expect("a file");
    let refined = check(&path);
    nothing_wrong_but_not_the_whole(&refined);
    assert!(refined.torn_bytes > 0);
    std::fs::remove_file(&path).expect("it is there");
    std::fs::remove_file(&log).expect("it is there");
}

#[test]
fn a_broken_map_is_found_in_its_log() {
    let log = scratch("broken.linlog");
    let ran = Command::new(example())
        .args(["0.5", "--broken", "--log"])
        .arg(&log)
        .output()
        .expect("the example runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.starts_with("does not refine"), "{said}");
    let refined = check(&log);
    assert!(refined.closed);
    assert_eq!(refined.report.conclusion(), Conclusion::Violated, "{}", refined.report);
    assert!(said.contains("the views differ after insert"), "{said}");
    std::fs::remove_file(&log).expect("it is there");
}

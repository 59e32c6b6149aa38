//! Solvers that are missing, hang, crash, or talk nonsense: never a proof, never longer than the limit.

use std::time::{Duration, Instant};

use linpoint_lang::compile;
use linpoint_prove::solver::{Program, SolverKind};
use linpoint_prove::{Options, Verdict, prove};

use crate::solvers::fake;

const COUNTER: &str = "
object C : counter {
  shared n: int
  op increment() { n = n + 1 }
  op read() -> int { return n }
  abs n
}";

/// No proof, within this many seconds, and this in the reasons.
#[track_caller]
fn not_proved(options: &Options, seconds: u64, reason: &str) {
    let (programs, _) = compile(COUNTER);
    let start = Instant::now();
    let report = prove(&programs[0], options, &|_, _| {});
    assert!(start.elapsed() < Duration::from_secs(seconds), "{:?}", start.elapsed());
    assert_ne!(report.verdict, Verdict::Proved);
    let reasons = format!("{:?}", report.decided);
    assert!(reasons.contains(reason), "{reasons}");
}

#[test]
fn missing() {
    let options = Options::new(Program { path: "/nowhere/z3".into(), kind: SolverKind::Z3 });
    not_proved(&options, 5, "cannot start /nowhere/z3");
}

#[test]
fn crashing() {
    not_proved(&fake("crashing", "read x; exit 1"), 10, "ended before it answered");
}

#[test]
fn silent() {
    let options = Options {
        time: Some(Duration::from_secs(2)),
        limit: Duration::from_millis(200),
        ..fake("silent", "exec sleep 60")
    };
    not_proved(&options, 8, "no answer from the solver within");
}

#[test]
fn says_unsat_to_everything_without_being_asked() {
    not_proved(&fake("eager", "while :; do echo unsat; done"), 20, "the solver said: unsat");
}

#[test]
fn says_errors_and_unsat() {
    let script = r#"while read line; do case "$line" in *check-sat*) echo '(error "line 1")'; echo unsat;; *echo*) echo "$line" | sed 's/(echo "//; s/")//';; esac; done"#;
    not_proved(&fake("errors", script), 20, "the solver said: (error");
}

#[test]
fn says_unknown() {
    let script = r#"while read line; do case "$line" in *check-sat*) echo unknown;; *echo*) echo "$line" | sed 's/(echo "//; s/")//';; esac; done"#;
    not_proved(&fake("unknown", script), 20, "the solver cannot tell");
}

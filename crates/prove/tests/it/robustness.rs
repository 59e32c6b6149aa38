//! Solvers that are missing, hang, crash, or talk nonsense: never a proof, never longer than the limit.

use std::time::{Duration, Instant};

use linpoint_lang::compile;
use linpoint_prove::solver::{Program, SolverKind};
use linpoint_prove::{Options, prove};

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
    assert_ne!(report.verdict, "holds");
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

/// One who answers each question, the mark after it included, with what `says` prints.
fn answering(says: &str) -> String {
    format!(
        r#"while read line; do case "$line" in *check-sat*) {says};; *echo*) echo "$line" | sed 's/(echo "//; s/")//';; esac; done"#
    )
}

#[test]
fn says_unsat_to_everything() {
    not_proved(&fake("liar", &answering("echo unsat")), 20, "unsat of what is plainly true");
}

#[test]
fn says_sat_to_everything() {
    not_proved(&fake("yes", &answering("echo sat")), 20, "sat of what is plainly false");
}

#[test]
fn says_half_a_word() {
    not_proved(&fake("half", &answering("echo uns")), 20, "the solver said: uns");
    not_proved(&fake("two-words", &answering("echo unsat unsat")), 20, "the solver said: unsat unsat");
    not_proved(&fake("two-lines", &answering("echo sat; echo unsat")), 20, "the solver said: sat unsat");
}

fn impatient(name: &str, script: &str) -> Options {
    Options { limit: Duration::from_millis(200), ..fake(name, script) }
}

#[test]
fn says_nothing_and_stays() {
    // No time limit: one who never answers is given up by itself.
    not_proved(&impatient("mute", "exec sleep 60"), 10, "no answer from the solver within");
}

#[test]
fn drips() {
    let script = "while :; do printf u; sleep 0.02; done";
    not_proved(&impatient("drip", script), 10, "no answer from the solver within");
}

#[test]
fn says_empty_lines_without_end() {
    not_proved(&impatient("empty", "while :; do echo; done"), 10, "no answer from the solver within");
}

#[test]
fn says_one_line_without_end() {
    let script = "exec tr '\\0' 'u' < /dev/zero";
    not_proved(&impatient("endless", script), 15, "the solver");
}

#[test]
fn says_no_text() {
    not_proved(&impatient("binary", "exec cat /dev/urandom"), 15, "the solver");
}

#[test]
fn closes_what_it_says_it_with() {
    not_proved(&impatient("closed", "exec >&-; exec sleep 60"), 10, "ended before it answered");
}

#[test]
fn dies_in_the_middle() {
    let script = format!(
        "n=0; {}",
        answering("n=$((n+1)); [ $n -gt 2 ] && exit 3; [ $n = 1 ] && echo sat || echo unsat")
    );
    not_proved(&fake("dying", &script), 20, "ended before it answered");
}

#[test]
fn is_no_program() {
    let options = Options::new(Program { path: env!("CARGO_MANIFEST_DIR").into(), kind: SolverKind::Z3 });
    not_proved(&options, 5, "cannot start");
}

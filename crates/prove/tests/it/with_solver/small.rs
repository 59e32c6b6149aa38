//! Small objects that a newcomer writes first: proved as they stand, and not proved once they are spoiled.

use linpoint_lang::compile;
use linpoint_prove::prove;

use crate::solvers::options;

const FLAG: &str = "
object Flag {
  shared a: bool
  op set() { a = true @lin }
  op get() -> bool { r = a @lin(r)
    return r }
  spec {
    shared c: bool
    op set() { c = true }
    op get() -> bool { return c }
  }
  abs a
}";

const FLAGS: &str = "
object Flags {
  size N = 2
  struct Slot { on: bool, lk: lock }
  shared m: [Slot; N]
  op set(i: 0..N) -> bool {
    lock(m[i].lk)
    m[i].on = true @lin(true)
    unlock(m[i].lk)
    return true
  }
  op get(i: 0..N) -> bool {
    r = m[i].on @lin(r)
    return r
  }
  spec {
    shared c: [bool; N]
    op set(i: 0..N) -> bool {
      c[i] = true
      return true
    }
    op get(i: 0..N) -> bool { return c[i] }
  }
  abs m[n].on for n in 0..N
}";

const COUNTERS: &str = "
object Counters {
  size N = 2
  struct Slot { n: int, lk: lock }
  shared m: [Slot; N]
  op increment(i: 0..N) {
    lock(m[i].lk)
    m[i].n = m[i].n + 1 @lin
    unlock(m[i].lk)
  }
  spec {
    shared c: [int; N]
    op increment(i: 0..N) { c[i] = c[i] + 1 }
  }
  abs m[n].n for n in 0..N
}";

/// No points are given: where the value is put in, the argument is the answer.
const ONCE: &str = "
object Once {
  shared value: data?
  shared lk: lock
  op get(v: data) -> data {
    lock(lk)
    if value == none {
      value = v
    }
    r = value
    unlock(lk)
    return unwrap(r)
  }
  spec {
    shared c: data?
    op get(v: data) -> data {
      if c == none { c = v }
      return unwrap(c)
    }
  }
  abs value
}";

#[track_caller]
fn says(text: &str, proved: bool) {
    let options = options();
    let (programs, wrong) = compile(text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_eq!(report.verdict.holds(), proved, "{:?}", report.verdict);
}

#[test]
fn a_truth_value() {
    says(FLAG, true);
    says(&FLAG.replace("return r }", "return !r }"), false);
    says(&FLAG.replace("a = true @lin", "a = false @lin"), false);
}

#[test]
fn an_array_of_truth_values() {
    says(FLAGS, true);
    says(&FLAGS.replace("m[i].on = true @lin(true)", "m[i].on = false @lin(true)"), false);
    says(&FLAGS.replace("return r\n", "return !r\n"), false);
}

#[test]
fn a_read_and_a_write_in_one_line() {
    says(COUNTERS, true);
    let no_lock = COUNTERS.replace("    lock(m[i].lk)\n", "").replace("    unlock(m[i].lk)\n", "");
    says(&no_lock, false);
    says(&COUNTERS.replace("m[i].n + 1 @lin", "m[i].n + 2 @lin"), false);
}

#[test]
fn a_value_that_is_set_once() {
    let options = options();
    let verdict = |text: &str| {
        let (programs, wrong) = compile(text);
        assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
        linpoint_prove::points::prove_with_points(&programs[0], &options, &|_, _| {}).report.verdict
    };
    assert_eq!(verdict(ONCE), "holds");
    let no_lock = ONCE.replace("    lock(lk)\n", "").replace("    unlock(lk)\n", "");
    assert_ne!(verdict(&no_lock), "holds");
    assert_ne!(verdict(&ONCE.replace("if value == none", "if value != none")), "holds");
}

/// A limit is kept while a formula is made, and what was made of it until then proves nothing.
#[test]
fn formulas_that_take_longer_than_there_is_time() {
    let quantifiers: String = (0..16).map(|n| format!("all v{n} in 0..3: ")).collect();
    // Half of it would be true.
    let text = format!(
        "object C : counter {{\n  shared n: int\n  op increment() {{ fetch_add(n, 1) @lin }}\n  op read() -> int {{ return n @lin(n) }}\n  abs n\n  inv: {quantifiers}v0 + v15 < n + 4\n}}"
    );
    let (programs, wrong) = linpoint_lang::compile(&text);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    let time = std::time::Duration::from_millis(500);
    let options = linpoint_prove::Options { time: Some(time), ..crate::solvers::options() };
    let report = linpoint_prove::prove(&programs[0], &options, &|_, _| {});
    let linpoint_prove::Verdict::Unknown(why) = &report.verdict else { panic!("{:?}", report.verdict) };
    assert!(matches!(why, linpoint_prove::Gap::Late { .. }), "{why}");
    assert!(report.decided.iter().all(|decided| !decided.outcome.is_proved()), "{why}");
    assert!(report.elapsed < 4 * time, "{:?}", report.elapsed);
}

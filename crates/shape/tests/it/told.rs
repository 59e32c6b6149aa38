//! What stands between a proof and its being told: who calls, whether anything returns, whether there was
//! time to look again, and whether points that are given explain runs.

use std::time::Duration;

use linpoint_shape::prove::{Choice, Settings, Verdict, prove};

use crate::corpus::{compile, program};

/// A stack, with lines at the start of both operations and beside its empty answer, and with more members.
fn stack(name: &str, push: &str, pop: &str, empty: &str, more: &str) -> String {
    format!(
        "object T{name} {{
  struct Node {{ val: data, next: *Node }}
  shared top: *Node = null
  op push(v: data) {{
    {push}
    x = new Node {{ val: v }}
    loop {{
      t = top
      x.next = t
      if cas(top, t, x) @lin {{ return }}
    }}
  }}
  op pop() -> data? {{
    {pop}
    loop {{
      t = top {empty}
      if t == null {{ return none }}
      s = t.next
      if cas(top, t, s) @lin {{ return t.val }}
    }}
  }}
  {more}
}}"
    )
}

#[track_caller]
fn said(text: &str, settings: &Settings) -> (&'static str, String) {
    match prove(&compile(text), settings).verdict {
        Verdict::Holds(_) => ("proved", String::new()),
        Verdict::Violated(_) => ("refuted", String::new()),
        Verdict::Unknown(gap) => ("not proved", gap.reason),
    }
}

/// What one thread is answered, calling alone, says nothing of a `spec` that answers others in another way.
#[test]
fn a_spec_that_asks_who_calls() {
    let spec = |push: &str| {
        format!(
            "spec {{
    struct N {{ v: data, n: *N }}
    shared stk: *N = null
    shared l: lock
    shared owner: thread?
    op push(v: data) {{
      {push}
      stk = new N {{ v: v, n: stk }}
    }}
    op pop() -> data? {{
      t = stk
      if t == null {{ return none }}
      stk = t.n
      return t.v
    }}
  }}"
        )
    };
    let of = |push: &str| said(&stack("", "", "", "", &spec(push)), &Settings::default());
    assert_eq!(of(""), ("proved", String::new()));
    for push in [
        // One thread alone takes it once and never waits; another one can never give it back.
        "z = try_lock(l)
      if !z { unlock(l) }",
        // The first to call may call again, and nobody else.
        "if owner == none { owner = me }
      assume owner == some(me)",
    ] {
        let (verdict, why) = of(push);
        assert_ne!(verdict, "proved", "{push}");
        assert!(verdict == "refuted" || why.contains("who calls"), "{verdict}: {why}");
    }
}

/// A proof that could not be looked at a second time is none.
#[test]
fn no_time_for_a_second_look() {
    let settings = Settings { second_look: Duration::from_nanos(1), ..Settings::default() };
    let report = prove(&program("treiber"), &settings);
    let Verdict::Unknown(gap) = report.verdict else { panic!("{:?}", report.verdict) };
    assert!(gap.reason.contains("second time"), "{}", gap.reason);
}

/// Where no run returns from anything, every answer is right, and none was given.
#[test]
fn nothing_returns() {
    let all = stack(" : stack", "assume false", "assume false", "@lin if t == null", "");
    let (verdict, why) = said(&all, &Settings::default());
    assert_eq!(verdict, "not proved", "{why}");
    assert!(why.contains("no operation returns"), "{why}");
}

#[test]
fn one_operation_never_returns() {
    let text = stack(" : stack", "", "assume false", "@lin if t == null", "");
    let verdict = prove(&compile(&text), &Settings::default()).verdict;
    let Verdict::Holds(proof) = verdict else { panic!("{verdict:?}") };
    let never: Vec<usize> = proof.noted.never_return().iter().map(|op| op.index()).collect();
    assert_eq!(never, [1]);
}

/// With `--points given` both commands look at the same points: a `@query` where the stack is not empty
/// explains no empty answer, nor does none.
#[test]
fn points_that_are_given() {
    let settings = Settings { points: Choice::Given, ..Settings::default() };
    let of = |empty: &str| said(&stack(" : stack", "", "", empty, ""), &settings).0;
    assert_eq!(of("@query if t == null"), "proved");
    assert_eq!(of("@lin if t == null"), "proved");
    assert_eq!(of("@query if t != null"), "refuted");
    assert_eq!(of(""), "refuted");
}

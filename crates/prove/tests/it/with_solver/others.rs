//! Annotations whose meaning depends on what others change: each is looked at in steps of others, too.

use linpoint_lang::compile;
use linpoint_prove::obligation::Kind;
use linpoint_prove::prove;

use crate::solvers::options;

/// Two that want to pass the same gate come to P2 while it is shut, where `disjoint` says nothing. Then a
/// third opens it: from now on the two must differ, and do not. Both pass, and one is not counted.
const TURNSTILE: &str = "object Turnstile {
  size N = 2
  shared count: [int; N]
  shared open: bool = false
  op pass(gate: 0..N) {
    P1: assume !open
    P2: assume open
    P3: seen = count[gate]
    P4: count[gate] = seen + 1 @lin
  }
  op admit() {
    A1: open = true @lin
  }
  op passed(gate: 0..N) -> int {
    r = count[gate] @lin(r)
    return r
  }
  spec {
    shared c: [int; N]
    op pass(gate: 0..N) { c[gate] = c[gate] + 1 }
    op admit() {
      return
    }
    op passed(gate: 0..N) -> int { return c[gate] }
  }
  abs count[n] for n in 0..N
  inv at P3, P4: open
  inv at P4: seen == count[gate]
  disjoint gate at P2..P4 if open
}";

#[test]
fn a_disjoint_that_another_process_makes_matter() {
    let options = options();
    let (programs, wrong) = compile(TURNSTILE);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_ne!(report.verdict, "holds");
    let open: Vec<Kind> = report
        .decided
        .iter()
        .filter(|decided| !decided.outcome.is_proved())
        .map(|decided| decided.obligation.kind)
        .collect();
    assert_eq!(open, [Kind::Pairs]);
}

#[test]
fn a_condition_that_nobody_else_makes_true_is_fine() {
    let options = options();
    // Whoever opens takes a ticket before: the ticket is what tells the two apart, and no step of a third
    // changes it.
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/correct/ticket-lock.lin");
    let text = std::fs::read_to_string(path).expect("the corpus is there");
    let line = "disjoint t at A2; t at A3 if s != t";
    assert!(text.contains(line));
    // Tickets differ whatever `serving` is.
    let text = text.replace(line, "disjoint t at A2 if serving >= 0; t at A3 if s != t && serving >= 0");
    let (programs, wrong) = compile(&text);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_eq!(report.verdict, "holds");
    assert!(report.decided.iter().any(|decided| decided.obligation.kind == Kind::Pairs));
}

#[test]
fn a_disjoint_about_locals_has_no_such_obligation() {
    let options = options();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/correct/ticket-lock.lin");
    let (programs, _) = compile(&std::fs::read_to_string(path).expect("the corpus is there"));
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_eq!(report.verdict, "holds");
    assert!(report.decided.iter().all(|decided| decided.obligation.kind != Kind::Pairs));
}

/// The initial code is run by somebody. What holds of that one need not hold of all: only one process ever
/// counts here.
#[test]
fn what_the_initial_code_says_of_who_ran_it_is_not_said_of_all() {
    let text = |first: &str| {
        format!(
            "object C : counter {{
  shared n: int
  shared chosen: thread? = none
  init {{
    chosen = {first}
  }}
  op increment() {{
    A1: if chosen == me {{
      A2: t = fetch_add(n, 1) @lin
      return
    }}
    A3: return
  }}
  op read() -> int {{
    v = n @lin(v)
    return v
  }}
  abs n
}}"
        )
    };
    let options = options();
    for first in ["me", "none"] {
        let (programs, wrong) = compile(&text(first));
        assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
        let report = prove(&programs[0], &options, &|_, _| {});
        assert_ne!(report.verdict, "holds", "{first}");
    }
}

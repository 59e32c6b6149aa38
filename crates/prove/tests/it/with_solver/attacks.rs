//! Programs that are wrong, with annotations that try to hide it. None may be proved.

use linpoint_lang::compile;
use linpoint_prove::{Gap, Verdict, prove};

use crate::solvers::options;

#[track_caller]
fn check(text: &str, is_proved: bool) {
    let options = options();
    let (programs, wrong) = compile(text);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    let report = prove(&programs[0], &options, &|_, _| {});
    assert_eq!(report.verdict.holds(), is_proved, "{:?}", report.verdict);
}

/// An increment in two steps, with more text.
fn torn_counter(variable: &str, more: &str) -> String {
    format!(
        "object C : counter {{\n  shared {variable}: int\n  shared lk: lock\n  op increment() {{\n    A1: t = {variable}\n    A2: {variable} = t + 1 @lin\n  }}\n  op read() -> int {{ return {variable} }}\n  abs {variable}\n{more}\n}}"
    )
}

#[test]
fn a_counter_is_proved_and_a_torn_one_is_not() {
    check(
        "object C : counter {\n  shared n: int\n  op increment() { t = fetch_add(n, 1) @lin }\n  op read() -> int {\n    v = n @lin(v)\n    return v\n  }\n  abs n\n}",
        true,
    );
    check(&torn_counter("n", ""), false);
}

#[test]
fn names_of_ours_are_not_names_of_the_program() {
    for name in ["p", "q", "k1", "place"] {
        check(&torn_counter(name, ""), false);
    }
}

#[test]
fn contradictory_invariants_prove_nothing() {
    check(&torn_counter("n", "  inv: n < 0 && n > 0"), false);
    check(&torn_counter("n", "  inv at A2: t < t"), false);
    check(&torn_counter("n", "  inv at A2: t == n"), false);
    check(&torn_counter("n", "  inv at A1, A2: lk == me"), false);
    check(&torn_counter("n", "  inv: lk == me"), false);
    check(&torn_counter("n", "  inv: lk != me"), false);
}

#[test]
fn processes_that_start_are_not_taken_to_differ() {
    let text = "object C : counter {\n  shared n: int\n  op add(k: int) {\n    A1: t = n\n    A2: n = t + k @lin\n  }\n  abs n\n  inv at A2: t == n\n  disjoint k at A1; k at A2\n}";
    check(text, false);
    // One process at a time would make it right; nothing says so.
    let text = text.replace("inv at A2: t == n", "inv at A1: true");
    check(&text, false);
}

#[test]
fn a_result_that_is_not_returned() {
    check(
        "object C : counter {\n  shared n: int\n  op increment() { t = fetch_add(n, 1) @lin }\n  op read() -> int {\n    v = n @lin(v)\n    return v + 1\n  }\n  abs n\n}",
        false,
    );
    check(
        "object C : counter {\n  shared n: int\n  op increment() { return }\n  op read() -> int {\n    v = n @lin(v)\n    return v\n  }\n  abs n\n}",
        false,
    );
}

#[test]
fn errors_are_not_passed_over() {
    check(
        "object C : counter {\n  shared n: 0..3\n  op increment() { t = fetch_add(n, 1) @lin }\n  abs n\n}",
        false,
    );
    check(
        "object C : counter {\n  size N = 2\n  shared a: [int; N]\n  shared n: int\n  op increment() {\n    a[N] = 1\n    t = fetch_add(n, 1) @lin\n  }\n  abs n\n}",
        false,
    );
    check(
        "object C : counter {\n  shared n: int\n  shared lk: lock\n  op increment() {\n    t = fetch_add(n, 1) @lin\n    unlock(lk)\n  }\n  abs n\n}",
        false,
    );
}

#[test]
fn a_status_that_changes_its_mind() {
    let text = |status: &str| {
        format!(
            "object R : counter {{\n  shared n: int\n  op increment() {{ t = fetch_add(n, 1) @lin }}\n  op read() -> int {{\n    R1: v = n\n    R2: w = n\n    R3: return v\n  }}\n  abs n\n{status}\n}}"
        )
    };
    check(&text("  status at R2, R3: out(v)"), true);
    check(&text("  status at R2: inout(v)\n  status at R3: out(v)"), true);
    check(&text("  status at R1: out(n)"), false);
    check(&text("  status at R1..R3: inout(n)"), false);
    check(&text("  status at R2: out(v)\n  status at R3: in"), false);
}

/// Without a run everything is true, so that there is one is an obligation.
#[test]
fn initial_code_that_does_not_end_proves_nothing() {
    let text = |init: &str| {
        format!(
            "object C : counter {{\n  struct R {{ v: int, next: *R }}\n  size N = 3\n  shared x: int\n  shared y: int\n  shared p: *R\n  shared lk: lock\n  shared m: [int; N]\n  init {{ {init} }}\n  op increment() {{\n    fetch_add(x, 1) @lin\n  }}\n  op read() -> int {{\n    return x @lin(x)\n  }}\n  abs x\n}}"
        )
    };
    for blocks in ["assume x == 1", "lock(lk); lock(lk)", "assume N > 1", "if y == 0 { assume y == 1 }"] {
        let (programs, wrong) = compile(&text(blocks));
        assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
        let report = prove(&programs[0], &options(), &|_, _| {});
        assert_eq!(report.verdict, Verdict::Unknown(Gap::NoRun), "{blocks}");
    }
    let makes = "r = new R { v: 1 }\n    s = new R { next: r }\n    p = s\n    if s == r { assume false }";
    for ends in [makes, "lock(lk); unlock(lk)", "assume all i in 0..N: m[i] == 0", "if y == 0 { y = 1 }"] {
        check(&text(ends), true);
    }
}

//! Data under other names is the same: with and without renaming the verdicts are the same, and as long a run
//! is needed to show what is wrong.

use linpoint_lang::{Program, compile};
use linpoint_model::{Bounds, Deciding, Explored, Mode, Reductions, Verdict, Workload, explore};

use crate::corpus::programs;

fn run(program: &Program, workload: &Workload, mode: Mode, data: bool) -> Explored {
    let bounds = Bounds {
        reductions: Reductions { fusion: true, fixed: true, symmetry: true, data },
        claims: Deciding::Ignored,
        states: Some(15_000),
        ..Bounds::default()
    };
    explore(program, workload, mode, &bounds)
}

/// What came out, and in how many fused steps.
fn verdict(explored: &Explored) -> (String, usize) {
    match &explored.verdict {
        Verdict::Holds(_) => ("holds".into(), 0),
        Verdict::Violated(violation) => {
            assert!(violation.rechecked && !violation.steps.is_empty(), "{violation:?}");
            (format!("{:?}", violation.wrong), explored.depth)
        }
        Verdict::Unknown(limit) => (format!("{limit:?}"), 0),
    }
}

#[test]
fn no_verdict_depends_on_names() {
    let (mut compared, mut fewer) = (0, 0);
    for (path, _, program) in programs() {
        for (threads, ops) in [(2, 1), (2, 2), (3, 1)] {
            for mode in [Mode::Anywhere, Mode::AtPoints] {
                let workload = Workload::general(&program, threads, ops);
                let plain = run(&program, &workload, mode, false);
                if matches!(plain.verdict, Verdict::Unknown(_)) {
                    continue;
                }
                let renamed = run(&program, &workload, mode, true);
                let name = path.display();
                assert_eq!(verdict(&renamed), verdict(&plain), "{name} {threads} x {ops} {mode:?}");
                if matches!(plain.verdict, Verdict::Holds(_)) {
                    assert!(renamed.states <= plain.states, "{name} {threads} x {ops}");
                    fewer += usize::from(renamed.states < plain.states);
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 150 && fewer >= 20, "{compared} compared, {fewer} with fewer states");
}

/// More values than a renaming has room for: they keep their names, and the verdict is the same.
#[test]
fn many_values_keep_their_names() {
    let text = "object S : stack {
      shared a: [data; 20]
      shared n: int
      op push(v: data) { atomic { a[n] = v
          n = n + 1 } }
      op pop() -> data? { atomic { if n == 0 { return none }
          n = n - 1
          return some(a[n]) } }
    }";
    let program = compile(text).0.remove(0);
    let workload = Workload::general(&program, 1, 18);
    let explored = run(&program, &workload, Mode::Anywhere, true);
    assert_eq!(verdict(&explored), ("holds".into(), 0));
    let wrong = compile(&text.replace("return some(a[n])", "return some(a[0])")).0.remove(0);
    let explored = run(&wrong, &workload, Mode::Anywhere, true);
    assert_eq!(verdict(&explored).0, "NotLinearizable");
}

/// Programs that compare data, with two values and with three.
#[test]
fn data_that_is_compared() {
    // Wrong only where three different values meet.
    let register = "object R : cas-register {
      shared x: data?
      shared y: data?
      op write(v: data) { atomic { if x != none && y != none && unwrap(x) != unwrap(y) && v != unwrap(x) && v != unwrap(y) { return }
          y = x
          x = v } }
      op read() -> data? { return x }
    }";
    let set = "object S : set {
      shared a: data?
      shared b: data?
      op add(v: data) -> bool { atomic {
          if a != none && unwrap(a) == v { return false }
          if b != none && unwrap(b) == v { return false }
          if a == none { a = v
            return true }
          assume b == none
          b = v
          return true } }
      op contains(v: data) -> bool { x = a
        if x != none && unwrap(x) == v { return true }
        y = b
        return y != none && unwrap(y) == v }
      op remove(v: data) -> bool { atomic {
          if a != none && unwrap(a) == v { a = none
            return true }
          if b != none && unwrap(b) == v { b = none
            return true }
          return false } }
    }";
    for (text, two, three) in [(register, "holds", "NotLinearizable"), (set, "holds", "Deadlock")] {
        let (mut programs, wrong) = compile(text);
        assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
        let program = programs.remove(0);
        for (values, expected) in [(2, two), (3, three)] {
            let workload = Workload { values, ..Workload::general(&program, 2, 3) };
            let (plain, renamed) = (
                run(&program, &workload, Mode::Anywhere, false),
                run(&program, &workload, Mode::Anywhere, true),
            );
            assert_eq!(verdict(&renamed), verdict(&plain), "{text} {values}");
            assert_eq!(verdict(&renamed).0, expected, "{text} {values}");
        }
    }
}

/// Calls and pieces of data are counted in a byte: where that is too little, nothing is searched, and nothing
/// is claimed.
#[test]
fn more_calls_than_a_state_can_count() {
    let text = "object R : register {
      shared v: data?
      op write(x: data) { v = some(x) }
      op read() -> data? { return v }
    }";
    let program = compile(text).0.remove(0);
    for (threads, ops, starts) in [(1, 255, true), (1, 256, false), (2, 128, false)] {
        let workload = Workload::general(&program, threads, ops);
        let bounds = Bounds { states: Some(1_000), ..Bounds::default() };
        let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
        let refused = format!("{:?}", explored.verdict).contains("CannotStart");
        assert_eq!(refused, !starts, "{threads} x {ops}: {:?}", explored.verdict);
    }
}

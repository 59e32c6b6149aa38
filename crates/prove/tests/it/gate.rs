//! No proof is told while exploration refutes it; ghosts are erased before anything is explored.

use std::path::Path;
use std::time::Duration;

use linpoint_lang::erase::erase;
use linpoint_lang::{Program, compile};
use linpoint_model::{Plainly, Verdict, Workload, explore_plainly};
use linpoint_prove::gate::{Gate, gate, share};

/// Enough for small programs on a busy machine; those that are wrong are refuted long before.
const TIME: Duration = Duration::from_secs(20);

fn program(text: &str) -> Program {
    let (mut programs, wrong) = compile(text);
    assert!(!wrong.iter().any(|d| d.is_error()), "{wrong:?}");
    programs.remove(0)
}

const COUNTER: &str = "object C : counter {
  shared n: int
  shared seen: int
  op increment() {
    A1: atomic {
      n = n + 1
      seen = seen + 1
    } @lin
  }
  op read() -> int {
    v = n @lin(v)
    return v
  }
  abs n
}";

#[test]
fn a_right_program_passes() {
    let found = gate(&program(COUNTER), &[], TIME);
    let Gate::Open { scopes, ref never } = found else { panic!("{found:?}") };
    assert!(scopes >= 4 && never.is_empty(), "{scopes} {never:?}");
}

/// Of a program without runs everything is true.
#[test]
fn what_cannot_be_started_does_not_pass() {
    for init in ["init { assume n == 1 }", "init { loop { n = 0 } }"] {
        let text = COUNTER.replace("  abs n", &format!("  {init}\n  abs n"));
        let found = gate(&program(&text), &[], TIME);
        assert!(matches!(&found, Gate::Unseen(why) if why.contains("does not end")), "{found:?}");
    }
    // It starts with three elements, and is said to be right for every number.
    let text = COUNTER
        .replace("  shared n: int", "  size N = 3\n  shared m: [int; N]\n  shared n: int")
        .replace("  abs n", "  init { assume any i in 1..N: m[i] == 0 }\n  abs n");
    let found = gate(&program(&text), &[], TIME);
    assert!(matches!(found, Gate::Unseen(_)), "{found:?}");
    let found = gate(&program(&text), &[("N".to_owned(), 2)], TIME);
    assert!(matches!(found, Gate::Open { .. }), "{found:?}");
    let found = gate(&program(&text), &[("N".to_owned(), 1_000_000)], TIME);
    assert!(matches!(&found, Gate::Unseen(why) if why.contains("too large")), "{found:?}");
    let found = gate(&program(COUNTER), &[], Duration::ZERO);
    assert!(matches!(&found, Gate::Unseen(why) if why.contains("no time")), "{found:?}");
}

#[test]
fn operations_that_are_not_seen_to_return() {
    let waits = "    assume n == 0 - 1\n";
    let spins = "    while n != 0 - 1 { }\n";
    let counts = "    loop { seen = seen + 1 }\n";
    for more in [waits, spins, counts] {
        let text = COUNTER.replace("    } @lin\n", &format!("    }} @lin\n{more}"));
        let found = gate(&program(&text), &[], TIME);
        let Gate::Open { never, .. } = &found else { panic!("{found:?}") };
        assert_eq!(never.iter().map(|op| op.index()).collect::<Vec<_>>(), [0], "{more}");
    }
}

/// Where no run returns from anything, every answer is right, and none was given. What may return some day
/// and was not seen to is no better.
#[test]
fn nothing_that_returns_does_not_pass() {
    let text = COUNTER.replace("    A1: atomic {", "    assume n == 5\n    A1: atomic {");
    let all = text.replace("    v = n @lin(v)", "    assume n == 5\n    v = n @lin(v)");
    let found = gate(&program(&all), &[], TIME);
    assert!(matches!(&found, Gate::Unseen(why) if why.contains("nothing to judge")), "{found:?}");
    let found = gate(&program(&text), &[], TIME);
    assert!(matches!(&found, Gate::Open { never, .. } if never.len() == 1), "{found:?}");
    let counts = "    x = 0\n    while x < 1000000000 { x = x + 1 }\n    A1: atomic {";
    let found = gate(&program(&COUNTER.replace("    A1: atomic {", counts)), &[], TIME);
    assert!(matches!(&found, Gate::Unseen(why) if why.contains("returns from `increment`")), "{found:?}");
}

/// Of a choice of a thousand million values some are tried, whether sizes are fixed or not: the program is
/// explored, and what goes wrong at the ends is found.
#[test]
fn a_choice_of_many_values() {
    for fixed in [vec![], vec![("N".to_owned(), 2)]] {
        let of = |step: &str| {
            let more = format!("    i = choose 0..1073741823\n    {step}\n    A1: atomic {{");
            let text = COUNTER.replace("    A1: atomic {", &more);
            gate(&program(&text.replace("  shared n: int", "  size N = 2\n  shared n: int")), &fixed, TIME)
        };
        let found = of("j = i");
        assert!(matches!(&found, Gate::Open { never, .. } if never.is_empty()), "{found:?}");
        let found = of("j = i + i + i");
        assert!(matches!(found, Gate::Overflow(_)), "{found:?}");
        let found = of("if i == 77777 { seen = 1; n = n + 1 }");
        assert!(matches!(found, Gate::Wrong(_)), "{found:?}");
    }
}

#[test]
fn a_wrong_one_does_not() {
    let torn =
        COUNTER.replace("    A1: atomic {\n      n = n + 1", "    t = n\n    A1: atomic {\n      n = t + 1");
    let found = gate(&program(&torn), &[], TIME);
    assert!(matches!(found, Gate::Wrong(_)), "{found:?}");
}

/// Nobody is asked whether a slot is a ghost: if one steers the program, the program without it runs
/// otherwise.
#[test]
fn a_ghost_that_steers_shows() {
    let mut steered = program(&COUNTER.replace("v = n", "v = seen"));
    assert!(matches!(gate(&steered, &[], TIME), Gate::Open { .. }));
    let seen = steered.globals.iter().position(|global| global.name == "seen").expect("it is there");
    steered.globals[seen].ghost = true;
    let found = gate(&steered, &[], TIME);
    assert!(matches!(found, Gate::Wrong(_)), "{found:?}");
}

#[test]
fn a_number_that_becomes_too_large_is_the_answer() {
    let text = "object S {
  shared x: int = 3
  op square() {
    atomic {
      x = x * x
    }
  }
  spec {
    shared c: int = 3
    op square() { c = c * c }
  }
  abs x
  client one {
    thread { square(); square(); square(); square(); square() }
  }
}";
    let found = gate(&program(text), &[], TIME);
    assert!(matches!(found, Gate::Overflow(_)), "{found:?}");
}

/// Right with one slot, wrong with two: a proof of one size is looked at with that size.
#[test]
fn sizes_that_the_proof_took_as_numbers() {
    let text = "object N : counter {
  size N = 1
  shared a: [int; N]
  op increment() {
    atomic {
      i = choose 0..N
      a[i] = a[i] + 1
    }
  }
  op read() -> int { return a[0] }
}";
    let at = |size: i64| gate(&program(text), &[("N".to_owned(), size)], TIME);
    assert!(matches!(at(1), Gate::Open { .. }));
    assert!(matches!(at(2), Gate::Wrong(_)));
}

#[test]
fn the_share_of_time() {
    let seconds = Duration::from_secs;
    assert_eq!(share(Duration::from_millis(10), None), seconds(10));
    assert_eq!(share(seconds(60), None), seconds(12));
    assert_eq!(share(seconds(60), Some(seconds(2))), seconds(2));
}

/// Erasing the ghosts of the corpus changes no verdict.
#[test]
fn programs_without_their_ghosts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut compared = 0;
    for part in ["correct", "broken"] {
        for entry in std::fs::read_dir(folder.join(part)).expect("the corpus is there") {
            let path = entry.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("a text");
            for program in compile(&text).0 {
                let ghosts = program.globals.iter().any(|global| global.ghost)
                    || program.records.iter().flat_map(|record| &record.fields).any(|slot| slot.ghost);
                if !ghosts {
                    continue;
                }
                let plainly = Plainly { states: 100_000, deadlocks: false, ..Plainly::default() };
                let workload = Workload::usual(&program, 2, 1);
                let said = |program: &Program| match explore_plainly(program, &workload, &plainly).verdict {
                    Verdict::Holds(_) => "holds",
                    Verdict::Violated(_) => "violated",
                    Verdict::Unknown(_) => "unknown",
                };
                let (with, without) = (said(&program), said(&erase(&program)));
                // There are fewer states without ghosts, so what was unknown may be known.
                assert!(with == without || with == "unknown", "{}: {with}, {without}", path.display());
                compared += usize::from(with != "unknown");
            }
        }
    }
    assert!(compared >= 5, "{compared}");
}

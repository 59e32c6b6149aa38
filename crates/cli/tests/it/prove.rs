//! `linpoint prove`: exit code, standard output and standard error together.

use linpoint_prove::solver::{SolverKind, find};

use crate::run::linpoint;

/// Without z3 nothing here can be tested, and a test that tests nothing must not be green.
#[track_caller]
fn needs_solver() {
    assert!(find(SolverKind::Z3, None).is_some(), "this test needs z3: `cargo xtask solvers` sets it up");
}

#[test]
fn proved_with_a_table() {
    needs_solver();
    let ran = linpoint(&["prove", "corpus/correct/multiset.lin"], b"");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let first = "proved: every run of any number of threads, every N, memory sequentially consistent, numbers without limits; deadlock is not looked for\n";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    assert!(ran.out.contains("obligations, 0 open"), "{}", ran.out);
    assert!(ran.out.contains("  I15 → I16'"), "{}", ran.out);
}

#[test]
fn not_proved_and_json() {
    needs_solver();
    let program = b"object C : counter {\n  shared n: int\n  op increment() {\n    t = n\n    n = t + 1\n  }\n  op read() -> int { return n }\n  abs n\n  client two {\n    thread { increment(); read() }\n    thread { increment() }\n  }\n}\n";
    let ran = linpoint(&["prove", "-", "--json"], program);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&value["verdict"], &value["engine"]), (&"refuted".into(), &"obligations".into()));
    assert_eq!(value["counterexample"]["obligation"]["kind"], "effect");
    let ran = linpoint(&["prove", "-"], program);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("refuted: not linearizable: no order explains this run\n"), "{}", ran.out);
    assert!(ran.out.contains("open: effect of increment:5"), "{}", ran.out);
}

#[test]
fn without_a_solver() {
    let ran = linpoint(&["prove", "corpus/correct/multiset.lin", "--solver", "/nowhere/z3"], b"");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("run `linpoint solvers`"), "{}", ran.err);
}

#[test]
fn bad_use() {
    needs_solver();
    assert_eq!(linpoint(&["prove", "corpus/correct/multiset.lin", "--size", "M=3"], b"").code, 2);
    assert_eq!(linpoint(&["prove", "corpus/correct/multiset.lin", "--size", "N"], b"").code, 2);
    let twice = ["prove", "corpus/correct/multiset.lin", "--size", "N=2", "--size", "N=3"];
    let ran = linpoint(&twice, b"");
    assert!(ran.code == 2 && ran.err.contains("the size `N` is given twice"), "{}", ran.err);
    let ran = linpoint(
        &["prove", "-", "--engine", "obligations"],
        b"object T {\n  shared x: int\n  op f() { x = 1 }\n}\n",
    );
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with("not proved: it has no `abs`"), "{}", ran.out);
}

/// A wrong invariant is told by a run; one that is not needed, by a proof without it; a countermodel, by
/// whether runs come to it.
#[test]
fn annotations_and_countermodels_are_tested_by_runs() {
    let lock = include_str!("../../../../corpus/correct/ticket-lock.lin");
    let wrong = lock.replace("inv at A2: serving <= t", "inv at A2: serving < t");
    let ran = linpoint(&["prove", "-"], wrong.as_bytes());
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.starts_with("not proved: the invariant of line 35 does not hold in every run\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("fetch_add(next, 1)"), "{}", ran.out);
    let same = lock.replace("disjoint t at A2; t at A3 if s != t", "disjoint s at A3");
    let ran = linpoint(&["prove", "-", "--json"], same.as_bytes());
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((ran.code, &value["verdict"]), (3, &"not proved".into()), "{}", ran.out);
    assert!(
        ran.out.contains("`disjoint s at A3` does not hold in every run: two threads have"),
        "{}",
        ran.out
    );
    needs_solver();
    let more = lock.replace("  abs holder\n", "  abs holder\n  inv: serving <= next + 1\n");
    let ran = linpoint(&["prove", "-"], more.as_bytes());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("note: the invariant of line 34 is not needed\n"), "{}", ran.out);
    let weak = linpoint(&["prove", "corpus/broken/ticket-lock-no-disjoint.lin"], b"");
    assert!(weak.out.contains("no run of 2 threads with 2 operations comes to it"), "{}", weak.out);
    let lost = "object C : counter {
      shared n: int
      op increment() {
        t = n
        n = t + 1
      }
      op read() -> int { return n }
      abs n
    }";
    let ran = linpoint(&["prove", "-"], lost.as_bytes());
    assert!(ran.out.contains("a run of 2 threads comes to it, in "), "{}", ran.out);
}

#[test]
fn obligations_as_formulas() {
    needs_solver();
    let ran = linpoint(&["prove", "corpus/correct/ticket-lock.lin", "--explain"], b"");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("    acquire:16 → A2    16: t = fetch_add(next, 1)\n      invariant\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("        always holder != none ==> serving < next\n"), "{}", ran.out);
    assert!(ran.out.contains("        at A2: holder != me\n"), "{}", ran.out);
    assert!(ran.out.contains("      effect\n        holder == p\n"), "{}", ran.out);
}

/// The program without its linearization points, and what is told of those that were found.
#[test]
fn points_are_found_and_told() {
    needs_solver();
    let stack = include_str!("../../../../corpus/correct/treiber-ghosts.lin");
    let without = stack.replace(" @lin(none) if t == null", "").replace(" @lin", "");
    assert!(!without.contains("@lin"));
    let ran = linpoint(&["prove", "-"], without.as_bytes());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("  point found: pop at Q1 (line "), "{}", ran.out);
    assert!(ran.out.contains(": @lin(none) if t == null\n"), "{}", ran.out);
    let ran = linpoint(&["prove", "-", "--json"], without.as_bytes());
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(value["found"].as_array().map(Vec::len), Some(3), "{}", ran.out);
}

#[test]
fn hidden_slots_are_found_on_request() {
    needs_solver();
    let file = "corpus/broken/multiset-naive-abstraction.lin";
    let ran = linpoint(&["prove", file], b"");
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("open: effect of I14 → I15\n"), "{}", ran.out);
    let ran = linpoint(&["prove", file, "--hide"], b"");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("  hidden: slot i from I14 (line "), "{}", ran.out);
}

#[test]
fn what_is_missing_is_proposed() {
    needs_solver();
    let ran = linpoint(&["prove", "corpus/broken/ticket-lock-no-disjoint.lin"], b"");
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("    missing: `disjoint t at A2; t at A3` would close it; runs keep it\n"),
        "{}",
        ran.out
    );
}

/// Each broken case: the step and the kind, a countermodel within a second, and what runs say of it.
#[test]
fn broken_cases_name_their_steps() {
    needs_solver();
    named(&["corpus/broken/multiset-naive-abstraction.lin"], 3, &[("effect", "I14"), ("effect", "I15")]);
    let older = ["corpus/correct/multiset-in.lin", "--two-processes", "--size", "N=3"];
    named(&older, 3, &[("effect", "I1"), ("effect", "I5"), ("effect", "I7'")]);
    named(&["corpus/broken/ticket-lock-no-disjoint.lin"], 3, &[("others", "A2")]);
    named(&["corpus/broken/treiber-ghosts-pop-no-cas.lin"], 1, &[("effect", "Q3")]);
}

/// With these arguments at least these obligations are open, and runs say something about the first.
#[track_caller]
fn named(arguments: &[&str], code: i32, wanted: &[(&str, &str)]) {
    let all: Vec<&str> = ["prove"].iter().chain(arguments).chain(&["--json"]).copied().collect();
    let ran = linpoint(&all, b"");
    assert_eq!(ran.code, code, "{arguments:?}: {}{}", ran.out, ran.err);
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(value["verdict"], if code == 1 { "refuted" } else { "not proved" }, "{arguments:?}");
    let open: Vec<&serde_json::Value> = value["obligations"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["outcome"] == "open" && one["kind"] != "status")
        .collect();
    let named: Vec<(&str, &str)> = open
        .iter()
        .map(|one| {
            let step = one["step"].as_str().expect("a step");
            (one["kind"].as_str().expect("a kind"), step.split(' ').next().unwrap_or(""))
        })
        .collect();
    for pair in wanted {
        assert!(named.contains(pair), "{arguments:?}: {named:?}");
    }
    assert!(
        value["counterexample"]["reached"].as_str().is_some_and(|word| word.contains("run")),
        "{}",
        ran.out
    );
}

/// What is never taken is the first thing that is said of a proof.
#[test]
fn vacuity_comes_first() {
    needs_solver();
    let program = b"object W : counter {
  shared x: int
  shared lk: lock
  op increment() {
    lock(lk)
    lock(lk)
    x = 7 @lin
    unlock(lk)
    unlock(lk)
  }
  op read() -> int {
    r = x @lin(r)
    return r
  }
  abs x
}";
    let ran = linpoint(&["prove", "-"], program);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("proved, but vacuous in part: `increment` never returns; "), "{}", ran.out);
    assert!(ran.out.contains("\n  the rest is proved: "), "{}", ran.out);
    let ran = linpoint(&["prove", "-", "--json"], program);
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(value["verdict"], "proved");
    assert!(value["vacuous"].as_str().is_some_and(|said| said.contains("never returns")), "{value}");
}

/// An overflow that a client comes to refutes a proof about numbers without limits.
#[test]
fn numbers_that_become_too_large() {
    needs_solver();
    let program = b"object S {
  shared x: int = 3
  op square() {
    S1: atomic {
      x = x * x
    } @lin
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
    let ran = linpoint(&["prove", "-"], program);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("refuted: a number too large"), "{}", ran.out);
    assert!(ran.out.contains("only of numbers without limits"), "{}", ran.out);
}

/// A caller who gives back what it does not hold refutes nothing, whatever the operations are called.
#[test]
fn callers_keep_the_rules_of_what_is_held() {
    needs_solver();
    let semaphore = b"object S : semaphore:capacity=2 {
  shared c: int = 2
  op acquire() {
    atomic {
      assume c > 0
      c = c - 1
    } @lin
  }
  op release() { n = fetch_add(c, 1) @lin }
  abs c
}";
    let ran = linpoint(&["prove", "-"], semaphore);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert_eq!(linpoint(&["explore", "-"], semaphore).code, 0);
    let alias = b"object T : lock {
  shared l: lock
  op acquire() { lock(l) @lin }
  op unlock() { unlock(l) @lin }
  abs l
}";
    assert_eq!(linpoint(&["prove", "-"], alias).code, 0);
    assert_eq!(linpoint(&["explore", "-"], alias).code, 0);
}

/// Looking for what is missing is under the time limit, and its time is told.
#[test]
fn what_is_told_as_missing_would_help() {
    needs_solver();
    let text =
        std::fs::read_to_string(crate::run::root().join("corpus/correct/ticket-lock.lin")).expect("there");
    let line = "  inv at A2: serving <= t && t < next && (holder != none ==> serving < t)\n";
    let less = text.replace(line, "");
    assert_ne!(less, text);
    let ran = linpoint(&["prove", "-", "--json"], less.as_bytes());
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let (all, looking) = (value["elapsed_s"].as_f64(), value["looking_s"].as_f64());
    assert!(all.zip(looking).is_some_and(|(all, looking)| looking > 0.0 && looking <= all), "{value}");
}

/// A counter with more before its operations, and in them.
fn counter(before: &str, increment: &str, abs: &str) -> String {
    format!(
        "object C : counter {{\n  shared x: int\n  shared y: int\n{before}\n  op increment() {{\n{increment}\n  }}\n  op read() -> int {{ return x }}\n  abs {abs}\n}}\n"
    )
}

/// Where nothing can be run, nothing is proved.
#[test]
fn initial_code_that_does_not_end() {
    needs_solver();
    let plain = "    fetch_add(x, 1)";
    let blocks = counter(
        "  init { assume x == 1 }",
        "    assert y == 7\n    fetch_add(x, 1)",
        "x - y + 7\n  inv: y == 7",
    );
    for program in [blocks, counter("  init { assume x == 1 }", plain, "x")] {
        let ran = linpoint(&["prove", "-", "--engine", "obligations"], program.as_bytes());
        assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
        assert!(
            ran.out.starts_with("not proved: the initial code does not end\n  no run can be explored"),
            "{}",
            ran.out
        );
    }
    let chooses = counter("  init { choose { x = 0 } or { x = 0 } }", plain, "x");
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], chooses.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("error[L037]"), "{}", ran.err);
}

/// What is proved of an operation that never returns says nothing of its result, and that comes first.
#[test]
fn operations_that_never_return() {
    needs_solver();
    let prove = |program: &str| linpoint(&["prove", "-", "--engine", "obligations"], program.as_bytes());
    let first = |body: &str, said: &str| {
        let ran = prove(&counter("", body, "x"));
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        let expected = format!("proved, but vacuous in part: {said}\n  the rest is proved: ");
        assert!(ran.out.starts_with(&expected), "{}", ran.out);
    };
    let unseen = "`increment` never returns in the runs that were explored";
    first("    fetch_add(x, 1) @lin\n    loop { }", "`increment` never returns");
    first("    fetch_add(x, 1) @lin\n    while y == 0 { }", unseen);
    first("    fetch_add(y, 2)\n    assume y % 2 == 1\n    fetch_add(x, 1)", unseen);
    let every = counter("  shared go: bool", "    assume go\n    fetch_add(x, 1)", "x")
        .replace("{ return x }", "{\n    assume go\n    return x\n  }");
    // Where nothing returns, nothing is judged.
    let ran = linpoint(&["prove", "-", "--engine", "obligations", "--json"], every.as_bytes());
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    let basis = value["basis"].as_str().unwrap_or_default();
    assert!(ran.code == 3 && basis.contains("nothing to judge"), "{}", ran.out);
    // The same operation under a wrong abstraction: that it goes round refutes nothing.
    let ran = prove(&counter("", "    fetch_add(x, 1) @lin\n    loop { }", "x + 1"));
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("not proved: ") && ran.out.contains("finds nothing wrong"), "{}", ran.out);
}

/// A step that every run takes is not called one that is never taken: of its outcomes one is.
#[test]
fn outcomes_that_never_come() {
    needs_solver();
    let body = "    lock(lk)\n    ok = try_lock(lk)\n    x = x + 1 @lin\n    unlock(lk)";
    let program = counter("  shared lk: lock", body, "x");
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], program.as_bytes());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("takes one of the outcomes of line 7\n"), "{}", ran.out);
    assert!(!ran.out.contains("the step of line 7"), "{}", ran.out);
}

/// Whatever takes long, a limit is kept, and named.
#[test]
fn limits_of_time_are_kept() {
    needs_solver();
    let nested = |count: usize, most: u32| -> String {
        (0..count).map(|depth| format!("all v{depth} in 0..{most}: ")).collect()
    };
    let plain = "    fetch_add(x, 1)";
    let many = (0..240).map(|_| "    y = y + 1\n").collect::<String>() + plain;
    let ways: String =
        (0..12).map(|n| format!("      if m[{n}] == 0 {{ m[{n}] = 1 }} else {{ m[{n}] = 0 }}\n")).collect();
    let programs = [
        counter("", plain, &format!("x\n  inv: {}x >= 0", nested(3, 1000))),
        counter("", plain, &format!("x\n  inv: {}x + v13 >= v0 - 2", nested(14, 3))),
        counter("", &many, "x"),
        counter("  shared m: [int; 12]", &format!("    atomic {{\n{ways}      x = x + 1\n    }}"), "x"),
    ];
    // One step of the program takes longer than a minute.
    let step = counter("", &format!("{plain}\n    assert {}x >= 0", nested(3, 1000)), "x");
    for program in programs.into_iter().chain([step]) {
        let start = std::time::Instant::now();
        let args = ["prove", "-", "--engine", "obligations", "--time-limit", "1s"];
        let ran = linpoint(&args, program.as_bytes());
        // Others may be at work on this machine.
        assert!(start.elapsed().as_secs_f64() < 3.0, "{:?}\n{}", start.elapsed(), ran.out);
        if ran.code != 0 {
            assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
            assert!(ran.out.starts_with("not proved: the time limit was reached"), "{}", ran.out);
        }
    }
}

/// A countermodel that only callers come to who break the rules of a lock is one that no run comes to.
#[test]
fn countermodels_are_looked_for_among_callers_that_keep_the_rules() {
    needs_solver();
    let lock = include_str!("../../../../corpus/correct/ticket-lock.lin");
    let lines = lock.lines().filter(|line| !line.starts_with("  inv at A2"));
    let less: String = lines.map(|line| format!("{line}\n")).collect();
    assert_ne!(less, lock);
    let ran = linpoint(&["prove", "-", "--no-inference"], less.as_bytes());
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("  open: "), "{}", ran.out);
    assert!(!ran.out.contains("comes to it, in"), "{}", ran.out);
}

/// A proposal is written as the grammar has it, once, and what was proposed is not refuted when it is written
/// down.
#[test]
fn proposals_can_be_written_down() {
    needs_solver();
    let queue = include_str!("../../../../corpus/correct/array-queue.lin");
    for left_out in ["  inv: head <= tail", "  inv at E4", "  inv at E5", "  inv at D", "  inv"] {
        let mut out = false;
        let lines =
            queue.lines().filter(|line| !line.starts_with(left_out) || std::mem::replace(&mut out, true));
        let less: String = lines.map(|line| format!("{line}\n")).collect();
        let ran = linpoint(&["prove", "-"], less.as_bytes());
        assert!(ran.code == 0 || ran.code == 3, "{}{}", ran.out, ran.err);
        let proposed = ran.out.lines().filter(|line| line.contains("missing: ")).collect::<Vec<_>>();
        for line in &proposed {
            assert!(!line.contains(" at line "), "{line}");
            assert_eq!(proposed.iter().filter(|other| other == &line).count(), 1, "{line}");
            let Some(written) = line.split('`').nth(1).filter(|_| !line.contains("label the statement"))
            else {
                continue;
            };
            let more = less.replacen("\n  abs ", &format!("\n  {written}\n  abs "), 1);
            let again = linpoint(&["prove", "-"], more.as_bytes());
            assert!(!again.out.contains("does not hold in every run"), "{line}\n{}", again.out);
        }
    }
}

/// What is proved is said of the program without its ghosts: that these go wrong does not make the object
/// wrong.
#[test]
fn ghosts_that_go_wrong() {
    needs_solver();
    let ghosts = "  ghost shared h: int?\n  ghost shared k: int";
    let wrong = counter(ghosts, "    fetch_add(x, 1) @lin @ghost { k = unwrap(h) }", "x");
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], wrong.as_bytes());
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("not proved: the ghost code goes wrong: unwrap of none\n"), "{}", ran.out);
    let ran = linpoint(&["explore", "-"], wrong.as_bytes());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("violated: the ghost code goes wrong: unwrap of none"), "{}", ran.out);
    // The object is wrong, too: that is found behind the ghosts.
    let both = counter(ghosts, "    t = x @ghost { k = unwrap(h) }\n    x = t + 1", "x");
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], both.as_bytes());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("refuted: not linearizable"), "{}", ran.out);
    // It is the program that goes wrong here, in the same step as a ghost.
    let program = counter(
        ghosts,
        "    atomic {\n      assert y == 1\n      x = x + 1\n    } @lin @ghost { k = unwrap(h) }",
        "x",
    );
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], program.as_bytes());
    assert!(ran.code == 1 && ran.out.starts_with("refuted: assertion failed"), "{}", ran.out);
}

/// An annotation that a run breaks does not hide that the object is wrong.
#[test]
fn wrong_annotations_of_wrong_objects() {
    needs_solver();
    let program = |start: &str| {
        format!(
            "object S {{
  shared nx: int
  shared c: int
  op a() -> int {{
    t = fetch_add(nx, 1)
    A: t = t + 1
    B: c = t @lin(t)
    return t
  }}
  abs c
  disjoint t at A; t at B
  spec {{
    shared c: int
    op a() -> int {{
      {start}
      return c
    }}
  }}
}}"
        )
    };
    let wrong = program("choose {\n        c = 1\n      } or {\n        c = 2\n      }");
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], wrong.as_bytes());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let why = "\n  not proved: `disjoint t at A; t at B` does not hold in every run: two threads have 1\n";
    assert!(ran.out.starts_with("refuted: not linearizable") && ran.out.contains(why), "{}", ran.out);
    let ran = linpoint(&["prove", "-", "--engine", "obligations", "--json"], wrong.as_bytes());
    let value: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((ran.code, &value["verdict"]), (1, &"refuted".into()), "{}", ran.out);
    let right = program("c = choose 1..9");
    let ran = linpoint(&["prove", "-", "--engine", "obligations"], right.as_bytes());
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("not proved: `disjoint t at A; t at B` does not hold"), "{}", ran.out);
}

//! Without fusion and without symmetry there are more states and the same verdicts.

use linpoint_lang::compile;
use linpoint_model::{Bounds, Deciding, Mode, Reductions, Verdict, Workload, explore};

use crate::corpus::programs;

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Holds(_) => "holds".into(),
        Verdict::Violated(violation) => format!("{:?}", violation.wrong),
        Verdict::Unknown(limit) => format!("{limit:?}"),
    }
}

#[test]
fn no_reduction_changes_a_verdict() {
    let mut compared = 0;
    for (path, _, program) in programs() {
        // Small enough for no reduction at all.
        let workload = Workload::general(&program, 2, 1);
        for mode in [Mode::Anywhere, Mode::AtPoints] {
            let run = |fusion: bool, symmetry: bool| {
                let reductions = Reductions { fusion, fixed: symmetry, symmetry, data: symmetry };
                let bounds = Bounds { reductions, claims: Deciding::Ignored, ..Bounds::default() };
                explore(&program, &workload, mode, &bounds)
            };
            let reduced = run(true, true);
            if reduced.states > 400 {
                continue;
            }
            for (fusion, symmetry) in [(false, false), (true, false), (false, true)] {
                let plain = run(fusion, symmetry);
                let name = path.display();
                assert_eq!(verdict(&reduced.verdict), verdict(&plain.verdict), "{name} {fusion} {symmetry}");
                if matches!(plain.verdict, Verdict::Holds(_)) {
                    assert!(plain.states >= reduced.states, "{name}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 60, "{compared}");
}

/// The same with a violation that needs two operations of a thread.
#[test]
fn violations_survive_reductions() {
    for name in
        ["treiber-push-no-cas", "two-lock-dequeue-gap", "treiber-use-after-free", "snark", "treiber-free-aba"]
    {
        let (.., program) = programs()
            .into_iter()
            .find(|(path, ..)| path.ends_with(format!("{name}.lin")))
            .expect("it is there");
        let workload = Workload::of(&program.clients[0]);
        for (fusion, symmetry) in [(false, false), (true, false), (false, true), (true, true)] {
            let bounds = Bounds {
                reductions: Reductions { fusion, fixed: symmetry, symmetry, data: symmetry },
                ..Bounds::default()
            };
            let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
            let Verdict::Violated(violation) = &explored.verdict else {
                panic!("{name}: {:?}", explored.verdict)
            };
            assert!(violation.rechecked, "{name}");
        }
    }
}

#[track_caller]
fn says(text: &str, expected: &str) {
    let (programs, wrong) = compile(text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    let workload = Workload::of(&programs[0].clients[0]);
    let explored = explore(&programs[0], &workload, Mode::Anywhere, &Bounds::default());
    assert_eq!(verdict(&explored.verdict), expected);
}

#[test]
fn deadlocks_asserts_and_endless_loops() {
    let locks = "shared a: lock\n shared b: lock\n op f() { lock(a)\n lock(b)\n unlock(b)\n unlock(a) }";
    let g = "op g() { lock(b)\n lock(a)\n unlock(a)\n unlock(b) }";
    says(
        &format!("object T {{ {locks}\n {g}\n client c {{ thread {{ f() }} thread {{ g() }} }} }}"),
        "Deadlock",
    );
    says(&format!("object T {{ {locks}\n client c {{ thread {{ f() }} thread {{ f() }} }} }}"), "holds");
    let count = "shared n: int\n op f() { x = n\n n = x + 1\n y = n\n assert y < 2 }";
    says(&format!("object T {{ {count}\n client c {{ thread {{ f() }} }} }}"), "holds");
    says(&format!("object T {{ {count}\n client c {{ thread {{ f() f() }} }} }}"), "Error(AssertFailed)");
    says(
        "object T { op f() { loop { x = 1 } } client c { thread { f() } } }".replace("} }", "}\n }").as_str(),
        "Endless",
    );
}

/// A lock that is never given back: who increments once more waits at its first step, though it could have
/// called `read` instead.
#[test]
fn a_call_that_waits_at_its_first_step() {
    let text = "object C : counter {
      shared n: int
      shared l: lock
      op increment() { lock(l)
        v = n
        n = v + 1
        if v == 0 { unlock(l) } }
      op read() -> int { return n }
    }";
    let found = |text: &str| {
        let (programs, wrong) = compile(text);
        assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
        let workload = Workload::general(&programs[0], 2, 2);
        let explored = explore(&programs[0], &workload, Mode::Anywhere, &Bounds::default());
        if let Verdict::Violated(found) = &explored.verdict {
            assert!(!found.steps.is_empty(), "the way there was found again");
        }
        verdict(&explored.verdict)
    };
    assert_eq!(found(text), "Deadlock");
    assert_eq!(found(&text.replace("if v == 0 { unlock(l) }", "unlock(l)")), "holds");
}

/// A lost update: the counter is not one.
#[test]
fn a_counter_that_loses() {
    let text = "object C : counter {
      shared n: int
      op increment() { x = n
        n = x + 1 }
      op read() -> int { return n }
      client c { thread { increment(); read() } thread { increment() } }
    }";
    says(text, "NotLinearizable");
    says(&text.replace("x = n\n        n = x + 1", "fetch_add(n, 1)"), "holds");
}

/// Limits make the verdict unknown, never holds.
#[test]
fn limits_are_said() {
    let (.., program) =
        programs().into_iter().find(|(path, ..)| path.ends_with("treiber.lin")).expect("it is there");
    let workload = Workload::general(&program, 3, 2);
    let bounds = Bounds { memory: 1 << 16, ..Bounds::default() };
    let explored = explore(&program, &workload, Mode::Anywhere, &bounds);
    assert_eq!(verdict(&explored.verdict), "Memory");
    let bounds = Bounds { time: Some(std::time::Duration::ZERO), ..Bounds::default() };
    assert_eq!(verdict(&explore(&program, &workload, Mode::Anywhere, &bounds).verdict), "Time");
}

/// What a thread did before it waits for ever is seen by the others: a step that blocks on its own locals
/// must not take the step before it with it.
#[test]
fn what_a_blocked_thread_did_stays_done() {
    let text = "object T {
      shared n: int
      op f() { n = 1
        x = 0
        assume x == 1 }
      op g() { y = n
        assert y == 0 }
      client c { thread { f() } thread { g() } }
    }";
    says(text, "Error(AssertFailed)");
    says(&text.replace("assert y == 0", "assert y < 2"), "Deadlock");
}

/// Bounds on preemptions: more allow more states, enough allow all, and a violation that needs one is not
/// found with none.
#[test]
fn preemptions_are_counted() {
    let find = |name: &str| {
        let found = programs().into_iter().find(|(path, ..)| path.ends_with(format!("{name}.lin")));
        found.expect("it is there").2
    };
    let run = |program: &linpoint_lang::Program, preemptions: Option<u8>, workload: &Workload| {
        let bounds = Bounds {
            preemptions,
            reductions: Reductions { fusion: true, fixed: true, symmetry: false, data: true },
            ..Bounds::default()
        };
        explore(program, workload, Mode::Anywhere, &bounds)
    };
    let treiber = find("treiber");
    let workload = Workload::general(&treiber, 2, 2);
    let depth = |preemptions| run(&treiber, preemptions, &workload);
    let counts: Vec<u64> = [0, 1, 2, 40].map(|most| depth(Some(most)).transitions).to_vec();
    assert!(counts.is_sorted() && counts[0] < counts[1], "{counts:?}");
    assert!(matches!(depth(Some(2)).verdict, Verdict::Holds(_)));
    // A lost update: one thread is stopped between its read and its write.
    let text = "object C : counter {
      shared n: int
      op increment() { x = n
        n = x + 1 }
      op read() -> int { return n }
      client c { thread { increment(); read() } thread { increment() } }
    }";
    let lost = compile(text).0.remove(0);
    let workload = Workload::of(&lost.clients[0]);
    assert_eq!(verdict(&run(&lost, Some(0), &workload).verdict), "holds");
    assert_eq!(verdict(&run(&lost, Some(1), &workload).verdict), "NotLinearizable");
    for name in ["treiber-pop-no-cas", "two-lock-dequeue-gap", "snark"] {
        let program = find(name);
        let explored = run(&program, Some(4), &Workload::of(&program.clients[0]));
        let Verdict::Violated(violation) = explored.verdict else { panic!("{name}") };
        assert!(violation.rechecked, "{name}");
    }
}

/// Answers that mean the same to a checker of histories mean the same here: `true` for "done", cells of a
/// scan that nobody has written.
#[test]
fn answers_in_either_form() {
    let lock = "object L : lock {
      shared l: bool
      op acquire() -> bool { loop { if cas(l, false, true) { return true } } }
      op release() -> bool { l = false
        return true }
      client c { thread { acquire(); release() } thread { acquire(); release() } }
    }";
    says(lock, "holds");
    says(
        &lock.replace("l = false\n        return true", "l = false\n        return false"),
        "NotLinearizable",
    );
    let snapshot = "object S : snapshot {
      shared a: data?
      shared b: data?
      op write(i: 0..2, d: data) { if i == 0 { a = d } else { b = d } }
      op scan() -> (data?, data?) { atomic { x = a
        y = b }
        return (x, y) }
      client c { thread { scan(); write(0, 1) } thread { scan() } }
    }";
    says(snapshot, "holds");
    says(&snapshot.replace("return (x, y)", "return (y, x)"), "NotLinearizable");
}

/// A `spec` with an operation that the object has not got: nobody calls it.
#[test]
fn a_specification_of_more_than_there_is() {
    let text = "object R {
      shared v: int
      op write(x: 0..2) { v = x }
      spec {
        shared v: int
        op read() -> int { return v }
        op write(x: 0..2) { v = x }
        op clear() { v = 0 }
      }
      client c { thread { write(1) } thread { write(0) } }
    }";
    says(text, "holds");
}

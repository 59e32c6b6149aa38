//! Lock-freedom and obstruction-freedom: cycles, and threads that wait.

use linpoint_lang::{Program, compile};
use linpoint_model::{Bounds, Deciding, Demand, Mode, Verdict, Workload, Wrong, explore};

use crate::corpus::programs;

/// What is said about a program with two threads.
fn said(program: &Program, workload: &Workload, progress: Demand) -> String {
    let bounds = Bounds { progress, claims: Deciding::Ignored, ..Bounds::default() };
    match explore(program, workload, Mode::Anywhere, &bounds).verdict {
        Verdict::Holds(_) => "holds".into(),
        Verdict::Violated(violation) => {
            let cycle = matches!(violation.wrong, Wrong::GoesRound | Wrong::GoesRoundAlone);
            assert!(violation.rechecked && cycle == (violation.repeats > 0), "{violation:?}");
            if violation.wrong == Wrong::GoesRoundAlone {
                let end = &violation.steps[violation.steps.len() - violation.repeats..];
                assert!(end.iter().all(|step| step.thread == end[0].thread));
            }
            format!("{:?}", violation.wrong)
        }
        Verdict::Unknown(limit) => format!("{limit:?}"),
    }
}

#[test]
fn of_the_corpus() {
    let expected = [
        ("treiber", "holds", "holds"),
        ("michael-scott", "holds", "holds"),
        ("elimination-stack", "holds", "holds"),
        // A dequeue of nothing waits for an enqueue by going round.
        ("herlihy-wing", "GoesRound", "GoesRoundAlone"),
        ("two-lock", "Waits", "Waits"),
    ];
    for (name, lock_free, obstruction_free) in expected {
        let (.., program) = programs()
            .into_iter()
            .find(|(path, ..)| path.ends_with(format!("{name}.lin")))
            .expect("it is there");
        let workload = Workload::general(&program, 2, 1);
        assert_eq!(said(&program, &workload, Demand::LockFree), lock_free, "{name}");
        assert_eq!(said(&program, &workload, Demand::ObstructionFree), obstruction_free, "{name}");
    }
    for name in ["ticket-lock", "mcs-lock"] {
        let (.., program) = programs()
            .into_iter()
            .find(|(path, ..)| path.ends_with(format!("{name}.lin")))
            .expect("it is there");
        let mut workload = Workload::of(&program.clients[0]);
        workload.threads.truncate(2);
        assert_eq!(said(&program, &workload, Demand::LockFree), "GoesRound", "{name}");
        assert_eq!(said(&program, &workload, Demand::ObstructionFree), "GoesRoundAlone", "{name}");
    }
}

/// A thread that could leave a loop and does not, whether others can notice that it turns or not.
#[test]
fn a_choice_that_is_never_made() {
    for body in [
        "loop { choose { z = 1 } or { return } }",
        "loop { z = choose 0..2; if z == 1 { return } }",
        "n = 1; loop { z = n; if z == choose 0..2 { return } }",
        "loop { z = m; if z == choose 0..2 { return } }",
    ] {
        let text = format!(
            "object P {{ shared n: int; shared m: int; op a() {{ {body} }} spec {{ op a() {{ }} }} }}"
        );
        let (programs, wrong) = compile(&text);
        assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
        let workload = Workload::usual(&programs[0], 2, 1);
        assert_eq!(said(&programs[0], &workload, Demand::LockFree), "GoesRound", "{body}");
        assert_eq!(said(&programs[0], &workload, Demand::ObstructionFree), "GoesRoundAlone", "{body}");
        assert_eq!(said(&programs[0], &workload, Demand::GoodEnd), "holds", "{body}");
    }
}

/// Two that undo each other's work for ever: each alone returns at once.
#[test]
fn a_livelock() {
    let text = "object T {
      shared x: int
      op f() { loop {
        x = 1
        if x == 1 { return }
      } }
      op g() { loop {
        x = 2
        if x == 2 { return }
      } }
      client c { thread { f() } thread { g() } }
    }";
    let programs = compile(text).0;
    let workload = Workload::of(&programs[0].clients[0]);
    assert_eq!(said(&programs[0], &workload, Demand::LockFree), "GoesRound");
    assert_eq!(said(&programs[0], &workload, Demand::ObstructionFree), "holds");
    assert_eq!(said(&programs[0], &workload, Demand::GoodEnd), "holds");
}

/// Who waits at the first step of an operation waits: the run ends with the call.
#[test]
fn waiting_where_it_is_called() {
    let object = |members: &str| format!("object F {{ shared flag: bool\n shared item: data?\n{members}\n}}");
    let flag = "op wait() { assume flag }\n op set() { flag = true }\n spec { op wait() { }\n op set() { } }";
    let slot = "op put(v: data) { atomic { assume item == none\n item = v } }\n op take() -> data { atomic { \
        assume item != none\n v = unwrap(item)\n item = none }\n return v }";
    let after = "op a() { flag = true }\n op wait() { assume !flag }\n";
    for members in [flag, slot, after] {
        let (programs, wrong) = compile(&object(members));
        assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
        for threads in [1, 2] {
            let workload = Workload::general(&programs[0], threads, 1);
            let expected = if members == after && threads == 1 { "holds" } else { "Waits" };
            assert_eq!(said(&programs[0], &workload, Demand::LockFree), expected, "{members}");
            assert_eq!(said(&programs[0], &workload, Demand::ObstructionFree), expected, "{members}");
        }
    }
    // Nobody ever sets it, and one goes round for ever: the start is stuck already, and no run leads there.
    let alone = format!(
        "{} client c {{ thread {{ set() }} thread {{ wait() }} }}",
        flag.replace("= true", "= false").replace("assume flag", "loop { if flag { return } }")
    );
    let program = compile(&object(&alone)).0.remove(0);
    let bounds = Bounds { progress: Demand::GoodEnd, ..Bounds::default() };
    let explored = explore(&program, &Workload::of(&program.clients[0]), Mode::Anywhere, &bounds);
    let Verdict::Violated(violation) = explored.verdict else { panic!("{:?}", explored.verdict) };
    assert!(violation.rechecked && violation.wrong == Wrong::Stuck, "{violation:?}");
}

/// Nobody asks for progress: it is looked at all the same, and said beside the verdict.
#[test]
fn progress_that_nobody_asked_for() {
    let of = |name: &str, workers: usize| {
        let found = programs().into_iter().find(|(path, ..)| path.ends_with(format!("{name}.lin")));
        let program = found.expect("it is there").2;
        let bounds = Bounds { workers, shared_from: 2, ..Bounds::default() };
        explore(&program, &Workload::of(&program.clients[0]), Mode::Anywhere, &bounds)
    };
    for workers in [1, 3] {
        let hangs = of("mcs-lock-no-wait", workers);
        assert!(matches!(hangs.verdict, Verdict::Holds(_)), "{:?}", hangs.verdict);
        assert_eq!(hangs.can_end, Some(false));
        assert_eq!(of("mcs-lock", workers).can_end, Some(true));
    }
}

//! Exploration without reductions, and second opinions.

use linpoint_lang::{Program, compile};
use linpoint_model::{
    Agreement, Budget, Explored, Noted, Plainly, Seen, Values, Verdict, Workload, Wrong, explore_plainly,
    second_opinion, second_opinion_noting, walk_plainly,
};

use crate::corpus::{expected, programs};

fn program(text: &str) -> Program {
    let (mut programs, wrong) = compile(text);
    assert!(wrong.iter().all(|d| !d.is_error()), "{wrong:?}");
    programs.remove(0)
}

fn wrong(explored: &Explored) -> Option<Wrong> {
    match &explored.verdict {
        Verdict::Violated(violation) => {
            assert!(violation.rechecked && !violation.steps.is_empty(), "{violation:?}");
            Some(violation.wrong.clone())
        }
        Verdict::Holds(_) => None,
        Verdict::Unknown(limit) => panic!("{limit:?}"),
    }
}

const COUNTER: &str = "object C : counter {
  shared n: int
  op increment() { x = n
    n = x + 1 }
  op read() -> int { return n }
}";

#[test]
fn a_counter_that_loses() {
    let of = |text: &str| {
        let program = program(text);
        wrong(&explore_plainly(&program, &Workload::general(&program, 2, 2), &Plainly::default()))
    };
    assert_eq!(of(COUNTER), Some(Wrong::NotLinearizable));
    assert_eq!(of(&COUNTER.replace("x = n\n    n = x + 1", "fetch_add(n, 1)")), None);
}

#[test]
fn limits_and_random_runs() {
    let lost = program(COUNTER);
    let workload = Workload::general(&lost, 2, 2);
    let few = Plainly { states: 20, ..Plainly::default() };
    assert!(matches!(explore_plainly(&lost, &workload, &few).verdict, Verdict::Unknown(_)));
    let some = Plainly { states: 20_000, ..Plainly::default() };
    let one = walk_plainly(&lost, &workload, &some, 3);
    assert_eq!(wrong(&one), Some(Wrong::NotLinearizable));
    assert_eq!(one.states, walk_plainly(&lost, &workload, &some, 3).states);
    let right = program(&COUNTER.replace("x = n\n    n = x + 1", "fetch_add(n, 1)"));
    assert!(matches!(walk_plainly(&right, &workload, &some, 3).verdict, Verdict::Unknown(_)));
    let nobody = Workload::general(&right, 0, 2);
    assert!(matches!(walk_plainly(&right, &nobody, &some, 3).verdict, Verdict::Unknown(_)));
    assert_eq!(wrong(&explore_plainly(&right, &nobody, &some)), None);
}

/// Which values arguments have can matter: a register that cannot hold a negative number.
#[test]
fn values_matter() {
    let text = "object R {
      shared v: data
      op write(x: data) { if x != v { v = x } }
      op read() -> data { return v }
      spec { shared v: data
        op write(x: data) { v = x }
        op read() -> data { return v } }
    }";
    let with = |text: &str, values: Values| {
        let program = program(text);
        let plainly = Plainly { values, ..Plainly::default() };
        wrong(&explore_plainly(&program, &Workload::general(&program, 2, 2), &plainly))
    };
    assert_eq!(with(text, Values::distinct()), None);
    let late = text.replace("if x != v { v = x }", "if x == v { return }\n w = v\n if w != x { v = w }");
    assert_eq!(with(&late, Values::few(2)), Some(Wrong::NotLinearizable));
    let some_of = |values: &[i32]| Values { data: Some(values.to_vec()), numbers: values.to_vec() };
    let number = text.replace("data", "int").replace("if x != v { v = x }", "if x >= 0 { v = x }");
    assert_eq!(with(&number, Values::few(2)), None);
    assert_eq!(with(&number, some_of(&[-1, 1])), Some(Wrong::NotLinearizable));
    assert!(second_opinion(&program(&number), &by_states(60_000)).refutation().is_some());
}

/// A range of arguments that is too large is tried at its ends, and then nothing is said to hold.
#[test]
fn large_ranges_are_cut() {
    let text = "object R {
      shared v: int
      op write(x: 0..1000000, y: 0..1000000) { v = x + y }
      op read() -> int { return v }
      spec { shared v: int
        op write(x: 0..1000000, y: 0..1000000) { v = x + y }
        op read() -> int { return v } }
    }";
    let program = program(text);
    let explored = explore_plainly(&program, &Workload::general(&program, 1, 1), &Plainly::default());
    assert!(matches!(explored.verdict, Verdict::Unknown(_)), "{:?}", explored.verdict);
}

/// With every run of two threads with one operation each: the same verdict as the corpus has, where that is
/// small enough.
#[test]
fn the_corpus_without_reductions() {
    let mut compared = 0;
    for (path, text, program) in programs() {
        if expected(&text, "explore").as_deref() != Some("holds") {
            continue;
        }
        let plainly = Plainly { states: 15_000, ..Plainly::default() };
        let explored = explore_plainly(&program, &Workload::usual(&program, 2, 1), &plainly);
        match explored.verdict {
            Verdict::Holds(_) => compared += 1,
            Verdict::Unknown(_) => {}
            Verdict::Violated(violation) => panic!("{}: {:?}", path.display(), violation.wrong),
        }
    }
    assert!(compared > 20, "{compared}");
}

/// What dead locals hold changes nothing but the number of states.
#[test]
fn what_is_forgotten_does_not_matter() {
    for (path, _, program) in programs() {
        let of = |forgetting: bool| {
            let plainly = Plainly { states: 4_000, forgetting, ..Plainly::default() };
            explore_plainly(&program, &Workload::usual(&program, 2, 1), &plainly)
        };
        let (one, other) = (of(true), of(false));
        if let (Verdict::Holds(_) | Verdict::Violated(_), Verdict::Holds(_) | Verdict::Violated(_)) =
            (&one.verdict, &other.verdict)
        {
            assert_eq!(wrong(&one), wrong(&other), "{}", path.display());
            assert!(one.states <= other.states, "{}", path.display());
        }
    }
}

/// A budget counted in states alone, so that a busy machine comes to the same.
fn by_states(states: usize) -> Budget {
    Budget { time: std::time::Duration::MAX, states, ..Budget::default() }
}

#[test]
fn second_opinions() {
    let of = |name: &str| {
        let found = programs().into_iter().find(|(path, ..)| path.ends_with(format!("{name}.lin")));
        second_opinion(&found.expect("it is there").2, &by_states(60_000))
    };
    for name in
        ["treiber-pop-no-cas", "two-lock-enqueue-gap", "ticket-lock-no-fetch-add", "treiber-use-after-free"]
    {
        let said = of(name);
        let found = said.refutation().unwrap_or_else(|| panic!("{name} is wrong"));
        assert!(found.violation.rechecked && !found.violation.steps.is_empty(), "{name}");
    }
    for name in ["treiber", "mcs-lock", "multiset-insert"] {
        let Agreement::Agrees(scopes) = of(name) else { panic!("{name} is right") };
        assert!(scopes.iter().any(|(_, seen)| *seen == Seen::Everything), "{name}");
        assert!(scopes.iter().all(|(_, seen)| *seen != Seen::Nothing), "{name}");
    }
    let Agreement::Agrees(scopes) = of("multiset-insert") else { panic!("it is right") };
    for size in 0..=3 {
        assert!(scopes.iter().any(|(scope, _)| scope.sizes == [size]), "{size}");
    }
}

/// A choice of a thousand million values: the ends and the program's own numbers are tried, so that what goes
/// wrong there is found, and nothing is said to hold.
#[test]
fn a_sample_of_a_large_choice() {
    let of = |body: &str| {
        let text = format!(
            "object C : counter {{ shared c: int; op inc() {{ i = choose 0..500000000; {body}; x = fetch_add(c, 1) }} op get() -> int {{ return c }} }}"
        );
        let object = program(&text);
        let mut noted = Noted::new(&object);
        let workload = Workload::general(&object, 2, 1);
        let found =
            second_opinion_noting(&object, std::slice::from_ref(&workload), &by_states(20_000), &mut noted);
        if found.refutation().is_some() {
            return true;
        }
        assert!(noted.finished && noted.unseen().is_empty() && noted.never_return().is_empty(), "{noted:?}");
        let plainly = Plainly { sampling: true, ..Plainly::default() };
        let verdict = explore_plainly(&object, &workload, &plainly).verdict;
        assert!(!matches!(verdict, Verdict::Holds(_)), "{body}");
        false
    };
    assert!(!of("j = i + i"));
    assert!(of("j = i + i + i"));
    assert!(of("assert i != 123456"));
    assert!(of("if i == 499999999 { y = fetch_add(c, 1) }"));
}

/// What no run returns from is named only where every run was seen.
#[test]
fn what_never_returns() {
    let object = program(
        "object C : counter { shared c: int; op inc() { assume c == 1; x = fetch_add(c, 1) } op get() -> int { loop { x = c } } }",
    );
    let mut noted = Noted::new(&object);
    let workload = Workload::general(&object, 2, 1);
    let _ = second_opinion_noting(&object, &[workload], &by_states(20_000), &mut noted);
    assert_eq!(noted.never_return().len(), 2);
    assert!(!noted.something_returned() && noted.unseen().is_empty());
    // It counts for ever: there is always another state.
    let object = program(
        "object C : counter { shared c: int; op inc() { return } op get() -> int { x = 0; loop { x = x + 1; if x < 0 { return x } } } }",
    );
    let mut noted = Noted::new(&object);
    let workload = Workload::general(&object, 2, 1);
    let _ = second_opinion_noting(&object, &[workload], &by_states(20_000), &mut noted);
    assert_eq!((noted.never_return().len(), noted.unseen().len()), (0, 1));
}

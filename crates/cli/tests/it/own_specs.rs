//! `--spec FILE.lin`: specifications of the user's own, from file to verdict.

use linpoint_check::{Options, check_rows};
use linpoint_history::generate::{self, Plan, Spoil, Values};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, specs};
use linpoint_verdict::VerdictKind;

use crate::run::{Ran, linpoint, scratch};

const EXAMPLES: [&str; 4] = ["counter-store", "job-queue", "lease", "rate-limiter"];

fn check(history: &str, spec: &str) -> Ran {
    linpoint(&["check", history, "--spec", spec], b"")
}

#[test]
fn examples_are_judged() {
    for name in EXAMPLES {
        let spec = format!("corpus/specs/{name}.lin");
        let ran = check(&format!("corpus/specs/{name}.jsonl"), &spec);
        assert!(ran.code == 0 && ran.out.starts_with("linearizable: "), "{name}: {}{}", ran.out, ran.err);
        let ran = check(&format!("corpus/specs/{name}-broken.jsonl"), &spec);
        assert!(ran.code == 1 && ran.out.starts_with("not linearizable: "), "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn sizes_and_objects_are_chosen_behind_the_name() {
    let ran = check("corpus/specs/rate-limiter-broken.jsonl", "corpus/specs/rate-limiter.lin:CAPACITY=4");
    assert_eq!(ran.code, 0, "{}", ran.out);
    let two = "spec A {\n  shared x: int\n  op read() -> int {\n    return x\n  }\n}\n\n\
               object B : register {\n  shared x: data?\n  op write(v: data) {\n    x = some(v) @lin\n  }\n  \
               op read() -> data? {\n    return x @lin\n  }\n}\n";
    let file = scratch("two.lin", two.as_bytes());
    let name = file.to_str().expect("text");
    let history = br#"{"process":1,"op":"read","ret":0,"call":1,"return":2}"#;
    let of = |spec: &str| linpoint(&["check", "-", "--spec", spec], history);
    let (unsaid, first, second) = (of(name), of(&format!("{name}:A")), of(&format!("{name}:B")));
    assert!(unsaid.code == 2 && unsaid.err.contains("2 specifications: A, B"), "{}", unsaid.err);
    assert_eq!(first.code, 0, "{}{}", first.out, first.err);
    // A register starts as null.
    assert_eq!(second.code, 1, "{}{}", second.out, second.err);
}

#[track_caller]
fn refused(spec: &str, history: &[u8], says: &str) {
    let ran = linpoint(&["check", "-", "--spec", spec], history);
    assert!(
        ran.code == 2 && ran.err.contains(says) && ran.out.is_empty(),
        "{}: {}{}",
        ran.code,
        ran.out,
        ran.err
    );
}

#[test]
fn what_cannot_be_a_specification_is_refused() {
    let spec = |name: &str, text: &str| scratch(name, text.as_bytes()).to_str().expect("text").to_owned();
    refused("no-such-file.lin", b"", "cannot read this file");
    refused(&spec("empty.lin", ""), b"", "has no specification");
    refused(&spec("syntax.lin", "spec X { op f( }"), b"", "has mistakes");
    refused(&spec("none.lin", "spec X {\n  shared x: int\n}"), b"", "no operations");
    let pointer = "spec X {\n  struct N { v: int }\n  shared t: *N\n  op f() -> *N {\n    return t\n  }\n}\n";
    refused(&spec("pointer.lin", pointer), b"", "`f` gives a result of type `*N`");
    let thread = "spec X {\n  op f(t: thread) {\n  }\n}\n";
    refused(&spec("thread.lin", thread), b"", "`f` takes a parameter of type `thread`");
    let ghost = "spec X {\n  ghost shared g: int\n  op f() {\n  }\n}\n";
    refused(&spec("ghost.lin", ghost), b"", "has mistakes");
    let limiter = "corpus/specs/rate-limiter.lin";
    refused(&format!("{limiter}:N=3"), b"", "no size `N`");
    refused(&format!("{limiter}:CAPACITY=x"), b"", "a size is a number");
    refused(&format!("{limiter}:CAPACITY=3:CAPACITY=2"), b"", "gives the size `CAPACITY` twice");
    refused(&format!("{limiter}:Other"), b"", "no specification `Other`");
    let bounded = spec("bounded.lin", "spec X {\n  op f(i: 0..3) {\n  }\n}\n");
    refused(&bounded, br#"{"process":1,"op":"f","arg":3,"call":1,"return":2}"#, "an integer from 0 to 2");
    let colour = spec("enum.lin", "spec X {\n  enum C { red, blue }\n  op f(c: C) {\n  }\n}\n");
    refused(&colour, br#"{"process":1,"op":"f","arg":"green","call":1,"return":2}"#, r#""red" or "blue""#);
    let ran = linpoint(&["check", "-", "--spec", limiter, "--initial", "3"], b"");
    assert!(ran.code == 2 && ran.err.contains("it says itself where it starts"), "{}", ran.err);
}

/// Who is first among the processes of a history depends on where one looks: no specification may start with it.
#[test]
fn nothing_starts_as_the_first_thread() {
    let body = "  op mine() -> bool {\n    return o == me\n  }\n  op take() {\n    o = me\n  }\n}\n";
    let fields = "  op mine() -> bool {\n    return slots[0].who == me\n  }\n}\n";
    let made = "spec T {\n  struct R { who: thread, n: int }\n  shared r: *R\n  op make() -> bool {\n    \
                r = new R { n: 1 }\n    return r.who == me\n  }\n}\n";
    let array = "  op mine() -> bool {\n    return o[1] == me\n  }\n}\n";
    let cases = [
        (format!("spec T {{\n  shared o: thread\n{body}"), "line 2: `o` starts as", "`o: thread? = none`"),
        (
            format!("spec T {{\n  shared o: [thread; 2]\n{array}"),
            "line 2: `o` starts as",
            "`o: [thread?; …]`",
        ),
        (
            format!("spec T {{\n  struct R {{ who: thread }}\n  shared slots: [R; 2]\n{fields}"),
            "field `who` of `slots` starts as",
            "`who: thread? = none`",
        ),
        (made.to_owned(), "line 5: field `who` of a new `R` starts as", "`new R { who: … }`"),
        (
            format!("spec T {{\n  shared o: thread?\n  init {{\n    o = me\n  }}\n{body}"),
            "line 4: who runs `init` is",
            "start with `none`",
        ),
        (
            "spec T {\n  shared l: lock\n  init {\n    lock(l)\n  }\n  op give() {\n    unlock(l)\n  }\n}\n"
                .into(),
            "line 4: who runs `init` is",
            "the lock free",
        ),
    ];
    let history = br#"{"process":1,"op":"mine","ret":true,"call":0,"return":1}"#;
    for (number, (text, says, instead)) in cases.iter().enumerate() {
        let file = scratch(&format!("first-{number}.lin"), text.as_bytes());
        let spec = file.to_str().expect("text");
        refused(spec, history, says);
        refused(spec, history, instead);
        let part = scratch("first.jsonl", history);
        let part = part.to_str().expect("text");
        for command in [&["check", part, "--merge", "--spec", spec][..], &["refine", part, "--spec", spec]] {
            let ran = linpoint(command, b"");
            assert!(ran.code == 2 && ran.err.contains(says), "{command:?}: {}{}", ran.out, ran.err);
        }
    }
    // None of these starts with anybody.
    let fine = format!(
        "spec T {{\n  struct R {{ who: thread }}\n  shared o: thread?\n  shared r: *R\n  op make() {{\n    \
         r = new R {{ who: me }}\n  }}\n{body}"
    );
    let file = scratch("first-fine.lin", fine.as_bytes());
    let row = |op: &str, who: u8, ret: &str, at: u8| {
        format!(r#"{{"process":{who},"op":"{op}","ret":{ret},"call":{at},"return":{}}}"#, at + 1)
    };
    let rows = [row("mine", 1, "false", 0), row("take", 1, "null", 2), row("mine", 1, "true", 4)];
    let ran = linpoint(&["check", "-", "--spec", file.to_str().expect("text")], rows.join("\n").as_bytes());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

/// A specification that goes wrong on the way may lack an outcome: no history is violated because of it.
#[test]
fn a_mistake_of_the_specification_is_no_violation() {
    let text = "spec X {\n  shared a: [int; 2]\n  shared n: int\n  op push(v: int) {\n    a[n] = v\n    \
                n = n + 1\n  }\n}\n";
    let file = scratch("wrong.lin", text.as_bytes());
    let history: Vec<String> = (0..3)
        .map(|n| format!(r#"{{"process":1,"op":"push","arg":1,"call":{},"return":{}}}"#, 2 * n, 2 * n + 1))
        .collect();
    let ran =
        linpoint(&["check", "-", "--spec", file.to_str().expect("text")], history.join("\n").as_bytes());
    assert!(
        ran.code == 3 && ran.out.contains("goes wrong in line 5: index 2 out of bounds"),
        "{}{}",
        ran.out,
        ran.err
    );
    // An `assert` says that the operation cannot happen here.
    let text = "spec X {\n  shared n: int\n  op pop() {\n    assert n > 0\n    n = n - 1\n  }\n}\n";
    let file = scratch("assert.lin", text.as_bytes());
    let ran = linpoint(
        &["check", "-", "--spec", file.to_str().expect("text")],
        br#"{"process":1,"op":"pop","call":1,"return":2}"#,
    );
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
}

/// A choice that no answer shows is open until one does.
#[test]
fn choices_that_answers_do_not_show() {
    let text = "spec X {\n  shared n: int\n  op roll() {\n    m = choose 1..7\n    n = m\n  }\n  \
                op read() -> int {\n    return n\n  }\n}\n";
    let file = scratch("dice.lin", text.as_bytes());
    let row = |op: &str, ret: &str, at: u32| {
        format!(r#"{{"process":1,"op":"{op}","ret":{ret},"call":{at},"return":{}}}"#, at + 1)
    };
    let reads = |numbers: &[u32]| {
        let mut rows = vec![row("roll", "null", 0)];
        rows.extend(numbers.iter().zip(1..).map(|(n, at)| row("read", &n.to_string(), 2 * at)));
        let spec = file.to_str().expect("text");
        linpoint(&["check", "-", "--spec", spec], rows.join("\n").as_bytes()).code
    };
    for number in 1..7 {
        assert_eq!(reads(&[number, number]), 0, "{number}");
    }
    assert_eq!((reads(&[7]), reads(&[0]), reads(&[1, 2])), (1, 1, 1));
}

/// A register, as the built-in one is.
const TWIN: &str = "spec Twin {\n  shared x: data? = none\n  op write(v: data) {\n    x = some(v)\n  }\n  \
                    op read() -> data? {\n    return x\n  }\n}\n";

/// The same verdicts as the built-in specification on random histories, half of them spoilt.
#[test]
fn ten_thousand_histories_of_a_twin() {
    let (name, block) = linpoint_lang::compile_specifications(TWIN).0.pop().expect("a specification");
    let twin = linpoint_model::BlockSpec::builtin(&name, block, TWIN).expect("histories can hold it");
    let register = specs::parse("register").expect("a known name");
    let (mut counts, mut rng) = ([0; 3], Rng::new(19));
    while counts.iter().sum::<usize>() < 10_000 {
        let mut plan = Plan::new(register.clone());
        plan.seed = rng.bits();
        plan.processes = 1 + rng.below(5) as u32;
        plan.operations = 3 + rng.below(14);
        plan.values = Values::Repeated(1 + rng.below(3) as u32);
        plan.overlap = *rng.pick(&[0.1, 0.5, 2.0]);
        plan.pending = *rng.pick(&[0.0, 0.0, 0.1]);
        let spoil = rng.chance(0.5).then_some(Spoil { at: 0.6, flaw: None });
        let Ok((history, _)) = generate::history(&plan, spoil) else { continue };
        let verdict = |spec: &Builtin| {
            let (rows, mut symbols) = (history.operations.clone(), history.symbols.clone());
            let answer = check_rows(rows, spec, &mut symbols, &Options::default()).expect("no bug");
            answer.verdict.kind()
        };
        let kind = verdict(&register);
        assert_eq!(verdict(&twin), kind, "{:#?}", history.operations);
        counts[VerdictKind::ALL.iter().position(|known| *known == kind).expect("one of three")] += 1;
    }
    assert!(counts[0] > 2_000 && counts[1] > 2_000, "{counts:?}");
}

/// The same verdicts as the built-in specification that says the same.
#[test]
fn twins_of_built_in_specifications_agree() {
    let file = scratch("twin.lin", TWIN.as_bytes());
    for seed in 0..20 {
        let plan = format!("generate --spec register --processes 4 --ops 40 --values 3 --seed {seed}");
        let spoil = if seed % 2 == 0 { " --spoil" } else { "" };
        let plan = format!("{plan}{spoil}");
        let history = linpoint(&plan.split(' ').collect::<Vec<_>>(), b"").out.into_bytes();
        let own = linpoint(&["check", "-", "--spec", file.to_str().expect("text")], &history);
        let built_in = linpoint(&["check", "-", "--spec", "register"], &history);
        assert_eq!(own.code, built_in.code, "{plan}\n{}\n{}", own.out, built_in.out);
    }
}

#[test]
fn a_specification_alone_is_nothing_to_explore() {
    let ran = linpoint(&["explore", "corpus/specs/lease.lin"], b"");
    assert!(ran.code == 2 && ran.err.contains("has only specifications"), "{}", ran.err);
}

/// A program that is the whole command and brings a specification of its own.
#[test]
fn a_program_brings_its_own_by_name() {
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
    struct Tickets(u32);
    #[linpoint::spec]
    impl Tickets {
        fn take(&mut self) -> u32 {
            self.0 += 1;
            self.0
        }
    }
    let row = |answer: u32, from: u32| {
        format!(
            "{{\"process\":{from},\"op\":\"take\",\"ret\":{answer},\"call\":{from},\"return\":{}}}\n",
            from + 5
        )
    };
    let right = scratch("tickets.jsonl", (row(2, 0) + &row(1, 3)).as_bytes());
    let wrong = scratch("wrong-tickets.jsonl", (row(2, 0) + &row(1, 7)).as_bytes());
    let run = |history: &std::path::Path, spec: &str| {
        let mut catalog = linpoint::history::Catalog::default();
        let own = linpoint::history::own::<Tickets>().expect("histories can hold it");
        catalog.add(own).expect("no other has the name");
        let words = ["tickets", "check", history.to_str().expect("text"), "--spec", spec];
        linpoint_cli::run_with(words, catalog)
    };
    use std::process::ExitCode;
    assert_eq!(run(&right, "Tickets"), ExitCode::SUCCESS);
    assert_eq!(run(&wrong, "Tickets"), ExitCode::from(1));
    assert_eq!(run(&right, "register"), ExitCode::from(2), "a register has no `take`");
}

/// Each operation takes a hundred thousand steps, and there are thousands: hours, were the limit not kept.
#[test]
fn the_time_limit_reaches_into_a_specification() {
    let text = "spec Slow {\n  shared n: int\n  op spin() {\n    i = 0\n    while i < 30000 {\n      \
                i = i + 1\n    }\n    n = n + 1\n  }\n  op get() -> int {\n    return n\n  }\n}\n";
    let spec = scratch("slow.lin", text.as_bytes());
    let spec = spec.to_str().expect("text");
    let mut rows: Vec<String> = (0..20_000)
        .map(|n| format!(r#"{{"process":1,"op":"spin","call":{},"return":{}}}"#, 2 * n, 2 * n + 1))
        .collect();
    rows.push(r#"{"process":1,"op":"get","ret":-3,"call":50000,"return":50001}"#.to_owned());
    let history = scratch("slow.jsonl", rows.join("\n").as_bytes());
    let history = history.to_str().expect("text");
    let said = |args: &[&str], says: &str| {
        let ran = linpoint(&[&["check", history, "--spec", spec, "--time-limit", "1s"], args].concat(), b"");
        assert!(ran.code == 3 && ran.out.contains(says), "{args:?}: {}{}", ran.out, ran.err);
    };
    said(&[], "time limit reached");
    said(&["--engine", "metastate"], "time limit reached");
    said(&["--engine", "search"], "time limit reached");
    said(&["--engine", "brute"], "time limit reached");
    said(&["--merge"], "unknown: ");
}

/// Thousands of ways to end are as many states, and no more work than that.
#[test]
fn a_call_with_very_many_ends_is_worked_out() {
    let text = "spec Many {\n  shared n: int\n  op maybe() {\n    loop {\n      choose {\n        n = n + 1\n        \
                assume n < 20000\n      } or {\n        return\n      }\n    }\n  }\n  op get() -> int {\n    \
                return n\n  }\n}\n";
    let spec = scratch("many.lin", text.as_bytes());
    let said = |answer: i32| {
        let rows = format!(
            "{}\n{}",
            r#"{"process":1,"op":"maybe","call":0}"#,
            format_args!(r#"{{"process":2,"op":"get","ret":{answer},"call":2,"return":3}}"#)
        );
        linpoint(&["check", "-", "--spec", spec.to_str().expect("text")], rows.as_bytes()).code
    };
    assert_eq!((said(19_999), said(20_000), said(-3)), (0, 1, 1));
}

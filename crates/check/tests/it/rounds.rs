//! Several objects, one of them hard: what is wrong elsewhere is found all the same, and what nobody wrote is
//! not searched for.

use std::time::Duration;

use linpoint_check::Budget;
use linpoint_check::portfolio::Choice;
use linpoint_check::{Answer, Options, brute, check_rows};
use linpoint_history::rng::Rng;
use linpoint_history::specs::codes;
use linpoint_history::{Builtin, History, Kind, OpCode, Operation, Value, Verdict, specs};

use crate::small::{self, Taste};

fn add(
    history: &mut History,
    key: &str,
    process: i64,
    op: OpCode,
    arg: Value,
    result: Value,
    span: (i64, i64),
) {
    let process = history.symbols.process(&Value::Int(process));
    let mut row = Operation::new(process, op);
    row.key = history.symbols.key(&Value::text(key));
    row.arg = history.symbols.intern(&arg);
    row.result = history.symbols.intern(&result);
    (row.call, row.ret) = span;
    history.operations.push(row);
}

/// Many appends at once, and then two reads that do not agree: every order of them would have to be tried.
fn hard(history: &mut History, key: &str, first: i64, count: i64) {
    let letters: String = (0..count).map(|n| char::from(b'a' + n as u8)).collect();
    for (n, letter) in (0..).zip(letters.chars()) {
        let arg = Value::text(&letter.to_string());
        add(history, key, first + n, codes::kv::APPEND, arg, Value::Null, (n, 100 + n));
    }
    let backwards: String = letters.chars().rev().collect();
    for (at, text) in [(200, letters), (300, backwards)] {
        add(history, key, first, codes::kv::GET, Value::Null, Value::text(&text), (at, at + 1));
    }
}

/// An old value is read again: values repeat, so that it takes a search to see it.
fn stale(history: &mut History, key: &str) {
    for (at, value) in [(1, "v"), (3, "w"), (5, "v"), (7, "w")] {
        add(history, key, 50, codes::kv::PUT, Value::text(value), Value::Null, (at, at + 1));
    }
    add(history, key, 50, codes::kv::GET, Value::Null, Value::text("v"), (9, 10));
}

fn decide(history: &History, options: &Options) -> Answer {
    let spec = Builtin::new(Kind::Kv).with_initial(Value::text(""));
    check_rows(history.operations.clone(), &spec, &mut history.symbols.clone(), options).expect("an answer")
}

#[test]
fn a_hard_object_hides_no_violated_one() {
    for threads in [1, 2, 3] {
        for (first, last) in [("a", "z"), ("z", "a")] {
            let mut history = History::new();
            hard(&mut history, first, 100, 16);
            hard(&mut history, "m", 200, 16);
            stale(&mut history, last);
            let options =
                Options { threads, time_limit: Some(Duration::from_secs(120)), ..Options::default() };
            let answer = decide(&history, &options);
            assert!(matches!(answer.verdict, Verdict::Violated(_)), "{threads} threads: {answer:?}");
            assert_eq!(answer.object, Some(Value::text(last)));
        }
    }
}

#[test]
fn a_hard_object_is_unknown_and_the_time_is_kept() {
    let mut history = History::new();
    hard(&mut history, "a", 100, 24);
    hard(&mut history, "b", 200, 24);
    let options = Options { time_limit: Some(Duration::from_millis(700)), ..Options::default() };
    let answer = decide(&history, &options);
    assert!(matches!(answer.verdict, Verdict::Unknown(_)), "{answer:?}");
}

#[test]
fn a_search_has_its_share_of_memory() {
    let mut history = History::new();
    hard(&mut history, "a", 100, 24);
    let options = Options { search_limit_bytes: Some(4 << 20), ..Options::default() };
    let answer = decide(&history, &options);
    let told = matches!(answer.verdict, Verdict::Unknown(linpoint_history::Unknown::Memory { .. }));
    assert!(told, "{answer:?}");
}

#[test]
fn what_nobody_wrote_is_not_searched_for() {
    let mut history = History::new();
    hard(&mut history, "a", 100, 24);
    add(&mut history, "a", 60, codes::kv::GET, Value::Null, Value::text("abX"), (50, 60));
    let answer = decide(&history, &Options::default());
    let Verdict::Violated(example) = &answer.verdict else { panic!("{answer:?}") };
    assert_eq!(example.core.len(), 1);
    assert!(example.rechecked);
    assert_eq!(answer.engine, "a look at who wrote what");
}

/// Nothing that an order explains is called impossible: values that are there at first, written by somebody
/// who never returned, appended, exchanged, put in by pairs.
#[test]
fn what_may_have_been_written_is_searched_for() {
    let mut found = 0;
    for name in [
        "register",
        "cas-register",
        "rmw-register",
        "kv",
        "priority-queue",
        "set",
        "set:capacity=2",
        "multiset",
        "map",
        "snapshot",
    ] {
        let spec = specs::parse(name).expect("a specification");
        for seed in 0..400 {
            let mut rng = Rng::new(seed);
            let taste = Taste { pending: 0.3, ..Taste::random(&mut rng, 8, false) };
            let history = small::history(&spec, &taste, &mut rng);
            if !small::has_returns(&history) {
                continue;
            }
            let oracle = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
            // The look comes before an engine that searches.
            let options = Options { choice: Choice::Search, ..Options::default() };
            let answer =
                check_rows(history.operations.clone(), &spec, &mut history.symbols.clone(), &options);
            let answer = answer.expect("an answer");
            let holds = matches!(answer.verdict, Verdict::Holds(_));
            assert_eq!(holds, oracle.expect("no limits").holds(), "{name}, seed {seed}: {answer:?}");
            found += u32::from(answer.engine == "a look at who wrote what");
        }
    }
    assert!(found > 100, "{found}");
}

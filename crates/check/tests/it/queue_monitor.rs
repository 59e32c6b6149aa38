//! The queue monitor against the oracle.

use linpoint_check::monitor::QueueMonitor;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Stop, Timeline, engine};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Kind, Spec, Value, notation};

use crate::small;
use crate::stepwise::{self, Outcome};

#[track_caller]
fn check(text: &str, expected: Outcome) {
    check_from(Value::Null, text, expected);
}

#[track_caller]
fn check_from(initial: Value, text: &str, expected: Outcome) {
    let spec = Builtin::new(Kind::Queue).with_initial(initial);
    let history = notation::parse(spec.signature(), text).expect("the notation");
    for seed in 0..20 {
        let found = stepwise::compare(&mut QueueMonitor::new(), &spec, &history, &mut Rng::new(seed));
        assert_eq!(found, expected, "{text}");
    }
}

#[track_caller]
fn refuted(text: &str, operations: usize, reason: &str) {
    let spec = Builtin::new(Kind::Queue);
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    match engine::run(&mut QueueMonitor::new(), &cx, &timeline) {
        Err(Stop::Violated(violation)) => {
            assert_eq!(violation.reason, reason);
            assert_eq!(violation.core.len(), operations, "{:#?}", violation.core);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn left_overs_cover_up_to_the_end() {
    check("enqueue 2 [10,17]; dequeue -> null [19,20]", Outcome::Violated);
}

#[test]
fn windows_are_tightened_by_the_other_half() {
    check("enqueue 1 [1,100]; dequeue -> 1 [2,5]; enqueue 2 [10,20]; dequeue -> 2 [3,30]", Outcome::Holds);
}

#[test]
fn a_pending_dequeue_may_explain_an_empty_answer() {
    check("dequeue [2,..]; enqueue 2 [4,5]; dequeue -> null [6,7]", Outcome::Holds);
}

#[test]
fn pending_dequeues_take_the_oldest_left_over() {
    check("enqueue 4 [3,6]; dequeue [5,..]; dequeue -> null [12,12]; enqueue 2 [13,14]", Outcome::Holds);
    check("enqueue 1 [1,2]; dequeue [3,..]; enqueue 2 [5,6]; dequeue -> 2 [7,8]", Outcome::Holds);
    check(
        "enqueue 1 [1,2]; dequeue [3,..]; enqueue 2 [5,6]; dequeue -> 2 [7,8]; dequeue -> 1 [9,9]",
        Outcome::Violated,
    );
}

#[test]
fn a_pending_enqueue_counts_if_it_was_seen() {
    check("enqueue 1 [1,..]; dequeue -> 1 [2,3]; dequeue -> null [4,5]", Outcome::Holds);
    check("enqueue 1 [4,..]; dequeue -> 1 [2,3]", Outcome::Violated);
    check("enqueue 1 [1,..]; dequeue -> null [2,3]", Outcome::Holds);
}

#[test]
fn values_inserted_twice_are_for_another_engine() {
    check("enqueue 1 [1,2]; dequeue -> 1 [3,4]; enqueue 1 [5,6]", Outcome::Unsupported);
    check("enqueue 1 [1,2]; enqueue 1 [5,..]", Outcome::Unsupported);
    check("enqueue null [1,2]", Outcome::Unsupported);
}

#[test]
fn initial_contents_leave_first_and_in_order() {
    let two = || Value::list([Value::Int(7), Value::Int(8)]);
    check_from(two(), "dequeue -> 7 [1,2]; dequeue -> 8 [3,4]; dequeue -> null [5,6]", Outcome::Holds);
    check_from(two(), "dequeue -> 8 [1,2]; dequeue -> 7 [3,4]", Outcome::Violated);
    check_from(two(), "enqueue 1 [1,9]; dequeue -> 1 [2,3]", Outcome::Violated);
    check_from(two(), "dequeue -> null [5,6]", Outcome::Violated);
    check_from(two(), "enqueue 7 [5,6]", Outcome::Unsupported);
}

#[test]
fn reasons() {
    refuted(
        "enqueue 7 [1,2]; enqueue 9 [3,4]; dequeue -> 9 [5,6]; enqueue 1 [6,7]",
        3,
        "dequeue -> 9 is impossible: 7 was enqueued before 9 and had not left",
    );
    refuted(
        "enqueue 1 [1,2]; dequeue -> 7 [3,4]",
        1,
        "dequeue -> 7 is impossible: 7 was not enqueued by then",
    );
    refuted(
        "enqueue 7 [1,2]; dequeue -> 7 [3,4]; dequeue -> 7 [3,5]",
        3,
        "dequeue -> 7 is impossible: 7 was dequeued before, and enqueued once",
    );
    refuted(
        "enqueue 7 [1,2]; enqueue 8 [2,3]; dequeue -> 7 [5,5]; dequeue -> null [4,6]; dequeue -> 8 [7,8]",
        2,
        "dequeue -> empty is impossible: 8 was inside all the time",
    );
}

/// Random histories; gives how many held, were violated, were not supported.
fn compare_random(seed: u64, count: u32) -> [u32; 3] {
    let mut rng = Rng::new(seed);
    let mut found = [0; 3];
    let mut done = 0;
    while done < count {
        let taste = stepwise::taste(&mut rng);
        let mut spec = Builtin::new(Kind::Queue);
        if rng.chance(0.1) {
            spec = spec.with_initial(Value::list([Value::Int(501), Value::Int(500)]));
        }
        let mut history = small::history(&spec, &taste, &mut rng);
        stepwise::exchange_answers(&mut history, &mut rng);
        if Timeline::of(&history.operations, Ties::Strict).has_touching() {
            continue;
        }
        found[stepwise::compare(&mut QueueMonitor::new(), &spec, &history, &mut rng) as usize] += 1;
        done += 1;
    }
    found
}

#[test]
fn agrees_with_the_oracle() {
    let [holds, violated, unsupported] = compare_random(1, 60_000);
    assert!(violated > 5_000 && unsupported < 10_000, "{holds} {violated} {unsupported}");
}

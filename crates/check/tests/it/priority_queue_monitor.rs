//! The priority queue monitor against the oracle.

use linpoint_check::monitor::PriorityQueueMonitor;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Context, Stop, Timeline, engine};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, Kind, Spec, Value, notation};

use crate::small;
use crate::stepwise::{self, Outcome};

#[track_caller]
fn check(text: &str, expected: Outcome) {
    check_from(Builtin::new(Kind::PriorityQueue), text, expected);
}

#[track_caller]
fn check_from(spec: Builtin, text: &str, expected: Outcome) {
    let history = notation::parse(spec.signature(), text).expect("the notation");
    for seed in 0..20 {
        let mut monitor = PriorityQueueMonitor::new();
        let found = stepwise::compare(&mut monitor, &spec, &history, &mut Rng::new(seed));
        assert_eq!(found, expected, "{text}");
    }
}

#[track_caller]
fn refuted(text: &str, operations: usize, reason: &str) {
    let spec = Builtin::new(Kind::PriorityQueue);
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    match engine::run(&mut PriorityQueueMonitor::new(), &cx, &timeline) {
        Err(Stop::Violated(violation)) => {
            assert_eq!(violation.reason, reason);
            assert_eq!(violation.core.len(), operations, "{:#?}", violation.core);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn left_overs_cover_up_to_the_end() {
    check("insert 2 [10,17]; remove_min -> null [19,20]", Outcome::Violated);
    check("insert 2 [10,17]; insert 3 [18,18]; remove_min -> 3 [19,20]", Outcome::Violated);
}

#[test]
fn pending_removals_are_not_matched_by_insertion() {
    check(
        "insert 4 [2,5]; remove_min [5,..]; insert 1 [7,8]; insert 3 [8,..]; remove_min -> 3 [11,12]",
        Outcome::Holds,
    );
}

#[test]
fn pending_removals_are_not_matched_by_priority() {
    check("insert 4 [3,6]; remove_min [5,..]; remove_min -> null [12,12]; insert 2 [13,14]", Outcome::Holds);
}

#[test]
fn one_pending_removal_takes_one_value() {
    check("insert 1 [1,2]; insert 2 [1,2]; remove_min [3,..]; remove_min -> null [5,6]", Outcome::Violated);
    check(
        "insert 1 [1,2]; insert 2 [1,2]; remove_min [3,..]; remove_min [3,..]; remove_min -> null [5,6]",
        Outcome::Holds,
    );
}

#[test]
fn the_greatest_may_leave_first() {
    let spec = || Builtin::new(Kind::PriorityQueueMax);
    let text = "insert 1 [1,2]; insert 2 [3,4]; remove_max -> 2 [5,6]; remove_max -> 1 [7,8]";
    check_from(spec(), text, Outcome::Holds);
    let text = "insert 1 [1,2]; insert 2 [3,4]; remove_max -> 1 [5,6]; remove_max -> 2 [7,8]";
    check_from(spec(), text, Outcome::Violated);
}

#[test]
fn priorities_may_be_any_values() {
    let text =
        "insert -5 [1,2]; insert 3 [3,4]; insert abc [5,6]; remove_min -> -5 [7,8]; remove_min -> 3 [9,9]";
    check(text, Outcome::Holds);
    let text = "insert -5 [1,2]; insert -7 [3,4]; remove_min -> -5 [7,8]; remove_min -> -7 [9,9]";
    check(text, Outcome::Violated);
}

#[test]
fn what_it_leaves_to_other_engines() {
    check("insert 1 [1,2]; remove_min -> 1 [3,4]; insert 1 [5,6]", Outcome::Unsupported);
    check("insert 1 [1,2]; change_key [1,2] -> true [3,4]", Outcome::Unsupported);
    check(
        "insert 1 [1,2]; remove_min [3,..]; insert 2 [4,5]; remove_min -> null [6,6]; change_key [2,1] -> true [7,8]",
        Outcome::Unsupported,
    );
}

#[test]
fn initial_contents_are_there_from_the_start() {
    let spec = || Builtin::new(Kind::PriorityQueue).with_initial(Value::list([Value::Int(8), Value::Int(7)]));
    let text = "remove_min -> 7 [1,2]; remove_min -> 8 [3,4]; remove_min -> null [5,6]";
    check_from(spec(), text, Outcome::Holds);
    check_from(spec(), "remove_min -> 8 [1,2]; remove_min -> 7 [3,4]", Outcome::Violated);
    check_from(spec(), "insert 9 [1,2]; remove_min -> null [3,4]", Outcome::Violated);
    let text = "remove_min [1,..]; remove_min -> 8 [2,3]; insert 7 [4,5]; remove_min -> 7 [6,7]";
    check_from(spec(), text, Outcome::Unsupported);
}

#[test]
fn reasons() {
    refuted(
        "insert 7 [1,2]; insert 9 [1,4]; remove_min -> 9 [5,6]; insert 1 [6,7]",
        3,
        "remove_min -> 9 is impossible: 7 was inside all the time, which should leave first",
    );
    refuted(
        "insert 1 [1,2]; remove_min -> 7 [3,4]",
        1,
        "remove_min -> 7 is impossible: 7 was not inserted by then",
    );
    refuted(
        "insert 7 [1,2]; remove_min -> 7 [3,4]; remove_min -> 7 [3,5]",
        3,
        "remove_min -> 7 is impossible: 7 was removed before, and inserted once",
    );
    refuted(
        "insert 7 [1,2]; remove_min -> null [4,6]",
        2,
        "remove_min -> empty is impossible: 7 was inside all the time",
    );
}

/// Removals of one value that wait for each other: what is wrong must be said when the first of them returns
/// without effect, before an order is written that has it later.
#[test]
fn removals_of_one_value_that_overlap() {
    let not_inserted = "remove_min -> 7 [0,10]; insert 9 [0,1]; remove_min -> 7 [2,5]; remove_min -> 7 [2,100]; insert 7 [20,30]";
    let covered = "insert 3 [0,1]; insert 7 [0,1]; remove_min -> 7 [2,20]; insert 9 [2,3]; remove_min -> 7 [4,10]; remove_min -> 7 [4,100]; remove_min -> 3 [30,31]";
    let spec = Builtin::new(Kind::PriorityQueue);
    for (text, returned) in [(not_inserted, 5), (covered, 20)] {
        check(text, Outcome::Violated);
        let history = notation::parse(spec.signature(), text).expect("the notation");
        let budget = Budget::unlimited();
        let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
        let timeline = Timeline::of(&history.operations, Ties::Strict);
        match engine::run(&mut PriorityQueueMonitor::new(), &cx, &timeline) {
            Err(Stop::Violated(violation)) => assert_eq!(timeline.op(violation.at).ret, returned, "{text}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Random histories; gives how many held, were violated, were not supported.
fn compare_random(seed: u64, count: u32) -> [u32; 3] {
    let mut rng = Rng::new(seed);
    let mut found = [0; 3];
    let mut done = 0;
    while done < count {
        let taste = stepwise::taste(&mut rng);
        let mut spec = Builtin::new(*rng.pick(&[Kind::PriorityQueue, Kind::PriorityQueueMax]));
        if rng.chance(0.1) {
            spec = spec.with_initial(Value::list([Value::Int(501), Value::Int(0)]));
        }
        let mut history = small::history(&spec, &taste, &mut rng);
        if history.operations.iter().any(|op| op.op().0 == 2) && rng.chance(0.9) {
            history.operations.retain(|op| op.op().0 != 2);
        }
        stepwise::exchange_answers(&mut history, &mut rng);
        stepwise::scramble_values(&mut history, &mut rng);
        if Timeline::of(&history.operations, Ties::Strict).has_touching() {
            continue;
        }
        found[stepwise::compare(&mut PriorityQueueMonitor::new(), &spec, &history, &mut rng) as usize] += 1;
        done += 1;
    }
    found
}

#[test]
fn agrees_with_the_oracle() {
    let [holds, violated, unsupported] = compare_random(1, 50_000);
    assert!(violated > 5_000 && unsupported < 10_000, "{holds} {violated} {unsupported}");
}

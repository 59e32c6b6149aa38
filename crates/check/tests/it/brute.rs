//! The oracle itself, on histories small enough to judge by hand.

use linpoint_check::{Budget, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Spec, notation, specs};

use crate::small::{self, Taste};

#[track_caller]
fn check(spec: &str, text: &str, holds: bool) {
    let spec = specs::parse(spec).expect("a known spec");
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
    assert_eq!(found.expect("no limit").holds(), holds, "{text}");
}

#[test]
fn queue() {
    check("queue", "enqueue 1 [1,2]; dequeue -> null [3,4]", false);
    check("queue", "enqueue 1 [1,2]; dequeue -> 1 [3,4]", true);
    check("queue", "enqueue 1 [1,100]; dequeue -> 1 [2,5]; enqueue 2 [10,20]; dequeue -> 2 [3,30]", true);
    check("queue", "enqueue 1 [1,2]; enqueue 2 [3,4]; dequeue -> 2 [5,6]; dequeue -> 1 [7,8]", false);
    check("queue", "dequeue [2,..]; enqueue 2 [4,5]; dequeue -> null [6,7]", true);
}

#[test]
fn touching_operations_of_one_process_follow_one_another() {
    check("register", "p1: write 1 [1,5]; p1: write 2 [5,8]; p1: read -> 1 [9,9]", false);
    check("register", "p1: write 1 [1,5]; p2: write 2 [5,8]; p1: read -> 1 [9,9]", true);
}

#[test]
fn a_share_of_random_histories_is_wrong() {
    for kind in linpoint_history::Kind::all() {
        let spec = linpoint_history::Builtin::new(kind);
        let mut rng = Rng::new(1);
        let mut wrong = 0;
        for _ in 0..300 {
            let taste = Taste::random(&mut rng, 8, false);
            let history = small::history(&spec, &taste, &mut rng);
            let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
            wrong += u32::from(!found.expect("no limit").holds());
        }
        assert!((10..200).contains(&wrong), "{}: {wrong} of 300 wrong", kind.name());
    }
}

#[test]
fn the_walk_without_memory_agrees() {
    let mut rng = Rng::new(3);
    for round in 0..6000 {
        let kinds: Vec<_> = linpoint_history::Kind::all().collect();
        let spec = linpoint_history::Builtin::new(kinds[round % kinds.len()]);
        let taste = Taste { pending: 0.0, ..Taste::random(&mut rng, 8, false) };
        let history = small::history(&spec, &taste, &mut rng);
        let (rows, symbols) = (&history.operations, &history.symbols);
        let memory = brute::search(&spec, rows, symbols, &Budget::unlimited()).expect("no limit");
        let plain = brute::paths::search(&spec, rows, symbols, &Budget::unlimited()).expect("no limit");
        assert_eq!(memory.holds(), plain.holds(), "{rows:?}");
    }
}

#[test]
fn a_long_history_needs_no_deep_stack() {
    let text = |i: i64| format!("p1: increment [{},{}]", 2 * i, 2 * i + 1);
    let spec = specs::parse("counter").expect("a known spec");
    let lines: Vec<String> = (0..100_000).map(text).collect();
    let mut history = notation::parse(spec.signature(), &lines.join(";")).expect("the notation");
    let holds = |history: &linpoint_history::History| {
        let found = brute::search(&spec, &history.operations, &history.symbols, &Budget::unlimited());
        found.expect("no limit").holds()
    };
    assert!(holds(&history));
    let last = notation::parse(spec.signature(), "p1: read -> 7 [900000,900001]").expect("the notation");
    history.operations.extend(last.operations);
    assert!(!holds(&history));
}

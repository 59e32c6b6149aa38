//! The generic engine against the oracle.

use linpoint_check::engine::{self, Context, Engine};
use linpoint_check::metastate::generic::Generic;
use linpoint_check::timeline::Ties;
use linpoint_check::{Budget, Stop, Timeline, brute};
use linpoint_history::rng::Rng;
use linpoint_history::{Builtin, History, Kind, Spec, notation, specs};

use crate::replay::replay;
use crate::small::{self, Taste};

/// Decides by the generic engine, replaying the order it gives.
#[track_caller]
pub fn holds(spec: &Builtin, history: &History, ties: Ties) -> bool {
    let budget = Budget::unlimited();
    let timeline = Timeline::of(&history.operations, ties);
    let cx = Context { symbols: &history.symbols, spec, budget: &budget };
    match engine::run(&mut Generic::new(spec.clone()), &cx, &timeline) {
        Ok(order) => {
            if ties == Ties::Strict {
                replay(spec, &timeline, &history.symbols, &order);
            }
            true
        }
        Err(Stop::Violated(_)) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// Compares with brute force, as far as equal stamps of one process allow.
#[track_caller]
pub fn compare(spec: &Builtin, history: &History) {
    let budget = Budget::unlimited();
    let truth =
        brute::search(spec, &history.operations, &history.symbols, &budget).expect("no limit").holds();
    let touching = Timeline::of(&history.operations, Ties::Strict).has_touching();
    let strict = holds(spec, history, Ties::Strict);
    if strict != truth && (strict || !touching) {
        panic!("{:?}: engine says {strict}, truth is {truth}: {:#?}", spec.kind, history.operations);
    }
    if touching && truth {
        assert!(holds(spec, history, Ties::Relaxed), "relaxed refuses: {:#?}", history.operations);
    }
}

#[test]
fn random_histories() {
    for kind in Kind::all() {
        let mut rng = Rng::new(7);
        for round in 0..3000 {
            let mut spec = Builtin::new(kind);
            if round % 4 == 1 {
                spec = spec.with_capacity(2);
            }
            if round % 8 == 2 {
                spec = spec.with_spurious();
            }
            let taste = Taste::random(&mut rng, 12, round % 3 == 0);
            compare(&spec, &small::history(&spec, &taste, &mut rng));
        }
    }
}

#[track_caller]
fn check(spec: &str, text: &str) {
    let spec = specs::parse(spec).expect("a known spec");
    let history = notation::parse(spec.signature(), text).expect("the notation");
    compare(&spec, &history);
    assert!(holds(&spec, &history, Ties::Strict), "{text}");
}

#[test]
fn of_two_equal_enqueues_the_one_called_first_is_the_wrong_choice() {
    check(
        "queue",
        "enqueue 0 [4,5]; dequeue -> 0 [0,14]; enqueue 0 [1,15]; dequeue -> null [9,17]; enqueue 0 [21,29]",
    );
}

#[test]
fn the_search_goes_on_where_the_returning_dequeue_fits_at_once() {
    check(
        "queue",
        "enqueue 1 [1,100]; enqueue 2 [2,3]; enqueue 1 [5,6]; dequeue -> 2 [7,20]; dequeue -> 1 [7,10];
         enqueue 3 [12,13]; dequeue -> 3 [25,26]; dequeue -> 1 [30,31]",
    );
}

#[test]
fn an_enqueue_may_return_after_dequeues_that_emptied_the_queue() {
    check(
        "queue",
        "enqueue 0 [3,4]; enqueue 0 [5,9]; dequeue -> 0 [4,12]; dequeue -> null [5,13]; dequeue -> null [7,21];
         dequeue -> 0 [16,17]",
    );
}

#[test]
fn a_write_that_changes_nothing_now_may_be_needed_later() {
    check(
        "register",
        "write 0 [1,1]; write 0 [3,3]; write 1 [4,6]; read -> 1 [3,17]; write 0 [4,12]; read -> 0 [19,19]",
    );
}

#[test]
fn a_push_may_return_after_open_pops() {
    check("stack", "pop -> null [0,1]; push 2 [4,12]; pop -> null [3,7]; pop -> 2 [8,22]; push 1 [14,16]");
}

#[test]
fn a_hidden_write_that_returns_may_also_show() {
    check(
        "register",
        "read -> null [1,3]; write 0 [2,3]; read -> 0 [2,6]; write 2 [3,4]; read -> 2 [5,9]; write 1 [9,9]",
    );
}

#[test]
fn an_insert_may_return_after_open_removes() {
    check(
        "priority-queue",
        "remove_min -> null [0,1]; insert 2 [4,12]; remove_min -> null [3,7]; remove_min -> 2 [8,22];
         insert 1 [14,16]",
    );
}

/// `count` operations open at once, each of which must have taken effect by a read at the end.
#[test]
fn more_operations_open_than_a_word_has_bits() {
    for count in [60, 64, 65, 130, 200] {
        let increments = (0..count).map(|i| format!("increment [{i},{}]", 1000 + i));
        let reads = (0..count).map(|i| format!("read -> {i} [{},{}]", 300 + i, 2000 + i));
        let mut lines: Vec<String> = increments.chain(reads).collect();
        let spec = Builtin::new(Kind::Counter);
        lines.push(format!("read -> {count} [5000,5001]"));
        let history = notation::parse(spec.signature(), &lines.join(";")).expect("the notation");
        assert!(holds(&spec, &history, Ties::Strict));
        lines.push(format!("read -> {} [5002,5003]", count + 1));
        let history = notation::parse(spec.signature(), &lines.join(";")).expect("the notation");
        assert!(!holds(&spec, &history, Ties::Strict));
    }
}

/// Rows are released as soon as they are explained; what is held does not grow, and the order comes out as it
/// goes.
#[test]
fn a_stream_is_explained_in_little_memory() {
    let mut rng = Rng::new(4);
    let spec = Builtin::new(Kind::CasRegister);
    let taste = Taste { lanes: 5, operations: 30_000, values: 4, pending: 0.0, spoil: 0.0, stamps: 1 << 40 };
    let history = small::history(&spec, &taste, &mut rng);
    let whole = Timeline::of(&history.operations, Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
    let mut stream = whole.clone();
    let mut engine = Generic::new(spec.clone());
    let mut witness = linpoint_check::Witness::default();
    let mut most = 0;
    for upto in (0..whole.end()).step_by(100).chain([whole.end()]) {
        engine.advance(&cx, &stream, upto, &mut witness).expect("linearizable");
        stream.release(upto);
        most = most.max(engine.memory());
    }
    engine.finish(&cx, &stream, &mut witness).expect("linearizable");
    replay(&spec, &whole, &history.symbols, &witness.order);
    assert!(most < 1 << 20, "{most} bytes held");
}

#[test]
fn the_reason_names_the_operation_and_the_states() {
    let spec = Builtin::new(Kind::Register);
    let text = "write 1 [1,4]; write 4 [2,5]; read -> 3 [12,15]";
    let history = notation::parse(spec.signature(), text).expect("the notation");
    let timeline = Timeline::of(&history.operations, Ties::Strict);
    let budget = Budget::unlimited();
    let cx = Context { symbols: &history.symbols, spec: &spec, budget: &budget };
    let stop = engine::run(&mut Generic::new(spec.clone()), &cx, &timeline).expect_err("no write of 3");
    let Stop::Violated(violation) = stop else { panic!("{stop:?}") };
    assert_eq!(violation.reason, "read -> 3 [12,15] finds no place: the state could only be 1 or 4");
}

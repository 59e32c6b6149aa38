//! What the classic shapes may read, under each model: sets of outcomes, written down by hand.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use linpoint_memory::{End, Location, Model, Options, explore, litmus};

/// What the reads of complete executions return, thread after thread in program order; and the last value of
/// the first location.
fn outcomes(text: &str, model: Model) -> (BTreeSet<String>, BTreeSet<i64>) {
    let mut program = litmus::read_program(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (mut read, mut last) = (BTreeSet::new(), BTreeSet::new());
    let _ = explore(&mut program, &Options::of(model), |graph, end| {
        if end == End::Complete {
            let values = (0..graph.thread_count()).flat_map(|thread| graph.values_read(thread));
            read.insert(values.map(|value| value.to_string()).collect::<String>());
            last.extend(graph.last_value(Location(0)));
        }
        ControlFlow::Continue(())
    });
    (read, last)
}

#[track_caller]
fn check(text: &str, model: Model, expected: &str) {
    let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_string).collect();
    assert_eq!(outcomes(text, model).0, expected, "{text} under {}", model.name());
}

/// The same under RC11 and SC.
#[track_caller]
fn check_both(text: &str, expected: &str) {
    check(text, Model::Rc11, expected);
    check(text, Model::Sc, expected);
}

/// One set under RC11, another one under SC.
#[track_caller]
fn check_weak(text: &str, rc11: &str, sc: &str) {
    check(text, Model::Rc11, rc11);
    check(text, Model::Sc, sc);
}

#[test]
fn store_buffering() {
    check_weak("W x rlx 1; R y rlx || W y rlx 1; R x rlx", "00 01 10 11", "01 10 11");
    check_weak("W x rel 1; R y acq || W y rel 1; R x acq", "00 01 10 11", "01 10 11");
    check_both("W x sc 1; R y sc || W y sc 1; R x sc", "01 10 11");
    check_both("W x rlx 1; F sc; R y rlx || W y rlx 1; F sc; R x rlx", "01 10 11");
    check_weak("W x rlx 1; F ar; R y rlx || W y rlx 1; F ar; R x rlx", "00 01 10 11", "01 10 11");
    // A fence on one side only is not enough.
    check_weak("W x rlx 1; F sc; R y rlx || W y rlx 1; R x rlx", "00 01 10 11", "01 10 11");
}

#[test]
fn message_passing() {
    check_weak("W x rlx 1; W y rlx 1 || R y rlx; R x rlx", "00 01 10 11", "00 01 11");
    check_weak("W x rlx 1; W y rel 1 || R y rlx; R x rlx", "00 01 10 11", "00 01 11");
    check_weak("W x rlx 1; W y rlx 1 || R y acq; R x rlx", "00 01 10 11", "00 01 11");
    check_both("W x rlx 1; W y rel 1 || R y acq; R x rlx", "00 01 11");
    check_both("W x rlx 1; F rel; W y rlx 1 || R y rlx; F acq; R x rlx", "00 01 11");
}

#[test]
fn release_sequences_are_those_of_cpp20() {
    // MP+rels+acq: a later relaxed store by the same thread does not continue a release sequence.
    let stores = "W x rlx 1; W y rel 1; W y rlx 2 || R y acq a; R x rlx";
    check_weak(stores, "00 01 11 20 21", "00 01 11 21");
    // A read-modify-write does, whoever makes it.
    check_both("W x rlx 1; W y rel 1 || U y rlx 1 || R y acq a; A a==2; R x rlx", "121");
}

#[test]
fn a_failed_compare_exchange_has_its_own_ordering() {
    check_both("W x rlx 1; W y rel 1 || C y 5 6 rlx acq a; A a==1; R x rlx", "11");
    check_weak("W x rlx 1; W y rel 1 || C y 5 6 acq rlx a; A a==1; R x rlx", "10 11", "11");
}

#[test]
fn two_readers_of_two_writers() {
    let all = "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111";
    let ordered = all.replace("1010", "");
    check_weak("W x rlx 1 || W y rlx 1 || R x rlx; R y rlx || R y rlx; R x rlx", all, &ordered);
    check_weak("W x rel 1 || W y rel 1 || R x acq; R y acq || R y acq; R x acq", all, &ordered);
    check_both("W x sc 1 || W y sc 1 || R x sc; R y sc || R y sc; R x sc", &ordered);
    check_both("W x rlx 1 || W y rlx 1 || R x rlx; F sc; R y rlx || R y rlx; F sc; R x rlx", &ordered);
}

#[test]
fn load_buffering_is_excluded() {
    check_both("R x rlx; W y rlx 1 || R y rlx; W x rlx 1", "00 01 10");
    check_both("R x rlx a; W y rlx a || R y rlx a; W x rlx a", "00");
}

#[test]
fn two_writes_each() {
    let last = |text: &str, model| outcomes(text, model).1;
    let both: BTreeSet<i64> = [1, 2].into();
    assert_eq!(last("W x rlx 1; W y rlx 2 || W y rlx 1; W x rlx 2", Model::Rc11), both);
    // With the readers at the end: is x == 1 and y == 1 possible?
    let weak = "W x rlx 1; W y rlx 2 || W y rlx 1; W x rlx 2 || J 0; J 1; R x rlx; R y rlx";
    check_weak(weak, "11 12 21 22", "12 21 22");
    check_both("W x sc 1; W y sc 2 || W y sc 1; W x sc 2 || J 0; J 1; R x sc; R y sc", "12 21 22");
}

#[test]
fn coherence() {
    check_both("W x rlx 1; W x rlx 2 || R x rlx; R x rlx", "00 01 02 11 12 22");
    check_both("R x rlx; W x rlx 1", "0");
    check_both("W x rlx 1; R x rlx || W x rlx 2", "1 2");
    // Two threads that read twice agree on the order of the writes.
    let (read, _) = outcomes("W x rlx 1 || W x rlx 2 || R x rlx; R x rlx || R x rlx; R x rlx", Model::Rc11);
    assert!(!read.contains("1221") && !read.contains("2112") && read.contains("1212"));
}

#[test]
fn causality() {
    check_both("W x rlx 1 || R x acq a; W y rel a || R y acq; R x rlx", "000 001 100 101 111");
    let (read, _) = outcomes("W x rlx 1 || R x rlx a; W y rlx a || R y rlx; R x rlx", Model::Rc11);
    assert!(read.contains("110"), "relaxed accesses do not carry causality over");
}

#[test]
fn z6u_and_wwmerge_tell_the_models_apart() {
    // C++20 orders more SeqCst accesses than the text of 2017 does.
    let count = |text: &str, model| {
        let mut program = litmus::read_program(text).expect("in the notation");
        explore(&mut program, &Options::of(model), |_, _| ControlFlow::Continue(())).complete
    };
    let z6u = "W x sc 1; W y rel 1 || U y sc 1; R y rlx || W y sc 3; R x sc";
    assert_eq!([22, 24, 18], Model::ALL.map(|model| count(z6u, model)));
    let merge = "R x acq; R y sc || W x sc 1; W x sc 2 || W y sc 1; R x sc";
    assert_eq!([17, 18, 15], Model::ALL.map(|model| count(merge, model)));
}

#[test]
fn updates_are_atomic() {
    check_both("U x rlx 1 || U x rlx 1", "01 10");
    check_both("U x rlx 1 || W x rlx 5", "0 5");
    check_both("C x 0 1 rlx rlx a || C x 0 2 rlx rlx a", "01 20");
}

#[test]
fn joining_and_creating_synchronise() {
    check_both("W x rlx 1 || J 0; R x rlx", "1");
    check_both("W x rlx 1; T 1 || R x rlx", "1");
}

#[test]
fn races_are_seen() {
    let races = |text: &str| {
        let mut program = litmus::read_program(text).expect("in the notation");
        let mut races = 0;
        let _ = explore(&mut program, &Options::of(Model::Rc11), |graph, _| {
            races += u32::from(graph.race().is_some());
            ControlFlow::Continue(())
        });
        races
    };
    assert_eq!(races("W x na 1; W y rel 1 || R y acq a; [a!=0]R x na"), 0);
    assert_eq!(races("W x na 1; W y rlx 1 || R y acq a; [a!=0]R x na"), 2);
    assert_eq!(races("W x na 1 || J 0; R x na"), 0);
    assert_eq!(races("W x na 1 || R x rlx"), 2);
    assert_eq!(races("R x na || R x na"), 0);
}

//! Programs of the corpus spoiled in one place: what exploring finds wrong must not be proved.

use std::time::Duration;

use linpoint_shape::mutants::attack;

use crate::corpus::program;

#[track_caller]
fn check(name: &str) {
    let attack = attack(&program(name), Duration::from_millis(150), Duration::from_millis(300), 2000);
    let attack = attack.unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    assert!(attack.proved > 0 && attack.proved < attack.mutants, "{name}: {attack:?}");
}

#[test]
fn treiber() {
    check("treiber");
}

#[test]
fn two_lock() {
    check("two-lock");
}

#[test]
fn michael_scott() {
    check("michael-scott");
}

#[test]
fn dglm() {
    check("dglm");
}

#[test]
fn elimination() {
    check("elimination-stack");
}

#[test]
fn counted() {
    check("treiber-counted");
}

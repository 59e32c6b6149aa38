//! Random programs by the hundred; the example `strategies` does it by the thousand.

use linpoint_sched::strategy::dfs::Dfs;

use super::compare::{compare, compare_one};
use super::programs::Op::{Add, Cas, Claim, Either, Store, Swap};
use super::programs::{Kind, Program, explore};

#[test]
fn atomics() {
    compare(Kind::Plain, 1, 200, 400);
}

#[test]
fn semaphores() {
    compare(Kind::Waiting, 2, 200, 400);
}

#[test]
fn spin_loops() {
    compare(Kind::Spinning, 3, 200, 400);
}

#[test]
fn loops_that_do_more_than_read() {
    compare(Kind::Turning, 9, 150, 1_000);
}

#[test]
fn everything() {
    compare(Kind::All, 4, 200, 400);
}

#[test]
fn locks() {
    compare(Kind::Locking, 5, 200, 400);
}

#[test]
fn claims() {
    compare(Kind::Claims, 5, 200, 400);
}

#[test]
fn claims_that_only_look() {
    compare(Kind::Looking, 6, 200, 400);
}

#[test]
fn claims_and_everything() {
    compare(Kind::AllClaims, 7, 100, 400);
}

#[test]
fn claims_and_locks() {
    compare(Kind::LockingClaims, 8, 100, 300);
}

/// What the first thread touches depends on a write of the second, and it sleeps where the third has to go first.
#[test]
fn steps_that_touch_less_after_a_write() {
    for first in [Claim(8, [1, 0, 1]), Either([1, 0, 2]), Either([1, 2, 0])] {
        let second = vec![Cas(2, 1, 1), Add(1, 1), Swap(0, 2)];
        let program = Program {
            threads: vec![vec![first], second, vec![Swap(0, 1), Store(2, 2)]],
            permits: Vec::new(),
        };
        let all = explore(&program, &mut Dfs::new(), usize::MAX).unwrap();
        compare_one(&program, &all);
    }
}

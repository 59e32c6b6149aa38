//! Random programs by the hundred; the example `strategies` does it by the thousand.

use super::compare::compare;
use super::programs::Kind;

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

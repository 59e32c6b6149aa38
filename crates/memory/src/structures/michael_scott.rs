//! M. Michael, M. Scott, *Simple, Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms*
//! (PODC 1996). The first node is a dummy; the tail may lag behind.

use super::{Failed, Site, unless_it_worked};
use crate::event::{Location, Value};
use crate::machine::{Assembler, Expression, Operator, Register};
use crate::ordering::Ordering::{self, Acquire, NonAtomic, Relaxed, Release};

const HEAD: Expression = Expression::Number(0);
const TAIL: Expression = Expression::Number(1);
const DUMMY: Value = 100;

pub(super) const SITES: &[Site] = &[
    ("enq tail load", Acquire),
    ("enq next load", Acquire),
    ("enq tail recheck", Acquire),
    ("enq next cas ok", Release),
    ("enq next cas fail", Relaxed),
    ("enq help tail cas", Release),
    ("enq swing tail cas", Release),
    ("deq head load", Acquire),
    ("deq tail load", Acquire),
    ("deq next load", Acquire),
    ("deq head recheck", Acquire),
    ("deq help tail cas", Release),
    ("deq head cas ok", Release),
    ("deq head cas fail", Relaxed),
];

/// The assertion that a node before the tail has a next one.
const NEXT_IS_THERE: u32 = 1;

pub(super) fn initial() -> Vec<(Location, Value)> {
    vec![(Location(0), DUMMY), (Location(1), DUMMY)]
}

/// A node is its value and the next node.
pub(super) fn enqueue(
    code: &mut Assembler,
    o: impl Fn(usize) -> Ordering,
    value: Value,
    failed: Failed,
) -> Register {
    let node = code.allocate(2);
    code.store(node, value, NonAtomic);
    code.store(node.cell(1), 0, NonAtomic);
    let start = code.here();
    let tail = code.load(TAIL, o(0));
    let next = code.load(tail.cell(1), o(1));
    let tail_again = code.load(TAIL, o(2));
    code.set(tail_again, tail_again.with(Operator::Equal, tail));
    unless_it_worked(code, tail_again, start, failed);
    let lags = code.leave_unless(next.with(Operator::Equal, 0));
    let worked = code.compare_exchange(tail.cell(1), 0, node, (o(3), o(4)));
    let lost = code.leave_unless(worked);
    let won = code.leave();
    code.land([lags]);
    code.compare_exchange(TAIL, tail, next, (o(5), Relaxed));
    code.land([lost]);
    code.again(start);
    code.land([won]);
    code.compare_exchange(TAIL, tail, node, (o(6), Relaxed));
    code.set(next, 0);
    next
}

pub(super) fn dequeue(code: &mut Assembler, o: impl Fn(usize) -> Ordering, failed: Failed) -> Register {
    let result = code.register();
    code.set(result, 0);
    let start = code.here();
    let head = code.load(HEAD, o(7));
    let tail = code.load(TAIL, o(8));
    let next = code.load(head.cell(1), o(9));
    let head_again = code.load(HEAD, o(10));
    code.set(head_again, head_again.with(Operator::Equal, head));
    unless_it_worked(code, head_again, start, failed);
    let apart = code.leave_unless(head.with(Operator::Equal, tail));
    let empty = code.leave_unless(next.with(Operator::Different, 0));
    code.compare_exchange(TAIL, tail, next, (o(11), Relaxed));
    code.again(start);
    code.land([apart]);
    code.assert(next.with(Operator::Different, 0), NEXT_IS_THERE);
    let value = code.load(next, NonAtomic);
    let worked = code.compare_exchange(HEAD, head, next, (o(12), o(13)));
    unless_it_worked(code, worked, start, failed);
    code.set(result, value);
    code.land([empty]);
    result
}

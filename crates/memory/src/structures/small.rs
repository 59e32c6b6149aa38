//! Small objects: a ticket lock, a sequence lock, a ring for two threads, a cell.

use super::Site;
use crate::event::Value;
use crate::machine::{Assembler, Expression, Operator, Register};
use crate::ordering::Ordering::{self, Acquire, NonAtomic, Relaxed, Release};

const fn at(address: Value) -> Expression {
    Expression::Number(address)
}

pub(super) const TICKET: &[Site] = &[
    ("take a ticket", Relaxed),
    ("wait for the turn", Acquire),
    ("load the turn", Relaxed),
    ("store the turn", Release),
];

/// Adds one to a counter under a lock: the next ticket is at 0, whose turn it is at 1, the counter at 2.
pub(super) fn ticket(code: &mut Assembler, o: impl Fn(usize) -> Ordering) -> Register {
    let mine = code.fetch_add(at(0), 1, o(0));
    let turn = code.load(at(1), o(1));
    code.assume(turn.with(Operator::Equal, mine));
    let count = code.load(at(2), NonAtomic);
    code.store(at(2), count.cell(1), NonAtomic);
    let now = code.load(at(1), o(2));
    code.store(at(1), now.cell(1), o(3));
    count
}

pub(super) const SEQLOCK: &[Site] = &[
    ("write odd store", Relaxed),
    ("write fence", Release),
    ("write data stores", Relaxed),
    ("write even store", Release),
    ("read first load", Acquire),
    ("read data loads", Relaxed),
    ("read fence", Acquire),
    ("read second load", Relaxed),
];

/// Writes the value into two cells.
pub(super) fn seqlock_write(code: &mut Assembler, o: impl Fn(usize) -> Ordering, value: Value) -> Register {
    let number = code.load(at(0), Relaxed);
    code.store(at(0), number.cell(1), o(0));
    code.fence(o(1));
    code.store(at(1), value, o(2));
    code.store(at(2), value, o(2));
    code.store(at(0), number.cell(2), o(3));
    code.set(number, 0);
    number
}

/// Reads both cells; a number that nobody wrote if they differ.
pub(super) fn seqlock_read(code: &mut Assembler, o: impl Fn(usize) -> Ordering) -> Register {
    let before = code.load(at(0), o(4));
    code.assume(before.with(Operator::Remainder, 2).with(Operator::Equal, 0));
    let (one, other) = (code.load(at(1), o(5)), code.load(at(2), o(5)));
    code.fence(o(6));
    let after = code.load(at(0), o(7));
    code.assume(before.with(Operator::Equal, after));
    let torn = one.with(Operator::Different, other).with(Operator::Multiply, 1_000);
    code.set(one, one.with(Operator::Add, torn));
    one
}

pub(super) const RING: &[Site] = &[
    ("push own tail load", Relaxed),
    ("push head load", Acquire),
    ("push tail store", Release),
    ("pop own head load", Relaxed),
    ("pop tail load", Acquire),
    ("pop head store", Release),
];

fn slot(index: Register, capacity: Value) -> Expression {
    index.with(Operator::Remainder, capacity).with(Operator::Add, 10)
}

/// Gives 1, or 0 if the ring is full.
pub(super) fn ring_push(
    code: &mut Assembler,
    o: impl Fn(usize) -> Ordering,
    value: Value,
    capacity: Value,
) -> Register {
    let result = code.register();
    code.set(result, 0);
    let tail = code.load(at(1), o(0));
    let head = code.load(at(0), o(1));
    let full = code.leave_unless(tail.with(Operator::Subtract, head).with(Operator::Different, capacity));
    code.store(slot(tail, capacity), value, NonAtomic);
    code.store(at(1), tail.cell(1), o(2));
    code.set(result, 1);
    code.land([full]);
    result
}

pub(super) fn ring_pop(code: &mut Assembler, o: impl Fn(usize) -> Ordering, capacity: Value) -> Register {
    let result = code.register();
    code.set(result, 0);
    let head = code.load(at(0), o(3));
    let tail = code.load(at(1), o(4));
    let empty = code.leave_unless(tail.with(Operator::Different, head));
    code.load_to(result, slot(head, capacity), NonAtomic);
    code.store(at(0), head.cell(1), o(5));
    code.land([empty]);
    result
}

pub(super) const REGISTER: &[Site] = &[("write", Release), ("read", Acquire)];

pub(super) fn write(code: &mut Assembler, o: impl Fn(usize) -> Ordering, value: Value) -> Register {
    let result = code.register();
    code.store(at(0), value, o(0));
    code.set(result, 0);
    result
}

pub(super) fn read(code: &mut Assembler, o: impl Fn(usize) -> Ordering) -> Register {
    code.load(at(0), o(1))
}

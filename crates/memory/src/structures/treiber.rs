//! R. K. Treiber, *Systems Programming: Coping with Parallelism* (1986): a stack as a list with one pointer
//! to its top.

use super::{Failed, Site, unless_it_worked};
use crate::event::Value;
use crate::machine::{Assembler, Expression, Operator, Register};
use crate::ordering::Ordering::{self, Acquire, NonAtomic, Relaxed, Release};

const TOP: Expression = Expression::Number(0);

pub(super) const SITES: &[Site] = &[
    ("push load", Acquire),
    ("push next store", Relaxed),
    ("push cas ok", Release),
    ("push cas fail", Relaxed),
    ("pop load", Acquire),
    ("pop next load", Relaxed),
    ("pop cas ok", Release),
    ("pop cas fail", Relaxed),
];

/// A node is its value and the next node.
pub(super) fn push(
    code: &mut Assembler,
    o: impl Fn(usize) -> Ordering,
    value: Value,
    failed: Failed,
) -> Register {
    let node = code.allocate(2);
    code.store(node, value, NonAtomic);
    let start = code.here();
    let top = code.load(TOP, o(0));
    code.store(node.cell(1), top, o(1));
    let worked = code.compare_exchange(TOP, top, node, (o(2), o(3)));
    unless_it_worked(code, worked, start, failed);
    code.set(worked, 0);
    worked
}

pub(super) fn pop(code: &mut Assembler, o: impl Fn(usize) -> Ordering, failed: Failed) -> Register {
    let result = code.register();
    code.set(result, 0);
    let start = code.here();
    let top = code.load(TOP, o(4));
    let empty = code.leave_unless(top.with(Operator::Different, 0));
    let next = code.load(top.cell(1), o(5));
    let worked = code.compare_exchange(TOP, top, next, (o(6), o(7)));
    unless_it_worked(code, worked, start, failed);
    code.load_to(result, top, NonAtomic);
    code.land([empty]);
    result
}

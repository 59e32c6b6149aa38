//! D. Chase, Y. Lev, *Dynamic Circular Work-Stealing Deque* (SPAA 2005), with the orderings of N. M. Lê, A.
//! Pop, A. Cohen, F. Zappa Nardelli, *Correct and Efficient Work-Stealing for Weak Memory Models* (PPoPP
//! 2013). The array does not grow.

use super::Site;
use crate::event::{Location, Value};
use crate::machine::{Assembler, Expression, Operator, Register};
use crate::ordering::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

const BOTTOM: Expression = Expression::Number(0);
const TOP: Expression = Expression::Number(1);
const CELLS: Value = 4;

pub(super) const SITES: &[Site] = &[
    ("push bottom load", Relaxed),
    ("push top load", Acquire),
    ("push cell store", Relaxed),
    ("push fence", Release),
    ("push bottom store", Relaxed),
    ("pop bottom load", Relaxed),
    ("pop bottom store", Relaxed),
    ("pop fence", SeqCst),
    ("pop top load", Relaxed),
    ("pop cell load", Relaxed),
    ("pop cas ok", SeqCst),
    ("pop cas fail", Relaxed),
    ("pop bottom restore", Relaxed),
    ("steal top load", Acquire),
    ("steal fence", SeqCst),
    ("steal bottom load", Acquire),
    ("steal cell load", Relaxed),
    ("steal cas ok", SeqCst),
    ("steal cas fail", Relaxed),
];

/// Both ends begin at 1, so that an empty deque never has a negative index.
pub(super) fn initial() -> Vec<(Location, Value)> {
    vec![(Location(0), 1), (Location(1), 1)]
}

fn cell(index: Register) -> Expression {
    index.with(Operator::Remainder, CELLS).with(Operator::Add, 10)
}

pub(super) fn push(code: &mut Assembler, o: impl Fn(usize) -> Ordering, value: Value) -> Register {
    let bottom = code.load(BOTTOM, o(0));
    let top = code.load(TOP, o(1));
    code.store(cell(bottom), value, o(2));
    code.fence(o(3));
    code.store(BOTTOM, bottom.cell(1), o(4));
    code.set(top, 0);
    top
}

pub(super) fn pop(code: &mut Assembler, o: impl Fn(usize) -> Ordering) -> Register {
    let result = code.register();
    code.set(result, 0);
    let bottom = code.load(BOTTOM, o(5));
    code.set(bottom, bottom.cell(-1));
    code.store(BOTTOM, bottom, o(6));
    code.fence(o(7));
    let top = code.load(TOP, o(8));
    let empty = code.leave_unless(top.with(Operator::AtMost, bottom));
    code.load_to(result, cell(bottom), o(9));
    let last = code.leave_unless(top.with(Operator::Less, bottom));
    let done = code.leave();
    code.land([last]);
    let won = code.compare_exchange(TOP, top, top.cell(1), (o(10), o(11)));
    code.set(result, result.with(Operator::Multiply, won));
    code.land([empty]);
    code.store(BOTTOM, bottom.cell(1), o(12));
    code.land([done]);
    result
}

/// Gives -1 if it lost against another thief or the owner.
pub(super) fn steal(code: &mut Assembler, o: impl Fn(usize) -> Ordering) -> Register {
    let result = code.register();
    code.set(result, 0);
    let top = code.load(TOP, o(13));
    code.fence(o(14));
    let bottom = code.load(BOTTOM, o(15));
    let empty = code.leave_unless(top.with(Operator::Less, bottom));
    code.load_to(result, cell(top), o(16));
    let won = code.compare_exchange(TOP, top, top.cell(1), (o(17), o(18)));
    let lost = code.leave_unless(won.with(Operator::Equal, 0));
    code.set(result, -1);
    code.land([empty, lost]);
    result
}

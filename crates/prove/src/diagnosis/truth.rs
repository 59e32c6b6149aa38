//! Is a formula of an annotation true in a state of a run?

use std::time::Instant;

use linpoint_lang::ast::BinOp;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{Expr, LocalId, Place, Word};

/// Does it hold for this thread? `None` where it cannot be told, or not until then: quantifiers in
/// quantifiers multiply.
pub(super) fn truth(
    machine: &Machine<'_>,
    words: &mut [Word],
    thread: usize,
    e: &Expr,
    until: Instant,
) -> Option<bool> {
    let mut truth = |e: &Expr| self::truth(machine, words, thread, e, until);
    let value = match e {
        Expr::Not(inner) => !truth(inner)?,
        Expr::Binary(BinOp::And, a, b) => truth(a)? && truth(b)?,
        Expr::Binary(BinOp::Or, a, b) => truth(a)? || truth(b)?,
        Expr::Binary(BinOp::Implies, a, b) => !truth(a)? || truth(b)?,
        // The bound variable of an annotation has no place in the frame: numbers are put in instead.
        Expr::Quantified { all, local, lo, hi, body } => {
            let (lo, hi) = (machine.value(words, thread, lo).ok()?, machine.value(words, thread, hi).ok()?);
            let mut value = *all;
            for n in lo..hi {
                if Instant::now() >= until {
                    return None;
                }
                if self::truth(machine, words, thread, &with(body, *local, n), until)? != *all {
                    value = !*all;
                    break;
                }
            }
            value
        }
        e => machine.value(words, thread, e).ok()? != 0,
    };
    Some(value)
}

/// The expression with a number in the place of a local.
fn with(e: &Expr, local: LocalId, n: Word) -> Expr {
    let inner = |e: &Expr| Box::new(with(e, local, n));
    match e {
        Expr::Read(Place::Local(id)) if *id == local => Expr::Const(n),
        Expr::Read(Place::Element(global, index, slot)) => {
            Expr::Read(Place::Element(*global, inner(index), *slot))
        }
        Expr::Read(Place::Field(pointer, record, slot)) => {
            Expr::Read(Place::Field(inner(pointer), *record, *slot))
        }
        Expr::Not(e) => Expr::Not(inner(e)),
        Expr::Neg(e) => Expr::Neg(inner(e)),
        Expr::Unwrap(e) => Expr::Unwrap(inner(e)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, inner(a), inner(b)),
        Expr::Quantified { all, local: bound, lo, hi, body } => Expr::Quantified {
            all: *all,
            local: *bound,
            lo: inner(lo),
            hi: inner(hi),
            body: if *bound == local { body.clone() } else { inner(body) },
        },
        e => e.clone(),
    }
}

//! Numbers that are worth a try where a `choose` leaves more values than can all be tried: those that the
//! program compares with, writes and adds, and their neighbours.

use std::sync::Arc;

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Expr, NONE, Place, UNSET, Word};

/// More numbers than this are not tried.
const MOST_NUMBERS: usize = 24;

/// The numbers of a program.
pub(super) fn hints(program: &Program) -> Arc<[Word]> {
    let mut found: Vec<Word> = Vec::new();
    let mut see = |word: Word| {
        for near in [word.checked_sub(1), Some(word), word.checked_add(1)].into_iter().flatten() {
            if word != NONE && word != UNSET && found.len() < MOST_NUMBERS && !found.contains(&near) {
                found.push(near);
            }
        }
    };
    for action in program.nodes.iter().flat_map(|node| &node.edges).flat_map(|edge| &edge.actions) {
        match action {
            Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => of(e, &mut see),
            Action::Assign(place, e) => {
                of_place(place, &mut see);
                of(e, &mut see);
            }
            Action::Choose(_, lo, hi) => {
                of(lo, &mut see);
                of(hi, &mut see);
            }
            Action::New { fields, .. } => fields.iter().for_each(|(_, e)| of(e, &mut see)),
            Action::Lock(place) | Action::Unlock(place) => of_place(place, &mut see),
            Action::Prophecy(..) | Action::Mark(_) | Action::Claim(_) => {}
        }
    }
    found.into()
}

fn of(e: &Expr, see: &mut impl FnMut(Word)) {
    match e {
        Expr::Const(word) => see(*word),
        Expr::Me | Expr::Size(_) | Expr::Term(_) => {}
        Expr::Read(place) => of_place(place, see),
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => of(e, see),
        Expr::Binary(_, a, b) => {
            of(a, see);
            of(b, see);
        }
        Expr::Quantified { lo, hi, body, .. } => [lo, hi, body].into_iter().for_each(|e| of(e, see)),
    }
}

fn of_place(place: &Place, see: &mut impl FnMut(Word)) {
    match place {
        Place::Local(_) | Place::Global(..) => {}
        Place::Element(_, e, _) | Place::Field(e, ..) => of(e, see),
    }
}

//! A condition taken as a name: what counts in the abstraction, without looking inside.
//!
//! Where an abstraction is given in two forms that are shown to be the same in every state with the
//! invariants (`same.rs`), obligations need not look into the first: "index n counts" is a predicate of its
//! own, one a memory, of which only is known that it is what the second form says. Both the memory before a
//! step and the one after it are states with the invariants, so this is known of both. What holds for every
//! such predicate holds for the condition, so `unsat` is as right as before; and a condition with a
//! quantifier inside, on both sides of what is compared, is no longer in the way.

use linpoint_lang::program::{Expr, LocalId, Place};

use crate::context::Subject;
use crate::symbol::Key;
use crate::term::{Sort, Term};
use crate::world::{Frame, Memory, World};

/// A condition on an index that is taken as a name.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// The condition.
    pub when: Expr,
    /// The index in it.
    pub index: LocalId,
    /// What the index ranges up to: its family.
    pub end: Expr,
}

impl Opaque {
    /// If the expression is this condition for some index: for which.
    pub(crate) fn index_of(&self, e: &Expr) -> Option<Expr> {
        let mut matching = Matching { index: self.index, found: None, renamed: Vec::new() };
        let same =
            std::mem::discriminant(&self.when) == std::mem::discriminant(e) && matching.expr(&self.when, e);
        if same { matching.found } else { None }
    }
}

impl World<'_> {
    /// The name of the condition, if the expression is one that is taken so.
    pub(crate) fn as_opaque(&mut self, e: &Expr, memory: &Memory, frame: &mut Frame) -> Option<Term> {
        let opaque = self.opaque.clone()?;
        let index = opaque.index_of(e)?;
        let index = self.number_of(&index, memory, frame);
        let (number, family) = (self.memory_number(memory), self.index_family(&opaque.end));
        let symbol = self.terms.symbol(Key::Counts(number), "counts", &[family], Sort::Bool);
        Some(self.terms.app(symbol, vec![index]))
    }
}

impl<'p> Subject<'p> {
    /// The condition of the first abstraction, if there is a second that is shown to be the same.
    pub(crate) fn opaque(&self) -> Option<Opaque> {
        let (index, _, end, when) = self.abstraction.abs.over.as_ref()?;
        self.again.first()?;
        Some(Opaque { when: when.clone()?, index: *index, end: end.clone() })
    }

    /// What the names stand for in this memory: the second form.
    pub(crate) fn known_of_opaque(&self, world: &mut World<'p>, memory: &Memory) -> Vec<Term> {
        if world.opaque.is_none() {
            return Vec::new();
        }
        let Some(second) = self.again.first() else { return Vec::new() };
        let depth = world.depth;
        world.depth += 1;
        let bound = world.terms.bound(depth);
        // Both say "inside the range, and the condition".
        let counts = self.abstraction.counts(world, memory, bound);
        let also = second.counts(world, memory, bound);
        let same = world.terms.eq(counts, also);
        world.depth = depth;
        vec![world.terms.forall(depth, same)]
    }
}

/// Two expressions laid over each other: the first may have any expression for its index, and other names for
/// what it binds.
struct Matching {
    index: LocalId,
    found: Option<Expr>,
    renamed: Vec<(LocalId, LocalId)>,
}

impl Matching {
    fn expr(&mut self, pattern: &Expr, e: &Expr) -> bool {
        if *pattern == Expr::Read(Place::Local(self.index)) {
            // What the index stands for must not be bound inside.
            let mut free = true;
            e.places(&mut |place| {
                free &=
                    !matches!(place, Place::Local(id) if self.renamed.iter().any(|(_, bound)| bound == id));
            });
            let known = self.found.get_or_insert_with(|| e.clone());
            return free && known == e;
        }
        match (pattern, e) {
            (Expr::Read(a), Expr::Read(b)) => self.place(a, b),
            (Expr::Not(a), Expr::Not(b))
            | (Expr::Neg(a), Expr::Neg(b))
            | (Expr::Unwrap(a), Expr::Unwrap(b)) => self.expr(a, b),
            (Expr::Binary(op, a, b), Expr::Binary(other, c, d)) => {
                op == other && self.expr(a, c) && self.expr(b, d)
            }
            (
                Expr::Quantified { all, local, lo, hi, body },
                Expr::Quantified {
                    all: other_all,
                    local: other,
                    lo: other_lo,
                    hi: other_hi,
                    body: other_body,
                },
            ) => {
                let ends = all == other_all && self.expr(lo, other_lo) && self.expr(hi, other_hi);
                self.renamed.push((*local, *other));
                let same = ends && self.expr(body, other_body);
                self.renamed.pop();
                same
            }
            (Expr::Const(_) | Expr::Size(_), _) => pattern == e,
            _ => false,
        }
    }

    fn place(&mut self, pattern: &Place, place: &Place) -> bool {
        match (pattern, place) {
            (Place::Local(a), Place::Local(b)) => {
                match self.renamed.iter().rev().find(|(from, to)| from == a || to == b) {
                    Some(pair) => *pair == (*a, *b),
                    None => false,
                }
            }
            (Place::Global(..), Place::Global(..)) => pattern == place,
            (Place::Element(a, index, slot), Place::Element(b, other, other_slot)) => {
                (a, slot) == (b, other_slot) && self.expr(index, other)
            }
            (Place::Field(pointer, record, slot), Place::Field(other, other_record, other_slot)) => {
                (record, slot) == (other_record, other_slot) && self.expr(pointer, other)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linpoint_lang::ast::BinOp;
    use linpoint_lang::program::GlobalId;

    fn local(id: u16) -> Expr {
        Expr::Read(Place::Local(LocalId(id)))
    }

    /// `any b in 0..3: a[index] == a[b]`
    fn any(index: Expr, bound: u16) -> Expr {
        let at = |index: Expr| Box::new(Expr::Read(Place::Element(GlobalId(0), Box::new(index), 0)));
        Expr::Quantified {
            all: false,
            local: LocalId(bound),
            lo: Box::new(Expr::Const(0)),
            hi: Box::new(Expr::Const(3)),
            body: Box::new(Expr::Binary(BinOp::Eq, at(index), at(local(bound)))),
        }
    }

    #[test]
    fn the_condition_is_found_for_any_index_and_any_name_inside() {
        let opaque = Opaque { when: any(local(0), 1), index: LocalId(0), end: Expr::Const(3) };
        assert_eq!(opaque.index_of(&any(local(7), 9)), Some(local(7)));
        assert_eq!(opaque.index_of(&any(Expr::Const(2), 1)), Some(Expr::Const(2)));
        // The index is what is bound inside: another condition.
        assert_eq!(opaque.index_of(&any(local(9), 9)), None);
        assert_eq!(opaque.index_of(&Expr::Not(Box::new(any(local(7), 9)))), None);
    }
}

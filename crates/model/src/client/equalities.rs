//! Claims that equal data can make false.
//!
//! Where each piece of data is new, fewer pieces are equal than in other runs. A claim in which equality of
//! data only ever helps is true in those if it is true in these; one that asks for a difference need not be.

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Claim, Expr, NONE, OpId, Term, Type};

/// Is there a claim that can be false because two pieces of data are equal?
pub(super) fn asks_for_different_data(program: &Program) -> bool {
    program.nodes.iter().any(|node| {
        node.edges.iter().flat_map(|edge| &edge.actions).any(|action| match action {
            Action::Claim(id) => {
                let claim = &program.claims[id.index()];
                let look = Look { program, op: node.op, claim };
                look.at(&claim.body, Wanted::True) || claim.terms.iter().any(|term| look.at_term(term))
            }
            _ => false,
        })
    })
}

/// What an expression should be, for the claim to be true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    True,
    False,
    Either,
}

impl Wanted {
    fn turned(self) -> Wanted {
        match self {
            Wanted::True => Wanted::False,
            Wanted::False => Wanted::True,
            Wanted::Either => Wanted::Either,
        }
    }
}

struct Look<'p> {
    program: &'p Program,
    op: OpId,
    claim: &'p Claim,
}

impl Look<'_> {
    /// Can equal data make it other than is wanted?
    fn at(&self, e: &Expr, wanted: Wanted) -> bool {
        match e {
            Expr::Binary(op @ (BinOp::Eq | BinOp::Ne), a, b) => {
                let none = |e: &Expr| *e == Expr::Const(NONE);
                let compared = (self.is_data(a) || self.is_data(b)) && !none(a) && !none(b);
                let harmless = if *op == BinOp::Eq { Wanted::True } else { Wanted::False };
                compared && wanted != harmless || self.at(a, Wanted::Either) || self.at(b, Wanted::Either)
            }
            Expr::Binary(BinOp::Implies, a, b) => self.at(a, wanted.turned()) || self.at(b, wanted),
            Expr::Binary(BinOp::And | BinOp::Or, a, b) => self.at(a, wanted) || self.at(b, wanted),
            Expr::Binary(_, a, b) => self.at(a, Wanted::Either) || self.at(b, Wanted::Either),
            Expr::Not(e) => self.at(e, wanted.turned()),
            Expr::Neg(e) | Expr::Unwrap(e) => self.at(e, Wanted::Either),
            Expr::Quantified { lo, hi, body, .. } => {
                self.at(lo, Wanted::Either) || self.at(hi, Wanted::Either) || self.at(body, wanted)
            }
            Expr::Const(_) | Expr::Size(_) | Expr::Me | Expr::Read(_) | Expr::Term(_) => false,
        }
    }

    fn at_term(&self, term: &Term) -> bool {
        match term {
            Term::Last { until, .. } => self.at(until, Wanted::Either),
            Term::First { .. } | Term::Exit { .. } => false,
        }
    }

    fn is_data(&self, e: &Expr) -> bool {
        let place = match e {
            Expr::Read(place) => place,
            Expr::Term(at) => match self.claim.terms.get(usize::from(*at)) {
                Some(Term::First { place, .. } | Term::Last { place, .. } | Term::Exit { place }) => place,
                None => return true,
            },
            Expr::Unwrap(e) => return self.is_data(e),
            Expr::Const(_)
            | Expr::Size(_)
            | Expr::Me
            | Expr::Not(_)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Quantified { .. } => return false,
        };
        let mut ty = self.program.slot(self.op, place).map(|slot| &slot.ty);
        while let Some(Type::Option(inner)) = ty {
            ty = Some(&**inner);
        }
        ty == Some(&Type::Data)
    }
}

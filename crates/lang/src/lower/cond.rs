//! Conditions become branches.

use super::{EdgeRef, Lowerer, Ty};
use crate::ast::{self, BinOp, ExprKind};
use crate::program::{Action, Exit, Expr, NodeId, Place, Type};
use crate::span::Span;

/// Where a condition leads, and by which steps.
pub(super) struct Branches {
    pub yes: NodeId,
    pub no: NodeId,
    /// The steps that make it true.
    pub made_true: Vec<EdgeRef>,
    /// The steps that make it false.
    pub made_false: Vec<EdgeRef>,
}

impl Lowerer<'_> {
    /// Tests a condition here; control goes on at one of two new nodes.
    pub(super) fn condition(&mut self, cond: &ast::Expr) -> Branches {
        let (yes, no) = (self.new_node(cond.span), self.new_node(cond.span));
        let mut branches = Branches { yes, no, made_true: Vec::new(), made_false: Vec::new() };
        self.test(cond, yes, no, &mut branches);
        branches
    }

    fn test(&mut self, cond: &ast::Expr, yes: NodeId, no: NodeId, out: &mut Branches) {
        let span = cond.span;
        match &cond.kind {
            ExprKind::Not(inner) => {
                let mut inverse = Branches { yes: no, no: yes, made_true: vec![], made_false: vec![] };
                self.test(inner, no, yes, &mut inverse);
                out.made_true.append(&mut inverse.made_false);
                out.made_false.append(&mut inverse.made_true);
            }
            ExprKind::Binary(BinOp::And, a, b) if self.worth_a_branch(a, b) => {
                let more = self.new_node(span);
                let mut first = Branches { yes: more, no, made_true: vec![], made_false: vec![] };
                self.test(a, more, no, &mut first);
                out.made_false.append(&mut first.made_false);
                self.go_to(more);
                self.test(b, yes, no, out);
            }
            ExprKind::Binary(BinOp::Or, a, b) if self.worth_a_branch(a, b) => {
                let more = self.new_node(span);
                let mut first = Branches { yes, no: more, made_true: vec![], made_false: vec![] };
                self.test(a, yes, more, &mut first);
                out.made_true.append(&mut first.made_true);
                self.go_to(more);
                self.test(b, yes, no, out);
            }
            ExprKind::Call(name, args) if matches!(name.text.as_str(), "cas" | "dcas" | "try_lock") => {
                if self.refuse_in_annotation(span) {
                    return;
                }
                if let Some(attempt) = self.attempt(name, args, span) {
                    let from = self.here();
                    out.made_true.push(self.add_edge(from, attempt.success, Exit::Goto(yes), span));
                    out.made_false.push(self.add_edge(from, attempt.failure, Exit::Goto(no), span));
                }
            }
            ExprKind::Bool(value) => {
                let from = self.here();
                let to = if *value { yes } else { no };
                let edge = self.add_edge(from, Vec::new(), Exit::Goto(to), span);
                if *value {
                    out.made_true.push(edge)
                } else {
                    out.made_false.push(edge)
                };
            }
            _ => {
                let (value, ty) = self.expr(cond, Some(&Type::Bool));
                self.expect(&Type::Bool, &ty, span);
                let from = self.here();
                let holds = Action::Assume(value.clone());
                let fails = Action::Assume(Expr::Not(Box::new(value)));
                out.made_true.push(self.add_edge(from, vec![holds], Exit::Goto(yes), span));
                out.made_false.push(self.add_edge(from, vec![fails], Exit::Goto(no), span));
            }
        }
    }

    /// Must the two sides of `&&` or `||` be tested one after another? Not if they touch nothing shared.
    fn worth_a_branch(&self, a: &ast::Expr, b: &ast::Expr) -> bool {
        (self.touches_shared(a) || self.touches_shared(b)) && !self.in_atomic()
            || a.does_something()
            || b.does_something()
    }

    /// A condition whose value is kept.
    pub(super) fn condition_value(&mut self, cond: &ast::Expr, span: Span) -> (Expr, Ty) {
        let local = self.temporary(Some(Type::Bool), span);
        self.keep_condition(cond, Place::Local(local), span);
        (Expr::Read(Place::Local(local)), Ty::Known(Type::Bool))
    }

    /// Tests a condition and keeps its value in a local place; gives the steps that make it true.
    pub(super) fn keep_condition(&mut self, cond: &ast::Expr, place: Place, span: Span) -> Vec<EdgeRef> {
        let cond = match &cond.kind {
            // `a ==> b` is `!a || b`.
            ExprKind::Binary(BinOp::Implies, a, b) => {
                let not = ast::Expr { kind: ExprKind::Not(a.clone()), span: a.span };
                &ast::Expr { kind: ExprKind::Binary(BinOp::Or, Box::new(not), b.clone()), span: cond.span }
            }
            _ => cond,
        };
        let branches = self.condition(cond);
        self.extend(&branches.made_true, &[Action::Assign(place.clone(), Expr::Const(1))]);
        self.extend(&branches.made_false, &[Action::Assign(place, Expr::Const(0))]);
        let join = self.new_node(span);
        for end in [branches.yes, branches.no] {
            self.add_edge(end, Vec::new(), Exit::Goto(join), span);
        }
        self.go_to(join);
        branches.made_true
    }
}

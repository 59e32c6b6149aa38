//! Expressions: what they mean and of what type they are.

use super::declare::{BUILTINS, fits};
use super::{ConstType, Item, Lowerer, Ty};
use crate::ast::{self, BinOp, ExprKind, Name, Range};
use crate::diagnostic::code;
use crate::program::{Action, Expr, LocalId, NONE, Place, Type};
use crate::span::Span;

const WRONG: (Expr, Ty) = (Expr::Const(0), Ty::Error);

fn known(expr: Expr, ty: Type) -> (Expr, Ty) {
    (expr, Ty::Known(ty))
}

impl Lowerer<'_> {
    /// An expression with at most one shared read left in it, unless in an atomic step. `wanted` is a hint
    /// only.
    pub(super) fn expr(&mut self, expr: &ast::Expr, wanted: Option<&Type>) -> (Expr, Ty) {
        match &expr.kind {
            ExprKind::Int(n) => match wanted {
                // In scenarios numbers stand for data.
                Some(Type::Data) if self.pure && self.frames.is_empty() => {
                    known(Expr::Const(*n as i32), Type::Data)
                }
                _ => known(Expr::Const(*n as i32), Type::Int),
            },
            ExprKind::Bool(b) => known(Expr::Const(i32::from(*b)), Type::Bool),
            ExprKind::Null => (Expr::Const(0), Ty::Null),
            ExprKind::None => (Expr::Const(NONE), Ty::None),
            ExprKind::Me => known(Expr::Me, Type::Thread),
            ExprKind::Name(name) => self.name_value(name, expr.span),
            ExprKind::Field(..) | ExprKind::Index(..) => match self.place(expr) {
                Some(found) => self.read(found, expr.span),
                None => WRONG,
            },
            ExprKind::Not(inner) => {
                let (value, ty) = self.expr(inner, Some(&Type::Bool));
                self.expect(&Type::Bool, &ty, inner.span);
                known(Expr::Not(Box::new(value)), Type::Bool)
            }
            ExprKind::Neg(inner) => {
                let (value, ty) = self.expr(inner, Some(&Type::Int));
                self.expect(&Type::Int, &ty, inner.span);
                known(Expr::Neg(Box::new(value)), Type::Int)
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, expr.span),
            ExprKind::Quantified { all, var, range, body } => self.quantified(*all, var, range, body),
            ExprKind::Call(name, args) => self.call(name, args, expr.span),
            ExprKind::New(name, fields) => {
                if self.refuse_in_annotation(expr.span) {
                    return WRONG;
                }
                let Some(record) = self.record_named(name) else { return WRONG };
                let local = self.temporary(Some(Type::Pointer(record)), expr.span);
                self.allocate(local, record, fields, expr.span);
                known(Expr::Read(Place::Local(local)), Type::Pointer(record))
            }
            ExprKind::Choose(range) => {
                if self.refuse_in_annotation(expr.span) {
                    return WRONG;
                }
                let local = self.temporary(Some(Type::Int), expr.span);
                self.choose_value(local, range, expr.span);
                known(Expr::Read(Place::Local(local)), Type::Int)
            }
            ExprKind::Tuple(_) => {
                self.error(
                    code::TYPE,
                    expr.span,
                    "several values in one place",
                    "only an operation returns several: `return (a, b)`",
                );
                (Expr::Const(0), Ty::Tuple)
            }
        }
    }

    /// Complains about something that does something, in an annotation.
    pub(super) fn refuse_in_annotation(&mut self, span: Span) -> bool {
        if self.pure {
            self.error(
                code::ANNOTATION,
                span,
                "an annotation cannot do anything",
                "annotations only look at variables; remove the call",
            );
        }
        self.pure
    }

    fn name_value(&mut self, name: &str, span: Span) -> (Expr, Ty) {
        if self.find_local(name).is_none() {
            match self.items.get(name).copied() {
                Some((Item::Const(n, ConstType::Int), _)) => return known(Expr::Const(n), Type::Int),
                Some((Item::Const(n, ConstType::Bool), _)) => return known(Expr::Const(n), Type::Bool),
                Some((Item::Size(id), _)) => return known(Expr::Size(id), Type::Int),
                Some((Item::Variant(id, n), _)) => return known(Expr::Const(n), Type::Enum(id)),
                Some((Item::Routine(_), _)) => {
                    self.error(
                        code::KIND,
                        span,
                        format!("`{name}` is code, not a value"),
                        format!("call it: `{name}(…)`"),
                    );
                    return WRONG;
                }
                Some((Item::Global(_), _)) => {}
                Some(_) => {
                    self.error(
                        code::KIND,
                        span,
                        format!("`{name}` is a type, not a value"),
                        format!("make one with `new {name} {{ … }}`, or name a variable"),
                    );
                    return WRONG;
                }
                None => {
                    self.unknown("name", name, span, BUILTINS);
                    return WRONG;
                }
            }
        }
        let expr = ast::Expr { kind: ExprKind::Name(name.to_owned()), span };
        match self.place(&expr) {
            Some(found) => self.read(found, span),
            None => WRONG,
        }
    }

    fn binary(&mut self, op: BinOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> (Expr, Ty) {
        let logical = matches!(op, BinOp::And | BinOp::Or | BinOp::Implies);
        let second_is_seen = self.touches_shared(right) && !self.in_atomic() || right.does_something();
        if logical && !self.pure && second_is_seen {
            // What decides without the second must neither read it nor do it.
            let whole = ast::Expr {
                kind: ExprKind::Binary(op, Box::new(left.clone()), Box::new(right.clone())),
                span,
            };
            return self.condition_value(&whole, span);
        }
        let (mut a, mut a_ty) = self.expr(left, None);
        if self.touches_shared(right) {
            a = self.settled_before(a, &a_ty, left.span, right.does_something());
        }
        let hint = match &a_ty {
            Ty::Known(ty) => Some(ty.clone()),
            _ => None,
        };
        let (b, mut b_ty) = self.expr(right, hint.as_ref());
        let both = Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone()));
        match op {
            BinOp::And | BinOp::Or | BinOp::Implies => {
                self.expect(&Type::Bool, &a_ty, left.span);
                self.expect(&Type::Bool, &b_ty, right.span);
                known(both, Type::Bool)
            }
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Rem => {
                self.expect(&Type::Int, &a_ty, left.span);
                self.expect(&Type::Int, &b_ty, right.span);
                known(both, Type::Int)
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                if a_ty == Ty::Known(Type::Data) || b_ty == Ty::Known(Type::Data) {
                    self.error(
                        code::TYPE,
                        span,
                        "`data` has no order",
                        "`data` is opaque: only `==` and `!=`; use `int` where order matters",
                    );
                } else {
                    self.expect(&Type::Int, &a_ty, left.span);
                    self.expect(&Type::Int, &b_ty, right.span);
                }
                known(both, Type::Bool)
            }
            BinOp::Eq | BinOp::Ne => {
                self.learn(&a, &mut a_ty, &b_ty);
                self.learn(&b, &mut b_ty, &a_ty);
                // Which of two locks somebody holds is a question of proofs, not of programs.
                let locks =
                    a_ty == Ty::Known(Type::Lock) && b_ty == Ty::Known(Type::Lock) && self.pure && self.ghost;
                if !locks && !comparable(&a_ty, &b_ty) {
                    let (x, y) = (self.show(&a_ty), self.show(&b_ty));
                    self.error(
                        code::TYPE,
                        span,
                        format!("{x} and {y} cannot be compared"),
                        "compare values of one type",
                    );
                }
                known(both, Type::Bool)
            }
        }
    }

    /// A local without a type gets that of what it is compared with.
    fn learn(&mut self, value: &Expr, ty: &mut Ty, other: &Ty) {
        if let (Expr::Read(Place::Local(id)), Ty::Null, Ty::Known(other @ Type::Pointer(_))) =
            (value, &*ty, other)
        {
            self.locals[id.index()].ty = Some(other.clone());
            *ty = Ty::Known(other.clone());
        }
    }

    fn quantified(&mut self, all: bool, var: &Name, range: &Range, body: &ast::Expr) -> (Expr, Ty) {
        let (lo, hi) = self.range(range);
        let local = self.new_local(&var.text, Some(Type::Int), false, var.span);
        let Some(frame) = self.frames.last_mut() else {
            self.error(code::CONSTANT, var.span, "this must be known before the run", "use numbers");
            return WRONG;
        };
        frame.scopes.push([(var.text.clone(), local)].into_iter().collect());
        if !self.pure && body.does_something() {
            self.error(
                code::ATOMIC,
                body.span,
                "this would be done for every value at once",
                "a quantifier only looks: do it before, and look at its result here; or write a loop",
            );
        } else if !self.in_atomic() && self.touches_shared(body) {
            self.error(
                code::ATOMIC,
                body.span,
                "this reads many shared places at once",
                "put it into `atomic { … }` if that is meant; else write a loop",
            );
        }
        let atomic = self.atomic;
        self.atomic += u32::from(!self.pure);
        let (body_expr, ty) = self.expr(body, Some(&Type::Bool));
        self.atomic = atomic;
        self.expect(&Type::Bool, &ty, body.span);
        if let Some(frame) = self.frames.last_mut() {
            frame.scopes.pop();
        }
        let (lo, hi, body) = (Box::new(lo), Box::new(hi), Box::new(body_expr));
        known(Expr::Quantified { all, local, lo, hi, body }, Type::Bool)
    }

    /// Both ends, the second not included; they touch nothing shared.
    pub(super) fn range(&mut self, range: &Range) -> (Expr, Expr) {
        let end = |this: &mut Self, e: &ast::Expr, more: bool| {
            let (value, ty) = this.expr(e, Some(&Type::Int));
            this.expect(&Type::Int, &ty, e.span);
            this.settled_before(value, &ty, e.span, more)
        };
        let lo = end(self, &range.lo, range.hi.does_something());
        let hi = end(self, &range.hi, false);
        let hi = match (range.inclusive, hi) {
            (false, hi) => hi,
            (true, Expr::Const(n)) => Expr::Const(n + 1),
            (true, hi) => Expr::Binary(BinOp::Add, Box::new(hi), Box::new(Expr::Const(1))),
        };
        (lo, hi)
    }

    pub(super) fn choose_value(&mut self, local: LocalId, range: &Range, span: Span) -> super::EdgeRef {
        self.refuse_choice_at_start(span);
        let (lo, hi) = self.range(range);
        let last = match hi {
            Expr::Const(n) => Expr::Const(n - 1),
            hi => Expr::Binary(BinOp::Sub, Box::new(hi), Box::new(Expr::Const(1))),
        };
        self.step(vec![Action::Choose(local, lo, last)], span)
    }

    pub(super) fn record_named(&mut self, name: &Name) -> Option<crate::program::RecordId> {
        match self.items.get(&name.text) {
            Some((Item::Record(id), _)) => Some(*id),
            Some(_) => {
                self.error(
                    code::KIND,
                    name.span,
                    format!("`{}` is not a record", name.text),
                    "only records are made with `new`",
                );
                None
            }
            None => {
                self.unknown("record", &name.text, name.span, &[]);
                None
            }
        }
    }

    /// Makes a record and gives its pointer to `local`.
    pub(super) fn allocate(
        &mut self,
        local: LocalId,
        record: crate::program::RecordId,
        fields: &[(Name, ast::Expr)],
        span: Span,
    ) -> super::EdgeRef {
        let mut values = Vec::new();
        for (at, (name, value)) in fields.iter().enumerate() {
            let more = fields[at + 1..].iter().any(|(_, later)| later.does_something());
            let Some((index, slot)) = self.field(record, name) else { continue };
            if values.iter().any(|(other, _)| *other == index) {
                let message = format!("`{}` is given twice", name.text);
                self.error(code::TWICE, name.span, message, "give it once");
            }
            let outer = self.ghost;
            self.ghost |= slot.ghost;
            let (value_expr, ty) = self.expr(value, Some(&slot.ty));
            self.expect(&slot.ty, &ty, value.span);
            let value_expr = self.settled_before(value_expr, &ty, value.span, more);
            self.ghost = outer;
            values.push((index, value_expr));
        }
        self.step(vec![Action::New { local, record, fields: values }], span)
    }

    /// Could this expression touch anything shared?
    pub(super) fn touches_shared(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Null | ExprKind::None | ExprKind::Me => false,
            ExprKind::Name(name) => {
                self.find_local(name).is_none() && matches!(self.items.get(name), Some((Item::Global(_), _)))
            }
            ExprKind::Field(..) | ExprKind::Index(..) | ExprKind::New(..) | ExprKind::Choose(_) => true,
            ExprKind::Call(name, args) => {
                !matches!(name.text.as_str(), "some" | "unwrap")
                    || args.iter().any(|arg| self.touches_shared(arg))
            }
            ExprKind::Not(e) | ExprKind::Neg(e) => self.touches_shared(e),
            ExprKind::Binary(_, a, b) => self.touches_shared(a) || self.touches_shared(b),
            ExprKind::Quantified { range, body, .. } => {
                self.touches_shared(&range.lo) || self.touches_shared(&range.hi) || self.touches_shared(body)
            }
            ExprKind::Tuple(items) => items.iter().any(|item| self.touches_shared(item)),
        }
    }
}

/// May two values be compared for equality?
fn comparable(a: &Ty, b: &Ty) -> bool {
    let one_way = |a: &Ty, b: &Ty| match (a, b) {
        (Ty::Error, _) | (Ty::Null, Ty::Null) => true,
        // A lock is compared with the thread that may hold it, or with none.
        (Ty::Known(Type::Lock), Ty::Known(Type::Thread) | Ty::None) => true,
        (Ty::Known(Type::Lock), Ty::Known(Type::Option(inner))) => **inner == Type::Thread,
        (Ty::Known(Type::Lock), _) => false,
        (Ty::Known(ty), b) => fits(ty, b),
        _ => false,
    };
    one_way(a, b) || one_way(b, a)
}

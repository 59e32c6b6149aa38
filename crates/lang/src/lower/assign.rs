//! Assignments, and the declarations that they are.

use super::{EdgeRef, Item, Lowerer, Ty};
use crate::ast::{self, ExprKind, Name, RoutineKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Expr, Global, Place, RecordId, Type};
use crate::span::Span;

/// What an expression names.
enum Peeked {
    /// A record that is part of a shared variable.
    InPlace(RecordId),
    /// A value of this type.
    Value(Type),
}

impl<'a> Lowerer<'a> {
    pub(super) fn var(
        &mut self,
        ghost: bool,
        name: &Name,
        ty: Option<&ast::TypeExpr>,
        value: Option<&'a ast::Expr>,
        span: Span,
    ) -> Vec<EdgeRef> {
        if let Some(first) = self.find_local(&name.text) {
            let first = self.locals[first.index()].span;
            let inlined_again = first.start == name.span.start;
            if !inlined_again {
                let diagnostic =
                    Diagnostic::error(code::TWICE, name.span, format!("`{}` is declared twice", name.text))
                        .also(first, "the first is here")
                        .help("leave `var` out to assign to it");
                self.complain(diagnostic);
            }
        }
        let (declared, bounds) = match ty {
            Some(ty) => {
                let (ty, bounds) = self.scalar(ty);
                (Some(ty), bounds)
            }
            None => (None, None),
        };
        if declared.is_none() && value.is_none() {
            self.error(
                code::UNTYPED,
                name.span,
                format!("`{}` has neither a type nor a value", name.text),
                "write `var x: int`, or `var x = 0`",
            );
        }
        if declared.is_some() || value.is_none() || ghost {
            let local = self.declare_local(name, declared, ghost);
            self.locals[local.index()].bounds = bounds;
        }
        match value {
            Some(value) => {
                let target = ast::Expr { kind: ExprKind::Name(name.text.clone()), span: name.span };
                self.assign(&target, value, span)
            }
            None => Vec::new(),
        }
    }

    pub(super) fn calls_atomic_procedure(&self, value: &ast::Expr) -> bool {
        matches!(&value.kind, ExprKind::Call(name, _)
            if matches!(self.items.get(&name.text), Some((Item::Routine(r), _)) if r.kind == RoutineKind::AtomicProc))
    }

    pub(super) fn assign(&mut self, target: &ast::Expr, value: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
        // A procedure that is one step is one step together with what is done with its result.
        let atomic = self.calls_atomic_procedure(value);
        if atomic {
            self.begin_atomic();
        }
        if let ExprKind::Tuple(targets) = &target.kind {
            let edges = self.assign_several(targets, value, span);
            if atomic {
                self.end_atomic(span);
            }
            return edges;
        }
        let local_name = match &target.kind {
            ExprKind::Name(name) if !matches!(self.items.get(name), Some((Item::Global(_), _))) => Some(name),
            _ => None,
        };
        let edges = match local_name {
            Some(name) => self.assign_local(&Name { text: name.clone(), span: target.span }, value, span),
            None => self.assign_place(target, value, span),
        };
        if atomic {
            self.end_atomic(span);
        }
        edges
    }

    pub(super) fn assign_local(&mut self, name: &Name, value: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
        if self.find_local(&name.text).is_none() && self.items.contains_key(&name.text) {
            let message = format!("`{}` cannot be assigned to", name.text);
            self.error(code::KIND, name.span, message, "use another name for the local variable");
            return Vec::new();
        }
        let existing = self.find_local(&name.text);
        let ghost = existing.is_some_and(|local| self.locals[local.index()].ghost);
        let outer_ghost = self.ghost;
        self.ghost |= ghost;
        let edges = self.assign_named(name, existing, value, span);
        self.ghost = outer_ghost;
        edges
    }

    pub(super) fn assign_named(
        &mut self,
        name: &Name,
        existing: Option<crate::program::LocalId>,
        value: &'a ast::Expr,
        span: Span,
    ) -> Vec<EdgeRef> {
        let wanted = existing.and_then(|local| self.locals[local.index()].ty.clone());
        match &value.kind {
            ExprKind::New(record, fields) => {
                let Some(record) = self.record_named(record) else { return Vec::new() };
                let ty = Ty::Known(Type::Pointer(record));
                let Some(local) = self.target(name, existing, &ty, value.span) else { return Vec::new() };
                return vec![self.allocate(local, record, fields, span)];
            }
            ExprKind::Choose(range) => {
                let Some(local) = self.target(name, existing, &Ty::Known(Type::Int), value.span) else {
                    return Vec::new();
                };
                return vec![self.choose_value(local, range, span)];
            }
            ExprKind::Call(call, args) if matches!(call.text.as_str(), "swap" | "fetch_add") => {
                let local = existing.unwrap_or_else(|| self.declare_local(name, None, false));
                return self.exchange(call, args, Some(local), span).into_iter().collect();
            }
            ExprKind::Call(call, _) if matches!(call.text.as_str(), "cas" | "dcas" | "try_lock") => {
                let Some(local) = self.target(name, existing, &Ty::Known(Type::Bool), value.span) else {
                    return Vec::new();
                };
                return self.keep_condition(value, Place::Local(local), span);
            }
            _ => {}
        }
        let (lowered, ty) = self.expr(value, wanted.as_ref());
        if ty == Ty::None && wanted.is_none() {
            self.error(
                code::UNTYPED,
                value.span,
                "an option of what?",
                format!("declare it with its type: `var {}: data? = none`", name.text),
            );
            return Vec::new();
        }
        let Some(local) = self.target(name, existing, &ty, value.span) else { return Vec::new() };
        vec![self.step(vec![Action::Assign(Place::Local(local), lowered)], span)]
    }

    /// The local that gets a value of this type.
    pub(super) fn target(
        &mut self,
        name: &Name,
        existing: Option<crate::program::LocalId>,
        ty: &Ty,
        span: Span,
    ) -> Option<crate::program::LocalId> {
        let new_type = match ty {
            Ty::Known(Type::Lock) => {
                self.error(code::TYPE, span, "a lock is not a value", "use `lock`, `unlock` or `try_lock`");
                return None;
            }
            Ty::Known(ty) => Some(ty.clone()),
            Ty::Null => None,
            // What it is an option of, the variable says.
            Ty::None if existing.is_some_and(|local| self.locals[local.index()].ty.is_some()) => None,
            Ty::Error => {
                // Whatever it is, the name is known from here on.
                if existing.is_none() {
                    let local = self.declare_local(name, None, false);
                    self.locals[local.index()].name.clear();
                }
                return None;
            }
            other => {
                let found = self.show(other);
                self.error(code::TYPE, span, format!("{found} cannot be kept in a variable"), "use a value");
                return None;
            }
        };
        let Some(local) = existing else { return Some(self.declare_local(name, new_type, self.ghost)) };
        match (self.locals[local.index()].ty.clone(), new_type) {
            (Some(wanted), _) => self.expect(&wanted, ty, span),
            (None, Some(known @ Type::Pointer(_))) => self.locals[local.index()].ty = Some(known),
            (None, Some(other)) => {
                let found = self.show_type(&other);
                self.error(
                    code::TYPE,
                    span,
                    format!("expected a pointer, found {found}"),
                    format!("`{}` was `null` before, so it is a pointer", name.text),
                );
            }
            (None, None) => {}
        }
        Some(local)
    }

    pub(super) fn assign_place(
        &mut self,
        target: &ast::Expr,
        value: &'a ast::Expr,
        span: Span,
    ) -> Vec<EdgeRef> {
        // What is assigned is computed first; then the place is found; then it is written, in a step of its
        // own.
        let ghost = self.is_ghost(target);
        let outer = self.ghost;
        self.ghost |= ghost;
        let hint = self.peek_type(target);
        let (lowered, ty) = self.expr(value, hint.as_ref());
        let lowered = self.settled_before(lowered, &ty, value.span, target.does_something());
        let found = self.place(target);
        self.ghost = outer;
        let Some(found) = found else { return Vec::new() };
        if let Ty::Known(wanted) = &found.ty {
            self.expect(wanted, &ty, value.span);
            self.adopt(&lowered, wanted);
        }
        vec![self.step(vec![Action::Assign(found.place, lowered)], span)]
    }

    /// Is the variable or the field a ghost? A field is one if its own record says so, or if the record is
    /// part of a shared ghost.
    pub(super) fn is_ghost(&self, target: &ast::Expr) -> bool {
        match &target.kind {
            ExprKind::Name(name) => match self.find_local(name) {
                Some(local) => self.locals[local.index()].ghost,
                None => {
                    matches!(self.items.get(name), Some((Item::Global(g), _)) if self.globals[g.index()].ghost)
                }
            },
            ExprKind::Index(base, _) => self.is_ghost(base),
            ExprKind::Field(base, field) => match self.peek(base) {
                Some(Peeked::InPlace(record)) => {
                    self.is_ghost(base) || self.is_ghost_field(record, &field.text)
                }
                Some(Peeked::Value(Type::Pointer(record))) => self.is_ghost_field(record, &field.text),
                Some(Peeked::Value(_)) | None => false,
            },
            _ => false,
        }
    }

    fn is_ghost_field(&self, record: RecordId, name: &str) -> bool {
        self.records[record.index()].fields.iter().any(|slot| slot.ghost && slot.name == name)
    }

    /// What an expression names, without a complaint and without a step.
    fn peek(&self, expr: &ast::Expr) -> Option<Peeked> {
        let of_global = |name: &str| match self.items.get(name) {
            Some((Item::Global(g), _)) => Some(&self.globals[g.index()]),
            _ => None,
        };
        let element = |global: &Global| match global.record {
            Some(record) => Some(Peeked::InPlace(record)),
            None => global.slots.first().map(|slot| Peeked::Value(slot.ty.clone())),
        };
        match &expr.kind {
            ExprKind::Name(name) => match self.find_local(name) {
                Some(local) => self.locals[local.index()].ty.clone().map(Peeked::Value),
                None => of_global(name).filter(|global| global.length.is_none()).and_then(element),
            },
            ExprKind::Index(base, _) => match &base.kind {
                ExprKind::Name(name) => of_global(name).and_then(element),
                _ => None,
            },
            ExprKind::Field(base, field) => {
                let record = match self.peek(base)? {
                    Peeked::InPlace(record) | Peeked::Value(Type::Pointer(record)) => record,
                    Peeked::Value(_) => return None,
                };
                let slots = &self.records[record.index()].fields;
                slots.iter().find(|slot| slot.name == field.text).map(|slot| Peeked::Value(slot.ty.clone()))
            }
            _ => None,
        }
    }

    /// The type of a shared variable, as a hint.
    pub(super) fn peek_type(&self, target: &ast::Expr) -> Option<Type> {
        let ExprKind::Name(name) = &target.kind else { return None };
        match self.items.get(name) {
            Some((Item::Global(g), _)) => self.globals[g.index()].slots.first().map(|slot| slot.ty.clone()),
            _ => None,
        }
    }

    /// `(a, b) = search(k)`
    pub(super) fn assign_several(
        &mut self,
        targets: &[ast::Expr],
        value: &'a ast::Expr,
        span: Span,
    ) -> Vec<EdgeRef> {
        let help = "write `(a, b) = name(…)`, with a procedure that returns as many";
        let ExprKind::Call(name, args) = &value.kind else {
            self.error(code::KIND, value.span, "only a procedure gives several values", help);
            return Vec::new();
        };
        let Some((locals, _)) = self.inline(name, args, value.span) else { return Vec::new() };
        if locals.len() != targets.len() {
            let message = format!("`{}` gives {} values, not {}", name.text, locals.len(), targets.len());
            self.error(code::ARGUMENTS, span, message, help);
            return Vec::new();
        }
        let mut actions = Vec::new();
        for (target, from) in targets.iter().zip(locals) {
            let ExprKind::Name(text) = &target.kind else {
                self.error(
                    code::KIND,
                    target.span,
                    "several values go to local variables",
                    "name a local variable",
                );
                continue;
            };
            if self.items.contains_key(text) {
                self.error(
                    code::KIND,
                    target.span,
                    "several values go to local variables",
                    "name a local variable",
                );
                continue;
            }
            let name = Name { text: text.clone(), span: target.span };
            let (existing, ty) = (self.find_local(text), self.local_ty(from));
            if let Some(local) = self.target(&name, existing, &ty, target.span) {
                actions.push(Action::Assign(Place::Local(local), Expr::Read(Place::Local(from))));
            }
        }
        vec![self.step(actions, span)]
    }
}

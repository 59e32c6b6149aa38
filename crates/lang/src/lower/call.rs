//! Calls: what is built in, and procedures, which are inlined.

use super::declare::BUILTINS;
use super::{EdgeRef, Frame, Item, Lowerer, Return, Ty};
use crate::ast::{self, ExprKind, Name, RoutineKind, TypeKind};
use crate::diagnostic::code;
use crate::program::{Access, Action, Expr, LocalId, NONE, Place, Term, Threads, Type};
use crate::span::Span;

const WRONG: (Expr, Ty) = (Expr::Const(0), Ty::Error);

/// Procedures are inlined in each other so often.
const MAX_DEPTH: usize = 30;

/// Something that succeeds or fails: what each of the two steps does.
pub(super) struct Attempt {
    pub success: Vec<Action>,
    pub failure: Vec<Action>,
}

impl<'a> Lowerer<'a> {
    /// A call whose value is used.
    pub(super) fn call(&mut self, name: &Name, args: &[ast::Expr], span: Span) -> (Expr, Ty) {
        if self.terms.is_some() && matches!(name.text.as_str(), "first" | "last" | "exit") {
            return self.term(name, args, span);
        }
        match name.text.as_str() {
            "some" | "unwrap" => {
                if !self.arguments(name, args, 1, span) {
                    return WRONG;
                }
                let (value, ty) = self.expr(&args[0], None);
                match (name.text.as_str(), ty) {
                    (_, Ty::Error) => WRONG,
                    ("some", Ty::Known(ty)) if !matches!(ty, Type::Option(_)) => {
                        (value, Ty::Known(Type::Option(Box::new(ty))))
                    }
                    ("unwrap", Ty::Known(Type::Option(inner))) => {
                        (Expr::Unwrap(Box::new(value)), Ty::Known(*inner))
                    }
                    (_, other) => {
                        let found = self.show(&other);
                        let (w, help) = match name.text.as_str() {
                            "some" => ("a value", "`some(x)` makes an option of x"),
                            _ => ("an option", "`unwrap(o)` gives the value of an option that is not `none`"),
                        };
                        self.error(code::TYPE, args[0].span, format!("expected {w}, found {found}"), help);
                        WRONG
                    }
                }
            }
            "cas" | "dcas" | "try_lock" => {
                if self.refuse_in_annotation(span) {
                    return WRONG;
                }
                let whole = ast::Expr { kind: ExprKind::Call(name.clone(), args.to_vec()), span };
                self.condition_value(&whole, span)
            }
            "swap" | "fetch_add" => {
                if self.refuse_in_annotation(span) {
                    return WRONG;
                }
                let local = self.temporary(None, span);
                self.exchange(name, args, Some(local), span);
                (Expr::Read(Place::Local(local)), self.local_ty(local))
            }
            "lock" | "unlock" | "free" => {
                self.error(
                    code::KIND,
                    span,
                    format!("`{}` has no result", name.text),
                    "write it as a statement of its own",
                );
                WRONG
            }
            _ => {
                if self.refuse_in_annotation(span) {
                    return WRONG;
                }
                match self.inline(name, args, span) {
                    Some((locals, _)) => match locals.as_slice() {
                        [] => (Expr::Const(0), Ty::Unit),
                        [local] => (Expr::Read(Place::Local(*local)), self.local_ty(*local)),
                        _ => (Expr::Const(0), Ty::Tuple),
                    },
                    None => WRONG,
                }
            }
        }
    }

    pub(super) fn arguments(&mut self, name: &Name, args: &[ast::Expr], wanted: usize, span: Span) -> bool {
        if args.len() == wanted {
            return true;
        }
        let usage = match name.text.as_str() {
            "cas" => "cas(place, expected, new)",
            "dcas" => "dcas(place1, place2, expected1, expected2, new1, new2)",
            "swap" => "swap(place, new)",
            "fetch_add" => "fetch_add(place, n)",
            "lock" | "unlock" | "try_lock" => "lock(place), unlock(place), try_lock(place)",
            "first" => "first(place, rd|wr|rw, me|others|all)",
            "last" => "last(place, rd|wr|rw, me|others|all, condition)",
            "exit" => "exit(place)",
            _ => "",
        };
        let plural = if wanted == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} argument{plural}, not {}", name.text, args.len());
        let help = if usage.is_empty() {
            "give as many as it has parameters".to_owned()
        } else {
            format!("usage: {usage}")
        };
        self.error(code::ARGUMENTS, span, message, help);
        false
    }

    /// `cas`, `dcas`, `try_lock`.
    pub(super) fn attempt(&mut self, name: &Name, args: &[ast::Expr], span: Span) -> Option<Attempt> {
        if name.text == "try_lock" {
            if !self.arguments(name, args, 1, span) {
                return None;
            }
            let place = self.lock_place(&args[0])?;
            let free = same(&place, Expr::Const(NONE));
            return Some(Attempt {
                success: vec![Action::Assume(free.clone()), Action::Lock(place)],
                failure: vec![Action::Assume(Expr::Not(Box::new(free)))],
            });
        }
        let n = if name.text == "cas" { 1 } else { 2 };
        if !self.arguments(name, args, 3 * n, span) {
            return None;
        }
        let mut places = Vec::new();
        // Of two places the first is written before the second is named: nothing may wait until then.
        let acts_after = |at: usize| n > 1 || args[at + 1..].iter().any(ast::Expr::does_something);
        for (at, arg) in args[..n].iter().enumerate() {
            let mut found = self.place(arg)?;
            found.place = self.settled_place(found.place, arg.span, acts_after(at));
            self.refuse_ghost_write(found.ghost, arg.span);
            if found.ty == Ty::Known(Type::Lock) {
                self.error(code::TYPE, arg.span, "a lock is not a value", "use `try_lock(place)`");
                return None;
            }
            places.push(found);
        }
        let mut values = Vec::new();
        for (index, arg) in args[n..].iter().enumerate() {
            let place_ty = places[index % n].ty.clone();
            let hint = match &place_ty {
                Ty::Known(ty) => Some(ty.clone()),
                _ => None,
            };
            let (value, ty) = self.expr(arg, hint.as_ref());
            if let Some(wanted) = &hint {
                self.expect(wanted, &ty, arg.span);
                self.adopt(&value, wanted);
            }
            values.push(self.settled_before(value, &ty, arg.span, acts_after(n + index)));
        }
        let equal = places[..n]
            .iter()
            .zip(&values)
            .map(|(found, value)| same(&found.place, value.clone()))
            .reduce(|a, b| Expr::Binary(ast::BinOp::And, Box::new(a), Box::new(b)))?;
        let mut success = vec![Action::Assume(equal.clone())];
        for (found, value) in places.into_iter().zip(values.into_iter().skip(n)) {
            success.push(Action::Assign(found.place, value));
        }
        Some(Attempt { success, failure: vec![Action::Assume(Expr::Not(Box::new(equal)))] })
    }

    /// A local that was `null` so far has the type of where it goes.
    pub(super) fn adopt(&mut self, value: &Expr, ty: &Type) {
        if let (Expr::Read(Place::Local(id)), Type::Pointer(_)) = (value, ty)
            && self.locals[id.index()].ty.is_none()
        {
            self.locals[id.index()].ty = Some(ty.clone());
        }
    }

    /// `swap`, `fetch_add`: the old value goes to `local`.
    pub(super) fn exchange(
        &mut self,
        name: &Name,
        args: &[ast::Expr],
        local: Option<LocalId>,
        span: Span,
    ) -> Option<EdgeRef> {
        if !self.arguments(name, args, 2, span) {
            return None;
        }
        let mut found = self.place(&args[0])?;
        found.place = self.settled_place(found.place, args[0].span, args[1].does_something());
        self.refuse_ghost_write(found.ghost, args[0].span);
        let Ty::Known(place_ty) = found.ty.clone() else { return None };
        if name.text == "fetch_add" {
            self.expect(&Type::Int, &found.ty, args[0].span);
        }
        let (value, ty) = self.expr(&args[1], Some(&place_ty));
        self.expect(&place_ty, &ty, args[1].span);
        let value = self.settled(value, &ty, args[1].span);
        let local = local.unwrap_or_else(|| self.temporary(None, span));
        match self.locals[local.index()].ty.clone() {
            None => self.locals[local.index()].ty = Some(place_ty),
            Some(ty) => self.expect(&ty, &found.ty, span),
        }
        let old_place = Expr::Read(found.place.clone());
        // The place and what is added may be named by the local that gets the old value: `x = swap(x.next, y)`.
        if uses(&old_place, local) || name.text == "fetch_add" && uses(&value, local) {
            let kept = self.temporary(self.locals[local.index()].ty.clone(), span);
            let kept_value = Expr::Read(Place::Local(kept));
            let new = match name.text.as_str() {
                "swap" => value,
                _ => Expr::Binary(ast::BinOp::Add, Box::new(kept_value.clone()), Box::new(value)),
            };
            let actions = vec![
                Action::Assign(Place::Local(kept), old_place),
                Action::Assign(found.place, new),
                Action::Assign(Place::Local(local), kept_value),
            ];
            return Some(self.step(actions, span));
        }
        let old = Expr::Read(Place::Local(local));
        let new = match name.text.as_str() {
            "swap" => value,
            _ => Expr::Binary(ast::BinOp::Add, Box::new(old), Box::new(value)),
        };
        // The new value may use the local that gets the old one: `x = swap(top, x)`.
        if name.text == "swap" && uses(&new, local) {
            let copy = self.temporary(None, span);
            self.locals[copy.index()].ty = self.locals[local.index()].ty.clone();
            let actions = vec![
                Action::Assign(Place::Local(copy), new),
                Action::Assign(Place::Local(local), Expr::Read(found.place.clone())),
                Action::Assign(found.place, Expr::Read(Place::Local(copy))),
            ];
            return Some(self.step(actions, span));
        }
        let actions = vec![
            Action::Assign(Place::Local(local), Expr::Read(found.place.clone())),
            Action::Assign(found.place, new),
        ];
        Some(self.step(actions, span))
    }

    pub(super) fn lock_place(&mut self, arg: &ast::Expr) -> Option<Place> {
        let found = self.place(arg)?;
        match &found.ty {
            Ty::Known(Type::Lock) => Some(found.place),
            Ty::Error => None,
            other => {
                let shown = self.show(other);
                self.error(
                    code::TYPE,
                    arg.span,
                    format!("expected a lock, found {shown}"),
                    "name a place of type `lock`, such as a field `lk: lock`",
                );
                None
            }
        }
    }

    pub(super) fn refuse_ghost_write(&mut self, ghost: bool, span: Span) {
        if ghost && !self.ghost {
            self.error(
                code::GHOST,
                span,
                "the program's course would depend on a ghost",
                "ghosts are only assigned: `@ghost { owner[i] = me }`",
            );
        }
    }

    /// Inlines a procedure: where its results are, and the last step.
    pub(super) fn inline(
        &mut self,
        name: &Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<(Vec<LocalId>, EdgeRef)> {
        let routine: &'a ast::Routine = match self.items.get(&name.text).copied() {
            Some((Item::Routine(routine), _)) => routine,
            Some(_) => {
                let message = format!("`{}` is not a procedure", name.text);
                self.error(code::KIND, name.span, message, "only procedures are called");
                return None;
            }
            None => {
                self.unknown("procedure", &name.text, name.span, BUILTINS);
                return None;
            }
        };
        self.called.insert(name.text.clone());
        if self.full {
            return None;
        }
        if routine.kind == RoutineKind::Op {
            self.error(
                code::KIND,
                name.span,
                format!("`{}` is an operation; clients call it", name.text),
                "move the common part into a `proc`",
            );
            return None;
        }
        if !self.arguments(name, args, routine.params.len(), span) {
            return None;
        }
        if self.frames.iter().any(|frame| frame.name == name.text) {
            self.error(
                code::RECURSION,
                span,
                format!("`{}` calls itself", name.text),
                "procedures are inlined, so they cannot; use a loop",
            );
            return None;
        }
        if self.frames.len() > MAX_DEPTH {
            self.overflow(span, "procedures that call procedures, too many in each other");
            return None;
        }
        if self.frames.len() == 1 {
            self.outermost = Some(span);
        }
        // Its code is the program's, whatever its result is for: it is given no ghosts, and reads none.
        let ghost = std::mem::replace(&mut self.ghost, false);
        let mut scope = rustc_hash::FxHashMap::default();
        for ((param, ty), arg) in routine.params.iter().zip(args) {
            let (ty, bounds) = self.scalar(ty);
            let (value, found) = self.expr(arg, Some(&ty));
            self.expect(&ty, &found, arg.span);
            self.adopt(&value, &ty);
            let local = self.new_local(&param.text, Some(ty), false, param.span);
            self.locals[local.index()].bounds = bounds;
            self.step(vec![Action::Assign(Place::Local(local), value)], arg.span);
            scope.insert(param.text.clone(), local);
        }
        let parts: &[ast::TypeExpr] = match &routine.result {
            Some(ast::TypeExpr { kind: TypeKind::Tuple(items), .. }) => items,
            Some(ty) => std::slice::from_ref(ty),
            None => &[],
        };
        let mut results = Vec::new();
        for part in parts {
            let (ty, bounds) = self.scalar(part);
            let local = self.temporary(Some(ty), span);
            self.locals[local.index()].bounds = bounds;
            results.push(local);
        }
        let atomic = routine.kind == RoutineKind::AtomicProc;
        if atomic {
            self.begin_atomic();
        }
        let exit = self.new_node(span);
        let ret = Return::Procedure { locals: results.clone(), exit };
        self.frames.push(Frame { name: name.text.clone(), scopes: vec![scope], ret });
        self.block(&routine.body);
        if !results.is_empty() {
            // Reached only if control falls off the end; that is checked on the graph.
            let end = self.here();
            self.falls_off.push((end, routine.name.span, routine.name.text.clone()));
        } else {
            let end = self.here();
            self.add_edge(end, Vec::new(), crate::program::Exit::Goto(exit), span);
        }
        self.frames.pop();
        if self.frames.len() == 1 {
            self.outermost = None;
        }
        self.go_to(exit);
        let edge = self.step(Vec::new(), span);
        if atomic {
            self.end_atomic(span);
        }
        self.ghost = ghost;
        Some((results, edge))
    }

    /// `first(…)`, `last(…)`, `exit(…)` in a claim.
    fn term(&mut self, name: &Name, args: &[ast::Expr], span: Span) -> (Expr, Ty) {
        let wanted = match name.text.as_str() {
            "first" => 3,
            "last" => 4,
            _ => 1,
        };
        if !self.arguments(name, args, wanted, span) {
            return WRONG;
        }
        let Some(found) = self.place(&args[0]) else { return WRONG };
        let term = if wanted == 1 {
            Term::Exit { place: found.place }
        } else {
            let (Some(access), Some(threads)) = (self.access(&args[1]), self.threads(&args[2])) else {
                return WRONG;
            };
            if wanted == 3 {
                Term::First { place: found.place, access, threads }
            } else {
                let (until, ty) = self.expr(&args[3], Some(&Type::Bool));
                self.expect(&Type::Bool, &ty, args[3].span);
                Term::Last { place: found.place, access, threads, until }
            }
        };
        let terms = self.terms.get_or_insert_default();
        terms.push(term);
        (Expr::Term((terms.len() - 1) as u16), found.ty)
    }

    fn access(&mut self, arg: &ast::Expr) -> Option<Access> {
        match &arg.kind {
            ExprKind::Name(name) if name == "rd" => Some(Access::Read),
            ExprKind::Name(name) if name == "wr" => Some(Access::Write),
            ExprKind::Name(name) if name == "rw" => Some(Access::Any),
            _ => {
                self.error(
                    code::ANNOTATION,
                    arg.span,
                    "expected `rd`, `wr` or `rw`",
                    "say which accesses count",
                );
                None
            }
        }
    }

    fn threads(&mut self, arg: &ast::Expr) -> Option<Threads> {
        match &arg.kind {
            ExprKind::Me => Some(Threads::Me),
            ExprKind::Name(name) if name == "others" => Some(Threads::Others),
            ExprKind::Name(name) if name == "all" => Some(Threads::All),
            _ => {
                self.error(
                    code::ANNOTATION,
                    arg.span,
                    "expected `me`, `others` or `all`",
                    "say whose accesses count",
                );
                None
            }
        }
    }
}

fn same(place: &Place, value: Expr) -> Expr {
    Expr::Binary(ast::BinOp::Eq, Box::new(Expr::Read(place.clone())), Box::new(value))
}

fn uses(expr: &Expr, local: LocalId) -> bool {
    let mut found = false;
    expr.places(&mut |place| found |= *place == Place::Local(local));
    found
}

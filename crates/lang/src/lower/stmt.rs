//! Statements.

use super::{EdgeRef, Item, Loop, Lowerer, Return, Ty};
use crate::ast::{self, BinOp, Block, ExprKind, Name, Note, NoteKind, RoutineKind, Stmt, StmtKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Claim, ClaimId, Exit, Expr, Mark, MarkKind, NONE, Place, ResultType, Type};
use crate::span::Span;

impl<'a> Lowerer<'a> {
    pub(super) fn block(&mut self, block: &'a Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        if let Some(label) = &statement.label {
            self.label(label);
        }
        let span = statement.span;
        match &statement.kind {
            StmtKind::If { cond, then, otherwise } => {
                let notes = self.notes(&statement.notes);
                let branches = self.condition(cond);
                self.extend(&branches.made_true, &notes);
                let join = self.new_node(span);
                self.go_to(branches.yes);
                self.block(then);
                self.jump(join, span);
                self.go_to(branches.no);
                if let Some(otherwise) = otherwise {
                    self.block(otherwise);
                }
                self.jump(join, span);
                self.go_to(join);
            }
            StmtKind::While { cond, body } => {
                let notes = self.notes(&statement.notes);
                let (head, after) = (self.fresh_head(span), self.new_node(span));
                let branches = self.condition(cond);
                self.extend(&branches.made_true, &notes);
                self.add_edge(branches.no, Vec::new(), Exit::Goto(after), span);
                self.go_to(branches.yes);
                self.looping(statement, head, after, body);
                self.jump(head, span);
                self.go_to(after);
            }
            StmtKind::Loop(body) => {
                self.refuse_notes(&statement.notes);
                let (head, after) = (self.fresh_head(span), self.new_node(span));
                self.looping(statement, head, after, body);
                self.jump(head, span);
                self.go_to(after);
            }
            StmtKind::For { var, range, body } => {
                self.refuse_notes(&statement.notes);
                self.for_loop(statement, var, range, body);
            }
            StmtKind::Atomic(body) => {
                self.begin_atomic();
                self.block(body);
                let notes = self.notes(&statement.notes);
                if !notes.is_empty() {
                    self.step(notes, span);
                }
                self.end_atomic(span);
            }
            StmtKind::Choose(ways) => {
                self.refuse_notes(&statement.notes);
                let (from, join) = (self.here(), self.new_node(span));
                for way in ways {
                    let start = self.new_node(way.span);
                    self.add_edge(from, Vec::new(), Exit::Goto(start), way.span);
                    self.go_to(start);
                    self.block(way);
                    self.jump(join, span);
                }
                self.go_to(join);
            }
            StmtKind::Break(label) => self.leave(label.as_ref(), true, span),
            StmtKind::Continue(label) => self.leave(label.as_ref(), false, span),
            StmtKind::Return(value) => self.return_statement(value.as_ref(), &statement.notes, span),
            _ => {
                let edges = self.simple(statement);
                let notes = self.notes(&statement.notes);
                self.extend(&edges, &notes);
            }
        }
    }

    /// A statement without blocks; gives the steps that annotations belong to.
    fn simple(&mut self, statement: &'a Stmt) -> Vec<EdgeRef> {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Var { ghost, name, ty, value } => {
                self.var(*ghost, name, ty.as_ref(), value.as_ref(), span)
            }
            StmtKind::Assign { target, value } => self.assign(target, value, span),
            StmtKind::Call(call) => self.call_statement(call, span),
            StmtKind::Assume(cond) => {
                let cond = self.whole(cond);
                vec![self.step(vec![Action::Assume(cond)], span)]
            }
            StmtKind::Assert(cond) => {
                let cond = self.whole(cond);
                vec![self.step(vec![Action::Assert(cond, span)], span)]
            }
            StmtKind::Tressa(claim) => {
                let outer = self.terms.replace(Vec::new());
                let (pure, ghost) =
                    (std::mem::replace(&mut self.pure, true), std::mem::replace(&mut self.ghost, true));
                let (body, ty) = self.expr(claim, Some(&Type::Bool));
                self.expect(&Type::Bool, &ty, claim.span);
                (self.pure, self.ghost) = (pure, ghost);
                let terms = std::mem::replace(&mut self.terms, outer).unwrap_or_default();
                let id = ClaimId(self.claims.len() as u16);
                self.claims.push(Claim { body, terms, span });
                vec![self.step(vec![Action::Claim(id)], span)]
            }
            _ => Vec::new(),
        }
    }

    /// A condition that is looked at in one step, whatever it reads.
    fn whole(&mut self, cond: &ast::Expr) -> Expr {
        let pure = std::mem::replace(&mut self.pure, true);
        // `pure` lets ghosts be read; asserts and assumes are code.
        let before = self.wrong.len();
        let (value, ty) = self.expr(cond, Some(&Type::Bool));
        self.pure = pure;
        if self.wrong.len() == before {
            self.expect(&Type::Bool, &ty, cond.span);
        }
        if !self.ghost && self.reads_ghost(&value) {
            self.error(
                code::GHOST,
                cond.span,
                "the program's course would depend on a ghost",
                "say what should hold with `inv`, or look at variables of the program",
            );
        }
        value
    }

    fn reads_ghost(&self, value: &Expr) -> bool {
        let mut found = false;
        value.places(&mut |place| {
            found |= match place {
                Place::Local(id) => self.locals[id.index()].ghost,
                Place::Global(g, f) | Place::Element(g, _, f) => {
                    let global = &self.globals[g.index()];
                    global.ghost || global.slots[usize::from(*f)].ghost
                }
                Place::Field(_, record, f) => self.records[record.index()].fields[usize::from(*f)].ghost,
            }
        });
        found
    }

    fn label(&mut self, label: &Name) {
        if self.nodes[self.here().index()].label.is_some() {
            self.step(Vec::new(), label.span);
        }
        let here = self.here();
        let places = self.labels.entry(label.text.clone()).or_default();
        // The same statement again is a procedure inlined once more.
        let other =
            places.iter().find(|(_, _, span)| span.start != label.span.start).map(|(_, _, span)| *span);
        places.push((here, self.op, label.span));
        let copy = places.len();
        self.nodes[here.index()].label =
            Some(if copy == 1 { label.text.clone() } else { format!("{}#{copy}", label.text) });
        if let Some(first) = other {
            let diagnostic =
                Diagnostic::error(code::TWICE, label.span, format!("two labels are called `{}`", label.text))
                    .also(first, "the first is here")
                    .help("give one of them another name");
            self.complain(diagnostic);
        }
    }

    /// The node where a loop starts.
    fn fresh_head(&mut self, span: Span) -> crate::program::NodeId {
        let here = self.here();
        if self.atomic == 0 || self.nodes[here.index()].edges.is_empty() {
            return here;
        }
        self.step(Vec::new(), span);
        self.here()
    }

    fn looping(
        &mut self,
        statement: &'a Stmt,
        continue_to: crate::program::NodeId,
        break_to: crate::program::NodeId,
        body: &'a Block,
    ) {
        let label = statement.label.as_ref().map(|name| name.text.clone());
        let depth = self.frames.len();
        self.loops.push(Loop { label, break_to, continue_to, depth });
        self.block(body);
        self.loops.pop();
    }

    fn for_loop(&mut self, statement: &'a Stmt, var: &Name, range: &ast::Range, body: &'a Block) {
        let span = statement.span;
        let (lo, hi) = self.range(range);
        let local = match self.find_local(&var.text) {
            Some(local) => {
                let ty = self.local_ty(local);
                self.expect(&Type::Int, &ty, var.span);
                local
            }
            None => self.declare_local(var, Some(Type::Int), false),
        };
        let hi = match hi {
            hi @ (Expr::Const(_) | Expr::Size(_)) => hi,
            hi => {
                let end = self.temporary(Some(Type::Int), span);
                self.step(vec![Action::Assign(Place::Local(end), hi)], span);
                Expr::Read(Place::Local(end))
            }
        };
        let counter = || Expr::Read(Place::Local(local));
        self.step(vec![Action::Assign(Place::Local(local), lo)], var.span);
        let (head, next, after) = (self.here(), self.new_node(span), self.new_node(span));
        let start = self.new_node(body.span);
        let more = Expr::Binary(BinOp::Lt, Box::new(counter()), Box::new(hi));
        let done = Action::Assume(Expr::Not(Box::new(more.clone())));
        self.add_edge(head, vec![Action::Assume(more)], Exit::Goto(start), var.span);
        self.add_edge(head, vec![done], Exit::Goto(after), var.span);
        self.go_to(start);
        self.looping(statement, next, after, body);
        self.jump(next, span);
        self.go_to(next);
        let plus = Expr::Binary(BinOp::Add, Box::new(counter()), Box::new(Expr::Const(1)));
        self.add_edge(next, vec![Action::Assign(Place::Local(local), plus)], Exit::Goto(head), var.span);
        self.go_to(after);
    }

    fn leave(&mut self, label: Option<&Name>, breaking: bool, span: Span) {
        let depth = self.frames.len();
        let found = self
            .loops
            .iter()
            .rev()
            .filter(|open| open.depth == depth)
            .find(|open| label.is_none_or(|name| open.label.as_deref() == Some(&name.text)))
            .map(|open| if breaking { open.break_to } else { open.continue_to });
        match (found, label) {
            (Some(to), _) => self.jump(to, span),
            (None, Some(name)) => {
                let message = format!("no loop around this is called `{}`", name.text);
                self.error(code::NO_LOOP, name.span, message, "label the loop: `name: loop { … }`");
            }
            (None, None) => self.error(code::NO_LOOP, span, "there is no loop around this", "remove it"),
        }
    }

    fn var(
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

    fn calls_atomic_procedure(&self, value: &ast::Expr) -> bool {
        matches!(&value.kind, ExprKind::Call(name, _)
            if matches!(self.items.get(&name.text), Some((Item::Routine(r), _)) if r.kind == RoutineKind::AtomicProc))
    }

    fn assign(&mut self, target: &ast::Expr, value: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
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

    fn assign_local(&mut self, name: &Name, value: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
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

    fn assign_named(
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
    fn target(
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

    fn assign_place(&mut self, target: &ast::Expr, value: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
        // What is assigned is computed first; then the place is found; then it is written, in a step of its own.
        let ghost = self.is_ghost(target);
        let outer = self.ghost;
        self.ghost |= ghost;
        let hint = self.peek_type(target);
        let (lowered, ty) = self.expr(value, hint.as_ref());
        let lowered = self.settled(lowered, &ty, value.span);
        let found = self.place(target);
        self.ghost = outer;
        let Some(found) = found else { return Vec::new() };
        if let Ty::Known(wanted) = &found.ty {
            self.expect(wanted, &ty, value.span);
            self.adopt(&lowered, wanted);
        }
        vec![self.step(vec![Action::Assign(found.place, lowered)], span)]
    }

    /// Is the variable or the field a ghost?
    fn is_ghost(&self, target: &ast::Expr) -> bool {
        match &target.kind {
            ExprKind::Name(name) => match self.find_local(name) {
                Some(local) => self.locals[local.index()].ghost,
                None => {
                    matches!(self.items.get(name), Some((Item::Global(g), _)) if self.globals[g.index()].ghost)
                }
            },
            ExprKind::Index(base, _) => self.is_ghost(base),
            ExprKind::Field(base, field) => {
                self.is_ghost(base) && !matches!(base.kind, ExprKind::Name(_))
                    || self
                        .records
                        .iter()
                        .flat_map(|r| &r.fields)
                        .any(|slot| slot.ghost && slot.name == field.text)
            }
            _ => false,
        }
    }

    /// The type of a shared variable, as a hint.
    fn peek_type(&self, target: &ast::Expr) -> Option<Type> {
        let ExprKind::Name(name) = &target.kind else { return None };
        match self.items.get(name) {
            Some((Item::Global(g), _)) => self.globals[g.index()].slots.first().map(|slot| slot.ty.clone()),
            _ => None,
        }
    }

    fn call_statement(&mut self, call: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
        let ExprKind::Call(name, args) = &call.kind else { return Vec::new() };
        match name.text.as_str() {
            "lock" | "unlock" => {
                if !self.arguments(name, args, 1, span) {
                    return Vec::new();
                }
                let Some(place) = self.lock_place(&args[0]) else { return Vec::new() };
                let action = if name.text == "lock" { Action::Lock(place) } else { Action::Unlock(place) };
                vec![self.step(vec![action], span)]
            }
            "free" => {
                if !self.arguments(name, args, 1, span) {
                    return Vec::new();
                }
                let (pointer, ty) = self.expr(&args[0], None);
                if !matches!(ty, Ty::Known(Type::Pointer(_)) | Ty::Error) {
                    let found = self.show(&ty);
                    self.error(
                        code::TYPE,
                        args[0].span,
                        format!("expected a pointer, found {found}"),
                        "free a record",
                    );
                }
                let pointer = match self.settled(pointer, &ty, span) {
                    place @ Expr::Read(Place::Local(_)) => place,
                    // `free` says what it frees by a local, so that its kind is known.
                    other => {
                        let known = if let Ty::Known(ty) = ty { Some(ty) } else { None };
                        let local = self.temporary(known, span);
                        self.step(vec![Action::Assign(Place::Local(local), other)], span);
                        Expr::Read(Place::Local(local))
                    }
                };
                vec![self.step(vec![Action::Free(pointer)], span)]
            }
            "cas" | "dcas" | "try_lock" => {
                let branches = self.condition(call);
                let join = self.new_node(span);
                for end in [branches.yes, branches.no] {
                    self.add_edge(end, Vec::new(), Exit::Goto(join), span);
                }
                self.go_to(join);
                branches.made_true
            }
            "swap" | "fetch_add" => self.exchange(name, args, None, span).into_iter().collect(),
            "some" | "unwrap" => {
                self.error(code::KIND, span, "this does nothing", "use its value, or remove it");
                Vec::new()
            }
            _ => match self.inline(name, args, span) {
                Some((_, edge)) => vec![edge],
                None => Vec::new(),
            },
        }
    }

    fn return_statement(&mut self, value: Option<&'a ast::Expr>, notes: &'a [Note], span: Span) {
        match self.frames.last().map(|frame| frame.ret.clone()) {
            Some(Return::Operation(result)) => {
                let values = self.result(value, &result, span);
                let notes = self.notes(notes);
                let from = self.here();
                self.add_edge(from, notes, Exit::Return(values), span);
                let nowhere = self.new_node(span);
                self.go_to(nowhere);
            }
            Some(Return::Procedure { locals, exit }) => {
                let actions = self.procedure_results(&locals, value, span);
                let edge = self.step(actions, span);
                let notes = self.notes(notes);
                self.extend(&[edge], &notes);
                self.jump(exit, span);
            }
            None => {}
        }
    }

    /// Gives the results of a procedure to the locals that wait for them.
    fn procedure_results(
        &mut self,
        locals: &[crate::program::LocalId],
        value: Option<&'a ast::Expr>,
        span: Span,
    ) -> Vec<Action> {
        let values: &[ast::Expr] = match value.map(|value| &value.kind) {
            Some(ExprKind::Tuple(items)) => items,
            _ => value.map_or(&[], std::slice::from_ref),
        };
        if values.len() != locals.len() {
            let message = match locals.len() {
                0 => "this procedure gives no result".to_owned(),
                1 => "this procedure gives a result".to_owned(),
                n => format!("this procedure gives {n} results"),
            };
            let help = "declare them after the parameters, `-> int` or `-> (int, bool)`, and return as many";
            self.error(code::NO_RESULT, span, message, help);
            return Vec::new();
        }
        let mut actions = Vec::new();
        for (local, value) in locals.iter().zip(values) {
            let wanted = self.locals[local.index()].ty.clone();
            let (mut lowered, ty) = self.expr(value, wanted.as_ref());
            if let Some(wanted) = wanted {
                self.expect(&wanted, &ty, value.span);
            }
            if locals.len() > 1 {
                lowered = self.settled(lowered, &ty, value.span);
            }
            actions.push(Action::Assign(Place::Local(*local), lowered));
        }
        actions
    }

    /// `(a, b) = search(k)`
    fn assign_several(&mut self, targets: &[ast::Expr], value: &'a ast::Expr, span: Span) -> Vec<EdgeRef> {
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

    /// The words of a result.
    pub(super) fn result(&mut self, value: Option<&ast::Expr>, result: &ResultType, span: Span) -> Vec<Expr> {
        let Some(value) = value else {
            if !result.parts.is_empty() {
                self.error(code::NO_RESULT, span, "this operation gives a result", "write `return …`");
            }
            return Vec::new();
        };
        if result.parts.is_empty() {
            self.error(
                code::TYPE,
                value.span,
                "this operation gives no result",
                "declare one after the parameters: `-> data?`",
            );
            return Vec::new();
        }
        if result.tuple {
            return match &value.kind {
                ExprKind::Tuple(items) if items.len() == result.parts.len() => {
                    let mut values = Vec::new();
                    for (item, wanted) in items.iter().zip(&result.parts) {
                        let (lowered, ty) = self.expr(item, Some(wanted));
                        self.expect(wanted, &ty, item.span);
                        values.push(self.settled(lowered, &ty, item.span));
                    }
                    values
                }
                ExprKind::None if result.optional => vec![Expr::Const(NONE)],
                _ => {
                    let message = format!("expected {} values", result.parts.len());
                    self.error(code::TYPE, value.span, message, "write them as `(a, b)`");
                    Vec::new()
                }
            };
        }
        let wanted = match (&result.parts[0], result.optional) {
            (ty, true) => Type::Option(Box::new(ty.clone())),
            (ty, false) => ty.clone(),
        };
        let (lowered, ty) = self.expr(value, Some(&wanted));
        self.expect(&wanted, &ty, value.span);
        vec![lowered]
    }

    fn refuse_notes(&mut self, notes: &[Note]) {
        if let Some(note) = notes.first() {
            self.error(
                code::ANNOTATION,
                note.span,
                "an annotation belongs to one step, and this is a loop or a choice",
                "put it after the statement inside that it is about",
            );
        }
    }

    /// Annotations as actions at the end of a step.
    fn notes(&mut self, notes: &'a [Note]) -> Vec<Action> {
        let mut actions = Vec::new();
        let (pure, ghost) =
            (std::mem::replace(&mut self.pure, true), std::mem::replace(&mut self.ghost, true));
        for note in notes {
            match &note.kind {
                NoteKind::Lin { result, of, when } => {
                    let of = of.as_ref().map(|thread| {
                        let (value, ty) = self.expr(thread, Some(&Type::Thread));
                        let optional = Type::Option(Box::new(Type::Thread));
                        self.expect(&optional, &ty, thread.span);
                        value
                    });
                    let result = result.as_ref().map(|value| self.marked_result(value, of.is_some()));
                    let when = when.as_ref().map(|cond| self.truth(cond));
                    actions.push(Action::Mark(Mark {
                        kind: MarkKind::Lin,
                        when,
                        result,
                        of,
                        span: note.span,
                    }));
                }
                NoteKind::Query { when } => {
                    let when = when.as_ref().map(|cond| self.truth(cond));
                    let mark = Mark { kind: MarkKind::Query, when, result: None, of: None, span: note.span };
                    actions.push(Action::Mark(mark));
                }
                NoteKind::Ghost(block) => self.ghost_block(block, &mut actions),
            }
        }
        (self.pure, self.ghost) = (pure, ghost);
        actions
    }

    fn truth(&mut self, cond: &ast::Expr) -> Expr {
        let (value, ty) = self.expr(cond, Some(&Type::Bool));
        self.expect(&Type::Bool, &ty, cond.span);
        value
    }

    fn marked_result(&mut self, value: &ast::Expr, other: bool) -> Vec<Expr> {
        if other {
            self.error(
                code::ANNOTATION,
                value.span,
                "the result of another thread's operation is not known here",
                "leave it out: it is checked when that operation returns",
            );
            return Vec::new();
        }
        let result = self.frames.first().and_then(|frame| match &frame.ret {
            Return::Operation(result) => Some(result.clone()),
            Return::Procedure { .. } => None,
        });
        match result {
            Some(result) => self.result(Some(value), &result, value.span),
            None => Vec::new(),
        }
    }

    fn ghost_block(&mut self, block: &'a Block, actions: &mut Vec<Action>) {
        for statement in &block.statements {
            let StmtKind::Assign { target, value } = &statement.kind else {
                self.error(
                    code::GHOST,
                    statement.span,
                    "only assignments to ghosts stand here",
                    "write `@ghost { owner[i] = me }`",
                );
                continue;
            };
            let Some(found) = self.place(target) else { continue };
            if !found.ghost {
                self.error(
                    code::GHOST,
                    target.span,
                    "this is not a ghost",
                    "declare it with `ghost`, or assign it in the program",
                );
            }
            let hint = if let Ty::Known(ty) = &found.ty { Some(ty.clone()) } else { None };
            let (lowered, ty) = self.expr(value, hint.as_ref());
            if let Some(wanted) = &hint {
                self.expect(wanted, &ty, value.span);
            }
            actions.push(Action::Assign(found.place, lowered));
        }
    }
}

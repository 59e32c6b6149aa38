//! Statements.

use super::{EdgeRef, Loop, Lowerer, Return, Ty};
use crate::ast::{self, BinOp, Block, ExprKind, Name, Note, Stmt, StmtKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Claim, ClaimId, Exit, Expr, NONE, Place, ResultType, Type};
use crate::span::Span;

impl<'a> Lowerer<'a> {
    pub(super) fn block(&mut self, block: &'a Block) {
        for statement in &block.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        if self.full {
            return;
        }
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
                self.refuse_choice_at_start(span);
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
            StmtKind::Var { .. }
            | StmtKind::Prophecy { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Call(_)
            | StmtKind::Assume(_)
            | StmtKind::Assert(_)
            | StmtKind::Tressa(_) => {
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
            StmtKind::Prophecy { name, ty } => vec![self.prophecy(name, ty, span)],
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
            // These have blocks, or end one: they are no steps.
            StmtKind::Atomic(_)
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::While { .. }
            | StmtKind::For { .. }
            | StmtKind::Choose(_)
            | StmtKind::Break(_)
            | StmtKind::Continue(_)
            | StmtKind::Return(_) => Vec::new(),
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
                let (mut actions, values) = self.in_range(values, &result, span);
                actions.extend(self.notes(notes));
                let from = self.here();
                self.add_edge(from, actions, Exit::Return(values), span);
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

    /// Results that have a range, kept in locals of that range: what is not in it goes wrong where it is
    /// returned.
    fn in_range(
        &mut self,
        mut values: Vec<Expr>,
        result: &ResultType,
        span: Span,
    ) -> (Vec<Action>, Vec<Expr>) {
        let mut actions = Vec::new();
        // `none` alone stands for all parts.
        let whole = values.len() == result.parts.len() && !(result.tuple && values == [Expr::Const(NONE)]);
        let bounds = self.result_bounds.clone();
        for ((value, ty), bounds) in values.iter_mut().zip(&result.parts).zip(bounds) {
            let Some((lo, hi)) = bounds.filter(|_| whole && *value != Expr::Const(NONE)) else { continue };
            let is_option = result.optional && !result.tuple;
            let ty = if is_option { Type::Option(Box::new(ty.clone())) } else { ty.clone() };
            let local = self.temporary(Some(ty), span);
            let kept = Expr::Read(Place::Local(local));
            actions.push(Action::Assign(Place::Local(local), std::mem::replace(value, kept.clone())));
            if is_option {
                let both = |op, a: Expr, b: Expr| Expr::Binary(op, Box::new(a), Box::new(b));
                let inner = || Expr::Unwrap(Box::new(kept.clone()));
                let within = both(BinOp::And, both(BinOp::Le, lo, inner()), both(BinOp::Le, inner(), hi));
                let is_none = both(BinOp::Eq, kept.clone(), Expr::Const(NONE));
                actions.push(Action::Assert(both(BinOp::Or, is_none, within), span));
            } else {
                self.locals[local.index()].bounds = Some((lo, hi));
            }
        }
        (actions, values)
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
        for (at, (local, value)) in locals.iter().zip(values).enumerate() {
            let acts = values[at + 1..].iter().any(ast::Expr::does_something);
            let wanted = self.locals[local.index()].ty.clone();
            let (mut lowered, ty) = self.expr(value, wanted.as_ref());
            if let Some(wanted) = wanted {
                self.expect(&wanted, &ty, value.span);
            }
            if locals.len() > 1 {
                lowered = self.settled_before(lowered, &ty, value.span, acts);
            }
            actions.push(Action::Assign(Place::Local(*local), lowered));
        }
        actions
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
                    for (at, (item, wanted)) in items.iter().zip(&result.parts).enumerate() {
                        let acts = items[at + 1..].iter().any(ast::Expr::does_something);
                        let (lowered, ty) = self.expr(item, Some(wanted));
                        self.expect(wanted, &ty, item.span);
                        values.push(self.settled_before(lowered, &ty, item.span, acts));
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
}

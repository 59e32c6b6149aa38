//! Operations, and the code of the initial state.

use rustc_hash::FxHashMap;

use super::graph::empty_operation;
use super::{Frame, Lowerer, Return};
use crate::ast::{self, Block, Member, MemberKind, RoutineKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Exit, Operation, Slot, Type};
use crate::span::Span;

impl<'a> Lowerer<'a> {
    pub(super) fn operation(&mut self, routine: &'a ast::Routine, span: Span) -> Operation {
        self.locals.clear();
        let entry = self.new_node(routine.name.span);
        let mut operation = empty_operation(&routine.name.text, entry, span);
        let mut scope = FxHashMap::default();
        for (name, ty) in &routine.params {
            let (ty, bounds) = self.scalar(ty);
            if scope.contains_key(&name.text) {
                let message = format!("two parameters are called `{}`", name.text);
                self.error(code::TWICE, name.span, message, "give one of them another name");
            }
            if self.items.contains_key(&name.text) {
                let message = format!("`{}` is declared twice", name.text);
                self.error(
                    code::TWICE,
                    name.span,
                    message,
                    "the object has something of this name; use another",
                );
            }
            let local = self.new_local(&name.text, Some(ty), false, name.span);
            self.locals[local.index()].bounds = bounds;
            scope.insert(name.text.clone(), local);
        }
        operation.params = routine.params.len();
        operation.result = self.result_type(routine.result.as_ref());
        self.result_bounds = self.result_bounds(routine.result.as_ref());
        let ret = Return::Operation(operation.result.clone());
        self.body(routine.name.text.clone(), scope, ret, &routine.body, entry);
        let end = self.here();
        if operation.result.parts.is_empty() {
            self.add_edge(end, Vec::new(), Exit::Return(Vec::new()), end_of(routine.body.span));
        } else {
            self.falls_off.push((end, routine.name.span, routine.name.text.clone()));
        }
        self.close(&mut operation);
        operation
    }

    pub(super) fn initial_code(&mut self, block: &'a Block, span: Span) -> Operation {
        self.locals.clear();
        let entry = self.new_node(span);
        let mut operation = empty_operation("init", entry, span);
        let ret = Return::Operation(operation.result.clone());
        self.initial = true;
        self.body("init".to_owned(), FxHashMap::default(), ret, block, entry);
        self.initial = false;
        let end = self.here();
        self.add_edge(end, Vec::new(), Exit::Return(Vec::new()), end_of(block.span));
        self.close(&mut operation);
        operation
    }

    /// The initial state is one state.
    pub(super) fn refuse_choice_at_start(&mut self, span: Span) {
        if self.initial {
            self.error(
                code::INITIAL,
                span,
                "a choice in the initial code",
                "there is one initial state; let an operation choose, or leave the choice out",
            );
        }
    }

    fn body(
        &mut self,
        name: String,
        scope: FxHashMap<String, crate::program::LocalId>,
        ret: Return,
        block: &'a Block,
        entry: crate::program::NodeId,
    ) {
        self.frames = vec![Frame { name, scopes: vec![scope], ret }];
        self.loops.clear();
        self.go_to(entry);
        self.block(block);
    }

    /// Takes the locals over, with what became known of their types.
    fn close(&mut self, operation: &mut Operation) {
        let locals = std::mem::take(&mut self.locals);
        for local in locals {
            if local.ty.is_none() && !local.name.is_empty() && !self.full {
                self.error(
                    code::UNTYPED,
                    local.span,
                    format!("it cannot be told what `{}` points to", local.name),
                    format!("declare it with its type: `var {}: *Node = null`", local.name),
                );
            }
            let ty = local.ty.unwrap_or(Type::Int);
            let init = crate::program::Expr::Const(crate::program::UNSET);
            operation.locals.push(Slot {
                name: local.name,
                ty,
                bounds: local.bounds,
                ghost: local.ghost,
                init,
                span: local.span,
            });
        }
        let scope = self.frames.pop().and_then(|mut frame| frame.scopes.pop()).unwrap_or_default();
        self.root_scopes.push(scope);
    }

    /// Procedures that nobody calls were not looked at: that is said.
    pub(super) fn unused_procedures(&mut self, members: &'a [Member]) {
        if self.full {
            return;
        }
        for member in members {
            if let MemberKind::Routine(routine) = &member.kind
                && routine.kind != RoutineKind::Op
                && !self.called.contains(&routine.name.text)
            {
                let diagnostic = Diagnostic::warning(
                    code::UNREACHABLE,
                    routine.name.span,
                    format!("`{}` is never called", routine.name.text),
                )
                .help("call it from an operation, or remove it");
                self.complain(diagnostic);
            }
        }
    }
}

/// The closing brace.
fn end_of(span: Span) -> Span {
    Span { start: span.end.saturating_sub(1), end: span.end }
}

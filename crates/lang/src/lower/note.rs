//! Annotations of steps: `@lin`, `@query`, `@ghost`.

use super::{EdgeRef, Lowerer, Return, Ty};
use crate::ast::{self, Block, Note, NoteKind, StmtKind};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Expr, Mark, MarkKind, Type};
use crate::span::Span;

impl<'a> Lowerer<'a> {
    pub(super) fn refuse_notes(&mut self, notes: &[Note]) {
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
    pub(super) fn notes(&mut self, notes: &'a [Note]) -> Vec<Action> {
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
                NoteKind::Resolve { name, value } => actions.extend(self.resolved(name, value)),
            }
        }
        (self.pure, self.ghost) = (pure, ghost);
        actions
    }

    /// A guess is made.
    pub(super) fn prophecy(&mut self, name: &ast::Name, ty: &ast::TypeExpr, span: Span) -> EdgeRef {
        if self.initial {
            let help = "the initial code runs alone: there is nothing to guess";
            self.error(code::PROPHECY, span, "a prophecy in the initial code", help);
        }
        let (ty, bounds) = self.scalar(ty);
        let known = self.find_local(&name.text);
        // The same statement again is a procedure inlined once more, or a loop.
        let again = known.filter(|known| self.locals[known.index()].span.start == name.span.start);
        let local = again.unwrap_or_else(|| {
            if let Some(first) = known {
                let first = self.locals[first.index()].span;
                let twice = format!("`{}` is declared twice", name.text);
                let diagnostic =
                    Diagnostic::error(code::TWICE, name.span, twice).also(first, "the first is here");
                self.complain(diagnostic.help("guess under another name"));
            }
            self.declare_local(name, Some(ty), true)
        });
        self.locals[local.index()].bounds = bounds;
        self.step(vec![Action::Prophecy(local, None)], span)
    }

    /// It turns out what should have been guessed.
    fn resolved(&mut self, name: &ast::Name, value: &ast::Expr) -> Option<Action> {
        let Some(local) = self.find_local(&name.text) else {
            self.unknown("prophecy", &name.text, name.span, &[]);
            return None;
        };
        if !self.locals[local.index()].ghost {
            let message = format!("`{}` was not guessed", name.text);
            self.error(code::PROPHECY, name.span, message, "guess it before: `prophecy g: int`");
            return None;
        }
        let ty = self.locals[local.index()].ty.clone();
        let (lowered, found) = self.expr(value, ty.as_ref());
        if let Some(wanted) = &ty {
            self.expect(wanted, &found, value.span);
        }
        Some(Action::Prophecy(local, Some(lowered)))
    }

    pub(super) fn truth(&mut self, cond: &ast::Expr) -> Expr {
        let (value, ty) = self.expr(cond, Some(&Type::Bool));
        self.expect(&Type::Bool, &ty, cond.span);
        value
    }

    pub(super) fn marked_result(&mut self, value: &ast::Expr, other: bool) -> Vec<Expr> {
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

    pub(super) fn ghost_block(&mut self, block: &'a Block, actions: &mut Vec<Action>) {
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

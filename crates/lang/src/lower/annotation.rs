//! Annotations of the object: resolved, typed, and checked for sense.

use rustc_hash::FxHashMap;

use super::{Frame, Item, Local, Lowerer, Return, Ty};
use crate::ast::{self, LabelRange, MemberKind, Name};
use crate::diagnostic::code;
use crate::near;
use crate::program::{
    Abs, Annotations, Disjoint, Expr, Invariant, ListShape, LocalId, NodeId, OpId, Program, ResultType, Slot,
    Status, StatusAt, Type,
};
use crate::span::Span;

impl Lowerer<'_> {
    pub(super) fn annotations(&mut self, object: &ast::Object, program: &Program) -> Annotations {
        let mut out = Annotations::default();
        (self.pure, self.ghost) = (true, true);
        for member in &object.members {
            match &member.kind {
                MemberKind::Abs { items, over } => {
                    let abs = self.abs(items, over.as_ref(), member.span);
                    match out.abs {
                        None => out.abs = Some(abs),
                        Some(_) => out.abs_again.push(abs),
                    }
                }
                MemberKind::Inv { at, body } => {
                    let (nodes, op) = self.nodes_at(at);
                    self.open(op, program);
                    let body = self.condition_at(body);
                    let locals = self.shut(op, program);
                    out.invariants.push(Invariant { at: nodes, body, locals, span: member.span });
                }
                MemberKind::Disjoint(items) => {
                    let items = items.iter().filter_map(|item| self.disjoint(item, program)).collect();
                    out.disjoint.push(items);
                }
                MemberKind::Status { at, when, status } => {
                    let (nodes, op) = self.nodes_at(at);
                    let result = op.map(|op| program.operation(op).result.clone());
                    self.open(op, program);
                    let when = when.as_ref().map(|cond| self.condition_at(cond));
                    let status = match status {
                        ast::Status::In => Status::In,
                        ast::Status::Out(value) => {
                            Status::Out(self.status_result(value.as_ref(), result, member.span))
                        }
                        ast::Status::InOut(value) => {
                            Status::InOut(self.status_result(value.as_ref(), result, member.span))
                        }
                    };
                    let locals = self.shut(op, program);
                    out.statuses.push(StatusAt { at: nodes, when, status, locals, span: member.span });
                }
                MemberKind::Track(ast::Track::Path(path)) => {
                    self.open(None, program);
                    if let Some(found) = self.place(path) {
                        if !matches!(found.ty, Ty::Known(Type::Pointer(_))) {
                            self.error(
                                code::ANNOTATION,
                                path.span,
                                "only nodes are tracked",
                                "name a pointer",
                            );
                        }
                        out.tracked.push(Expr::Read(found.place));
                    }
                    self.shut(None, program);
                }
                MemberKind::Track(ast::Track::List { head, via, sorted }) => {
                    out.lists.extend(self.list_shape(head, via, sorted.as_ref()));
                }
                _ => {}
            }
        }
        (self.pure, self.ghost) = (false, false);
        out
    }

    /// Makes the names of an operation known, or none.
    fn open(&mut self, op: Option<OpId>, program: &Program) {
        let (locals, scope, result) = match op {
            Some(op) => {
                let operation = program.operation(op);
                let local = |slot: &Slot| Local {
                    name: slot.name.clone(),
                    ty: Some(slot.ty.clone()),
                    bounds: slot.bounds.clone(),
                    ghost: slot.ghost,
                    span: slot.span,
                };
                let locals = operation.locals.iter().map(local).collect();
                (locals, self.root_scopes[op.index()].clone(), operation.result.clone())
            }
            None => {
                let result = ResultType { parts: vec![], optional: false, tuple: false };
                (Vec::new(), FxHashMap::default(), result)
            }
        };
        self.locals = locals;
        let ret = Return::Operation(result);
        self.frames = vec![Frame { name: String::new(), scopes: vec![scope], ret }];
    }

    /// The locals that were bound since.
    fn shut(&mut self, op: Option<OpId>, program: &Program) -> Vec<Slot> {
        let own = op.map_or(0, |op| program.operation(op).locals.len());
        self.frames.clear();
        let bound = std::mem::take(&mut self.locals).split_off(own);
        let slot = |local: Local| Slot {
            name: local.name,
            ty: local.ty.unwrap_or(Type::Int),
            bounds: None,
            ghost: true,
            init: Expr::Const(crate::program::UNSET),
            span: local.span,
        };
        bound.into_iter().map(slot).collect()
    }

    fn condition_at(&mut self, cond: &ast::Expr) -> Expr {
        let (value, ty) = self.expr(cond, Some(&Type::Bool));
        self.expect(&Type::Bool, &ty, cond.span);
        value
    }

    fn status_result(
        &mut self,
        value: Option<&ast::Expr>,
        result: Option<ResultType>,
        span: Span,
    ) -> Vec<Expr> {
        match result {
            Some(result) => self.result(value, &result, span),
            None => Vec::new(),
        }
    }

    fn abs(&mut self, items: &[ast::Expr], over: Option<&ast::Over>, span: Span) -> Abs {
        self.frames = vec![Frame {
            name: String::new(),
            scopes: vec![FxHashMap::default()],
            ret: Return::Operation(ResultType { parts: vec![], optional: false, tuple: false }),
        }];
        self.locals.clear();
        let bound = over.map(|over| {
            let (lo, hi) = self.range(&over.range);
            let local = self.declare_local(&over.var, Some(Type::Int), true);
            (local, lo, hi)
        });
        let when = over.and_then(|over| over.when.as_ref()).map(|cond| self.condition_at(cond));
        let items = items.iter().map(|item| self.expr(item, None).0).collect();
        let over = bound.map(|(local, lo, hi)| (local, lo, hi, when));
        self.frames.clear();
        let slot = |local: Local| Slot {
            name: local.name,
            ty: local.ty.unwrap_or(Type::Int),
            bounds: None,
            ghost: true,
            init: Expr::Const(crate::program::UNSET),
            span: local.span,
        };
        let locals = std::mem::take(&mut self.locals).into_iter().map(slot).collect();
        Abs { items, over, locals, span }
    }

    fn disjoint(&mut self, item: &ast::DisjointItem, program: &Program) -> Option<Disjoint> {
        let (at, op) = self.nodes_at(&item.at);
        self.open(op, program);
        let local = self.local_at(&item.var);
        let when = item.when.as_ref().map(|cond| self.condition_at(cond));
        let locals = self.shut(op, program);
        Some(Disjoint { local: local?, at, when, locals })
    }

    fn local_at(&mut self, name: &Name) -> Option<LocalId> {
        let local = self.find_local(&name.text);
        if local.is_none() {
            self.unknown("local variable", &name.text, name.span, &[]);
        }
        local
    }

    /// The nodes that labels name, and the one operation they are in.
    fn nodes_at(&mut self, at: &[LabelRange]) -> (Vec<NodeId>, Option<OpId>) {
        let mut nodes = Vec::new();
        let mut op: Option<u16> = None;
        for range in at {
            let Some(first) = self.label_places(&range.first) else { continue };
            let found = match &range.last {
                None => first,
                Some(last) => {
                    let Some(last) = self.label_places(last) else { continue };
                    self.between(&first, &last, range)
                }
            };
            for (node, in_op, _) in found {
                if op.is_some_and(|op| op != in_op) {
                    self.error(
                        code::ANNOTATION,
                        range.first.span,
                        "these labels are in different operations",
                        "write one annotation for each operation: they have different variables",
                    );
                }
                op = op.or(Some(in_op));
                if node.0 != u16::MAX && !nodes.contains(&node) {
                    nodes.push(node);
                }
            }
        }
        (nodes, op.map(OpId))
    }

    fn label_places(&mut self, name: &Name) -> Option<Vec<(NodeId, u16, Span)>> {
        let found = self.labels.get(&name.text).cloned();
        if found.is_none() {
            let help = near::did_you_mean(&name.text, self.labels.keys().map(String::as_str));
            let help = if help.is_empty() { "label the statement: `L1: …`".to_owned() } else { help };
            self.error(code::UNKNOWN, name.span, format!("unknown label `{}`", name.text), help);
        }
        found
    }

    /// Every label from the first to the last, in the order of the text.
    fn between(
        &mut self,
        first: &[(NodeId, u16, Span)],
        last: &[(NodeId, u16, Span)],
        range: &LabelRange,
    ) -> Vec<(NodeId, u16, Span)> {
        let (Some((_, op, from)), Some((_, other, to))) = (first.first(), last.first()) else {
            return Vec::new();
        };
        if op != other || from.start > to.start {
            let help = "the first stands before the last in the text of one operation";
            self.error(code::ANNOTATION, range.first.span, "this is no range of labels", help);
            return Vec::new();
        }
        let inside = |span: &Span| from.start <= span.start && span.start <= to.start;
        self.labels.values().flatten().filter(|(_, o, span)| o == op && inside(span)).copied().collect()
    }

    fn list_shape(&mut self, head: &Name, via: &Name, sorted: Option<&Name>) -> Option<ListShape> {
        let Some((Item::Global(global), _)) = self.items.get(&head.text).copied() else {
            self.unknown("shared variable", &head.text, head.span, &[]);
            return None;
        };
        let slot = self.globals[global.index()].slots.first().cloned();
        let Some(Type::Pointer(record)) = slot.map(|slot| slot.ty) else {
            self.error(code::ANNOTATION, head.span, "a list starts at a pointer", "name a shared pointer");
            return None;
        };
        let (via_index, via_slot) = self.field(record, via)?;
        if via_slot.ty != Type::Pointer(record) {
            self.error(
                code::ANNOTATION,
                via.span,
                "this field does not lead to the next node",
                "name the field that links the list",
            );
        }
        let sorted = match sorted {
            Some(name) => Some(self.field(record, name)?.0),
            None => None,
        };
        Some(ListShape { head: global, record, via: via_index, sorted })
    }
}

//! The graph while it is being made: steps are put at the current node; atomic blocks are collapsed at the
//! end.
//!
//! Nodes inside an atomic block are *interior*. When an operation is complete, every way from a node through
//! interior nodes to the next that is not becomes one edge. Then nodes that only lead on are skipped, and
//! what cannot be reached is dropped.

use super::{EdgeRef, Lowerer};
use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Edge, Exit, Expr, Node, NodeId, OpId, Operation, Program, RecordId, Type};
use crate::span::Span;

/// A node that is being made.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    op: u16,
    pub label: Option<String>,
    pub edges: Vec<Edge>,
    interior: bool,
    pub span: Span,
}

/// More ways through one atomic block than this are refused.
const MAX_WAYS: usize = 4096;

/// More parts of all ways through one atomic block together than this are refused.
const MAX_PARTS: usize = 1_000_000;

/// A longer way through an atomic block is refused.
const MAX_LENGTH: usize = 2_000;

/// More nodes than this in one object are refused.
const MAX_NODES: usize = 60_000;

impl Lowerer<'_> {
    pub(super) fn new_node(&mut self, span: Span) -> NodeId {
        if self.nodes.len() >= MAX_NODES {
            self.overflow(span, "this object has too many steps");
            return NodeId((MAX_NODES - 1) as u16);
        }
        let interior = self.atomic > 0;
        self.nodes.push(Draft { op: self.op, label: None, edges: Vec::new(), interior, span });
        NodeId((self.nodes.len() - 1) as u16)
    }

    pub(super) fn here(&self) -> NodeId {
        self.cur
    }

    pub(super) fn go_to(&mut self, node: NodeId) {
        self.cur = node;
    }

    pub(super) fn add_edge(&mut self, from: NodeId, actions: Vec<Action>, exit: Exit, span: Span) -> EdgeRef {
        let edges = &mut self.nodes[from.index()].edges;
        if edges.is_empty() {
            self.nodes[from.index()].span = span;
        }
        let edges = &mut self.nodes[from.index()].edges;
        edges.push(Edge { actions, exit, span });
        (from, edges.len() - 1)
    }

    /// One step, and then the node after it.
    pub(super) fn step(&mut self, actions: Vec<Action>, span: Span) -> EdgeRef {
        let (from, to) = (self.here(), self.new_node(span));
        let edge = self.add_edge(from, actions, Exit::Goto(to), span);
        self.go_to(to);
        edge
    }

    /// Leads on to `to`; what follows cannot be reached from here.
    pub(super) fn jump(&mut self, to: NodeId, span: Span) {
        let from = self.here();
        self.add_edge(from, Vec::new(), Exit::Goto(to), span);
        let nowhere = self.new_node(span);
        self.go_to(nowhere);
    }

    pub(super) fn begin_atomic(&mut self) {
        self.atomic += 1;
    }

    pub(super) fn end_atomic(&mut self, span: Span) {
        self.atomic -= 1;
        if self.atomic == 0 {
            let (from, after) = (self.here(), self.new_node(span));
            self.add_edge(from, Vec::new(), Exit::Goto(after), span);
            self.go_to(after);
        }
    }

    /// Puts `more` at the end of steps.
    pub(super) fn extend(&mut self, edges: &[EdgeRef], more: &[Action]) {
        for (node, edge) in edges {
            if let Some(edge) = self.nodes[node.index()].edges.get_mut(*edge) {
                edge.actions.extend_from_slice(more);
            }
        }
    }

    pub(super) fn finish_graph(&mut self, program: &mut Program) {
        self.collapse();
        let skipped = self.skips();
        let mut seen = vec![false; self.nodes.len()];
        let entries: Vec<NodeId> =
            program.operations.iter().chain(&program.init).map(|op| skipped[op.entry.index()]).collect();
        let mut open = entries.clone();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node.index()], true) {
                continue;
            }
            for edge in &self.nodes[node.index()].edges {
                if let Exit::Goto(to) = edge.exit {
                    open.push(skipped[to.index()]);
                }
            }
        }
        self.unreachable_labels(&seen, &skipped);
        self.missing_results(&seen, &skipped);
        let mut number = vec![NodeId(u16::MAX); self.nodes.len()];
        for (old, draft) in self.nodes.iter().enumerate() {
            if seen[old] {
                number[old] = NodeId(program.nodes.len() as u16);
                let (op, label) = (OpId(draft.op), draft.label.clone());
                program.nodes.push(Node { op, label, edges: draft.edges.clone(), span: draft.span });
            }
        }
        for node in &mut program.nodes {
            for edge in &mut node.edges {
                if let Exit::Goto(to) = &mut edge.exit {
                    *to = number[skipped[to.index()].index()];
                }
            }
        }
        let operations = program.operations.iter_mut().chain(&mut program.init);
        for (operation, entry) in operations.zip(entries) {
            operation.entry = number[entry.index()];
        }
        for (node, ..) in self.labels.values_mut().flatten() {
            *node = number[skipped[node.index()].index()];
        }
    }

    /// Where each node leads if nothing happens there.
    fn skips(&self) -> Vec<NodeId> {
        let skip = |start: usize| {
            let mut at = start;
            // A node that leads to itself does nothing for ever; the bound keeps it.
            for _ in 0..self.nodes.len() {
                match (&self.nodes[at].label, self.nodes[at].edges.as_slice()) {
                    (None, [Edge { actions, exit: Exit::Goto(to), .. }]) if actions.is_empty() => {
                        at = to.index()
                    }
                    _ => return NodeId(at as u16),
                }
            }
            NodeId(start as u16)
        };
        (0..self.nodes.len()).map(skip).collect()
    }

    fn unreachable_labels(&mut self, seen: &[bool], skipped: &[NodeId]) {
        let labels: Vec<_> = self
            .labels
            .iter()
            .flat_map(|(name, places)| places.iter().map(move |p| (name.clone(), *p)))
            .collect();
        for (name, (node, _, span)) in labels {
            if self.nodes[node.index()].interior {
                self.error(
                    code::ATOMIC,
                    span,
                    format!("`{name}` names no control point: it is inside an atomic step"),
                    "put the label before `atomic`",
                );
            } else if !seen[skipped[node.index()].index()] {
                let diagnostic =
                    Diagnostic::warning(code::UNREACHABLE, span, format!("`{name}` is never reached"))
                        .note("control never gets here")
                        .help("remove what stands here, or mend the `return`, `break` or `loop` before it");
                self.complain(diagnostic);
            }
        }
    }

    /// Ends that owe a result and can be reached.
    fn missing_results(&mut self, seen: &[bool], skipped: &[NodeId]) {
        for (node, span, name) in std::mem::take(&mut self.falls_off) {
            let node = skipped[node.index()].index();
            if seen[node] || self.nodes[node].interior && self.interior_ends.contains(&node) {
                self.error(
                    code::NO_RESULT,
                    span,
                    format!("`{name}` can end without a result"),
                    "end every way through it with `return …`",
                );
            }
        }
    }

    /// Makes every way through interior nodes one edge.
    fn collapse(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].interior {
                continue;
            }
            let edges = std::mem::take(&mut self.nodes[node].edges);
            let mut whole = Vec::new();
            for edge in edges {
                let mut path = Vec::new();
                self.ways(edge, &mut path, &mut whole);
            }
            self.nodes[node].edges = whole;
        }
    }

    fn ways(&mut self, edge: Edge, path: &mut Vec<usize>, whole: &mut Vec<Edge>) {
        let interior = match edge.exit {
            Exit::Goto(to) if self.nodes[to.index()].interior => to.index(),
            _ => return whole.push(edge),
        };
        let span = self.nodes[interior].span;
        if path.contains(&interior) {
            return self.error(
                code::ATOMIC,
                span,
                "a loop inside an atomic step",
                "say it without one: `all i in 0..N: …`, `any i in 0..N: …`, or `x = choose 0..N` and `assume`",
            );
        }
        if path.len() >= MAX_LENGTH {
            return self.error(code::ATOMIC, span, "this atomic step is too long", "make it smaller");
        }
        if whole.len() >= MAX_WAYS || whole.len() * path.len() > MAX_PARTS {
            return self.error(
                code::ATOMIC,
                span,
                "too many ways through this atomic step",
                "make it smaller",
            );
        }
        if self.nodes[interior].edges.is_empty() {
            self.interior_ends.insert(interior);
        }
        path.push(interior);
        for next in self.nodes[interior].edges.clone() {
            let mut actions = edge.actions.clone();
            actions.extend(next.actions);
            // The place of the first part that does something stands for the whole.
            let span = if edge.actions.is_empty() { next.span } else { edge.span };
            self.ways(Edge { actions, exit: next.exit, span }, path, whole);
        }
        path.pop();
    }

    /// Which kinds of records are freed.
    pub(super) fn note_frees(&mut self, program: &mut Program) {
        let mut freed = Vec::new();
        for node in &program.nodes {
            for action in node.edges.iter().flat_map(|edge| &edge.actions) {
                if let Action::Free(pointer) = action {
                    freed.push(pointed_to(program, node.op, pointer));
                }
            }
        }
        for record in freed {
            match record {
                Some(record) => program.records[record.index()].freed = true,
                None => program.records.iter_mut().for_each(|record| record.freed = true),
            }
        }
    }
}

/// The kind of record that a pointer points to, if that can be told.
fn pointed_to(program: &Program, op: OpId, pointer: &Expr) -> Option<RecordId> {
    match pointer {
        Expr::Unwrap(pointer) => pointed_to(program, op, pointer),
        Expr::Read(place) => {
            let mut ty = &program.slot(op, place)?.ty;
            while let Type::Option(inner) = ty {
                ty = inner;
            }
            if let Type::Pointer(record) = ty { Some(*record) } else { None }
        }
        _ => None,
    }
}

/// An operation without steps, to be filled in.
pub(super) fn empty_operation(name: &str, entry: NodeId, span: Span) -> Operation {
    Operation {
        name: name.to_owned(),
        locals: Vec::new(),
        params: 0,
        result: crate::program::ResultType { parts: vec![], optional: false, tuple: false },
        entry,
        span,
    }
}

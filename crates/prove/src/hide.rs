//! What the abstraction must not see yet, found by trying.
//!
//! An operation that fills several slots one after another and takes effect with the last has a time in
//! between in which a slot looks as if it counted. The condition of the abstraction is then too plain: the
//! step that fills the first slot changes the abstract state too early (Travkin, Wehrheim, Schellhorn 2012,
//! section 3). The remedy is a set of hidden slots: a ghost `hidden`, set by the step that is too early,
//! taken back by the one that takes effect. Which steps these are, the open obligations say. The program with
//! the ghost is proved like any other; nothing is trusted.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Expr, Global, GlobalId, LocalId, NodeId, Place, Slot, Status, Type};

use crate::graph::Graph;
use crate::obligation::Kind;
use crate::opaque::Opaque;
use crate::points::{WithPoints, prove_with_points};
use crate::{Decided, Options, Report};

/// Which slot is hidden from which step to which.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// The step that hides it: control point and which of its steps.
    pub from: (NodeId, usize),
    /// The step that shows it.
    pub until: (NodeId, usize),
    /// The slot.
    pub index: Expr,
}

/// Longest time for all of it, where the user sets no other.
const TIME: Duration = Duration::from_secs(30);

/// The name of the ghost.
pub const NAME: &str = "hidden";

/// Proves a program; where exactly the effects of some steps of one operation are open, tries to hide what
/// one of them writes until another.
pub fn prove_with_hiding(
    program: &Program,
    options: &Options,
    told: &(dyn Fn(&Graph, &Decided) + Sync),
) -> (WithPoints, Option<Hidden>) {
    let start = Instant::now();
    let plain = prove_with_points(program, options, told);
    if plain.report.verdict.holds() {
        return (plain, None);
    }
    for (from, until) in pairs(&plain.report) {
        let Some((hiding, index)) = hide(&plain.program, from, until) else { continue };
        let time = options.time.unwrap_or(TIME);
        let Some(left) = time.checked_sub(start.elapsed()) else { break };
        let mut tried = prove_with_points(&hiding, &Options { time: Some(left), ..options.clone() }, told);
        if tried.report.verdict.holds() {
            tried.found.splice(0..0, plain.found);
            return (tried, Some(Hidden { from, until, index }));
        }
    }
    (plain, None)
}

/// Pairs of steps of one operation whose effects are open.
fn pairs(report: &Report) -> Vec<((NodeId, usize), (NodeId, usize))> {
    let Some(graph) = &report.graph else { return Vec::new() };
    let mut steps = Vec::new();
    for decided in report.decided.iter().filter(|decided| !decided.outcome.is_proved()) {
        if decided.obligation.kind != Kind::Effect {
            continue;
        }
        let step = &graph.steps[decided.obligation.step];
        let place = graph.place(step.from);
        if !steps.contains(&(place.op, place.node, step.edge)) {
            steps.push((place.op, place.node, step.edge));
        }
    }
    let mut pairs = Vec::new();
    for (op, node, edge) in &steps {
        for (_, other, other_edge) in
            steps.iter().filter(|(other_op, other, _)| other_op == op && other != node)
        {
            pairs.push(((*node, *edge), (*other, *other_edge)));
        }
    }
    pairs
}

/// The program with what the first step writes hidden until the second.
fn hide(program: &Program, from: (NodeId, usize), until: (NodeId, usize)) -> Option<(Program, Expr)> {
    let abs = program.annotations.abs.as_ref()?;
    let (local, _, hi, when) = abs.over.as_ref()?;
    let when = when.clone()?;
    if program.globals.iter().any(|global| global.name == NAME) {
        return None;
    }
    let edge = |(node, edge): (NodeId, usize)| &program.node(node).edges[edge];
    let index = edge(from).actions.iter().find_map(|action| match action {
        Action::Assign(Place::Element(global, index, _), _)
            if program.globals[global.index()].length.as_ref() == Some(hi) && index.shared_reads() == 0 =>
        {
            Some((**index).clone())
        }
        _ => None,
    })?;
    let ghost = GlobalId(program.globals.len() as u16);
    let span = abs.span;
    let slot =
        Slot { name: NAME.into(), ty: Type::Bool, bounds: None, ghost: true, init: Expr::Const(0), span };
    let global = Global {
        name: NAME.into(),
        length: Some(hi.clone()),
        slots: vec![slot],
        record: None,
        ghost: true,
        span,
    };
    let mut hiding = program.clone();
    hiding.globals.push(global);
    for ((node, edge), value) in [(from, 1), (until, 0)] {
        let place = Place::Element(ghost, Box::new(index.clone()), 0);
        hiding.nodes[node.index()].edges[edge].actions.insert(0, Action::Assign(place, Expr::Const(value)));
    }
    let shown = Shown { opaque: Opaque { when, index: *local, end: hi.clone() }, ghost };
    let over = hiding.annotations.abs.as_mut()?.over.as_mut()?;
    over.3 = over.3.as_ref().map(|when| shown.and_shown(when, *local));
    for status in &mut hiding.annotations.statuses {
        if let Some(when) = &mut status.when {
            *when = shown.rewrite(when);
        }
        if let Status::Out(values) | Status::InOut(values) = &mut status.status {
            values.iter_mut().for_each(|value| *value = shown.rewrite(value));
        }
    }
    Some((hiding, index))
}

/// Puts "and is not hidden" to every place where the condition of the abstraction stands.
struct Shown {
    opaque: Opaque,
    ghost: GlobalId,
}

impl Shown {
    fn and_shown(&self, when: &Expr, index: LocalId) -> Expr {
        self.with(when, Expr::Read(Place::Local(index)))
    }

    fn with(&self, when: &Expr, index: Expr) -> Expr {
        let hidden = Expr::Read(Place::Element(self.ghost, Box::new(index), 0));
        Expr::Binary(BinOp::And, Box::new(when.clone()), Box::new(Expr::Not(Box::new(hidden))))
    }

    fn rewrite(&self, e: &Expr) -> Expr {
        if let Some(index) = self.opaque.index_of(e) {
            return self.with(e, index);
        }
        let inner = |e: &Expr| Box::new(self.rewrite(e));
        match e {
            Expr::Not(e) => Expr::Not(inner(e)),
            Expr::Neg(e) => Expr::Neg(inner(e)),
            Expr::Unwrap(e) => Expr::Unwrap(inner(e)),
            Expr::Binary(op, a, b) => Expr::Binary(*op, inner(a), inner(b)),
            Expr::Quantified { all, local, lo, hi, body } => {
                Expr::Quantified { all: *all, local: *local, lo: inner(lo), hi: inner(hi), body: inner(body) }
            }
            e => e.clone(),
        }
    }
}

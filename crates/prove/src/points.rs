//! Linearization points found by trying.
//!
//! An operation without any annotation is taken to take effect where it returns. Where that is wrong, the
//! obligations say so: the abstract state changes in a step before (then that step is the point), or the
//! answer is no longer right at the return (then a step before it, which looked, is the point, perhaps only
//! if a later test comes out this way). One change after another is tried, and kept if fewer obligations are
//! open with it. Points are annotations: none is trusted, and what is found is proved like what is written.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Edge, Exit, Expr, LocalId, Mark, MarkKind, NodeId, OpId, Place};

use crate::graph::{Graph, writes_shared};
use crate::obligation::Kind;
use crate::{Decided, Options, Report, prove};

/// Longest time for all of it, where the user sets no other.
const TIME: Duration = Duration::from_secs(20);

/// A point that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The control point before the step.
    pub node: NodeId,
    /// Which of its steps.
    pub edge: usize,
    /// Only if this holds after it.
    pub when: Option<Expr>,
    /// The result that it says; where none, the one that the specification gives.
    pub result: Option<Vec<Expr>>,
}

/// What came of a proof, the program with the points that were found, and these.
#[derive(Clone, Debug)]
pub struct WithPoints {
    /// The program.
    pub program: Program,
    /// The proof of it.
    pub report: Report,
    /// What was added to it.
    pub found: Vec<Found>,
    /// The proof of the program as it was written, if something was added.
    pub plain: Option<Report>,
}

/// Proves a program; where it is not proved, tries points for operations that have none.
pub fn prove_with_points(
    program: &Program,
    options: &Options,
    told: &(dyn Fn(&Graph, &Decided) + Sync),
) -> WithPoints {
    let start = Instant::now();
    let report = prove(program, options, told);
    let mut best = WithPoints { program: program.clone(), report, found: Vec::new(), plain: None };
    let free: BTreeSet<OpId> =
        (0..program.operations.len()).map(|op| OpId(op as u16)).filter(|op| is_free(program, *op)).collect();
    let time = options.time.unwrap_or(TIME);
    while !best.report.verdict.holds() && !free.is_empty() {
        let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) else { break };
        match improve(&best, &free, &Options { time: Some(left), ..options.clone() }) {
            Some(better) => best = better,
            None => break,
        }
    }
    best
}

/// Has the operation neither points nor a status?
fn is_free(program: &Program, op: OpId) -> bool {
    let own = |node: &NodeId| program.node(*node).op == op;
    let given = program.annotations.statuses.iter().any(|status| status.at.iter().any(own));
    let nodes = program.nodes.iter().filter(|node| node.op == op);
    let marked = nodes.flat_map(|node| &node.edges).any(|edge| edge.marks().next().is_some());
    !given && !marked
}

/// How many obligations are not proved.
fn open(report: &Report) -> usize {
    report.decided.iter().filter(|decided| !decided.outcome.is_proved()).count()
}

/// One more point with which fewer obligations are open.
fn improve(best: &WithPoints, free: &BTreeSet<OpId>, options: &Options) -> Option<WithPoints> {
    let start = Instant::now();
    let graph = best.report.graph.as_ref()?;
    let mut tried: Vec<Found> = Vec::new();
    for decided in best.report.decided.iter().filter(|decided| !decided.outcome.is_proved()) {
        if decided.obligation.kind != Kind::Effect {
            continue;
        }
        let step = &graph.steps[decided.obligation.step];
        let place = graph.place(step.from);
        if !free.contains(&place.op) {
            continue;
        }
        for found in candidates(&best.program, place.node, step.edge) {
            if tried.contains(&found) {
                continue;
            }
            tried.push(found.clone());
            let left = options.time?.checked_sub(start.elapsed())?;
            let program = with(&best.program, &found);
            let report = prove(&program, &Options { time: Some(left), ..options.clone() }, &|_, _| {});
            // Where nothing is open and nothing is proved, the point had no meaning.
            let meant = report.verdict.holds() || open(&report) > 0;
            if meant && open(&report) < open(&best.report) {
                let found = best.found.iter().cloned().chain([found]).collect();
                let plain = best.plain.clone().or_else(|| Some(best.report.clone()));
                return Some(WithPoints { program, report, found, plain });
            }
        }
    }
    None
}

/// The program with one more point.
fn with(program: &Program, found: &Found) -> Program {
    let mut program = program.clone();
    let edge = &mut program.nodes[found.node.index()].edges[found.edge];
    let mark = Mark {
        kind: MarkKind::Lin,
        when: found.when.clone(),
        result: found.result.clone(),
        of: None,
        span: edge.span,
    };
    edge.actions.push(Action::Mark(mark));
    program
}

/// Points to try where this step breaks its obligation.
fn candidates(program: &Program, node: NodeId, edge: usize) -> Vec<Found> {
    let of = &program.node(node).edges[edge];
    if of.marks().next().is_some() {
        return Vec::new();
    }
    if writes_shared(of) {
        let found = |result| Found { node, edge, when: None, result };
        let mut list = vec![found(None)];
        list.extend(results_after(program, of).into_iter().map(|result| found(Some(result))));
        list.extend(own_arguments(program, node).into_iter().map(|result| found(Some(result))));
        return list;
    }
    match &of.exit {
        Exit::Return(values) => looked_before(program, node, of, values),
        Exit::Goto(_) => Vec::new(),
    }
}

/// Arguments that are of the type of the result: what was put in is what comes back.
fn own_arguments(program: &Program, node: NodeId) -> Vec<Vec<Expr>> {
    let operation = program.operation(program.node(node).op);
    let [part] = operation.result.parts.as_slice() else { return Vec::new() };
    let arguments = operation.locals[..operation.params].iter().enumerate();
    arguments
        .filter(|(_, argument)| argument.ty == *part)
        .map(|(index, _)| vec![Expr::Read(Place::Local(LocalId(index as u16)))])
        .collect()
}

/// The results that may be returned after a step, without those that look at something shared.
fn results_after(program: &Program, edge: &Edge) -> Vec<Vec<Expr>> {
    let (mut seen, mut open, mut found): (BTreeSet<NodeId>, Vec<&Edge>, Vec<Vec<Expr>>) =
        (BTreeSet::new(), vec![edge], Vec::new());
    while let Some(edge) = open.pop() {
        match &edge.exit {
            Exit::Return(values) if values.is_empty() || found.contains(values) => {}
            Exit::Return(values) if values.iter().all(|value| value.shared_reads() == 0) => {
                found.push(values.clone());
            }
            Exit::Return(_) => {}
            Exit::Goto(to) => {
                if seen.insert(*to) {
                    open.extend(&program.node(*to).edges);
                }
            }
        }
    }
    found.sort_by_key(|values| values.iter().any(|value| !matches!(value, Expr::Const(_))));
    found
}

/// Steps on the way to a return that looked at something shared, the nearest first, each under the tests that
/// lead from it to the return.
fn looked_before(program: &Program, node: NodeId, last: &Edge, values: &[Expr]) -> Vec<Found> {
    if values.iter().any(|value| value.shared_reads() > 0) {
        return Vec::new();
    }
    let op = program.node(node).op;
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([node]);
    let mut open = std::collections::VecDeque::from([(node, tests(last))]);
    while let Some((to, passed)) = open.pop_front() {
        let from = program.nodes.iter().enumerate().filter(|(_, from)| from.op == op);
        for (number, from) in from {
            for (edge, of) in from.edges.iter().enumerate().filter(|(_, of)| of.exit == Exit::Goto(to)) {
                let id = NodeId(number as u16);
                let mut looks = false;
                of.accesses(&mut |place, _| looks |= place.is_shared());
                if looks {
                    let when = passed
                        .iter()
                        .cloned()
                        .reduce(|a, b| Expr::Binary(BinOp::And, Box::new(a), Box::new(b)));
                    for when in if when.is_some() { vec![when, None] } else { vec![None] } {
                        found.push(Found { node: id, edge, when, result: Some(values.to_vec()) });
                    }
                }
                if seen.insert(id) {
                    open.push_back((id, tests(of).into_iter().chain(passed.iter().cloned()).collect()));
                }
            }
        }
    }
    found
}

/// What a step assumes of locals.
fn tests(edge: &Edge) -> Vec<Expr> {
    let test = |action: &Action| match action {
        Action::Assume(e) if e.shared_reads() == 0 => Some(e.clone()),
        _ => None,
    };
    edge.actions.iter().filter_map(test).collect()
}

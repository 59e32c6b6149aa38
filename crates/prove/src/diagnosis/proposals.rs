//! What may be missing from a proof: conjuncts that runs do not break and that would close an open
//! obligation.
//!
//! Candidates are the guesses that inference dropped, and comparisons and implications between what the
//! process can see at its place. Small runs strike out those that some state breaks; the solver says which of
//! the rest closes the obligation (`blame.rs`). What is left is proposed, not believed: written as an `inv`,
//! it has to be proved like any other.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::flow::live_locals;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{
    Disjoint, Expr, GlobalId, Invariant, LocalId, NONE, NodeId, OpId, Place, SizeId, Type,
};
use linpoint_lang::span::Span;
use linpoint_model::Workload;

use super::in_runs::ask;
use super::small_runs::workload;
use super::truth::truth;
use super::{broken_annotation, label, open};
use crate::blame::{self, Candidate};
use crate::graph::{Graph, Point};
use crate::obligation::Obligation;
use crate::scene::Picture;
use crate::show::show;
use crate::{Decided, Options, Outcome, Report, prove};

/// More than this many are not told of one obligation.
const MOST_PROPOSALS: usize = 3;

/// So many that close an obligation are tried on the whole proof.
const MOST_TRIED: usize = 6;

/// Operations of somebody who is alone.
const OPERATIONS_ALONE: u32 = 12;

/// Longest time for one kind of question.
const QUESTION_TIME: Duration = Duration::from_secs(1);

/// Locals of annotations and results are no locals of a run.
const NO_LOCAL: u16 = 10_000;

/// An annotation that would close an open obligation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// As it is written: `inv at L1: x <= n`.
    pub annotation: String,
    /// Labels that have to be put first, and the lines of their statements.
    pub new_labels: Vec<(String, usize)>,
    /// How many states of runs at its place keep it, where they were counted.
    pub states: Option<usize>,
    /// If it is a guess that inference dropped: because of this obligation.
    pub dropped_for: Option<Obligation>,
}

/// The program and the proof that something is missing from.
#[derive(Clone, Copy)]
pub(super) struct Unfinished<'a> {
    pub(super) program: &'a Program,
    pub(super) text: &'a str,
    pub(super) report: &'a Report,
    pub(super) graph: &'a Graph,
    pub(super) options: &'a Options,
    pub(super) deadline: Instant,
}

impl Unfinished<'_> {
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The options for one kind of question.
    fn limited(&self) -> Options {
        Options { time: Some(self.left().min(QUESTION_TIME)), confirm: None, ..self.options.clone() }
    }
}

/// Proposes what would close an open obligation, without what was proposed for one before.
pub(super) fn proposals(proof: Unfinished<'_>, decided: &Decided, told: &mut Vec<String>) -> Vec<Proposal> {
    let Outcome::Open(picture) = &decided.outcome else { return Vec::new() };
    let mut found = invariants(proof, decided.obligation, picture, told);
    if let Some(q) = &picture.q {
        found.extend(differences(proof, (decided.obligation, q.at), told));
    }
    found
}

fn invariants(
    proof: Unfinished<'_>,
    obligation: Obligation,
    picture: &Picture,
    told: &mut Vec<String>,
) -> Vec<Proposal> {
    let Unfinished { program, text, report, graph, .. } = proof;
    let mut places = blame::places(graph, obligation);
    // Obligations about others are asked for several places at once; the state says which it is.
    places.truncate(1);
    places.extend(picture.q.as_ref().map(|q| q.at));
    let mut candidates = Vec::new();
    for place in &places {
        candidates.extend(comparisons(program, graph, *place));
    }
    candidates.extend(blame::dropped(&report.inferred, &places));
    candidates.retain(|candidate| is_of_runs(program, graph, candidate));
    let mut unbroken = unbroken(program, graph, candidates, proof.left());
    unbroken.sort_by_key(|(candidate, _)| size(&candidate.body));
    let (candidates, states): (Vec<Candidate>, Vec<usize>) = unbroken.into_iter().unzip();
    let mut found: Vec<Proposal> = Vec::new();
    let limited = proof.limited();
    let mut all =
        blame::missing(program, graph, &limited, &report.inferred, obligation, &candidates, MOST_TRIED);
    // Where something plain will do, nothing that rests on a condition is proposed.
    let is_plain = |missing: &blame::Missing| {
        !matches!(candidates[missing.candidate].body, Expr::Binary(BinOp::Implies, ..))
    };
    if all.iter().any(is_plain) {
        all.retain(is_plain);
    }
    for missing in all {
        let candidate = &candidates[missing.candidate];
        // What cannot be written at any label is no proposal.
        let named = match candidate.at {
            Some(at) => match label::of(program, text, graph.place(at).node) {
                Some(named) => Some(named),
                None => continue,
            },
            None => None,
        };
        let op = candidate.at.map(|at| graph.place(at).op);
        let body = show(program, op, &candidate.body);
        let at = named.as_ref().map_or_else(String::new, |named| format!(" at {}", named.label));
        let annotation = format!("inv{at}: {body}");
        if told.contains(&annotation) || found.len() >= MOST_PROPOSALS {
            continue;
        }
        let with = with_invariant(program, candidate, named.as_ref());
        if !helps(proof, &with, obligation) {
            continue;
        }
        told.push(annotation.clone());
        found.push(Proposal {
            annotation,
            new_labels: named.iter().filter_map(label::Named::new_label).collect(),
            states: Some(states[missing.candidate]),
            dropped_for: missing.broken_by.map(|(by, _)| by),
        });
    }
    found
}

/// Pairs of locals that no run has equal, and that would have to differ.
fn differences(
    proof: Unfinished<'_>,
    (obligation, other): (Obligation, Point),
    told: &[String],
) -> Vec<Proposal> {
    let Unfinished { program, text, report, graph, .. } = proof;
    let limited = proof.limited();
    let Some(&this) = blame::places(graph, obligation).first() else { return Vec::new() };
    if this == Graph::IDLE || other == Graph::IDLE {
        return Vec::new();
    }
    let live = live_locals(program);
    let numbers = |at: Point| -> Vec<LocalId> {
        let place = graph.place(at);
        let locals = &program.operation(place.op).locals;
        let is_number = |index: &usize| {
            live[place.node.index()][*index]
                && locals[*index].ty == Type::Int
                && !locals[*index].name.is_empty()
        };
        (0..locals.len()).filter(is_number).map(|index| LocalId(index as u16)).collect()
    };
    let mut pairs: Vec<(LocalId, LocalId)> = Vec::new();
    for a in numbers(this) {
        pairs.extend(numbers(other).into_iter().map(|b| (a, b)));
    }
    let (one, two) = (graph.place(this), graph.place(other));
    let mut met = false;
    let _ = ask(program, &workload(program), None, Some(proof.left()), &mut |machine, state| {
        for p in (0..machine.threads).filter(|p| machine.pc(state, *p) == Some(one.node)) {
            for q in (0..machine.threads).filter(|q| *q != p && machine.pc(state, *q) == Some(two.node)) {
                met = true;
                pairs.retain(|(a, b)| {
                    machine.local(state, p, a.index()) != machine.local(state, q, b.index())
                });
            }
        }
        pairs.is_empty()
    });
    // What no run was seen at says nothing.
    if !met {
        return Vec::new();
    }
    let (Some(here), Some(there)) = (label::of(program, text, one.node), label::of(program, text, two.node))
    else {
        return Vec::new();
    };
    let mut found: Vec<Proposal> = Vec::new();
    let differ = blame::must_differ(program, graph, &limited, &report.inferred, (obligation, other), &pairs);
    for pair in differ {
        let (a, b) = pairs[pair];
        if found.len() >= MOST_PROPOSALS {
            break;
        }
        let name = |op: OpId, local: LocalId| program.operation(op).locals[local.index()].name.clone();
        let (a_name, b_name) = (name(one.op, a), name(two.op, b));
        let item = |local: LocalId, named: &label::Named| Disjoint {
            local,
            at: named.nodes.clone(),
            when: None,
            locals: Vec::new(),
        };
        let same = (a, one.node) == (b, two.node);
        let written = match same {
            true => format!("disjoint {a_name} at {}", here.label),
            false => format!("disjoint {a_name} at {}; {b_name} at {}", here.label, there.label),
        };
        if told.contains(&written) {
            continue;
        }
        let group = if same { vec![item(a, &here)] } else { vec![item(a, &here), item(b, &there)] };
        // Where it does not last on its own, it may where the process comes to next.
        let further = elsewhere(program, &live, a, &group).into_iter().map(|(more, name)| {
            let written = format!("{written}; {a_name} at {name}");
            (group.iter().cloned().chain([more]).collect::<Vec<_>>(), written)
        });
        let closes = |(group, _): &(Vec<Disjoint>, String)| {
            let mut with = program.clone();
            with.annotations.disjoint.push(group.clone());
            helps(proof, &with, obligation)
        };
        let Some((_, annotation)) =
            std::iter::once((group.clone(), written.clone())).chain(further).find(closes)
        else {
            continue;
        };
        let mut new_labels: Vec<(String, usize)> =
            [&here, &there].into_iter().filter_map(label::Named::new_label).collect();
        new_labels.dedup();
        found.push(Proposal { annotation, new_labels, states: None, dropped_for: None });
    }
    found
}

/// The same local at other labels of its operation.
fn elsewhere(
    program: &Program,
    live: &[Vec<bool>],
    local: LocalId,
    group: &[Disjoint],
) -> Vec<(Disjoint, String)> {
    let known = |node: &NodeId| group.iter().any(|one| one.at.contains(node));
    let Some(op) = group.first().and_then(|one| one.at.first()).map(|node| program.node(*node).op) else {
        return Vec::new();
    };
    let nodes = (0..program.nodes.len()).map(|number| NodeId(number as u16));
    let here =
        |node: &NodeId| program.node(*node).op == op && live[node.index()][local.index()] && !known(node);
    let with_label = nodes.filter(here).filter_map(|node| {
        let name = program.node(node).label.clone()?;
        Some((Disjoint { local, at: vec![node], when: None, locals: Vec::new() }, name))
    });
    with_label.collect()
}

/// Can a run tell whether it holds? Not where it speaks of a result that was said.
fn is_of_runs(program: &Program, graph: &Graph, candidate: &Candidate) -> bool {
    let mut known = candidate.at != Some(Graph::IDLE);
    let locals = candidate
        .at
        .filter(|at| *at != Graph::IDLE)
        .map_or(0, |at| program.operation(graph.place(at).op).locals.len());
    let bound = bound_in(&candidate.body);
    candidate.body.places(&mut |place| {
        if let Place::Local(id) = place {
            known &= id.0 < NO_LOCAL && (id.index() < locals || bound.contains(id));
        }
    });
    known
}

fn bound_in(e: &Expr) -> Vec<LocalId> {
    match e {
        Expr::Quantified { local, lo, hi, body, .. } => {
            [bound_in(lo), bound_in(hi), bound_in(body), vec![*local]].concat()
        }
        Expr::Binary(_, a, b) => [bound_in(a), bound_in(b)].concat(),
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => bound_in(e),
        _ => Vec::new(),
    }
}

/// Does it close the obligation once it is written down, with no more of them open than before, and do the
/// runs keep it that what is written is tested by?
fn helps(proof: Unfinished<'_>, program: &Program, obligation: Obligation) -> bool {
    let left = proof.left();
    if left.is_zero() {
        return false;
    }
    let options = Options { time: Some(left), confirm: None, explain: false, ..proof.options.clone() };
    let start = Instant::now();
    let again = prove(program, &options, &|_, _| {});
    let complete = !again.decided.is_empty() && again.elapsed < left;
    let closed = open(&again).all(|decided| decided.obligation != obligation);
    let left = Some(left.saturating_sub(start.elapsed()));
    complete
        && closed
        && open(&again).count() <= open(proof.report).count()
        && broken_annotation(program, left).is_none()
}

/// The program with one more invariant.
fn with_invariant(program: &Program, candidate: &Candidate, named: Option<&label::Named>) -> Program {
    let mut program = program.clone();
    program.annotations.invariants.push(Invariant {
        at: named.map_or_else(Vec::new, |named| named.nodes.clone()),
        body: candidate.body.clone(),
        locals: Vec::new(),
        span: Span::default(),
    });
    program
}

/// Those that no state of small runs breaks, and how many states were met at the place that each is about.
/// What was met nowhere says nothing.
fn unbroken(
    program: &Program,
    graph: &Graph,
    candidates: Vec<Candidate>,
    time: Duration,
) -> Vec<(Candidate, usize)> {
    let until = Instant::now() + time;
    let mut candidates: Vec<(Candidate, usize)> = candidates.into_iter().map(|c| (c, 0)).collect();
    // Short runs keep every bound: somebody who goes on alone breaks those that are no bounds.
    let alone = Workload::usual(program, 1, OPERATIONS_ALONE);
    for (workload, time) in [(&alone, time / 4), (&workload(program), time)] {
        let _ = ask(program, workload, None, Some(time), &mut |machine, state| {
            let mut words = state.words.clone();
            candidates.retain_mut(|(candidate, met)| {
                let here = looks(machine, state, &mut words, graph, candidate, until);
                *met += usize::from(here.is_some());
                here != Some(false)
            });
            candidates.is_empty()
        });
    }
    candidates.retain(|(_, met)| *met > 0);
    candidates
}

/// Does it hold of every thread at its place? `None` where there is none.
fn looks(
    machine: &Machine<'_>,
    state: &State,
    words: &mut [i32],
    graph: &Graph,
    candidate: &Candidate,
    until: Instant,
) -> Option<bool> {
    let node: Option<NodeId> = candidate.at.map(|at| graph.place(at).node);
    let mut known = None;
    for thread in 0..machine.threads {
        let here = match node {
            Some(node) => machine.pc(state, thread) == Some(node),
            None => thread == 0,
        };
        if here {
            match truth(machine, words, thread, &candidate.body, until) {
                Some(false) => return Some(false),
                Some(true) => known = Some(true),
                None => {}
            }
        }
    }
    known
}

/// How long it is to read.
fn size(e: &Expr) -> usize {
    1 + match e {
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => size(e),
        Expr::Binary(_, a, b) => size(a) + size(b),
        Expr::Quantified { lo, hi, body, .. } => size(lo) + size(hi) + size(body) + 2,
        Expr::Read(Place::Element(_, index, _)) => size(index),
        Expr::Read(Place::Field(pointer, ..)) => size(pointer),
        _ => 0,
    }
}

fn binary(op: BinOp, a: &Expr, b: &Expr) -> Expr {
    Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone()))
}

/// Comparisons between what a process can see at a place, and implications between them.
fn comparisons(program: &Program, graph: &Graph, at: Point) -> Vec<Candidate> {
    if at == Graph::IDLE {
        return Vec::new();
    }
    let place = graph.place(at);
    let live = &live_locals(program)[place.node.index()];
    let mut seen: Vec<(Expr, Type)> = Vec::new();
    for (index, slot) in program.operation(place.op).locals.iter().enumerate() {
        if live[index] && !slot.name.is_empty() {
            seen.push((Expr::Read(Place::Local(LocalId(index as u16))), slot.ty.clone()));
        }
    }
    for (number, global) in program.globals.iter().enumerate().filter(|(_, global)| global.length.is_none()) {
        for (slot, of) in global.slots.iter().enumerate() {
            seen.push((Expr::Read(Place::Global(GlobalId(number as u16), slot as u16)), of.ty.clone()));
        }
    }
    let mut numbers: Vec<Expr> =
        seen.iter().filter(|(_, ty)| *ty == Type::Int).map(|(value, _)| value.clone()).collect();
    numbers.extend((0..program.sizes.len()).map(|size| Expr::Size(SizeId(size as u16))));
    let (mut tests, mut orders) = (Vec::new(), Vec::new());
    for (value, ty) in &seen {
        match ty {
            Type::Bool => tests.extend([value.clone(), Expr::Not(Box::new(value.clone()))]),
            Type::Enum(id) => {
                let variants = program.enums[id.index()].variants.len() as i32;
                tests.extend((0..variants).map(|c| binary(BinOp::Eq, value, &Expr::Const(c))));
            }
            Type::Lock | Type::Option(_) => {
                let others = [Some(Expr::Const(NONE)), is_thread(ty).then_some(Expr::Me)];
                for other in others.into_iter().flatten() {
                    tests.extend([binary(BinOp::Eq, value, &other), binary(BinOp::Ne, value, &other)]);
                }
            }
            _ => {}
        }
    }
    for (index, a) in numbers.iter().enumerate() {
        orders.push(binary(BinOp::Le, &Expr::Const(0), a));
        for b in &numbers[index + 1..] {
            tests.extend([binary(BinOp::Eq, a, b), binary(BinOp::Ne, a, b)]);
            orders.extend([BinOp::Le, BinOp::Lt, BinOp::Ge, BinOp::Gt].map(|op| binary(op, a, b)));
        }
    }
    let mut all: Vec<Expr> = tests.iter().chain(&orders).cloned().collect();
    for test in &tests {
        // Two ways to compare the same two values say nothing about each other.
        let ends = tests.iter().chain(&orders).filter(|end| operands(end) != operands(test));
        all.extend(ends.map(|end| binary(BinOp::Implies, test, end)));
    }
    all.into_iter().map(|body| Candidate { at: Some(at), body }).collect()
}

/// What is compared, whatever the sign.
fn operands(e: &Expr) -> (&Expr, Option<&Expr>) {
    match e {
        Expr::Binary(_, a, b) => (a, Some(b)),
        Expr::Not(e) => (e, None),
        e => (e, None),
    }
}

fn is_thread(ty: &Type) -> bool {
    match ty {
        Type::Lock | Type::Thread => true,
        Type::Option(inner) => **inner == Type::Thread,
        _ => false,
    }
}

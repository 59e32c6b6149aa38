//! What can be seen from the graph without running it: variables without a value, locks that are kept, paths
//! with no linearization point or with two; and which locals still matter at which node.
//!
//! Every check follows edges, not values (but for truth values of locals where points are counted), so a path
//! it talks about may be one that no run takes. What is certain on every path is an error; what depends on
//! the path is a warning.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, code};
use crate::program::{
    Action, Edge, Exit, Expr, LocalId, MarkKind, NodeId, OpId, Operation, Place, Program, Term,
};

/// Runs every check.
pub(crate) fn check(program: &Program, wrong: &mut Vec<Diagnostic>) {
    for (index, operation) in program.operations.iter().enumerate() {
        unset(program, operation, wrong);
        locks(program, operation, wrong);
        points(program, OpId(index as u16), operation, wrong);
    }
    if let Some(init) = &program.init {
        unset(program, init, wrong);
    }
}

/// Reads of locals that may have no value.
fn unset(program: &Program, operation: &Operation, wrong: &mut Vec<Diagnostic>) {
    let count = operation.locals.len();
    let mut set: Vec<Option<Vec<bool>>> = vec![None; program.nodes.len()];
    set[operation.entry.index()] = Some((0..count).map(|local| local < operation.params).collect());
    let mut open = vec![operation.entry];
    while let Some(node) = open.pop() {
        let Some(before) = set[node.index()].clone() else { continue };
        for edge in &program.node(node).edges {
            let after = after_edge(edge, before.clone(), &mut |_, _| {});
            let Exit::Goto(to) = edge.exit else { continue };
            let merged = match &set[to.index()] {
                None => after,
                Some(old) => old.iter().zip(&after).map(|(a, b)| *a && *b).collect(),
            };
            if set[to.index()].as_ref() != Some(&merged) {
                set[to.index()] = Some(merged);
                open.push(to);
            }
        }
    }
    let mut told = BTreeSet::new();
    for (index, node) in program.nodes.iter().enumerate() {
        let Some(before) = &set[index] else { continue };
        for edge in &node.edges {
            after_edge(edge, before.clone(), &mut |local, at| {
                let slot = &operation.locals[local];
                if !slot.name.is_empty() && told.insert((local, at.start)) {
                    wrong.push(
                        Diagnostic::error(code::UNSET, at, format!("`{}` may have no value here", slot.name))
                            .note("read here")
                            .help(format!("give `{}` a value on every way that leads here", slot.name)),
                    );
                }
            });
        }
    }
}

/// What has a value after a step; `unset` is told of reads of what has none.
fn after_edge(edge: &Edge, mut set: Vec<bool>, unset: &mut impl FnMut(usize, crate::Span)) -> Vec<bool> {
    let mut bound = Vec::new();
    let mut read = |e: &Expr, set: &[bool], bound: &mut Vec<usize>| {
        binders(e, bound);
        e.places(&mut |place| {
            if let Place::Local(local) = place
                && !set[local.index()]
                && !bound.contains(&local.index())
            {
                unset(local.index(), edge.span);
            }
        });
    };
    for action in &edge.actions {
        match action {
            Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => read(e, &set, &mut bound),
            Action::Assign(place, e) => {
                read(e, &set, &mut bound);
                match place {
                    Place::Local(local) => set[local.index()] = true,
                    Place::Element(_, index, _) => read(index, &set, &mut bound),
                    Place::Field(pointer, ..) => read(pointer, &set, &mut bound),
                    Place::Global(..) => {}
                }
            }
            Action::Choose(local, lo, hi) => {
                read(lo, &set, &mut bound);
                read(hi, &set, &mut bound);
                set[local.index()] = true;
            }
            Action::Prophecy(local, resolved) => {
                resolved.iter().for_each(|e| read(e, &set, &mut bound));
                set[local.index()] = true;
            }
            Action::New { local, fields, .. } => {
                fields.iter().for_each(|(_, e)| read(e, &set, &mut bound));
                set[local.index()] = true;
            }
            Action::Lock(place) | Action::Unlock(place) => read(&Expr::Read(place.clone()), &set, &mut bound),
            Action::Mark(mark) => {
                mark.when.iter().chain(&mark.of).for_each(|e| read(e, &set, &mut bound));
                mark.result.iter().flatten().for_each(|e| read(e, &set, &mut bound));
            }
            Action::Claim(_) => {}
        }
    }
    if let Exit::Return(values) = &edge.exit {
        values.iter().for_each(|e| read(e, &set, &mut bound));
    }
    set
}

fn binders(expr: &Expr, bound: &mut Vec<usize>) {
    match expr {
        Expr::Quantified { local, lo, hi, body, .. } => {
            bound.push(local.index());
            [lo, hi, body].into_iter().for_each(|e| binders(e, bound));
        }
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => binders(e, bound),
        Expr::Binary(_, a, b) => {
            binders(a, bound);
            binders(b, bound);
        }
        Expr::Read(Place::Element(_, e, _) | Place::Field(e, ..)) => binders(e, bound),
        _ => {}
    }
}

/// More locks than this are not counted.
const MOST_LOCKS: i32 = 8;

/// Returns at which some lock is held on every way there.
fn locks(program: &Program, operation: &Operation, wrong: &mut Vec<Diagnostic>) {
    use linpoint_history::Kind;
    // A lock built from locks keeps them on purpose.
    if let crate::program::SpecSource::Builtin(spec) = &program.spec
        && matches!(spec.kind, Kind::Lock | Kind::RwLock | Kind::Semaphore)
    {
        return;
    }
    let mut counts: Vec<BTreeSet<i32>> = vec![BTreeSet::new(); program.nodes.len()];
    let mut open = vec![(operation.entry, 0)];
    let mut told = BTreeSet::new();
    while let Some((node, count)) = open.pop() {
        if !counts[node.index()].insert(count) {
            continue;
        }
        for edge in &program.node(node).edges {
            if let Exit::Goto(to) = edge.exit {
                open.push((to, (count + taken(edge)).clamp(-MOST_LOCKS, MOST_LOCKS)));
            }
        }
    }
    for (index, node) in program.nodes.iter().enumerate() {
        for edge in &node.edges {
            let Some(least) = counts[index].first().map(|count| count + taken(edge)) else { continue };
            if matches!(edge.exit, Exit::Return(_)) && least > 0 && told.insert(edge.span.start) {
                let locks = if least == 1 { "a lock is" } else { "locks are" };
                wrong.push(
                    Diagnostic::error(
                        code::LEAK,
                        edge.span,
                        format!("{locks} still held when `{}` returns here", operation.name),
                    )
                    .note("returns with the lock")
                    .help("`unlock` it on this way before the `return`"),
                );
            }
        }
    }
}

/// Locks taken less locks given back.
fn taken(edge: &Edge) -> i32 {
    let change = |action: &Action| match action {
        Action::Lock(_) => 1,
        Action::Unlock(_) => -1,
        _ => 0,
    };
    edge.actions.iter().map(change).sum()
}

/// Ways through an operation with no linearization point, or with two, where it has any at all.
fn points(program: &Program, op: OpId, operation: &Operation, wrong: &mut Vec<Diagnostic>) {
    let nodes = || program.nodes.iter().filter(|node| node.op == op);
    let marks = || nodes().flat_map(|node| &node.edges).flat_map(Edge::marks);
    let helped =
        program.nodes.iter().flat_map(|node| &node.edges).flat_map(Edge::marks).any(|mark| mark.of.is_some());
    if !marks().any(|mark| mark.of.is_none()) || helped {
        return;
    }
    // How many points were passed for certain, whether one may have been, and which truth values are known.
    type Way = (u8, bool, Truths);
    let mut seen: Vec<BTreeSet<Way>> = vec![BTreeSet::new(); program.nodes.len()];
    let mut open: Vec<(NodeId, Way)> = vec![(operation.entry, (0, false, Truths::new()))];
    let mut told = BTreeSet::new();
    while let Some((node, way)) = open.pop() {
        if !seen[node.index()].insert(way.clone()) {
            continue;
        }
        for edge in &program.node(node).edges {
            let mut now = way.clone();
            if !follow(edge, &mut now.2) {
                continue;
            }
            if seen[node.index()].len() > MOST_WAYS {
                now.2.clear();
            }
            for mark in edge.marks() {
                now.1 = true;
                if mark.kind == MarkKind::Lin && mark.when.is_none() {
                    now.0 = (now.0 + 1).min(2);
                    if now.0 == 2 && told.insert((2, mark.span.start)) {
                        wrong.push(
                            Diagnostic::warning(
                                code::TWO_POINTS,
                                mark.span,
                                "a second linearization point on this way",
                            )
                            .note("the operation took effect already")
                            .help("keep the one where the effect becomes visible, or say when: `@lin if c`"),
                        );
                    }
                }
            }
            match edge.exit {
                Exit::Goto(to) if now.0 < 2 => open.push((to, now)),
                Exit::Return(_) if !now.1 && told.insert((0, edge.span.start)) => wrong.push(
                    Diagnostic::warning(code::NO_POINT, edge.span, "a way to this return has no linearization point")
                        .note("returns here")
                        .help("put `@lin` on the step where this result is decided, or `@query` where it was looked up"),
                ),
                _ => {}
            }
        }
    }
}

/// Truth values of locals that are known on a way.
type Truths = BTreeMap<LocalId, bool>;

/// Beyond so many ways to a node, truth values are forgotten.
const MOST_WAYS: usize = 64;

/// Takes an edge; false if what is known closes it.
fn follow(edge: &Edge, known: &mut Truths) -> bool {
    for action in &edge.actions {
        match action {
            Action::Assume(condition) => {
                let (local, wanted) = match condition {
                    Expr::Read(Place::Local(local)) => (*local, true),
                    Expr::Not(inner) => match &**inner {
                        Expr::Read(Place::Local(local)) => (*local, false),
                        _ => continue,
                    },
                    _ => continue,
                };
                if *known.entry(local).or_insert(wanted) != wanted {
                    return false;
                }
            }
            Action::Assign(Place::Local(local), Expr::Const(word)) => {
                known.insert(*local, *word != 0);
            }
            Action::Assign(Place::Local(local), _)
            | Action::Choose(local, ..)
            | Action::Prophecy(local, _)
            | Action::New { local, .. } => {
                known.remove(local);
            }
            _ => {}
        }
    }
    true
}

/// For each node, which locals of its operation may still be read. What is not in it may be forgotten.
pub fn live_locals(program: &Program) -> Vec<Vec<bool>> {
    let width = |op: OpId| program.operation(op).locals.len();
    let kept = claimed_locals(program);
    let mut live: Vec<Vec<bool>> = program.nodes.iter().map(|node| vec![false; width(node.op)]).collect();
    loop {
        let mut changed = false;
        for (index, node) in program.nodes.iter().enumerate().rev() {
            for edge in &node.edges {
                let mut before = live_before(program, edge, &live, width(node.op));
                kept.iter().filter(|(op, _)| *op == node.op).for_each(|(_, local)| before[*local] = true);
                for (old, new) in live[index].iter_mut().zip(before) {
                    changed |= new && !*old;
                    *old |= new;
                }
            }
        }
        if !changed {
            return live;
        }
    }
}

/// Locals whose later values claims ask for.
fn claimed_locals(program: &Program) -> BTreeSet<(OpId, usize)> {
    let mut kept = BTreeSet::new();
    for node in &program.nodes {
        for action in node.edges.iter().flat_map(|edge| &edge.actions) {
            let Action::Claim(claim) = action else { continue };
            for term in &program.claims[claim.index()].terms {
                let mut keep = |place: &Place| {
                    if let Place::Local(local) = place {
                        kept.insert((node.op, local.index()));
                    }
                };
                let (Term::First { place, .. } | Term::Last { place, .. } | Term::Exit { place }) = term;
                keep(place);
                place.inner(&mut keep);
                if let Term::Last { until, .. } = term {
                    until.places(&mut keep);
                }
            }
        }
    }
    kept
}

fn live_before(program: &Program, edge: &Edge, live: &[Vec<bool>], width: usize) -> Vec<bool> {
    let mut now = match edge.exit {
        Exit::Goto(to) => live[to.index()].clone(),
        Exit::Return(_) => vec![false; width],
    };
    let read = |e: &Expr, now: &mut Vec<bool>| {
        e.places(&mut |place| {
            if let Place::Local(local) = place {
                now[local.index()] = true;
            }
        });
    };
    let inner = |place: &Place, now: &mut Vec<bool>| {
        place.inner(&mut |inner| {
            if let Place::Local(local) = inner {
                now[local.index()] = true;
            }
        });
    };
    if let Exit::Return(values) = &edge.exit {
        values.iter().for_each(|e| read(e, &mut now));
    }
    for action in edge.actions.iter().rev() {
        match action {
            Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => read(e, &mut now),
            Action::Assign(place, e) => {
                if let Place::Local(local) = place {
                    now[local.index()] = false;
                }
                inner(place, &mut now);
                read(e, &mut now);
            }
            Action::Choose(local, lo, hi) => {
                now[local.index()] = false;
                read(lo, &mut now);
                read(hi, &mut now);
            }
            Action::Prophecy(local, None) => now[local.index()] = false,
            // What was guessed is compared with it.
            Action::Prophecy(local, Some(e)) => {
                now[local.index()] = true;
                read(e, &mut now);
            }
            Action::New { local, fields, .. } => {
                now[local.index()] = false;
                fields.iter().for_each(|(_, e)| read(e, &mut now));
            }
            Action::Lock(place) | Action::Unlock(place) => inner(place, &mut now),
            Action::Mark(mark) => {
                mark.when.iter().chain(&mark.of).for_each(|e| read(e, &mut now));
                mark.result.iter().flatten().for_each(|e| read(e, &mut now));
            }
            Action::Claim(claim) => {
                let claim = &program.claims[claim.index()];
                read(&claim.body, &mut now);
            }
        }
    }
    now
}

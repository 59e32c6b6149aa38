//! Which object a sequential program is: a `spec` block, or a program's own code run alone.
//!
//! The reference of a program that names a built-in object is that object. Else it is a program itself, run
//! by one thread: the `spec` block, or, where there is none, the candidate's own code (Amit 2007, chapter 3).
//! What such a program answers is settled by a proof for one thread, whatever the calls and the length: if it
//! is a stack, a queue or a set, then comparing with it and comparing with that object is the same, as long
//! as it always answers:
//! - it never waits: of each condition the opposite is there, too, and no structure of the proof is stuck;
//! - it does not ask who calls: a `spec` that says `me` or takes locks may do something else where two
//!   threads call by turns than where one calls all the time, and is refused. (The program's own code may do
//!   so: what is proved of it for all threads is that it is that object, whoever calls.)
//! - its operations end: no structure of the proof is reached again before the operation returns; or, where
//!   lists are walked through, so that the abstraction goes round, no run of a few calls goes round, which
//!   the verdict then says.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Exit, Expr, Node, SpecSource, Type};
use linpoint_model::asks_who_calls;
use rustc_hash::FxHashSet;

use crate::budget::Budget;
use crate::concrete::{Concrete, World};
use crate::exec::Points;
use crate::infer::candidates;
use crate::initial::initial;
use crate::layout::{Layout, Object, Role};
use crate::run::Steps;
use crate::store::Domain;
use crate::structure::IDLE;
use crate::threads::{Client, End, Found, analyse, is_inductive, successors};

/// Each object and combination of points gets this long.
const TIME_EACH: Duration = Duration::from_secs(1);

/// All of them together.
const IN_ALL: Duration = Duration::from_secs(20);

/// And this much room.
const ROOM: usize = 256 << 20;

/// More combinations of points than this are not tried.
const MOST_COMBINATIONS: usize = 24;

/// Calls in a row that are run, where it is not proved that operations end.
pub const CALLS: usize = 4;

/// More states than this of one run are taken for one that does not end.
const MOST_STATES: usize = 20_000;

/// How it is known that the operations of a reference end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// It is a built-in object, or it was proved.
    Always,
    /// In each sequence of [`CALLS`] calls; of longer ones it is taken for granted.
    Tested,
}

/// What a program is compared with.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub object: Object,
    /// What the operations of the program are to it.
    pub roles: Vec<Role>,
    pub ends: Ends,
}

/// The object that a program is compared with, and what its operations are to it.
///
/// # Errors
/// Why there is none; the search for it is given up in time.
pub(crate) fn reference(program: &Program, until: Option<Instant>) -> Result<Reference, String> {
    let (sequential, what) = match &program.spec {
        SpecSource::Builtin(_) => {
            let object = crate::layout::object(program)?;
            let roles = crate::layout::roles(program, object)?;
            return Ok(Reference { object, roles, ends: Ends::Always });
        }
        SpecSource::Block(block) => (called(block, program.operations.len()), "the `spec` block"),
        SpecSource::Nothing => {
            (Cow::Borrowed(program), "the object names no specification, and its own code")
        }
    };
    if matches!(program.spec, SpecSource::Block(_)) && asks_who_calls(&sequential) {
        return Err("the `spec` block says `me` or takes locks, so that it may matter who calls, and what it is was not looked at for several callers".into());
    }
    let until = until.unwrap_or_else(|| Instant::now() + IN_ALL);
    for object in [Object::Stack, Object::Queue, Object::Set] {
        if let Some(roles) = roles(&sequential, object)
            && let Some(ends) = is_it(&sequential, object, &roles, until)
        {
            return Ok(Reference { object, roles, ends });
        }
    }
    Err(format!("{what}, run alone, was not proved to be a stack, a queue or a set whose operations end"))
}

/// A specification with those operations only that the object has: they come first. The code of others is not
/// run.
fn called(block: &Program, operations: usize) -> Cow<'_, Program> {
    if block.operations.len() <= operations {
        return Cow::Borrowed(block);
    }
    let all = block.operations.len();
    let mut program = block.clone();
    program.operations.truncate(operations);
    for node in &mut program.nodes {
        match node.op.index() {
            op if op >= all => node.op.0 = operations as u16,
            op if op >= operations => {
                node.op.0 = 0;
                node.edges.clear();
            }
            _ => {}
        }
    }
    Cow::Owned(program)
}

/// What operations are, by what they take and give; of a set, by their names too.
fn roles(program: &Program, object: Object) -> Option<Vec<Role>> {
    let role = |op: &linpoint_lang::program::Operation| {
        let params = &op.locals[..op.params];
        let one = |wanted: &Type| params.len() == 1 && params[0].ty == *wanted;
        match (object, op.result.parts.as_slice()) {
            (Object::Set, [Type::Bool]) if one(&Type::Int) => match op.name.as_str() {
                "add" | "insert" => Some(Role::Add),
                "remove" | "delete" => Some(Role::Remove),
                "contains" | "member" => Some(Role::Contains),
                _ => None,
            },
            (Object::Stack | Object::Queue, []) if one(&Type::Data) => Some(Role::Insert),
            (Object::Stack | Object::Queue, [_]) if params.is_empty() => Some(Role::Take),
            _ => None,
        }
    };
    program.operations.iter().map(role).collect()
}

/// Is a program, run by one thread, this object, and does it always answer?
fn is_it(program: &Program, object: Object, roles: &[Role], until: Instant) -> Option<Ends> {
    if !reached(program).into_iter().all(|node| never_waits(&program.nodes[node])) {
        return None;
    }
    let layout = Layout::of(program, object, roles.to_vec()).ok()?;
    let start = initial(&layout, 1).ok()?;
    let client = Client::general(&layout, 1);
    let all = std::iter::once(Points::Given).chain(candidates(&layout).into_iter().take(MOST_COMBINATIONS));
    for points in all {
        let steps = Steps { layout: &layout, points: &points };
        let left = until.saturating_duration_since(Instant::now());
        let budget = Budget::new(Some(TIME_EACH.min(left)), ROOM, &|_| {});
        let found = analyse(&steps, start.clone(), &client, Domain::Joined, &budget);
        if !matches!(found.end, End::Proved)
            || is_inductive(&steps, &start, &client, &found, Some(until)).is_err()
        {
            continue;
        }
        let goes_on = |s: &crate::structure::Structure| {
            s.threads[0].pc == IDLE || successors(&steps, &client, s).is_ok_and(|next| !next.is_empty())
        };
        if !found.store.all.iter().all(goes_on) {
            return None;
        }
        if goes_round(&steps, &client, &found) == Some(false) {
            return Some(Ends::Always);
        }
        return every_call_ends(&layout, &points, until).then_some(Ends::Tested);
    }
    None
}

/// Is a structure reached again before its operation returns? `None` if a structure cannot be found.
fn goes_round(steps: &Steps<'_, '_>, client: &Client, found: &Found) -> Option<bool> {
    // Structures that lead only to such ones that are done, or to rest, are done; what is left goes round.
    let count = found.store.all.len();
    let mut next: Vec<Vec<usize>> = Vec::with_capacity(count);
    for s in &found.store.all {
        let mut to = Vec::new();
        if s.threads[0].pc != IDLE {
            for after in successors(steps, client, s).ok()? {
                to.push(found.store.number(&(), &after)? as usize);
            }
        }
        next.push(to);
    }
    let mut done = vec![false; count];
    let mut changed = true;
    while changed {
        changed = false;
        for index in 0..count {
            if !done[index] && next[index].iter().all(|to| done[*to]) {
                done[index] = true;
                changed = true;
            }
        }
    }
    Some(done.iter().any(|done| !done))
}

/// Does every call end, in every sequence of a few?
fn every_call_ends(layout: &Layout<'_>, points: &Points, until: Instant) -> bool {
    let world = World::new(layout, points, 1, u8::MAX);
    let ops: Vec<usize> = (0..layout.roles.len()).collect();
    let mut resting: FxHashSet<Concrete> = FxHashSet::from_iter([world.initial()]);
    for _ in 0..CALLS {
        let mut later = FxHashSet::default();
        for from in &resting {
            let Ok(called) = world.steps_of(from, 0, &ops) else { return false };
            for start in called {
                if Instant::now() > until || !run_ends(&world, start, &mut later) {
                    return false;
                }
            }
        }
        resting = later;
    }
    true
}

/// Does an operation end that was called, in every way? Adds the states in which it did.
fn run_ends(world: &World<'_, '_>, start: Concrete, ended: &mut FxHashSet<Concrete>) -> bool {
    // Depth first: a state on the way to itself is one that the operation may come to again and again.
    let mut on_the_way: FxHashSet<Concrete> = FxHashSet::default();
    let mut finished: FxHashSet<Concrete> = FxHashSet::default();
    let mut open: Vec<(Concrete, bool)> = vec![(start, false)];
    while let Some((state, leave)) = open.pop() {
        if leave {
            on_the_way.remove(&state);
            finished.insert(state);
            continue;
        }
        if world.is_at_rest(&state, 0) {
            ended.insert(state);
            continue;
        }
        if finished.contains(&state) {
            continue;
        }
        if !on_the_way.insert(state.clone()) || on_the_way.len() + finished.len() > MOST_STATES {
            return false;
        }
        let Ok(next) = world.steps_of(&state, 0, &[]) else { return false };
        open.push((state, true));
        open.extend(next.into_iter().map(|next| (next, false)));
    }
    true
}

/// The places of code that calls come to.
fn reached(program: &Program) -> Vec<usize> {
    let mut found: Vec<usize> = program.operations.iter().map(|op| op.entry.index()).collect();
    let mut at = 0;
    while let Some(&node) = found.get(at) {
        for edge in &program.nodes[node].edges {
            if let Exit::Goto(to) = &edge.exit
                && !found.contains(&to.index())
            {
                found.push(to.index());
            }
        }
        at += 1;
    }
    found
}

/// Is there always an edge that may be taken? Locks aside, which are looked at in each structure.
fn never_waits(node: &Node) -> bool {
    let conditions: Vec<&Expr> = node
        .edges
        .iter()
        .filter_map(|edge| match edge.actions.first() {
            Some(Action::Assume(e)) => Some(e),
            _ => None,
        })
        .collect();
    let opposite =
        |e: &Expr| conditions.iter().any(|other| matches!(other, Expr::Not(inner) if inner.as_ref() == e));
    let later = |edge: &linpoint_lang::program::Edge| {
        edge.actions.iter().skip(1).any(|action| matches!(action, Action::Assume(_)))
    };
    !node.edges.is_empty()
        && !node.edges.iter().any(later)
        && (conditions.len() < node.edges.len() || conditions.iter().any(|e| opposite(e)))
}

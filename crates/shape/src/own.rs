//! Which object a sequential program is: a `spec` block, or a program's own code run alone.
//!
//! The reference of a program that names a built-in object is that object. Else it is a program itself, run by one thread: the `spec` block, or, where there is none, the candidate's own code (Amit 2007, chapter 3). What such a program
//! answers is settled by a proof for one thread, whatever the calls and the length: if it is a stack, a queue or a set, then comparing with it and comparing with that object is the same, as long as it always answers:
//! - it never waits: of each condition the opposite is there, too, and no structure of the proof is stuck;
//! - its operations end. That is taken for granted where they have loops.

use std::time::Duration;

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Expr, Node, SpecSource, Type};

use crate::budget::Budget;
use crate::exec::Points;
use crate::infer::candidates;
use crate::initial::initial;
use crate::layout::{Layout, Object, Role};
use crate::run::Steps;
use crate::store::Domain;
use crate::structure::IDLE;
use crate::threads::{Client, End, analyse, is_inductive, successors};

/// Each object and combination of points gets this long.
const TIME: Duration = Duration::from_secs(1);

/// And this much room.
const ROOM: usize = 256 << 20;

/// More combinations of points than this are not tried.
const MOST: usize = 24;

/// The object that a program without a built-in specification is compared with, and what its operations are to it.
///
/// # Errors
/// Why there is none.
pub(crate) fn reference(program: &Program) -> Result<(Object, Vec<Role>), String> {
    let (sequential, what) = match &program.spec {
        SpecSource::Block(block) => (block.as_ref(), "the `spec` block"),
        _ => (program, "the object names no specification, and its own code"),
    };
    for object in [Object::Stack, Object::Queue, Object::Set] {
        if let Some(roles) = roles(sequential, object)
            && is_it(sequential, object, &roles)
        {
            return Ok((object, roles));
        }
    }
    Err(format!("{what}, run alone, was not proved to be a stack, a queue or a set"))
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
fn is_it(program: &Program, object: Object, roles: &[Role]) -> bool {
    let operations = program.operations.len();
    if !program.nodes.iter().filter(|node| node.op.index() < operations).all(never_waits) {
        return false;
    }
    let Ok(layout) = Layout::of(program, object, roles.to_vec()) else { return false };
    let Ok(start) = initial(&layout, 1) else { return false };
    let client = Client::general(&layout, 1);
    let all = std::iter::once(Points::Given).chain(candidates(&layout).into_iter().take(MOST));
    for points in all {
        let steps = Steps { layout: &layout, points: &points };
        let budget = Budget::new(Some(TIME), ROOM, &|_| {});
        let found = analyse(&steps, start.clone(), &client, Domain::Joined, &budget);
        if !matches!(found.end, End::Proved) || is_inductive(&steps, &start, &client, &found).is_err() {
            continue;
        }
        let goes_on = |s: &crate::structure::Structure| {
            s.threads[0].pc == IDLE || successors(&steps, &client, s).is_ok_and(|next| !next.is_empty())
        };
        return found.store.all.iter().all(goes_on);
    }
    false
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

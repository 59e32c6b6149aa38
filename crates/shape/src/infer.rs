//! Where operations may take effect, if nobody says so.
//!
//! Answers without effect need no point, so only operations that change the abstract object do. They can take
//! effect only in a step that writes shared memory: their own, or, if others help, the step that makes a
//! shared pointer lead to their record; or both an insertion and the operation that takes its offer, in the
//! step that takes the offer off a shared pointer. Each combination is tried; a wrong one fails at once, and
//! a right one is a proof, however it was come by.

use std::collections::BTreeSet;

use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Edge, Expr, Place, Type};

use crate::exec::{Point, Points};
use crate::layout::{Layout, Object, Role};

/// More combinations than this are not tried.
const MOST_COMBINATIONS: usize = 512;

/// Every combination of points worth trying, simple ones first.
pub fn candidates(layout: &Layout<'_>) -> Vec<Points> {
    let mut own: Vec<Vec<Vec<(u16, u16, Point)>>> = Vec::new();
    for (op, role) in layout.roles.iter().enumerate() {
        if *role != Role::Contains {
            own.push(of_operation(layout, op));
        }
    }
    let mut all = product(&own);
    let meets = meets(layout);
    if !meets.is_empty() {
        // Where two operations meet is no point of one of them alone.
        let both = |choice: &Choice| {
            let own = choice.iter().filter(|(node, edge, _)| {
                !meets.iter().any(|(other, number, _)| (other, number) == (node, edge))
            });
            own.chain(&meets).copied().collect::<Choice>()
        };
        let met: Vec<Choice> = all.iter().map(both).collect();
        all.splice(0..0, met);
    }
    if layout.object != Object::Set {
        all.extend(helped(layout));
    }
    all.truncate(MOST_COMBINATIONS);
    all.into_iter().map(Points::At).collect()
}

type Choice = Vec<(u16, u16, Point)>;

/// Each step of an operation that writes; all its steps that write one place.
fn of_operation(layout: &Layout<'_>, op: usize) -> Vec<Choice> {
    let mut single: Vec<Choice> = Vec::new();
    let mut places: BTreeSet<String> = BTreeSet::new();
    let writing = writes(layout, op);
    for (node, edge, place) in &writing {
        single.push(vec![(*node, *edge, Point::Own)]);
        places.insert(place.clone());
    }
    for place in places {
        let same: Choice = writing
            .iter()
            .filter(|(.., p)| *p == place)
            .map(|(node, edge, _)| (*node, *edge, Point::Own))
            .collect();
        if same.len() > 1 {
            single.push(same);
        }
    }
    single
}

/// Points of insertions in whosever step makes a shared pointer lead to their record.
fn helped(layout: &Layout<'_>) -> Vec<Choice> {
    let mut all = Vec::new();
    for (global, bit) in layout.global_bit.iter().enumerate() {
        let Some(bit) = bit else { continue };
        let mut help: Choice = Vec::new();
        for (index, node) in layout.program.nodes.iter().enumerate() {
            for (number, edge) in node.edges.iter().enumerate() {
                if node.op.index() < layout.roles.len() && assigns(edge, global) {
                    help.push((index as u16, number as u16, Point::Help(*bit)));
                }
            }
        }
        if help.is_empty() {
            continue;
        }
        let mut own = vec![vec![help]];
        for (op, role) in layout.roles.iter().enumerate() {
            if *role == Role::Take {
                own.push(of_operation(layout, op));
            }
        }
        all.extend(product(&own));
    }
    all
}

/// Steps of taking operations that move a shared pointer off the offer that a local points to.
fn meets(layout: &Layout<'_>) -> Choice {
    let mut found = Vec::new();
    for (index, node) in layout.program.nodes.iter().enumerate() {
        if layout.roles.get(node.op.index()) != Some(&Role::Take) {
            continue;
        }
        for (number, edge) in node.edges.iter().enumerate() {
            let local = edge.actions.iter().find_map(|action| {
                let Action::Assume(Expr::Binary(BinOp::Eq, a, b)) = action else { return None };
                let ((Expr::Read(Place::Global(global, _)), Expr::Read(Place::Local(local)))
                | (Expr::Read(Place::Local(local)), Expr::Read(Place::Global(global, _)))) =
                    (a.as_ref(), b.as_ref())
                else {
                    return None;
                };
                let slot = &layout.program.globals[global.index()].slots;
                let offers = matches!(slot.first().map(|slot| &slot.ty), Some(Type::Pointer(record)) if layout.is_offer(record.index()));
                (offers && assigns(edge, global.index())).then_some(local.0)
            });
            if let Some(local) = local {
                found.push((index as u16, number as u16, Point::Meet(local)));
            }
        }
    }
    found
}

fn assigns(edge: &Edge, global: usize) -> bool {
    edge.actions
        .iter()
        .any(|action| matches!(action, Action::Assign(Place::Global(g, _), _) if g.index() == global))
}

/// The steps of an operation that write shared memory, and what they write.
fn writes(layout: &Layout<'_>, op: usize) -> Vec<(u16, u16, String)> {
    let mut found = Vec::new();
    for (index, node) in layout.program.nodes.iter().enumerate().filter(|(_, node)| node.op.index() == op) {
        for (number, edge) in node.edges.iter().enumerate() {
            let place = edge.actions.iter().find_map(|action| match action {
                Action::Assign(Place::Global(global, _), _)
                    if layout.global_bit[global.index()].is_some() =>
                {
                    Some(format!("global {}", global.index()))
                }
                Action::Assign(Place::Field(_, record, field), _)
                    if layout.is_link(record.index(), *field)
                        || layout.bool_bit[record.index()][usize::from(*field)].is_some() =>
                {
                    Some(format!("field {} {field}", record.index()))
                }
                _ => None,
            });
            if let Some(place) = place {
                found.push((index as u16, number as u16, place));
            }
        }
    }
    found
}

/// One choice of each, put together in every way.
fn product(choices: &[Vec<Choice>]) -> Vec<Choice> {
    let mut all: Vec<Choice> = vec![Vec::new()];
    for choice in choices {
        let longer =
            all.iter().flat_map(|before| choice.iter().map(move |next| [before.as_slice(), next].concat()));
        all = longer.take(MOST_COMBINATIONS).collect();
    }
    all
}

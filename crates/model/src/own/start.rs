//! Does a specification start with the first thread somewhere?
//!
//! A run of a program has a first thread: a variable of type `thread` starts as it, and `me` in `init` is it.
//! A history has processes, and which of them is met first depends on the order of its rows, on the object
//! that is looked at and on the part of the file that is read. A verdict must not, so such a specification is
//! refused, and told what to write: an option, which starts as `none`.

use linpoint_lang::Program;
use linpoint_lang::program::{Action, Slot, Type};
use linpoint_lang::span::Span;

use crate::sequential::edge_asks_who_calls;

/// Where the first thread comes into a program before anybody called, what it is there, and what to write
/// in its place.
pub(super) fn first_thread(program: &Program) -> Option<(Span, String, String)> {
    variables(program).or_else(|| fields_not_given(program)).or_else(|| initial_code(program))
}

/// Shared variables, and elements of them.
fn variables(program: &Program) -> Option<(Span, String, String)> {
    program.globals.iter().filter(|global| !global.ghost).find_map(|global| {
        let slot = global.slots.iter().find(|slot| is_thread(slot))?;
        let what = match global.record {
            Some(_) => format!("field `{}` of `{}` starts as", slot.name, global.name),
            None => format!("`{}` starts as", global.name),
        };
        let instead = match (&global.length, global.record) {
            (Some(_), None) => format!("write `{}: [thread?; …]`", slot.name),
            _ => format!("write `{}: thread? = none`", slot.name),
        };
        Some((slot.span, what, instead))
    })
}

/// Fields that a `new` leaves as they are declared.
fn fields_not_given(program: &Program) -> Option<(Span, String, String)> {
    let edges = program.nodes.iter().flat_map(|node| &node.edges);
    edges.flat_map(|edge| edge.actions.iter().map(move |action| (edge, action))).find_map(|(edge, action)| {
        let Action::New { record, fields, .. } = action else { return None };
        let record = &program.records[record.index()];
        let is_given = |field: usize| fields.iter().any(|(given, _)| usize::from(*given) == field);
        let mut left = record.fields.iter().enumerate().filter(|(field, _)| !is_given(*field));
        let (_, slot) = left.find(|(_, slot)| !slot.ghost && is_thread(slot))?;
        let what = format!("field `{}` of a new `{}` starts as", slot.name, record.name);
        let name = &slot.name;
        let instead =
            format!("write `new {} {{ {name}: … }}`, or declare `{name}: thread? = none`", record.name);
        Some((edge.span, what, instead))
    })
}

/// `me`, and locks taken, in `init`.
fn initial_code(program: &Program) -> Option<(Span, String, String)> {
    // The code of `init` has the number after those of the operations.
    program.init.as_ref()?;
    let nodes = program.nodes.iter().filter(|node| node.op.index() >= program.operations.len());
    let edge = nodes.flat_map(|node| &node.edges).find(|edge| edge_asks_who_calls(edge))?;
    let instead = "start with `none`, or with the lock free".to_owned();
    Some((edge.span, "who runs `init` is".to_owned(), instead))
}

fn is_thread(slot: &Slot) -> bool {
    slot.ty == Type::Thread
}

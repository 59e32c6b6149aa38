//! Ghosts can be erased: a program without them has the same runs.
//!
//! A ghost is for proofs, so nothing that a client can see may depend on one. Names and types are checked
//! while a program is lowered, where it is known which words are wrong. Here the same is checked of the
//! lowered program, step by step and slot by slot, whatever it was written as: no action that is left after
//! [`erase`] reads a ghost, waits for one, or gives one a record or a lock. Then by induction the steps of
//! both programs go together, from equal states but for ghosts to equal states but for ghosts. A ghost
//! assignment that goes wrong (a field of `null`) is an error of the program with ghosts alone: that is told,
//! never hidden.

use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Annotations, Edge, Exit, Expr, OpId, Place, Program};

/// What the program would lose with its ghosts: an error for each step that depends on one.
pub fn check(program: &Program, wrong: &mut Vec<Diagnostic>) {
    for node in &program.nodes {
        for edge in &node.edges {
            if let Some(what) = steered(program, node.op, edge) {
                wrong.push(
                    Diagnostic::error(code::GHOST, edge.span, format!("a ghost steers the program: {what}"))
                        .help("without its ghosts the program must run as before; read ghosts in annotations and in `@ghost { … }` only"),
                );
            }
        }
    }
}

/// The program without its ghosts: nothing is assigned to them, and no annotation is left that could look at
/// them. What is proved of a program is said of this one.
pub fn erase(program: &Program) -> Program {
    let mut erased = program.clone();
    for node in &mut erased.nodes {
        for edge in &mut node.edges {
            edge.actions.retain_mut(|action| match action {
                Action::Assign(place, _) => !is_ghost(program, node.op, place),
                Action::Choose(local, ..) => !is_ghost(program, node.op, &Place::Local(*local)),
                Action::Prophecy(..) => false,
                Action::New { record, fields, .. } => {
                    let slots = &program.records[record.index()].fields;
                    fields.retain(|(field, _)| !slots[usize::from(*field)].ghost);
                    true
                }
                Action::Mark(_) | Action::Claim(_) => false,
                Action::Assume(_)
                | Action::Assert(..)
                | Action::Free(_)
                | Action::Lock(_)
                | Action::Unlock(_) => true,
            });
        }
    }
    erased.claims.clear();
    erased.annotations = Annotations::default();
    erased
}

/// Is it only for proofs?
pub fn is_ghost(program: &Program, op: OpId, place: &Place) -> bool {
    let whole = match place {
        Place::Global(global, _) | Place::Element(global, ..) => program.globals[global.index()].ghost,
        Place::Local(_) | Place::Field(..) => false,
    };
    whole || program.slot(op, place).is_some_and(|slot| slot.ghost)
}

/// What a step that is left without ghosts does with one.
fn steered(program: &Program, op: OpId, edge: &Edge) -> Option<&'static str> {
    let ghost = |place: &Place| is_ghost(program, op, place);
    let reads = |e: &Expr| {
        let mut found = false;
        e.places(&mut |place| found |= ghost(place));
        found
    };
    let finds = |place: &Place| {
        let mut found = false;
        place.inner(&mut |inner| found |= ghost(inner));
        found
    };
    let wrong = |action: &Action| match action {
        Action::Assume(e) => reads(e).then_some("what happens next depends on it"),
        Action::Assert(e, _) => reads(e).then_some("an `assert` looks at it"),
        Action::Assign(place, e) if !ghost(place) => {
            (reads(e) || finds(place)).then_some("its value is written to something that is no ghost")
        }
        Action::Assign(..) => None,
        Action::Choose(local, lo, hi) if ghost(&Place::Local(*local)) => {
            let some = matches!((lo, hi), (Expr::Const(lo), Expr::Const(hi)) if lo <= hi);
            (!some).then_some("it is chosen from a range that may be empty, and then the program waits")
        }
        Action::Choose(_, lo, hi) => (reads(lo) || reads(hi)).then_some("a choice depends on it"),
        Action::Prophecy(local, _) => {
            (!ghost(&Place::Local(*local))).then_some("the program would be given a guess")
        }
        Action::New { local, record, fields } => {
            let slots = &program.records[record.index()].fields;
            let given = fields.iter().any(|(field, e)| !slots[usize::from(*field)].ghost && reads(e));
            let kept = ghost(&Place::Local(*local));
            (given || kept).then_some("a record is made for it or with its value")
        }
        Action::Free(e) => reads(e).then_some("a record is freed by it"),
        Action::Lock(place) | Action::Unlock(place) => {
            (ghost(place) || finds(place)).then_some("it is a lock, or says which lock is taken")
        }
        Action::Mark(_) | Action::Claim(_) => None,
    };
    let returned = match &edge.exit {
        Exit::Return(values) if values.iter().any(reads) => Some("it is returned"),
        Exit::Return(_) | Exit::Goto(_) => None,
    };
    edge.actions.iter().find_map(wrong).or(returned)
}

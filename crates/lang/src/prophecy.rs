//! Prophecies: what a thread will find, guessed before it looks.
//!
//! `prophecy g: int` guesses a value for proofs, and `@resolve g = e` says after a later step what it should
//! have been (Abadi and Lamport 1991, *The existence of refinement mappings*). A proof is about the runs
//! whose guesses come true. It holds for every run of the program without guesses if each of them has guesses
//! that come true, and these can be read off it: a guess is the value of its `e` in that run, and any value
//! where the run ends before. That needs four things, which are checked here of the lowered program:
//! - the guess can be any value of the type of `e`: only whole numbers and truth values are guessed, never
//!   within bounds;
//! - `e` does not depend on guesses: it reads no ghost;
//! - between two places that say what a guess should have been, the thread guesses anew; so no run needs one
//!   guess to have two values;
//! - nothing but these two steps gives the guess a value.
//!
//! That the program does not depend on guesses is checked with all other ghosts ([`crate::erase`]).
//!
//! An interpreter cannot guess any number. It takes 0 (false), and the right value once that is known. So
//! what ghosts say in a run in which something was guessed means nothing, and nothing that explores may look
//! at them: linearization points that may depend on a guess are not looked at, and claims read no ghosts.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, code};
use crate::program::{Action, Expr, LocalId, NodeId, OpId, Place, Program, Term, Type};
use crate::program::{Edge, Exit};
use crate::{erase, span::Span};

/// Is anything guessed in the program?
pub fn is_in(program: &Program) -> bool {
    all(program).next().is_some()
}

/// Each step that guesses, or says what should have been guessed.
fn all(program: &Program) -> impl Iterator<Item = (OpId, LocalId, Option<&Expr>, Span)> {
    program.nodes.iter().flat_map(|node| {
        node.edges.iter().flat_map(|edge| {
            edge.actions.iter().filter_map(|action| match action {
                Action::Prophecy(local, resolved) => Some((node.op, *local, resolved.as_ref(), edge.span)),
                _ => None,
            })
        })
    })
}

/// A specification has nothing to guess.
pub fn refuse(spec: &Program, wrong: &mut Vec<Diagnostic>) {
    for (.., span) in all(spec) {
        wrong.push(
            Diagnostic::error(code::PROPHECY, span, "a prophecy in a specification")
                .help("guesses are for proofs of the object; here, `choose` gives any value of a range"),
        );
    }
}

/// What would make a proof with guesses say nothing of the program.
pub fn check(program: &Program, wrong: &mut Vec<Diagnostic>) {
    let guessed: BTreeSet<(OpId, LocalId)> = all(program).map(|(op, local, ..)| (op, local)).collect();
    if guessed.is_empty() {
        return;
    }
    for &(op, local) in &guessed {
        let slot = &program.operation(op).locals[local.index()];
        if slot.bounds.is_some() || !matches!(slot.ty, Type::Int | Type::Bool) {
            let message = format!("`{}` cannot be guessed", slot.name);
            wrong.push(
                Diagnostic::error(code::PROPHECY, slot.span, message)
                    .note("a guess that is never right would hide runs")
                    .help("guess an `int` without bounds, or a `bool`"),
            );
        }
        twice(program, op, local, wrong);
    }
    for (op, local, resolved, span) in all(program) {
        let mut ghost = false;
        resolved
            .into_iter()
            .for_each(|e| e.places(&mut |place| ghost |= erase::is_ghost(program, op, place)));
        if ghost {
            let name = &program.operation(op).locals[local.index()].name;
            let message = format!("what `{name}` should have been depends on a ghost");
            wrong.push(
                Diagnostic::error(code::PROPHECY, span, message).help(
                    "say it with variables of the program, so that it is the same whatever was guessed",
                ),
            );
        }
    }
    for node in &program.nodes {
        for edge in &node.edges {
            for action in &edge.actions {
                let (Action::Assign(Place::Local(local), _)
                | Action::Choose(local, ..)
                | Action::New { local, .. }) = action
                else {
                    continue;
                };
                if guessed.contains(&(node.op, *local)) {
                    wrong.push(
                        Diagnostic::error(code::PROPHECY, edge.span, "a guess is given a value")
                            .help("`@resolve g = e` says what it should have been"),
                    );
                }
            }
        }
    }
    claims(program, wrong);
}

/// Is there a way on which a guess should have been two things, or one before it is made?
fn twice(program: &Program, op: OpId, local: LocalId, wrong: &mut Vec<Diagnostic>) {
    // May a thread be at a node with a guess that is open, and with none?
    let mut seen = vec![(false, false); program.nodes.len()];
    let mut todo: Vec<(NodeId, bool)> = vec![(program.operation(op).entry, false)];
    let mut told = BTreeSet::new();
    while let Some((node, mut open)) = todo.pop() {
        let here = &mut seen[node.index()];
        if std::mem::replace(if open { &mut here.0 } else { &mut here.1 }, true) {
            continue;
        }
        let at_node = open;
        for edge in &program.node(node).edges {
            open = at_node;
            if !is_resolved_once(edge, local, &mut open) && told.insert(edge.span.start) {
                let name = &program.operation(op).locals[local.index()].name;
                let message =
                    format!("what `{name}` should have been may be said twice, or before it is guessed");
                wrong.push(
                    Diagnostic::error(code::PROPHECY, edge.span, message)
                        .note("a second value would hide every run in which it is another")
                        .help(format!(
                            "each `@resolve {name}` needs a `prophecy {name}` of its own on every way there"
                        )),
                );
            }
            if let Exit::Goto(to) = edge.exit {
                todo.push((to, open));
            }
        }
    }
}

/// Follows a step from where a guess is open, or none is.
fn is_resolved_once(edge: &Edge, guess: LocalId, open: &mut bool) -> bool {
    for action in &edge.actions {
        let Action::Prophecy(local, resolved) = action else { continue };
        if *local == guess {
            if resolved.is_some() && !*open {
                return false;
            }
            *open = resolved.is_none();
        }
    }
    true
}

/// A claim is about runs, in which a ghost may hold a wrong guess.
fn claims(program: &Program, wrong: &mut Vec<Diagnostic>) {
    for node in &program.nodes {
        for action in node.edges.iter().flat_map(|edge| &edge.actions) {
            let Action::Claim(claim) = action else { continue };
            let claim = &program.claims[claim.index()];
            let mut ghost = false;
            let mut see = |place: &Place| ghost |= erase::is_ghost(program, node.op, place);
            claim.body.places(&mut see);
            for term in &claim.terms {
                let (Term::First { place, .. } | Term::Last { place, .. } | Term::Exit { place }) = term;
                see(place);
                place.inner(&mut see);
                if let Term::Last { until, .. } = term {
                    until.places(&mut see);
                }
            }
            if ghost {
                wrong.push(
                    Diagnostic::error(
                        code::PROPHECY,
                        claim.span,
                        "a claim reads a ghost, and something is guessed",
                    )
                    .help("in a run a guess may be wrong; claim something of the program's own variables"),
                );
            }
        }
    }
}

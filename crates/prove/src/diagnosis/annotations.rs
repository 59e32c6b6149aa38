//! Annotations that some run breaks: a wrong invariant is told by a run, not by a puzzling countermodel.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{Disjoint, UNSET, Word};
use linpoint_lang::span::Span;
use linpoint_model::TraceStep;

use super::in_runs::{LONGEST, ask};
use super::small_runs::workload;
use super::truth::truth;

/// An annotation that a run breaks.
#[derive(Clone, Debug)]
pub struct BrokenAnnotation {
    /// Which.
    pub annotation: Annotation,
    /// The run; the annotation is false after its last step.
    pub run: Vec<TraceStep>,
}

/// An annotation, and how a state breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// The `inv` that stands here is false.
    Invariant(Span),
    /// Two threads have the same value.
    Disjoint {
        /// The `disjoint` as it is written, without its conditions.
        written: String,
        /// The value.
        value: Word,
    },
}

/// Looks for a state that breaks what the user wrote with `inv` or `disjoint`.
pub fn broken_annotation(program: &Program, time: Option<Duration>) -> Option<BrokenAnnotation> {
    let annotations = &program.annotations;
    if annotations.invariants.is_empty() && annotations.disjoint.is_empty() {
        return None;
    }
    let until = Instant::now() + time.unwrap_or(LONGEST).min(LONGEST);
    let mut broken = None;
    let found = ask(program, &workload(program), None, time, &mut |machine, state| {
        broken = first_broken(machine, state, until);
        broken.is_some()
    })?;
    Some(BrokenAnnotation { annotation: broken?, run: found.run? })
}

fn first_broken(machine: &Machine<'_>, state: &State, until: Instant) -> Option<Annotation> {
    let annotations = &machine.program.annotations;
    let mut words = state.words.clone();
    for invariant in &annotations.invariants {
        for thread in 0..machine.threads {
            let here = match machine.pc(state, thread) {
                _ if invariant.at.is_empty() => thread == 0,
                Some(pc) => invariant.at.contains(&pc),
                None => false,
            };
            if here && truth(machine, &mut words, thread, &invariant.body, until) == Some(false) {
                return Some(Annotation::Invariant(invariant.span));
            }
        }
    }
    for group in &annotations.disjoint {
        let mut held: BTreeMap<Word, usize> = BTreeMap::new();
        for thread in 0..machine.threads {
            let Some(pc) = machine.pc(state, thread) else { continue };
            for one in group.iter().filter(|one| one.at.contains(&pc)) {
                let counts = match &one.when {
                    Some(when) => truth(machine, &mut words, thread, when, until) == Some(true),
                    None => true,
                };
                let word = machine.local(state, thread, one.local.index());
                if !counts || word == UNSET {
                    continue;
                }
                if *held.entry(word).or_insert(thread) != thread {
                    let written = disjoint(machine.program, group);
                    return Some(Annotation::Disjoint { written, value: word });
                }
            }
        }
    }
    None
}

/// A `disjoint` as it is written, without its conditions.
fn disjoint(program: &Program, group: &[Disjoint]) -> String {
    let one = |one: &Disjoint| {
        let nodes = || one.at.iter().map(|node| program.node(*node));
        let labels: Vec<&str> = nodes().filter_map(|node| node.label.as_deref()).collect();
        let name = nodes().next().map(|node| &program.operation(node.op).locals[one.local.index()].name);
        let name = name.map_or("", String::as_str);
        let when = if one.when.is_some() { " if …" } else { "" };
        format!("{name} at {}{when}", labels.join(", "))
    };
    format!("disjoint {}", group.iter().map(one).collect::<Vec<_>>().join("; "))
}

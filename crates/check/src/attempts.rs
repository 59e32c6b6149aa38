//! How far a counterexample can be explained: its longest orders, and what each operation would have
//! answered.
//!
//! The engines say that no order explains the core. What a person asks is where each attempt ends. Cores are
//! small, so every order is looked at ([`crate::orders`]): an operation can be next if no other that is left
//! returned before its call.

use std::ops::ControlFlow;

use linpoint_history::specs::State;
use linpoint_history::{Builtin, Call, Operation, Spec, Symbols, Value};

use crate::orders::{Event, Question, RowsQuestion, Walked, walk};

/// Orders that are kept.
const MOST_KEPT: usize = 12;
/// Configurations that are come to.
const MOST_ARRIVALS: u64 = 20_000;
/// Operations of a core that is tried.
const MOST_OPERATIONS: usize = 60;

/// An order that goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Indices of operations, in order.
    pub order: Vec<usize>,
    /// The states it goes through: one more than operations.
    pub states: Vec<State>,
    /// Operations that would have to be next, and what each may answer there; nothing of one that is not
    /// possible there.
    pub next: Vec<(usize, Vec<Value>)>,
}

/// What came of trying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// The longest orders, longest first.
    pub orders: Vec<Attempt>,
    /// What each operation that was placed nowhere may answer where it could have been, in any order; empty
    /// for those that were placed.
    pub answers: Vec<Vec<Value>>,
}

/// Tries every order of `core` from `start`. Nothing where there are too many.
pub fn longest(spec: &Builtin, symbols: &Symbols, core: &[Operation], start: State) -> Attempts {
    if core.len() > MOST_OPERATIONS {
        return Attempts::default();
    }
    let precedes =
        |a: usize, b: usize| core[a].ret < core[b].call || a < b && core[a].process() == core[b].process();
    let question = RowsQuestion::new(spec, core, symbols, precedes);
    let mut ends: Vec<(Vec<usize>, Vec<State>)> = Vec::new();
    let mut answers: Vec<Vec<Value>> = vec![Vec::new(); core.len()];
    let mut was_placed = vec![false; core.len()];
    let walked = walk(&question, [start], |event| {
        match event {
            Event::Step(spent) if spent.arrivals >= MOST_ARRIVALS => return ControlFlow::Break(()),
            Event::Step(_) | Event::Explained(_) => {}
            Event::Refused { state, op } => answers[op].extend(possible(spec, state, question.call(op))),
            Event::End(way) => {
                way.order().for_each(|op| was_placed[op] = true);
                ends.push((way.order().collect(), way.states().cloned().collect()));
            }
        }
        ControlFlow::Continue(())
    });
    if walked == Walked::Ended {
        return Attempts::default();
    }
    ends.sort_by_key(|(order, _)| std::cmp::Reverse(order.len()));
    ends.truncate(MOST_KEPT);
    for (answers, was_placed) in answers.iter_mut().zip(&was_placed) {
        if *was_placed {
            answers.clear();
        }
        answers.sort();
        answers.dedup();
    }
    let told = |(order, states): (Vec<usize>, Vec<State>)| {
        let next = states.last().map_or_else(Vec::new, |end| next(&question, spec, core, &order, end));
        Attempt { order, states, next }
    };
    Attempts { orders: ends.into_iter().map(told).collect(), answers }
}

/// Completed operations that would have to be next.
fn next(
    question: &RowsQuestion<'_, Builtin>,
    spec: &Builtin,
    core: &[Operation],
    order: &[usize],
    end: &State,
) -> Vec<(usize, Vec<Value>)> {
    let mut placed = crate::orders::Placed::none(core.len());
    order.iter().for_each(|&op| placed.set(op, true));
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(op) = question.next(&placed, from) {
        from = op + 1;
        if !core[op].is_pending() {
            found.push((op, possible(spec, end, question.call(op))));
        }
    }
    found
}

/// The states that `order` passes through, or none where it cannot be replayed.
pub fn states<'o>(
    spec: &Builtin,
    symbols: &Symbols,
    order: impl Iterator<Item = &'o Operation>,
    start: State,
) -> Option<Vec<State>> {
    let mut passed = vec![start];
    for op in order {
        let (arg, result) = (symbols.value(op.arg), symbols.value(op.result));
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        let state = passed.last()?;
        let next = if op.is_pending() {
            let mut next = Vec::new();
            spec.step_pending(state, call, &mut next);
            next.into_iter().next()
        } else {
            spec.step(state, call, &result)
        };
        passed.push(next?);
    }
    Some(passed)
}

/// What an operation may answer in a state.
fn possible(spec: &Builtin, state: &State, call: Call<'_>) -> Vec<Value> {
    let mut answers: Vec<Value> = spec.outcomes(state, call).into_iter().map(|(result, _)| result).collect();
    answers.dedup();
    answers
}

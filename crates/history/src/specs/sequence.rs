//! Queue, stack and deque: a sequence with one or two open ends.

use std::collections::VecDeque;

use super::codes::{deque, queue, stack};
use super::{Builtin, Outcomes, State};
use crate::spec::Call;
use crate::value::Value;

/// `enqueue` at the back, `dequeue` from the front.
pub(super) fn queue(spec: &Builtin, items: &VecDeque<Value>, call: Call<'_>) -> Outcomes {
    match call.op {
        queue::ENQUEUE => insert(spec, items, |items| items.push_back(call.arg.clone())),
        queue::DEQUEUE => remove(spec, items, VecDeque::pop_front),
        _ => Vec::new(),
    }
}

/// `push` and `pop` at the back.
pub(super) fn stack(spec: &Builtin, items: &VecDeque<Value>, call: Call<'_>) -> Outcomes {
    match call.op {
        stack::PUSH => insert(spec, items, |items| items.push_back(call.arg.clone())),
        stack::POP => remove(spec, items, VecDeque::pop_back),
        _ => Vec::new(),
    }
}

/// Both at both ends.
pub(super) fn deque(spec: &Builtin, items: &VecDeque<Value>, call: Call<'_>) -> Outcomes {
    match call.op {
        deque::PUSH_FRONT => insert(spec, items, |items| items.push_front(call.arg.clone())),
        deque::PUSH_BACK => insert(spec, items, |items| items.push_back(call.arg.clone())),
        deque::POP_FRONT => remove(spec, items, VecDeque::pop_front),
        deque::POP_BACK => remove(spec, items, VecDeque::pop_back),
        _ => Vec::new(),
    }
}

fn insert(spec: &Builtin, items: &VecDeque<Value>, put: impl FnOnce(&mut VecDeque<Value>)) -> Outcomes {
    let full = spec.capacity.is_some_and(|capacity| items.len() >= capacity);
    let mut outcomes = Vec::new();
    if !full {
        let mut after = items.clone();
        put(&mut after);
        outcomes.push((super::done(spec), State::Sequence(after)));
    }
    if spec.capacity.is_some() && (full || spec.spurious) {
        outcomes.push((Value::Bool(false), State::Sequence(items.clone())));
    }
    outcomes
}

fn remove(
    spec: &Builtin,
    items: &VecDeque<Value>,
    take: impl FnOnce(&mut VecDeque<Value>) -> Option<Value>,
) -> Outcomes {
    let mut after = items.clone();
    let mut outcomes = Vec::new();
    match take(&mut after) {
        Some(item) => outcomes.push((item, State::Sequence(after))),
        None => return vec![(Value::Null, State::Sequence(after))],
    }
    if spec.spurious {
        outcomes.push((Value::Null, State::Sequence(items.clone())));
    }
    outcomes
}

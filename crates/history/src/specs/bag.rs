//! Priority queue, set, multiset and list: collections whose order of insertion does not matter.

use std::collections::BTreeMap;

use super::codes::{priority_queue, set};
use super::{Builtin, Kind, Outcomes, State};
use crate::spec::Call;
use crate::value::Value;

type Bag = BTreeMap<Value, u32>;

/// `insert`, `remove_min` or `remove_max`, `change_key`.
pub(super) fn priority_queue(spec: &Builtin, bag: &Bag, call: Call<'_>) -> Outcomes {
    match call.op {
        priority_queue::INSERT => insert(spec, bag, call.arg),
        priority_queue::REMOVE => {
            let first =
                if spec.kind == Kind::PriorityQueueMax { bag.keys().next_back() } else { bag.keys().next() };
            let Some(first) = first else { return vec![(Value::Null, State::Bag(bag.clone()))] };
            let mut outcomes = vec![(first.clone(), State::Bag(without(bag, first)))];
            if spec.spurious {
                outcomes.push((Value::Null, State::Bag(bag.clone())));
            }
            outcomes
        }
        priority_queue::CHANGE_KEY => match call.arg.as_pair() {
            Some((from, to)) if bag.contains_key(from) => {
                vec![(Value::Bool(true), State::Bag(with(&without(bag, from), to)))]
            }
            Some(_) => vec![(Value::Bool(false), State::Bag(bag.clone()))],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `add`, `remove`, `contains`, each element at most once.
pub(super) fn set(spec: &Builtin, bag: &Bag, call: Call<'_>) -> Outcomes {
    let present = bag.contains_key(call.arg);
    let unchanged = |answer: bool| (Value::Bool(answer), State::Bag(bag.clone()));
    match call.op {
        set::ADD if present => vec![unchanged(false)],
        set::ADD => insert(spec, bag, call.arg)
            .into_iter()
            .map(|(answer, next)| (if answer.is_null() { Value::Bool(true) } else { answer }, next))
            .collect(),
        set::REMOVE if present => vec![(Value::Bool(true), State::Bag(without(bag, call.arg)))],
        set::REMOVE => vec![unchanged(false)],
        set::CONTAINS => vec![unchanged(present)],
        _ => Vec::new(),
    }
}

/// `add`, `remove`, `contains`, `insert_pair`, elements any number of times.
pub(super) fn multiset(spec: &Builtin, bag: &Bag, call: Call<'_>) -> Outcomes {
    let present = bag.contains_key(call.arg);
    match call.op {
        set::ADD => insert(spec, bag, call.arg),
        set::REMOVE if present => vec![(Value::Bool(true), State::Bag(without(bag, call.arg)))],
        set::REMOVE => vec![(Value::Bool(false), State::Bag(bag.clone()))],
        set::CONTAINS => vec![(Value::Bool(present), State::Bag(bag.clone()))],
        set::INSERT_PAIR => match call.arg.as_pair() {
            // It may fail at any time, and then changes nothing; where there is no room for both, it must.
            Some((x, y)) => {
                let mut outcomes = vec![(Value::Bool(false), State::Bag(bag.clone()))];
                if has_room(spec, bag, 2) {
                    outcomes.insert(0, (Value::Bool(true), State::Bag(with(&with(bag, x), y))));
                }
                outcomes
            }
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Is there room for so many more?
fn has_room(spec: &Builtin, bag: &Bag, more: usize) -> bool {
    let inside = || bag.values().map(|&count| count as usize).sum::<usize>();
    spec.capacity.is_none_or(|capacity| inside().saturating_add(more) <= capacity)
}

fn insert(spec: &Builtin, bag: &Bag, item: &Value) -> Outcomes {
    let full = !has_room(spec, bag, 1);
    let mut outcomes = Vec::new();
    if !full {
        outcomes.push((super::done(spec), State::Bag(with(bag, item))));
    }
    if spec.capacity.is_some() && (full || spec.spurious) {
        outcomes.push((Value::Bool(false), State::Bag(bag.clone())));
    }
    outcomes
}

fn with(bag: &Bag, item: &Value) -> Bag {
    let mut after = bag.clone();
    *after.entry(item.clone()).or_insert(0) += 1;
    after
}

fn without(bag: &Bag, item: &Value) -> Bag {
    let mut after = bag.clone();
    if let Some(count) = after.get_mut(item) {
        *count -= 1;
        if *count == 0 {
            after.remove(item);
        }
    }
    after
}

//! A judge of small histories that shares nothing with the checker but values: sequential objects written once more, and every order tried.
//!
//! A state is a list of values, whatever the object: the contents in order, sorted where order does not matter, pairs for a map, holders for a
//! lock. That is slow, and short enough to be read in one go.

use std::collections::HashSet;

use linpoint_history::Value;

use super::case::{Case, Op};

type State = Vec<Value>;

/// What may come out of an operation: its result and the state after it.
type Outcomes = Vec<(Value, State)>;

/// Is there an order?
pub fn is_linearizable(case: &Case) -> bool {
    let mut seen = HashSet::new();
    go_on(case, 0, initial(case), &mut seen)
}

fn go_on(case: &Case, done: u32, state: State, seen: &mut HashSet<(u32, State)>) -> bool {
    let missing = |index: usize| done >> index & 1 == 0;
    if case.ops.iter().enumerate().all(|(index, op)| !missing(index) || op.is_pending()) {
        return true;
    }
    if !seen.insert((done, state.clone())) {
        return false;
    }
    (0..case.ops.len()).filter(|&index| missing(index)).any(|index| {
        let op = &case.ops[index];
        let waits = (0..case.ops.len()).any(|other| missing(other) && precedes(case, other, index));
        let fits = |result: &Value| op.ret.as_ref().is_none_or(|ret| is_same(case, op, result, ret));
        !waits
            && outcomes(case, &state, op)
                .into_iter()
                .filter(|(result, _)| fits(result))
                .any(|(_, next)| go_on(case, done | 1 << index, next, seen))
    })
}

/// Operations of one process follow one another, also where they touch.
fn precedes(case: &Case, a: usize, b: usize) -> bool {
    let (first, then) = (&case.ops[a], &case.ops[b]);
    let touches = a != b && first.process == then.process && first.end == then.call;
    let is_first = (first.call, first.end, a) < (then.call, then.end, b);
    !first.is_pending() && (first.end < then.call || touches && is_first)
}

/// Does an answer mean what the object says? A scan may show more empty cells.
fn is_same(case: &Case, op: &Op, says: &Value, logged: &Value) -> bool {
    match (says, logged) {
        (Value::List(a), Value::List(b)) if case.kind() == "snapshot" && op.name == "scan" => {
            let cell = |cells: &[Value], at: usize| cells.get(at).cloned().unwrap_or(Value::Null);
            (0..a.len().max(b.len())).all(|at| cell(a, at) == cell(b, at))
        }
        _ => says == logged,
    }
}

fn initial(case: &Case) -> State {
    let items = || match &case.initial {
        Some(Value::List(items)) => items.to_vec(),
        _ => Vec::new(),
    };
    let one = |value: Value| vec![case.initial.clone().unwrap_or(value)];
    let mut state = match case.kind() {
        "register" | "cas-register" | "kv" => one(Value::Null),
        "rmw-register" | "counter" => one(Value::Int(0)),
        _ => items(),
    };
    match case.kind() {
        "set" => {
            state.sort();
            state.dedup();
        }
        "map" => {
            let mut entries: State = Vec::new();
            state.iter().for_each(|entry| put(&mut entries, entry));
            state = entries;
        }
        "snapshot" => trim(&mut state),
        "priority-queue" | "priority-queue-max" | "multiset" | "list" => state.sort(),
        _ => {}
    }
    state
}

fn outcomes(case: &Case, state: &State, op: &Op) -> Outcomes {
    match case.kind() {
        "register" | "cas-register" | "rmw-register" | "kv" => register(case, state, op),
        "queue" | "stack" | "deque" => sequence(case, state, op),
        "priority-queue" | "priority-queue-max" | "set" | "multiset" | "list" => bag(case, state, op),
        "map" => map(state, op),
        "counter" => counter(state, op),
        "snapshot" => snapshot(state, op),
        _ => lock(case, state, op),
    }
}

fn pair(value: &Value) -> (Value, Value) {
    value.as_pair().map_or((Value::Null, Value::Null), |(a, b)| (a.clone(), b.clone()))
}

fn register(case: &Case, state: &State, op: &Op) -> Outcomes {
    let now = state[0].clone();
    let set = |answer: Value, next: Value| vec![(answer, vec![next])];
    match op.name.as_str() {
        "write" | "put" => set(Value::Null, op.arg.clone()),
        "read" | "get" => set(now.clone(), now),
        "swap" => set(now, op.arg.clone()),
        "delete" => set(Value::Null, case.initial.clone().unwrap_or_default()),
        "cas" => {
            let (from, to) = pair(&op.arg);
            if from == now { set(Value::Bool(true), to) } else { set(Value::Bool(false), now) }
        }
        "fetch_add" => match (&now, &op.arg) {
            (Value::Int(old), Value::Int(n)) => set(now.clone(), Value::Int(old.wrapping_add(*n))),
            _ => Vec::new(),
        },
        "append" => match (&now, &op.arg) {
            (Value::Null, Value::Str(_)) => set(Value::Null, op.arg.clone()),
            (Value::Null, item) => set(Value::Null, Value::list([item.clone()])),
            (Value::Str(old), Value::Str(more)) => set(Value::Null, Value::text(&format!("{old}{more}"))),
            (Value::List(old), item) => {
                set(Value::Null, Value::list(old.iter().cloned().chain([item.clone()])))
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Adds by `put`, if there is room, and says so as the variant does.
fn insert(case: &Case, state: &State, done: Value, put: impl FnOnce(&mut State)) -> Outcomes {
    let mut outcomes = Vec::new();
    let is_full = case.capacity().is_some_and(|room| state.len() >= room);
    if !is_full {
        let mut next = state.clone();
        put(&mut next);
        outcomes.push((if case.capacity().is_some() { Value::Bool(true) } else { done }, next));
    }
    if case.capacity().is_some() && (is_full || case.is_spurious()) {
        outcomes.push((Value::Bool(false), state.clone()));
    }
    outcomes
}

/// Takes out what stands at `at`, if anything does.
fn remove(case: &Case, state: &State, at: Option<usize>) -> Outcomes {
    let mut outcomes = Vec::new();
    if let Some(at) = at {
        let mut next = state.clone();
        let item = next.remove(at);
        outcomes.push((item, next));
    }
    if at.is_none() || case.is_spurious() {
        outcomes.push((Value::Null, state.clone()));
    }
    outcomes
}

fn sequence(case: &Case, state: &State, op: &Op) -> Outcomes {
    let last = state.len().checked_sub(1);
    let first = last.map(|_| 0);
    match op.name.as_str() {
        "enqueue" | "push" | "push_back" => {
            insert(case, state, Value::Null, |next| next.push(op.arg.clone()))
        }
        "push_front" => insert(case, state, Value::Null, |next| next.insert(0, op.arg.clone())),
        "dequeue" | "pop_front" => remove(case, state, first),
        _ => remove(case, state, last),
    }
}

fn add(state: &mut State, item: Value) {
    state.push(item);
    state.sort();
}

fn without(state: &State, at: usize) -> State {
    let mut next = state.clone();
    next.remove(at);
    next
}

fn bag(case: &Case, state: &State, op: &Op) -> Outcomes {
    let at = state.iter().position(|item| *item == op.arg);
    let says = |answer: bool| vec![(Value::Bool(answer), state.clone())];
    match op.name.as_str() {
        "add" | "insert" if case.kind() == "set" && at.is_some() => says(false),
        "add" | "insert" => {
            let done = if case.kind() == "set" { Value::Bool(true) } else { Value::Null };
            insert(case, state, done, |next| add(next, op.arg.clone()))
        }
        "remove" => match at {
            Some(at) => vec![(Value::Bool(true), without(state, at))],
            None => says(false),
        },
        "contains" => says(at.is_some()),
        "remove_min" => remove(case, state, (!state.is_empty()).then_some(0)),
        "remove_max" => remove(case, state, state.len().checked_sub(1)),
        "change_key" => {
            let (from, to) = pair(&op.arg);
            match state.iter().position(|item| *item == from) {
                Some(at) => {
                    let mut next = without(state, at);
                    add(&mut next, to);
                    vec![(Value::Bool(true), next)]
                }
                None => says(false),
            }
        }
        _ => {
            // A pair: both, if there is room for both, or neither.
            let mut outcomes = says(false);
            if case.capacity().is_none_or(|room| state.len() + 2 <= room) {
                let (x, y) = pair(&op.arg);
                let mut next = state.clone();
                add(&mut next, x);
                add(&mut next, y);
                outcomes.push((Value::Bool(true), next));
            }
            outcomes
        }
    }
}

fn put(entries: &mut State, entry: &Value) {
    let key = pair(entry).0;
    entries.retain(|old| pair(old).0 != key);
    entries.push(entry.clone());
    entries.sort();
}

fn map(state: &State, op: &Op) -> Outcomes {
    let old = |key: &Value| {
        state.iter().map(pair).find(|(known, _)| known == key).map(|(_, value)| value).unwrap_or_default()
    };
    let mut next = state.clone();
    match op.name.as_str() {
        "insert" => {
            put(&mut next, &op.arg);
            vec![(old(&pair(&op.arg).0), next)]
        }
        "get" => vec![(old(&op.arg), next)],
        "remove" => {
            next.retain(|entry| pair(entry).0 != op.arg);
            vec![(old(&op.arg), next)]
        }
        "len" => vec![(Value::Int(state.len() as i64), next)],
        _ => vec![(Value::Bool(state.is_empty()), next)],
    }
}

fn counter(state: &State, op: &Op) -> Outcomes {
    let now = state[0].as_int().unwrap_or(0);
    let next = |n: i64| vec![(Value::Null, vec![Value::Int(now.wrapping_add(n))])];
    match op.name.as_str() {
        "increment" => next(1),
        "add" => next(op.arg.as_int().unwrap_or(0)),
        _ => vec![(Value::Int(now), state.clone())],
    }
}

fn trim(cells: &mut State) {
    while cells.last().is_some_and(Value::is_null) {
        cells.pop();
    }
}

fn snapshot(state: &State, op: &Op) -> Outcomes {
    if op.name == "scan" {
        return vec![(Value::list(state.iter().cloned()), state.clone())];
    }
    let (cell, value) = pair(&op.arg);
    let cell = cell.as_int().unwrap_or(0) as usize;
    let mut next = state.clone();
    if next.len() <= cell {
        next.resize(cell + 1, Value::Null);
    }
    next[cell] = value;
    trim(&mut next);
    vec![(Value::Null, next)]
}

/// Locks: the state lists who holds a share; a writer stands as `[process]`.
fn lock(case: &Case, state: &State, op: &Op) -> Outcomes {
    let me = Value::Int(op.process);
    let alone = Value::list([me.clone()]);
    let is_written = state.iter().any(|holder| matches!(holder, Value::List(_)));
    let refused = || vec![(Value::Bool(false), state.clone())];
    let take = |holder: &Value| {
        let mut next = state.clone();
        add(&mut next, holder.clone());
        vec![(Value::Null, next)]
    };
    let give = |holder: &Value| match state.iter().position(|other| other == holder) {
        Some(at) => vec![(Value::Null, without(state, at))],
        None => refused(),
    };
    let room = case.capacity().unwrap_or(1);
    match op.name.as_str() {
        "acquire" if state.len() < room => take(&me),
        "read_lock" if !is_written => take(&me),
        "write_lock" if state.is_empty() => take(&alone),
        "acquire" | "read_lock" | "write_lock" => refused(),
        "write_unlock" => give(&alone),
        _ => give(&me),
    }
}

/// What the object may answer, and the state after; for whoever makes up a history.
pub fn run(case: &Case, state: Option<&State>, op: &Op) -> Outcomes {
    let first = || initial(case);
    outcomes(case, &state.cloned().unwrap_or_else(first), op)
}

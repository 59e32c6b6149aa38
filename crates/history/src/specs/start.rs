//! Where an object starts, in one form: lists that a user may write differently and that mean the same state
//! are made equal.
//!
//! Engines read the list of initial contents themselves, each in its own way, and equal states must have
//! equal futures. So what does not distinguish two states must not reach them: cells of a snapshot after the
//! last that is not null, an element that a set has "twice", an entry of a map that a later one replaces. An
//! empty list is no contents at all.

use super::Kind;
use crate::value::Value;

/// The one form of all initial values that mean the same.
pub(super) fn canonical(kind: Kind, initial: Value) -> Value {
    let Value::List(items) = &initial else { return initial };
    let kept: Vec<Value> = match kind {
        Kind::Snapshot => {
            let written = items.iter().rposition(|cell| !cell.is_null()).map_or(0, |last| last + 1);
            items[..written].to_vec()
        }
        Kind::Set => {
            let is_first = |index: &usize| !items[..*index].contains(&items[*index]);
            (0..items.len()).filter(is_first).map(|index| items[index].clone()).collect()
        }
        Kind::Map => {
            let key = |item: &Value| item.as_pair().map(|(key, _)| key.clone());
            let is_last =
                |index: &usize| items[index + 1..].iter().all(|later| key(later) != key(&items[*index]));
            (0..items.len()).filter(is_last).map(|index| items[index].clone()).collect()
        }
        kind if kind.is_collection() => items.to_vec(),
        // A register may hold a list, the empty one too.
        _ => return initial,
    };
    if kept.is_empty() { Value::Null } else { Value::list(kept) }
}

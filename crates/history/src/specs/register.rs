//! Registers: one value, read and written, compared and swapped; and the key–value store, a register a key.

use super::codes::{kv, register};
use super::{Outcomes, State};
use crate::spec::Call;
use crate::value::Value;

/// `write`, `read`, `cas`, `swap`, `fetch_add`.
pub(super) fn register(value: &Value, call: Call<'_>) -> Outcomes {
    let unchanged = || State::Value(value.clone());
    match call.op {
        register::WRITE => vec![(Value::Null, State::Value(call.arg.clone()))],
        register::READ => vec![(value.clone(), unchanged())],
        register::CAS => compare_and_swap(value, call.arg),
        register::SWAP => vec![(value.clone(), State::Value(call.arg.clone()))],
        register::FETCH_ADD => match (value.as_int(), call.arg.as_int()) {
            (Some(old), Some(n)) => vec![(value.clone(), State::Value(Value::Int(old.wrapping_add(n))))],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// `get`, `put`, `append`, `delete`, `cas` on one key; a missing key reads as `missing`.
pub(super) fn kv(missing: &Value, value: &Value, call: Call<'_>) -> Outcomes {
    match call.op {
        kv::GET => vec![(value.clone(), State::Value(value.clone()))],
        kv::PUT => vec![(Value::Null, State::Value(call.arg.clone()))],
        kv::APPEND => append(value, call.arg).map(|v| (Value::Null, State::Value(v))).into_iter().collect(),
        kv::DELETE => vec![(Value::Null, State::Value(missing.clone()))],
        kv::CAS => compare_and_swap(value, call.arg),
        _ => Vec::new(),
    }
}

fn compare_and_swap(value: &Value, arg: &Value) -> Outcomes {
    match arg.as_pair() {
        Some((from, to)) if from == value => vec![(Value::Bool(true), State::Value(to.clone()))],
        Some(_) => vec![(Value::Bool(false), State::Value(value.clone()))],
        None => Vec::new(),
    }
}

/// Appending to a missing value starts from nothing; to a list, adds an item; to text, adds text.
fn append(value: &Value, arg: &Value) -> Option<Value> {
    match (value, arg) {
        (Value::Null, Value::Str(_)) => Some(arg.clone()),
        (Value::Null, item) => Some(Value::list([item.clone()])),
        (Value::Str(old), Value::Str(more)) => Some(Value::text(&format!("{old}{more}"))),
        (Value::List(items), item) => Some(Value::list(items.iter().chain([item]).cloned())),
        _ => None,
    }
}

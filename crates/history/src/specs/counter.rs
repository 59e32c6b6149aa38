//! A counter.

use super::codes::counter as codes;
use super::{Outcomes, State};
use crate::spec::Call;
use crate::value::Value;

/// `increment`, `add`, `read`.
pub(super) fn counter(value: &Value, call: Call<'_>) -> Outcomes {
    let count = value.as_int().unwrap_or(0);
    let after = |n: i64| vec![(Value::Null, State::Value(Value::Int(count.wrapping_add(n))))];
    match call.op {
        codes::INCREMENT => after(1),
        codes::ADD => call.arg.as_int().map(after).unwrap_or_default(),
        codes::READ => vec![(Value::Int(count), State::Value(Value::Int(count)))],
        _ => Vec::new(),
    }
}

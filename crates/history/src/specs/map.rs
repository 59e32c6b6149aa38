//! A map from keys to values.

use std::collections::BTreeMap;

use super::codes::map as codes;
use super::{Outcomes, State};
use crate::spec::Call;
use crate::value::Value;

/// `insert`, `get`, `remove`, `len`, `is_empty`.
pub(super) fn map(entries: &BTreeMap<Value, Value>, call: Call<'_>) -> Outcomes {
    let unchanged = |answer: Value| vec![(answer, State::Map(entries.clone()))];
    let get = |key: &Value| entries.get(key).cloned().unwrap_or_default();
    match call.op {
        codes::INSERT => match call.arg.as_pair() {
            Some((key, value)) => {
                let mut after = entries.clone();
                after.insert(key.clone(), value.clone());
                vec![(get(key), State::Map(after))]
            }
            None => Vec::new(),
        },
        codes::GET => unchanged(get(call.arg)),
        codes::REMOVE => {
            let mut after = entries.clone();
            after.remove(call.arg);
            vec![(get(call.arg), State::Map(after))]
        }
        codes::LEN => unchanged(Value::Int(entries.len() as i64)),
        codes::IS_EMPTY => unchanged(Value::Bool(entries.is_empty())),
        _ => Vec::new(),
    }
}

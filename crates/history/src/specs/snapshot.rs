//! A snapshot object: cells written one at a time, read all at once.
//!
//! How many cells there are is known from the length of a scan; cells never written are null.
//! No cell has a number of [`CELLS`] or more: a reader refuses it.

use std::collections::VecDeque;

use super::codes::snapshot as codes;
use super::{Outcomes, State};
use crate::signature::CELLS;
use crate::spec::Call;
use crate::value::Value;

/// `write([i, v])`, `scan`.
pub(super) fn snapshot(cells: &VecDeque<Value>, call: Call<'_>) -> Outcomes {
    match (call.op, call.arg.as_pair()) {
        (codes::WRITE, Some((Value::Int(index @ 0..CELLS), value))) => {
            let mut after = cells.clone();
            let index = *index as usize;
            if index >= after.len() {
                after.resize(index + 1, Value::Null);
            }
            after[index] = value.clone();
            while after.back().is_some_and(Value::is_null) {
                after.pop_back();
            }
            vec![(Value::Null, State::Sequence(after))]
        }
        (codes::SCAN, _) => {
            vec![(Value::list(cells.iter().cloned()), State::Sequence(cells.clone()))]
        }
        _ => Vec::new(),
    }
}

/// Does a scan of any length show these cells? Those beyond either end are null.
pub(super) fn scan_fits(cells: &VecDeque<Value>, result: &Value) -> bool {
    let Value::List(seen) = result else { return false };
    seen.len() >= cells.len()
        && seen.iter().enumerate().all(|(i, v)| cells.get(i).map_or(v.is_null(), |cell| cell == v))
}

/// The cells as they are shown: as a list, or, where many were never written, those that were.
pub(super) fn show(cells: &VecDeque<Value>) -> String {
    let written = cells.iter().enumerate().filter(|(_, value)| !value.is_null());
    if cells.len() <= CELLS_SHOWN || written.clone().count() * 2 > cells.len() {
        return Value::list(cells.iter().cloned()).to_string();
    }
    let shown: Vec<String> = written.map(|(cell, value)| format!("{cell}: {value}")).collect();
    format!("[{}; all others null]", shown.join(", "))
}

/// So many cells are shown whether they were written or not.
const CELLS_SHOWN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_were_never_written_are_not_shown_one_by_one() {
        let mut cells: VecDeque<Value> = vec![Value::Null; 65_536].into();
        cells[65_535] = Value::Int(7);
        cells[2] = Value::text("a");
        assert_eq!(show(&cells), "[2: \"a\", 65535: 7; all others null]");
        cells.truncate(3);
        assert_eq!(show(&cells), "[null,null,\"a\"]");
    }
}

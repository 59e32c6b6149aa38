//! Rows of a history as a question, with any precedence.

use linpoint_history::{Call, Operation, Spec, Symbols, Value};

use super::{Placed, Question};

/// Operations of one object. Completed ones must be placed.
pub struct RowsQuestion<'a, S: Spec> {
    spec: &'a S,
    rows: &'a [Operation],
    /// What the numbers of each row stand for: argument and result.
    values: Vec<(Value, Value)>,
    /// For each row those that have to be placed before it.
    before: Vec<Placed>,
}

impl<'a, S: Spec> RowsQuestion<'a, S> {
    /// These rows, of which `precedes(a, b)` says whether `a` has to be placed before `b`.
    pub fn new(
        spec: &'a S,
        rows: &'a [Operation],
        symbols: &Symbols,
        precedes: impl Fn(usize, usize) -> bool,
    ) -> RowsQuestion<'a, S> {
        let before = |b: usize| {
            let mut before = Placed::none(rows.len());
            (0..rows.len()).filter(|&a| a != b && precedes(a, b)).for_each(|a| before.set(a, true));
            before
        };
        RowsQuestion {
            spec,
            rows,
            values: rows.iter().map(|op| (symbols.value(op.arg), symbols.value(op.result))).collect(),
            before: (0..rows.len()).map(before).collect(),
        }
    }

    /// The call of a row.
    pub fn call(&self, row: usize) -> Call<'_> {
        let op = &self.rows[row];
        Call { op: op.op(), process: op.process(), arg: &self.values[row].0 }
    }

    /// What a row answered.
    pub fn result(&self, row: usize) -> &Value {
        &self.values[row].1
    }
}

impl<S: Spec> Question for RowsQuestion<'_, S> {
    type State = S::State;

    fn count(&self) -> usize {
        self.rows.len()
    }

    fn must(&self, op: usize) -> bool {
        !self.rows[op].is_pending()
    }

    fn next(&self, placed: &Placed, from: usize) -> Option<usize> {
        (from..self.rows.len()).find(|&op| !placed.contains(op) && placed.contains_all(&self.before[op]))
    }

    fn outcomes(&self, state: &S::State, op: usize, into: &mut Vec<S::State>) {
        if self.rows[op].is_pending() {
            self.spec.step_pending(state, self.call(op), into);
        } else {
            into.extend(self.spec.step(state, self.call(op), self.result(op)));
        }
    }
}

//! The slow, obvious version for several objects: every order of all operations that respects stamps and
//! processes.
//!
//! It is the oracle where operations of one process touch on different objects, and rechecks small cores.
//! States are the readable ones of the specification, dead ends are remembered as they are.

use linpoint_history::{Call, Operation, Spec, Symbols, Value};
use rustc_hash::FxHashSet;

/// Is there an order of `rows`, of which row i belongs to the object `object[i]`? `None` after `patience`
/// steps. Of operations of one process that begin and end at one stamp, the row that stands first was first.
pub fn search<S: Spec>(
    spec: &S,
    rows: &[Operation],
    object: &[u32],
    symbols: &Symbols,
    patience: u64,
) -> Option<bool> {
    let objects = object.iter().max().map_or(0, |most| *most as usize + 1);
    let mut search = Several {
        spec,
        rows,
        object,
        values: rows.iter().map(|op| (symbols.value(op.arg), symbols.value(op.result))).collect(),
        done: vec![false; rows.len()],
        dead: FxHashSet::default(),
        patience,
    };
    search.explains(&mut vec![spec.initial(); objects])
}

struct Several<'a, S: Spec> {
    spec: &'a S,
    rows: &'a [Operation],
    object: &'a [u32],
    values: Vec<(Value, Value)>,
    done: Vec<bool>,
    dead: FxHashSet<(Vec<bool>, Vec<S::State>)>,
    patience: u64,
}

impl<S: Spec> Several<'_, S> {
    fn explains(&mut self, states: &mut Vec<S::State>) -> Option<bool> {
        if self.rows.iter().zip(&self.done).all(|(row, done)| *done || row.is_pending()) {
            return Some(true);
        }
        self.patience = self.patience.checked_sub(1)?;
        let key = (self.done.clone(), states.clone());
        if self.dead.contains(&key) {
            return Some(false);
        }
        for index in 0..self.rows.len() {
            if self.done[index]
                || (0..self.rows.len()).any(|other| !self.done[other] && self.precedes(other, index))
            {
                continue;
            }
            let object = self.object[index] as usize;
            for after in self.outcomes(index, &states[object]) {
                let before = std::mem::replace(&mut states[object], after);
                self.done[index] = true;
                let found = self.explains(states)?;
                self.done[index] = false;
                states[object] = before;
                if found {
                    return Some(true);
                }
            }
        }
        self.dead.insert(key);
        Some(false)
    }

    /// The definition: a returned before b was called, or it is the earlier one of the same process.
    fn precedes(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.rows[a], &self.rows[b]);
        let order = |row: &Operation, index: usize| (row.call, row.ret, index);
        a != b
            && (first.ret < second.call
                || first.process() == second.process() && order(first, a) < order(second, b))
    }

    fn outcomes(&self, index: usize, state: &S::State) -> Vec<S::State> {
        let (row, (arg, result)) = (&self.rows[index], &self.values[index]);
        let call = Call { op: row.op(), process: row.process(), arg };
        let mut next = Vec::new();
        if row.is_pending() {
            self.spec.step_pending(state, call, &mut next);
        } else {
            next.extend(self.spec.step(state, call, result));
        }
        next
    }
}

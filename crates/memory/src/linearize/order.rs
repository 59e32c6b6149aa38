//! A legal order of operations in which each comes after certain others.

use std::collections::HashSet;

use super::{Operation, Sequential};

/// A legal order, as numbers of operations, in which each operation comes after those in `after` (a bit
/// each). All operations that returned are in it; one that did not may be left out.
pub(super) fn legal<S: Sequential>(
    object: &S,
    operations: &[Operation],
    after: &[u64],
) -> Option<Vec<usize>> {
    let needed = operations.iter().enumerate().filter(|(_, operation)| operation.result.is_some());
    let needed = needed.fold(0, |set, (k, _)| set | 1 << k);
    let mut search = Orders { object, operations, after, needed, dead: HashSet::new(), order: Vec::new() };
    search.extend(0, &object.initial()).then_some(search.order)
}

struct Orders<'a, S: Sequential> {
    object: &'a S,
    operations: &'a [Operation],
    after: &'a [u64],
    needed: u64,
    /// What was placed and the state, where nothing came of it.
    dead: HashSet<(u64, S::State)>,
    order: Vec<usize>,
}

impl<S: Sequential> Orders<'_, S> {
    fn extend(&mut self, placed: u64, state: &S::State) -> bool {
        if placed & self.needed == self.needed {
            return true;
        }
        if !self.dead.is_empty() && self.dead.contains(&(placed, state.clone())) {
            return false;
        }
        let mut next = Vec::new();
        for k in 0..self.operations.len() {
            if placed >> k & 1 == 1 || self.after[k] & !placed != 0 {
                continue;
            }
            next.clear();
            self.object.step(state, &self.operations[k], &mut next);
            self.order.push(k);
            for state in std::mem::take(&mut next) {
                if self.extend(placed | 1 << k, &state) {
                    return true;
                }
            }
            self.order.pop();
        }
        self.dead.insert((placed, state.clone()));
        false
    }
}

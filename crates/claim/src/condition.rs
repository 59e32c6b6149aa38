//! The condition of a `Last` term: a function of watched variables.
//!
//! The variables may be gone when the condition is asked again, and the claim may outlive them; so the
//! condition keeps the latest bits of each variable and never looks at the variables themselves.

use crate::guard::guarded;
use crate::{Value, VarId, Variable};

/// A condition over watched variables.
pub struct Condition {
    variables: Vec<(VarId, u128)>,
    holds: Box<Holds>,
}

type Holds = dyn Fn(&[u128]) -> bool;

impl Condition {
    /// The condition that one boolean variable is true.
    pub fn is_true(variable: &(impl Variable<Value = bool> + ?Sized)) -> Condition {
        let mut draft = ConditionDraft::default();
        draft.watch(variable);
        draft.finish(|values| bool::from_bits(values[0]))
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = VarId> + '_ {
        self.variables.iter().map(|&(variable, _)| variable)
    }

    pub(crate) fn note(&mut self, index: usize, bits: u128) {
        self.variables[index].1 = bits;
    }

    /// Does it hold now? Nothing if its code panicked.
    pub(crate) fn holds(&self) -> Option<bool> {
        // Conditions have few variables: a copy on the stack keeps the closure's argument a plain slice.
        let mut small = [0; 4];
        if self.variables.len() <= small.len() {
            self.variables.iter().zip(&mut small).for_each(|(&(_, bits), slot)| *slot = bits);
            guarded(|| (self.holds)(&small[..self.variables.len()])).ok()
        } else {
            let values: Vec<u128> = self.variables.iter().map(|&(_, bits)| bits).collect();
            guarded(|| (self.holds)(&values)).ok()
        }
    }
}

/// A condition whose variables are being collected.
#[derive(Default)]
pub struct ConditionDraft {
    variables: Vec<(VarId, u128)>,
}

impl ConditionDraft {
    /// Watches a variable; returns its place among the values that the condition will be given.
    pub fn watch<V: Variable + ?Sized>(&mut self, variable: &V) -> usize {
        variable.note_condition();
        self.watch_bits(variable.id(), variable.peek().to_bits())
    }

    /// The same for a variable known by name and present value.
    pub fn watch_bits(&mut self, variable: VarId, bits: u128) -> usize {
        // One place a variable: an access must change all its uses at once.
        if let Some(known) = self.variables.iter().position(|&(other, _)| other == variable) {
            return known;
        }
        self.variables.push((variable, bits));
        self.variables.len() - 1
    }

    /// The condition, given as a function of the latest bits of the variables watched.
    pub fn finish(self, holds: impl Fn(&[u128]) -> bool + 'static) -> Condition {
        Condition { variables: self.variables, holds: Box::new(holds) }
    }
}

//! Concrete states met on a random way, and then spoiled: for programs whose states are less free.
//!
//! Where there are offers or memory that is used again, what is live, who made what and what the reference
//! gave away hang together with how a state came about. So a state is reached by random steps; then threads
//! are given other locals, which a structure must put up with: pointers to whatever others can reach, stale
//! or not, and truth values.

use linpoint_lang::program::{Type, UNSET, Word};

use crate::concrete::{Concrete, Dice, World};
use crate::layout::Object;
use crate::structure::MOST_NODES;

impl World<'_, '_> {
    /// A random way of at most so many steps; shorter if a run goes wrong.
    pub fn wander(&self, steps: usize, dice: &mut Dice) -> Concrete {
        let mut at = self.initial();
        for _ in 0..steps {
            let thread = dice.below(self.machine.threads);
            match self.step_of(&at, thread, dice) {
                Ok(Some(next)) if self.has_records(&next) && self.is_small(&next) => at = next,
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => break,
            }
        }
        at
    }

    /// A random step of a thread, if it has one: a call if it is at rest.
    ///
    /// # Errors
    /// What goes wrong.
    pub fn step_of(
        &self,
        from: &Concrete,
        thread: usize,
        dice: &mut Dice,
    ) -> Result<Option<Concrete>, String> {
        let ops: Vec<usize> = (0..self.layout.roles.len()).collect();
        let mut next = self.steps_of(from, thread, &ops)?;
        if next.is_empty() {
            return Ok(None);
        }
        let chosen = dice.below(next.len());
        Ok(Some(next.swap_remove(chosen)))
    }

    /// Every step of a thread: its calls of these operations, if it is at rest.
    ///
    /// # Errors
    /// What goes wrong.
    pub fn steps_of(&self, from: &Concrete, thread: usize, ops: &[usize]) -> Result<Vec<Concrete>, String> {
        let mut out = Vec::new();
        if from.open[thread].is_some() {
            self.steps(from, thread, &mut out)?;
        } else {
            for &op in ops {
                out.extend(self.range.clone().map(|argument| self.call(from, thread, op, argument)));
            }
        }
        Ok(out)
    }

    /// Is there a record for everything that the reference holds? Not if an operation takes effect before its
    /// argument is in one, or a record is given back too early: no structure shows such a state.
    pub fn has_records(&self, from: &Concrete) -> bool {
        let reference = &from.reference;
        let kept = |cell: usize| !self.machine.cell(&from.state, cell).1;
        let has = |value: Option<Word>| {
            value.is_none_or(|value| self.cell_of(&from.state, value).is_some_and(kept))
        };
        let below = |value: Word| reference.below.get(&value).copied().flatten();
        let mut at = reference.top;
        while let Some(value) = at {
            if self.layout.object == Object::Stack && !has(at) {
                return false;
            }
            at = below(value);
        }
        let queued =
            reference.inserted[reference.taken.saturating_sub(1).min(reference.inserted.len())..].iter();
        if self.layout.object == Object::Queue && !queued.copied().all(|value| has(Some(value))) {
            return false;
        }
        let values = (0..self.machine.cells(&from.state)).filter_map(|cell| self.value(&from.state, cell));
        self.layout.object != Object::Stack || self.layout.gone != 0 || values.map(below).all(has)
    }

    /// Has a state no more records than a structure can show, each by a node of its own?
    pub fn is_small(&self, from: &Concrete) -> bool {
        // Values that are in no record any more have a node, too: some for each thread.
        self.machine.cells(&from.state) + 2 * self.machine.threads < MOST_NODES
    }

    /// Does a thread run no operation?
    pub fn is_at_rest(&self, from: &Concrete, thread: usize) -> bool {
        from.open[thread].is_none()
    }

    /// Gives threads other locals.
    pub(super) fn spoil(&self, from: &mut Concrete, dice: &mut Dice) {
        for thread in 0..self.machine.threads {
            let Some(open) = &from.open[thread] else { continue };
            let operation = &self.layout.program.operations[open.op];
            let frame = self.machine.frame_range(thread).start;
            for (local, slot) in operation.locals.iter().enumerate().skip(operation.params) {
                let now = self.machine.local(&from.state, thread, local);
                if slot.ghost || now == UNSET || !dice.one_in(3) {
                    continue;
                }
                let spoiled = match &slot.ty {
                    Type::Bool => dice.below(2) as Word,
                    Type::Pointer(kind) => {
                        let known: Vec<Word> = (0..self.machine.cells(&from.state))
                            .filter(|cell| !from.private.contains(cell))
                            .filter(|cell| self.machine.cell(&from.state, *cell).0 == kind.index())
                            .map(|cell| cell as Word + 1)
                            .chain([0])
                            .collect();
                        // A record of the thread's own that no other local leads to would be forgotten.
                        let own = now > 0 && from.private.contains(&(now as usize - 1));
                        if own { now } else { dice.of(&known).unwrap_or(now) }
                    }
                    _ => now,
                };
                from.state.words[frame + 1 + local] = spoiled;
            }
        }
    }
}

//! Which pop took which push, found row by row in order of return.
//!
//! The pushes that have returned and whose values no returned pop took are kept in order of return. In a
//! history that can be explained a pop takes one of the last few of them, so it is found by looking back from
//! the end; no table of values is needed beyond the set of all values seen (unless pops reach far down:
//! [`Deep`]). A pop whose value is not among the returned pushes waits for a push that is still open.
//!
//! Rows are read as far as they are loaded, beyond what must be explained, so that the push of a value that
//! went in and out in one instant knows its pop when its own turn comes.

use linpoint_history::{Operation, ValueId};
use rustc_hash::FxHashMap;

use crate::monitor::seen::Seen;

/// What is remembered of a row until its window is done. The numbers of rows and gaps are shifted by the
/// number of elements the stack starts with, which count as pushed one after another in the gaps before.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The first gap the operation may take effect in; the last is its number.
    pub earliest: u32,
    /// The other operation of its value, [`NONE`] or a pending push; for a pop that found the stack empty,
    /// the next such pop with the same `earliest`.
    pub mate: u32,
    pub kind: Kind,
    /// Of the gap with this number: the last return of a pop, of a value that was surely inside for a gap,
    /// called in it.
    pub reach: u32,
    /// Of the gap with this number: the last pop called in it that found the stack empty.
    pub empties: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Push,
    Pop,
    Empty,
}

/// No operation.
pub const NONE: u32 = u32::MAX;
/// Marks the number of a pending operation.
pub const PENDING: u32 = 1 << 31;

/// What can be wrong with a row by itself.
#[derive(Clone, Copy, Debug)]
pub enum Odd {
    PushedTwice(ValueId),
    NullPushed,
    PushAnswers,
    PoppedTwice(u32),
    PoppedBeforePushed(u32),
    NeverPushed(u32),
}

#[derive(Clone, Debug, Default)]
pub struct Pairs {
    slots: Vec<Slot>,
    /// The number of the first slot.
    base: u32,
    /// How many slots at the front are no longer needed.
    spent: usize,
    /// Returned pushes no returned pop took: value and number.
    live: Vec<(ValueId, u32)>,
    deep: Deep,
    /// Pops whose push has not returned.
    waiting: FxHashMap<ValueId, u32>,
    seen: Seen,
    /// Pending pushes by value: their place among the pending operations, and the first gap they may take
    /// effect in.
    pending: FxHashMap<ValueId, (u32, u32)>,
    /// Pending pushes whose value was popped, and by which pop.
    taken: FxHashMap<ValueId, u32>,
}

impl Pairs {
    /// Rows are numbered from `base` on.
    pub fn start(&mut self, base: u32) {
        self.base = base;
    }

    /// The number of the next row.
    pub fn end(&self) -> u32 {
        self.base + self.slots.len() as u32
    }

    #[inline]
    pub fn slot(&self, number: u32) -> &Slot {
        &self.slots[(number - self.base) as usize]
    }

    /// Forgets the slots below `number`, sooner or later.
    pub fn release(&mut self, number: u32) {
        self.spent = (number - self.base) as usize;
        if self.spent > 4096 && self.spent > self.slots.len() / 2 {
            self.slots.drain(..self.spent);
            self.base = number;
            self.spent = 0;
        }
    }

    /// An element the stack starts with.
    pub fn initial(&mut self, value: ValueId, number: u32) -> bool {
        self.live.push((value, number));
        self.seen.insert(value)
    }

    pub fn pending_push(&mut self, value: ValueId, index: u32, earliest: u32) -> Result<(), Odd> {
        if value.is_null() {
            return Err(Odd::NullPushed);
        }
        if self.seen.contains(value) || self.pending.insert(value, (index, earliest)).is_some() {
            return Err(Odd::PushedTwice(value));
        }
        Ok(())
    }

    pub fn push(&mut self, row: &Operation, earliest: u32) -> Result<(), Odd> {
        let number = self.end();
        let mut mate = NONE;
        if row.arg.is_null() {
            return Err(Odd::NullPushed);
        }
        if !row.result.is_null() {
            return Err(Odd::PushAnswers);
        }
        if !self.seen.insert(row.arg) || !self.pending.is_empty() && self.pending.contains_key(&row.arg) {
            return Err(Odd::PushedTwice(row.arg));
        }
        if !self.waiting.is_empty()
            && let Some(pop) = self.waiting.remove(&row.arg)
        {
            if pop < earliest {
                return Err(Odd::PoppedBeforePushed(pop));
            }
            mate = pop;
            self.slot_mut(pop).mate = number;
        } else {
            self.live.push((row.arg, number));
        }
        self.slots.push(Slot { earliest, mate, kind: Kind::Push, reach: 0, empties: NONE });
        Ok(())
    }

    pub fn pop(&mut self, row: &Operation, earliest: u32) -> Result<(), Odd> {
        let number = self.end();
        let value = row.result;
        let mut slot = Slot { earliest, mate: NONE, kind: Kind::Pop, reach: 0, empties: NONE };
        if value.is_null() {
            slot.kind = Kind::Empty;
            self.slots.push(slot);
            slot.mate = std::mem::replace(&mut self.slot_mut(earliest).empties, number);
            self.slot_mut(number).mate = slot.mate;
            return Ok(());
        }
        self.slots.push(slot);
        // Nearly always the value is one of the last that went in.
        let near = self.live.len().saturating_sub(NEAR);
        let found = self.live[near..].iter().rposition(|entry| entry.0 == value);
        let found = found.map(|at| {
            let at = near + at;
            if at + 1 == self.live.len() {
                self.live.pop().map_or(NONE, |entry| entry.1)
            } else {
                self.live.remove(at).1
            }
        });
        if found.is_none() && !self.seen.contains(value) {
            return match self.waiting.insert(value, number) {
                None => Ok(()),
                Some(_) => Err(Odd::PoppedTwice(number)),
            };
        }
        let found = found.or_else(|| self.take_far(value));
        let Some(push) = found else { return Err(Odd::PoppedTwice(number)) };
        self.slot_mut(number).mate = push;
        if push >= self.base {
            self.slot_mut(push).mate = number;
        }
        if earliest > push + 1 {
            self.slot_mut(earliest).reach = number;
        }
        Ok(())
    }

    /// The push of a value that is inside, which then no longer is, if it is not one of the last few.
    #[cold]
    fn take_far(&mut self, value: ValueId) -> Option<u32> {
        let near = self.live.len().saturating_sub(FAR);
        match self.live[near..].iter().rposition(|entry| entry.0 == value) {
            Some(at) => Some(self.live.remove(near + at).1),
            None => self.deep.take(&mut self.live, value),
        }
    }

    /// All pushes called before the return of `below` are known: the pops before it that wait took pending
    /// pushes, or none.
    pub fn settle(&mut self, below: u32) -> Result<(), Odd> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut overdue: Vec<(u32, ValueId)> =
            self.waiting.iter().filter(|(_, pop)| **pop < below).map(|(value, pop)| (*pop, *value)).collect();
        overdue.sort_unstable();
        for (pop, value) in overdue {
            self.waiting.remove(&value);
            let Some(&(index, earliest)) = self.pending.get(&value) else {
                return Err(Odd::NeverPushed(pop));
            };
            if pop < earliest {
                return Err(Odd::PoppedBeforePushed(pop));
            }
            if self.taken.insert(value, pop).is_some() {
                return Err(Odd::PoppedTwice(pop));
            }
            self.slot_mut(pop).mate = PENDING | index;
        }
        Ok(())
    }

    /// There are no more rows to come: forgets which values are inside.
    pub fn finish(&mut self) {
        self.live = Vec::new();
    }

    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.live.capacity() * 8 + self.seen.memory()
    }

    fn slot_mut(&mut self, number: u32) -> &mut Slot {
        &mut self.slots[(number - self.base) as usize]
    }
}

/// How far back a pop looks for its push at first.
const NEAR: usize = 32;
/// How far back it looks before it asks for a table.
const FAR: usize = 256;

/// A table of the pushes far down, made when a pop first asks for one: a history in which this happens often
/// is wrong, or has hundreds of processes. What is taken leaves a `null` behind, until that is half of all.
#[derive(Clone, Debug, Default)]
struct Deep {
    numbers: FxHashMap<ValueId, u32>,
    /// Pushes below this number are in the table.
    below: u32,
    holes: usize,
}

impl Deep {
    #[cold]
    fn take(&mut self, live: &mut Vec<(ValueId, u32)>, value: ValueId) -> Option<u32> {
        let new = live.partition_point(|entry| entry.1 < self.below);
        self.numbers.extend(live[new..].iter().copied());
        self.below = live.last().map_or(self.below, |entry| entry.1 + 1);
        let number = self.numbers.remove(&value)?;
        let at = live.binary_search_by_key(&number, |entry| entry.1).ok()?;
        if live[at].0 != value {
            return None;
        }
        live[at].0 = ValueId::NULL;
        self.holes += 1;
        if 2 * self.holes > live.len() {
            live.retain(|entry| entry.0 != ValueId::NULL);
            *self = Deep::default();
        }
        Some(number)
    }
}

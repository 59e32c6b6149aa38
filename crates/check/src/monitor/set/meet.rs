//! Rows are met, in order of return, before they are explained: which value, what role, and whether another
//! operation on the value overlaps.

use std::cmp::Reverse;

use linpoint_history::ValueId;

use super::episode::Role;
use super::{Element, NONE, SetMonitor};
use crate::engine::{Context, Stop};
use crate::timeline::{OpId, Timeline};

/// Values that perhaps are over: noted without asking, since the answer is anybody's guess, and looked at
/// later.
#[derive(Debug)]
pub(super) struct Over {
    pub noted: Box<[(ValueId, u32)]>,
    pub count: usize,
}

impl Default for Over {
    fn default() -> Over {
        Over { noted: vec![(ValueId::NULL, 0); 256].into(), count: 0 }
    }
}

impl Over {
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count + 1 >= self.noted.len()
    }

    /// Notes a value, if it is over; there is room.
    #[inline]
    pub fn note_if(&mut self, over: bool, value: ValueId, place: u32) {
        self.noted[self.count] = (value, place);
        self.count += usize::from(over);
    }
}

/// A row that was met and is not explained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Met {
    /// The element, the role above it, and [`MARKED`]; [`DONE`] if it took effect already.
    pub word: u32,
    /// The row before it on the same value, or [`NONE`].
    pub before: u32,
}

/// It overlaps another operation on its value.
pub(super) const MARKED: u32 = 1 << 31;
pub(super) const ROLE_SHIFT: u32 = 29;
const PLACE: u32 = (1 << ROLE_SHIFT) - 1;
pub(super) const DONE: u32 = u32::MAX;

impl Met {
    pub fn place(self) -> u32 {
        self.word & PLACE
    }

    pub fn role(self) -> Role {
        Role::ALL[(self.word >> ROLE_SHIFT & 3) as usize]
    }
}

impl SetMonitor {
    /// Meets the rows that are new: which value, what role, and whether others on the value overlap.
    pub(super) fn meet(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        self.met.drain(..(self.next - self.met_from) as usize);
        self.met_from = self.next;
        self.forget_over();
        let from = (self.met_from + self.met.len() as u32 - timeline.base()) as usize;
        let (rows, earliests) = (&timeline.rows()[from..], &timeline.earliests()[from..]);
        for (row, &earliest) in rows.iter().zip(earliests) {
            let role = self.role(cx, row)?;
            let place = self.place(row.arg);
            let id = self.met_from + self.met.len() as u32;
            let before = std::mem::replace(&mut self.elements[place as usize].last, id);
            self.met.push(Met { word: place | (role as u32) << ROLE_SHIFT, before });
            // `NONE` is greater than every gap, so it is turned round.
            if before.wrapping_add(1) > earliest {
                self.mark(timeline, id);
                self.mark_from(timeline, before, earliest);
            }
            if !self.unreturned.is_empty() && self.unreturned.get(&row.arg).is_some_and(|&first| first <= id)
            {
                self.mark(timeline, id);
            }
        }
        Ok(())
    }

    /// Marks `last` and the rows before it on its value, as far as they return in gap `from` or later.
    #[inline(never)]
    pub(super) fn mark_from(&mut self, timeline: &Timeline, last: u32, from: u32) {
        let mut id = last;
        while id != NONE && id >= from.max(self.next) {
            self.mark(timeline, id);
            id = self.met[(id - self.met_from) as usize].before;
        }
    }

    /// A row overlaps another operation on its value: it is to be called.
    fn mark(&mut self, timeline: &Timeline, id: u32) {
        let met = &mut self.met[(id - self.met_from) as usize];
        if met.word & MARKED == 0 {
            met.word |= MARKED;
            self.call_later(timeline.earliest(OpId(id)), OpId(id));
        }
    }

    pub(super) fn call_later(&mut self, earliest: u32, id: OpId) {
        self.due.push(Reverse((earliest, id)));
        self.next_due = self.next_due.min(earliest);
    }

    /// Where a value is among the elements.
    #[inline]
    pub(super) fn place(&mut self, value: ValueId) -> u32 {
        let free = self.free_elements.last().copied().unwrap_or(self.elements.len() as u32);
        let place = self.places.claim(value.0, free);
        if place == free {
            self.add(value);
        }
        place
    }

    #[inline]
    fn add(&mut self, value: ValueId) {
        let element =
            Element { count: self.at_first(value), last: NONE, open: NONE, who: NONE, call: 0, ret: 0 };
        match self.free_elements.pop() {
            Some(place) => self.elements[place as usize] = element,
            None => {
                assert!(self.elements.len() < PLACE as usize, "less than 2^29 values are held at once");
                self.elements.push(element);
            }
        }
    }

    /// Forgets those of the values noted as over that have nothing open and nothing to come, and are in the
    /// collection as often as at first.
    pub(super) fn forget_over(&mut self) {
        for index in 0..std::mem::take(&mut self.over.count) {
            let (value, place) = self.over.noted[index];
            let element = &self.elements[place as usize];
            let nothing_to_come = element.last.wrapping_add(1) <= self.next && element.open == NONE;
            // It may be noted twice.
            if nothing_to_come
                && element.count == self.at_first(value)
                && self.places.get(value.0) == Some(place)
                && !(self.unreturned.contains_key(&value))
            {
                self.places.remove(value.0);
                self.free_elements.push(place);
            }
        }
    }
}

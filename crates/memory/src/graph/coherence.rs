//! Coherence, from clocks alone: which writes a new read may read, and where a new write may stand.
//!
//! RC11 demands that `hb ; eco?` is irreflexive. An event that is added at the end of its thread happens
//! before nothing, so the only new cycles go through it: for a read, a write of the location in its past that
//! is modification-after the one it reads, or a read in its past whose write is. What an acquire takes over
//! in addition happened before the write it reads, and coherence of that write covers it; so the past of the
//! event *before* the read decides, whatever the read reads.
//!
//! Under sequential consistency the past is under `po ∪ rf ∪ mo ∪ fr` in place of `hb`; the rest is the same.

use super::Graph;
use crate::event::EventId;

impl Graph {
    /// The position of a write in modification order; 0 is the initial one.
    pub(crate) fn position(&self, place: usize, write: Option<EventId>) -> usize {
        let Some(write) = write else { return 0 };
        self.place(place).writes.iter().rposition(|&other| other == write).map_or(0, |index| index + 1)
    }

    /// The write at a position of modification order.
    pub(crate) fn write_at(&self, place: usize, position: usize) -> Option<EventId> {
        position.checked_sub(1).and_then(|index| self.place(place).writes.get(index).copied())
    }

    /// The least position that something with this past may read from, or be placed after: no write of the
    /// past, and no write that a read of the past reads, is after it.
    pub(crate) fn floor(&self, place: usize, past: impl Fn(EventId) -> bool) -> usize {
        let place_of = self.place(place);
        let mut floor = place_of.writes.iter().rposition(|&write| past(write)).map_or(0, |index| index + 1);
        for &read in &place_of.reads {
            if past(read) {
                floor = floor.max(self.position(place, self.event(read).source));
            }
        }
        floor
    }

    /// Would a write with this index in modification order stand between a read-modify-write and what it
    /// reads?
    pub(crate) fn splits_update(&self, place: usize, index: usize) -> bool {
        self.place(place).writes.get(index).is_some_and(|&write| self.event(write).exclusive)
    }

    /// Another read-modify-write that reads what the read-modify-write `read` reads.
    pub(crate) fn competitor(&self, read: EventId) -> Option<EventId> {
        let event = self.event(read);
        if !event.exclusive {
            return None;
        }
        let reads = &self.place(event.place).reads;
        reads.iter().copied().find(|&other| {
            other != read && self.event(other).exclusive && self.event(other).source == event.source
        })
    }

    /// The past of `last` under `po ∪ rf ∪ mo ∪ fr`, creating and joining: `seen[e]` for the events in it.
    /// `last` itself is not in it, unless it is on a cycle.
    pub(crate) fn sc_past(&self, last: EventId, seen: &mut Vec<bool>, work: &mut Vec<EventId>) {
        seen.clear();
        seen.resize(self.events().len(), false);
        work.clear();
        work.push(last);
        while let Some(id) = work.pop() {
            self.for_each_before(id, |before| {
                if !std::mem::replace(&mut seen[before.number()], true) {
                    work.push(before);
                }
            });
        }
    }

    /// Calls `tell` with the events directly before `id`.
    fn for_each_before(&self, id: EventId, mut tell: impl FnMut(EventId)) {
        use crate::event::Kind;
        let event = self.event(id);
        match event.index.checked_sub(1) {
            Some(before) => tell(self.thread(event.thread)[before]),
            None => {
                let creates = |e: &crate::event::Event| e.kind == Kind::Create(event.thread as u32);
                if let Some(creation) = self.events().iter().position(creates) {
                    tell(EventId::at(creation));
                }
            }
        }
        match event.kind {
            Kind::Read => {
                if let Some(write) = event.source {
                    tell(write);
                }
            }
            Kind::Write => {
                let place = self.place(event.place);
                let Some(index) = place.writes.iter().position(|&write| write == id) else { return };
                let earlier = index.checked_sub(1).map(|before| place.writes[before]);
                if let Some(earlier) = earlier {
                    tell(earlier);
                }
                for &read in &place.reads {
                    if read != id && self.event(read).source == earlier {
                        tell(read);
                    }
                }
            }
            Kind::Join(thread) => {
                if let Some(&last) = self.thread(thread as usize).last() {
                    tell(last);
                }
            }
            Kind::Fence | Kind::Create(_) | Kind::Choice(_) | Kind::Call(_) | Kind::Return => {}
        }
    }
}

//! Reads are added: which writes they may read from.

use super::{Dead, Explorer};
use crate::event::{Access, EventId, Location, Value};
use crate::graph::Draft;
use crate::ordering::Model;
use crate::program::Program;

impl<P: Program> Explorer<'_, P> {
    pub(super) fn place_of(&mut self, location: Location) -> usize {
        let initial = self.program.initial(location);
        self.graph.place_of(location, initial)
    }

    /// Adds a read. It reads the newest write that it may in this execution; for every other one a copy of
    /// the graph goes to the work list. Returns the value.
    pub(super) fn add_read(
        &mut self,
        thread: usize,
        location: Location,
        access: Access,
    ) -> Result<Value, Dead> {
        let place = self.place_of(location);
        let read = self.graph.append(thread, Draft::read(place, access));
        if self.is_sampling {
            self.choose_source(read)?;
        } else {
            self.try_sources(read)?;
        }
        let event = *self.graph.event(read);
        if event.exclusive {
            self.add_update(thread, event)?;
        }
        Ok(event.value)
    }

    /// Gives a read, just added, the newest source, and every other one that it may have in a copy of the
    /// graph.
    fn try_sources(&mut self, read: EventId) -> Result<(), Dead> {
        let place = self.graph.event(read).place;
        let floor = self.floor(read);
        let newest = self.graph.place(place).writes.len();
        let mut may_be_newest = false;
        for position in floor..=newest {
            let source = self.graph.write_at(place, position);
            self.graph.set_source(read, source);
            if let Some(other) = self.graph.competitor(read) {
                if !self.graph.is_in(other, &self.graph.clocks(read).porf) && self.keeps_axioms() {
                    self.compete(read);
                }
                continue;
            }
            // Nothing follows a read of the newest write, so it is on no cycle.
            if position < newest && !self.keeps_axioms() {
                continue;
            }
            if position < newest {
                let copy = self.work.copy(&self.graph);
                self.work.push(copy);
            } else {
                may_be_newest = true;
            }
        }
        if may_be_newest { Ok(()) } else { Err(Dead::NoGraph) }
    }

    /// The least position that the last event of a thread, just added, may read from or be placed after.
    pub(super) fn floor(&mut self, id: EventId) -> usize {
        let event = *self.graph.event(id);
        match self.model {
            Model::Sc => {
                self.graph.sc_past(id, &mut self.seen, &mut self.queue);
                self.graph.floor(event.place, |other| self.seen[other.number()])
            }
            Model::Rc11 | Model::Rc11Text2017 => {
                let past = self.graph.clocks_before(event.thread, event.index).hb;
                self.graph.floor(event.place, |other| self.graph.is_in(other, &past))
            }
        }
    }

    /// Is the present graph consistent, an event that respects its floor having been added?
    pub(super) fn keeps_axioms(&self) -> bool {
        match self.model {
            // The floor is exact.
            Model::Sc => true,
            Model::Rc11 | Model::Rc11Text2017 => crate::axioms::seq_cst_is_ordered(&self.graph, self.model),
        }
    }

    /// Two read-modify-writes read one write, which no graph may have. But the second one's write may revisit
    /// the first one's read, so that the first comes after the second. No step of the program lies between
    /// the two halves of the second one, so its revisits are made here, and no execution is spent.
    fn compete(&mut self, read: EventId) {
        let event = *self.graph.event(read);
        let Some(draft) = Self::second_half(&event) else { return };
        let write = self.graph.append(event.thread, draft);
        self.revisit(write);
        self.graph.take_back();
    }
}

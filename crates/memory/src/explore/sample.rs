//! Random executions: one option of each step, and nothing kept.
//!
//! What a read may read and where a write may stand are the same as in a search; no read is revisited, since
//! any order of threads may come up.

use super::{Dead, Explorer};
use crate::event::{EventId, Value};
use crate::program::Program;

impl<P: Program> Explorer<'_, P> {
    /// Gives a read, just added, one of the sources that it may have. Returns the value.
    pub(super) fn choose_source(&mut self, read: EventId) -> Result<(), Dead> {
        let place = self.graph.event(read).place;
        let floor = self.floor(read);
        let newest = self.graph.place(place).writes.len();
        let mut sources = Vec::new();
        for position in floor..=newest {
            let source = self.graph.write_at(place, position);
            self.graph.set_source(read, source);
            if self.graph.competitor(read).is_none() && self.keeps_axioms() {
                sources.push(source);
            }
        }
        let index = self.random.below(sources.len());
        self.graph.set_source(read, *sources.get(index).ok_or(Dead::NoGraph)?);
        Ok(())
    }

    /// Puts a write, just added, at one of the places that it may have.
    pub(super) fn choose_place(&mut self, write: EventId) -> Result<(), Dead> {
        let place = self.graph.event(write).place;
        let newest = self.graph.place(place).writes.len();
        let mut places = Vec::new();
        for index in self.floor(write)..=newest {
            if self.graph.splits_update(place, index) {
                continue;
            }
            self.graph.insert_write(write, index);
            if self.keeps_axioms() {
                places.push(index);
            }
            self.graph.remove_write(write, index);
        }
        let index = self.random.below(places.len());
        self.graph.insert_write(write, *places.get(index).ok_or(Dead::NoGraph)?);
        Ok(())
    }

    /// One of so many possibilities.
    pub(super) fn choose(&mut self, of: u32) -> Value {
        self.random.below(of as usize) as Value
    }
}

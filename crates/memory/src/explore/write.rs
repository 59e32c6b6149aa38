//! Writes are added: where they may stand in modification order.

use super::{Dead, Explorer};
use crate::event::{Event, EventId};
use crate::graph::Draft;
use crate::program::Program;

impl<P: Program> Explorer<'_, P> {
    /// The write that follows the first half of a read-modify-write.
    pub(super) fn second_half(read: &Event) -> Option<Draft> {
        let value = read.access.written(read.value)?;
        Some(Draft::write(read.place, read.ordering, value, true))
    }

    /// Adds the second half of a read-modify-write whose first half is the last event of `thread`.
    pub(super) fn add_update(&mut self, thread: usize, read: Event) -> Result<(), Dead> {
        let draft = Self::second_half(&read).ok_or(Dead::Diverged)?;
        self.add_write(thread, draft)
    }

    /// Adds a write: as the newest in this execution, at every other place in a copy of the graph. Before
    /// that it revisits the reads that may read it.
    pub(super) fn add_write(&mut self, thread: usize, draft: Draft) -> Result<(), Dead> {
        let write = self.graph.append(thread, draft);
        if !self.is_sampling {
            self.revisit(write);
        }
        let newest = self.graph.place(draft.place).writes.len();
        if draft.exclusive {
            return self.place_update(write, newest);
        }
        if self.is_sampling {
            self.choose_place(write)?;
            self.executed[thread] = self.graph.thread(thread).len();
            self.store(write);
            return Ok(());
        }
        for index in self.floor(write)..newest {
            if self.graph.splits_update(draft.place, index) {
                continue;
            }
            self.graph.insert_write(write, index);
            if self.keeps_axioms() {
                let copy = self.work.copy(&self.graph);
                self.work.push(copy);
            }
            self.graph.remove_write(write, index);
        }
        self.graph.insert_write(write, newest);
        self.executed[thread] = self.graph.thread(thread).len();
        self.store(write);
        Ok(())
    }

    /// The write of a read-modify-write stands directly after what it reads.
    fn place_update(&mut self, write: EventId, newest: usize) -> Result<(), Dead> {
        let Event { thread, index, place, .. } = *self.graph.event(write);
        let read = self.graph.thread(thread)[index - 1];
        if self.graph.competitor(read).is_some() {
            return Err(Dead::NoGraph);
        }
        let position = self.graph.position(place, self.graph.event(read).source);
        self.graph.insert_write(write, position);
        if position < newest {
            return if self.keeps_axioms() { Ok(()) } else { Err(Dead::NoGraph) };
        }
        self.executed[thread] = self.graph.thread(thread).len();
        self.store(write);
        Ok(())
    }
}

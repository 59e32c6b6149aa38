//! Revisits: a write becomes the source of a read that was added before it.
//!
//! Let `a` be the write and `r` the read. Of the graph stays what was added no later than `r`, and what is in
//! the `porf` past of `a`. The revisit is made only if every event that goes, and `r` itself, is *maximal*:
//! at the moment when it was added, with the past of `a` added before, it was put at the newest place. Of all
//! the graphs that differ only in what goes, exactly one has this property, and that one makes the revisit
//! (POPL 2022, section 3.2).

use super::Explorer;
use crate::event::{EventId, Kind};
use crate::ordering::Model;
use crate::program::Program;

impl<P: Program> Explorer<'_, P> {
    /// Lets `write`, which was added last and has no place yet, revisit the reads that it may.
    pub(super) fn revisit(&mut self, write: EventId) {
        let place = self.graph.event(write).place;
        for k in 0..self.graph.place(place).reads.len() {
            let read = self.graph.place(place).reads[k];
            if !self.graph.is_in(read, &self.graph.clocks(write).porf) && self.is_maximal(read, write) {
                self.revisit_read(read, write);
            }
        }
    }

    /// Was everything that the revisit takes away, and the read, added in the default way?
    fn is_maximal(&self, read: EventId, write: EventId) -> bool {
        let graph = &self.graph;
        let past = &graph.clocks(write).porf;
        for number in read.number()..graph.events().len() {
            let id = EventId::at(number);
            if id == write || (id != read && graph.is_in(id, past)) {
                continue;
            }
            let is_previous = |other: EventId| other != write && (other <= id || graph.is_in(other, past));
            let event = graph.event(id);
            let newest = match event.kind {
                Kind::Write => {
                    let reads = &graph.place(event.place).reads;
                    let reads_it = |&other: &EventId| graph.event(other).source == Some(id);
                    if reads.iter().any(|other| is_previous(*other) && reads_it(other)) {
                        return false;
                    }
                    Some(id)
                }
                Kind::Read => {
                    if event.source.is_some_and(|source| !is_previous(source)) {
                        return false;
                    }
                    event.source
                }
                Kind::Choice(_) if event.value != 0 => return false,
                _ => continue,
            };
            let position = graph.position(event.place, newest);
            if graph.place(event.place).writes[position..].iter().any(|&later| is_previous(later)) {
                return false;
            }
        }
        true
    }

    fn revisit_read(&mut self, read: EventId, write: EventId) {
        let mut part = std::mem::take(&mut self.part);
        let past = self.graph.clocks(write).porf;
        let kept = |id: EventId| id <= read || self.graph.is_in(id, &past);
        let read = part.restrict(&self.graph, read, kept);
        let write = part.renumbered(write);
        if let (Some(read), Some(write)) = (read, write) {
            self.revisit_in(&part, read, write);
        }
        self.part = part;
    }

    /// Makes `read` read `write` in `part`, at every place of modification order where `write` may stand.
    fn revisit_in(&mut self, part: &crate::graph::Graph, read: EventId, write: EventId) {
        let (reader, writer) = (*part.event(read), *part.event(write));
        let place = writer.place;
        let newest = part.place(place).writes.len();
        let mut floor = 0;
        if self.model != Model::Sc {
            let past = part.clocks_before(reader.thread, reader.index).hb;
            floor = part.floor(place, |id| part.is_in(id, &past));
        }
        let mut last = newest;
        if writer.exclusive {
            let own = part.thread(writer.thread)[writer.index - 1];
            let source = part.event(own).source;
            let competes = |id: EventId| part.event(id).exclusive && part.event(id).source == source;
            if part.place(place).reads.iter().any(|&id| id != own && id != read && competes(id)) {
                return;
            }
            last = part.position(place, source);
            if floor > last {
                return;
            }
            floor = last;
        } else if self.model != Model::Sc {
            let past = part.clocks(write).hb;
            floor = floor.max(part.floor(place, |id| id != write && part.is_in(id, &past)));
        }
        for index in floor..=last {
            if !writer.exclusive && part.splits_update(place, index) {
                continue;
            }
            let mut copy = self.work.copy(part);
            copy.insert_write(write, index);
            copy.set_source(read, Some(write));
            if Self::is_consistent(&copy, self.model, &[read, write], &mut self.seen) {
                self.work.push(copy);
            } else {
                self.work.recycle(copy);
            }
        }
    }
}

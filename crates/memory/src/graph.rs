//! Execution graphs: the events of each thread, what each read reads, and the order of the writes of each
//! location.
//!
//! Events are kept in the order in which the exploration added them; an [`EventId`] is the place in that
//! order. A graph that keeps only some of its events renumbers them, and the order stays. The initial write
//! of a location is not an event: it is before all others in the order of writes, and happens before
//! everything.
//!
//! In the order of writes, *position* 0 is the initial write and position k the k-th write. A read has the
//! position of its write.

mod clocks;
mod coherence;
mod key;
mod part;
mod races;
mod waiting;

pub use key::{Key, Label};
pub use races::Race;

use crate::clock::{Clock, Clocks};
use crate::event::{Access, Event, EventId, Kind, Location, Value};
use crate::ordering::Ordering;

/// The place of an event that accesses no location.
pub(crate) const NO_PLACE: usize = usize::MAX;

/// An execution graph.
#[derive(Debug, Default)]
pub struct Graph {
    events: Vec<Event>,
    clocks: Vec<Clocks>,
    threads: Vec<Vec<EventId>>,
    /// The locations; those behind the first `used` are memory to be used again.
    places: Vec<Place>,
    used: usize,
    /// How many `SeqCst` events each thread has.
    seq_cst: Vec<u32>,
    /// The threads that are blocked, a bit each, once the graph is full.
    blocked: u32,
    /// New numbers of events, while a graph is restricted.
    renumbered: Vec<Option<EventId>>,
}

/// What a graph knows of one location.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) location: Location,
    pub(crate) initial: Value,
    /// The writes, in modification order.
    pub(crate) writes: Vec<EventId>,
    /// The reads, in no particular order.
    pub(crate) reads: Vec<EventId>,
}

impl Place {
    fn new(location: Location, initial: Value) -> Place {
        Place { location, initial, writes: Vec::new(), reads: Vec::new() }
    }
}

impl Clone for Place {
    fn clone(&self) -> Place {
        Place {
            location: self.location,
            initial: self.initial,
            writes: self.writes.clone(),
            reads: self.reads.clone(),
        }
    }

    fn clone_from(&mut self, other: &Place) {
        self.location = other.location;
        self.initial = other.initial;
        self.writes.clone_from(&other.writes);
        self.reads.clone_from(&other.reads);
    }
}

impl Clone for Graph {
    fn clone(&self) -> Graph {
        let mut copy = Graph::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses what `self` has allocated.
    fn clone_from(&mut self, other: &Graph) {
        self.events.clone_from(&other.events);
        self.clocks.clone_from(&other.clocks);
        self.threads.clone_from(&other.threads);
        self.use_places(other, |mine, theirs| mine.clone_from(theirs));
        self.seq_cst.clone_from(&other.seq_cst);
    }
}

impl Graph {
    /// The most events a thread may have.
    pub(crate) const MOST_EVENTS: usize = 60_000;

    /// A graph without events.
    #[must_use]
    pub fn new(threads: usize) -> Graph {
        Graph { threads: vec![Vec::new(); threads], seq_cst: vec![0; threads], ..Graph::default() }
    }

    /// How many threads it has.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// All events, in the order in which they were added.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The event of that number.
    #[inline]
    #[must_use]
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.number()]
    }

    /// The clocks of that event.
    #[inline]
    #[must_use]
    pub fn clocks(&self, id: EventId) -> &Clocks {
        &self.clocks[id.number()]
    }

    /// The events of a thread in program order.
    #[inline]
    #[must_use]
    pub fn thread(&self, thread: usize) -> &[EventId] {
        &self.threads[thread]
    }

    /// Is `id` in the past that `clock` describes?
    #[inline]
    #[must_use]
    pub fn is_in(&self, id: EventId, clock: &Clock) -> bool {
        let event = self.event(id);
        clock.contains(event.thread, event.index)
    }

    /// The location that an event accesses.
    #[must_use]
    pub fn location(&self, id: EventId) -> Option<Location> {
        self.places().get(self.event(id).place).map(|place| place.location)
    }

    /// The writes of a location in modification order, the initial one left out.
    #[must_use]
    pub fn modification_order(&self, location: Location) -> &[EventId] {
        self.places().iter().find(|place| place.location == location).map_or(&[], |place| &place.writes)
    }

    /// The last value of a location in modification order, if the graph has it.
    #[must_use]
    pub fn last_value(&self, location: Location) -> Option<Value> {
        let place = self.places().iter().find(|place| place.location == location)?;
        Some(place.writes.last().map_or(place.initial, |&write| self.event(write).value))
    }

    /// What the reads of a thread read, in program order.
    pub fn values_read(&self, thread: usize) -> impl Iterator<Item = Value> {
        self.threads[thread]
            .iter()
            .map(|&id| self.event(id))
            .filter(|event| event.kind == Kind::Read)
            .map(|event| event.value)
    }

    /// Have at least two threads events that are `SeqCst`?
    #[must_use]
    pub fn has_contended_seq_cst(&self) -> bool {
        self.seq_cst.iter().filter(|&&count| count > 0).count() >= 2
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places[..self.used]
    }

    #[inline]
    pub(crate) fn place(&self, place: usize) -> &Place {
        &self.places[place]
    }

    /// The place of that location; it is made if there is none yet.
    pub(crate) fn place_of(&mut self, location: Location, initial: Value) -> usize {
        if let Some(found) = self.places().iter().position(|place| place.location == location) {
            return found;
        }
        if self.used == self.places.len() {
            self.places.push(Place::new(location, initial));
        }
        let place = &mut self.places[self.used];
        (place.location, place.initial) = (location, initial);
        place.writes.clear();
        place.reads.clear();
        self.used += 1;
        self.used - 1
    }

    /// Makes as many places as `other` has; `copy` makes mine like theirs.
    fn use_places(&mut self, other: &Graph, copy: impl Fn(&mut Place, &Place)) {
        for (k, theirs) in other.places().iter().enumerate() {
            if k == self.places.len() {
                self.places.push(Place::new(theirs.location, theirs.initial));
            }
            copy(&mut self.places[k], theirs);
        }
        self.used = other.used;
    }

    /// Adds an event at the end of its thread. A write is not yet in modification order; a read has no clocks before it
    /// has a source.
    pub(crate) fn append(&mut self, thread: usize, draft: Draft) -> EventId {
        let id = EventId::at(self.events.len());
        let index = self.threads[thread].len();
        let Draft { kind, ordering, place, value, exclusive, access } = draft;
        self.events.push(Event {
            kind,
            ordering,
            exclusive,
            thread,
            index,
            value,
            source: None,
            place,
            access,
        });
        self.clocks.push(Clocks::default());
        self.threads[thread].push(id);
        if ordering == Ordering::SeqCst {
            self.seq_cst[thread] += 1;
        }
        if kind == Kind::Read {
            self.places[place].reads.push(id);
        } else {
            self.update_clocks(id);
        }
        id
    }

    /// Takes back the event that was added last, one that nothing refers to and that is in no modification
    /// order.
    pub(crate) fn take_back(&mut self) {
        let Some(event) = self.events.pop() else { return };
        self.clocks.pop();
        self.threads[event.thread].pop();
        if event.ordering == Ordering::SeqCst {
            self.seq_cst[event.thread] -= 1;
        }
        if event.kind == Kind::Read {
            self.places[event.place].reads.pop();
        }
    }

    /// Puts a write into modification order, before the write that has this index now.
    pub(crate) fn insert_write(&mut self, write: EventId, index: usize) {
        let place = self.event(write).place;
        self.places[place].writes.insert(index, write);
    }

    /// Takes a write out of modification order, where it has this index.
    pub(crate) fn remove_write(&mut self, write: EventId, index: usize) {
        let place = self.event(write).place;
        self.places[place].writes.remove(index);
    }

    /// Makes a read, the last event of its thread, read from `source`: value, ordering and clocks follow.
    pub(crate) fn set_source(&mut self, read: EventId, source: Option<EventId>) {
        self.events[read.number()].source = source;
        self.label(read);
        self.update_clocks(read);
    }

    /// Notes the value that a write or choice, call or return has in this execution.
    pub(crate) fn set_value(&mut self, id: EventId, value: Value) {
        self.events[id.number()].value = value;
    }

    /// Notes the initial value that the location of a read has in this execution.
    pub(crate) fn set_initial(&mut self, read: EventId, initial: Value) {
        let place = self.event(read).place;
        self.places[place].initial = initial;
    }

    /// Notes how a read reads in this execution, and the value that its source has; and the value that the
    /// write after it has, if it is a read-modify-write. Is it the same read as before?
    pub(crate) fn repeat_read(&mut self, read: EventId, access: Access) -> bool {
        let before = *self.event(read);
        self.events[read.number()].access = access;
        self.label(read);
        let event = *self.event(read);
        if event.exclusive
            && let Some(&write) = self.threads[event.thread].get(event.index + 1)
        {
            self.events[write.number()].value = access.written(event.value).unwrap_or(0);
        }
        event.ordering == before.ordering && event.exclusive == before.exclusive
    }

    /// Value, ordering and kind of a read follow from its source.
    fn label(&mut self, read: EventId) {
        let event = self.event(read);
        let value = match event.source {
            Some(write) => self.event(write).value,
            None => self.places[event.place].initial,
        };
        let (ordering, exclusive) = event.access.label(value);
        let event = &mut self.events[read.number()];
        let before = std::mem::replace(&mut event.ordering, ordering);
        event.value = value;
        event.exclusive = exclusive;
        let count = &mut self.seq_cst[event.thread];
        *count += u32::from(ordering == Ordering::SeqCst);
        *count -= u32::from(before == Ordering::SeqCst);
    }
}

/// An event to be added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    pub(crate) ordering: Ordering,
    pub(crate) place: usize,
    pub(crate) value: Value,
    pub(crate) exclusive: bool,
    pub(crate) access: Access,
}

impl Draft {
    /// One without a location.
    pub(crate) fn plain(kind: Kind, ordering: Ordering, value: Value) -> Draft {
        let access = Access::Load(Ordering::NonAtomic);
        Draft { kind, ordering, place: NO_PLACE, value, exclusive: false, access }
    }

    /// A read; its source is set afterwards.
    pub(crate) fn read(place: usize, access: Access) -> Draft {
        Draft { kind: Kind::Read, ordering: Ordering::NonAtomic, place, value: 0, exclusive: false, access }
    }

    /// A write.
    pub(crate) fn write(place: usize, ordering: Ordering, value: Value, exclusive: bool) -> Draft {
        let access = Access::Load(Ordering::NonAtomic);
        Draft { kind: Kind::Write, ordering, place, value, exclusive, access }
    }
}

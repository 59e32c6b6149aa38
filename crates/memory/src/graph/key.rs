//! What makes two graphs the same: the labels of each thread's events, what reads read, and modification
//! orders.

use super::Graph;
use crate::event::{Event, EventId, Kind, Location, Value};
use crate::ordering::Ordering;

/// The thread of an event, and its index there.
pub type Name = (usize, usize);

/// One event, by what it is and does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Label {
    /// What it does.
    pub kind: Kind,
    /// Its ordering.
    pub ordering: Ordering,
    /// Is it half of a read-modify-write that wrote?
    pub exclusive: bool,
    /// Its location.
    pub location: Option<Location>,
    /// Its value.
    pub value: Value,
    /// Of a read: the write that it reads; `None` is the initial one.
    pub source: Option<Name>,
}

/// A graph without the order in which it was made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The events of each thread.
    pub threads: Vec<Vec<Label>>,
    /// The modification order of each location that is written, by location.
    pub orders: Vec<(Location, Vec<Name>)>,
}

impl Graph {
    /// The graph without the order in which it was made.
    #[must_use]
    pub fn key(&self) -> Key {
        let name = |id: EventId| (self.event(id).thread, self.event(id).index);
        let label = |event: &Event| Label {
            kind: event.kind,
            ordering: event.ordering,
            exclusive: event.exclusive,
            location: self.places().get(event.place).map(|place| place.location),
            value: event.value,
            source: event.source.map(name),
        };
        let threads = self
            .threads
            .iter()
            .map(|events| events.iter().map(|&id| label(self.event(id))).collect())
            .collect();
        let mut orders: Vec<(Location, Vec<Name>)> = self
            .places()
            .iter()
            .filter(|place| !place.writes.is_empty())
            .map(|place| (place.location, place.writes.iter().map(|&write| name(write)).collect()))
            .collect();
        orders.sort();
        Key { threads, orders }
    }
}

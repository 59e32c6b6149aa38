//! Data races: two accesses of one location by different threads, one of them a write, one of them not
//! atomic, and neither happens before the other.

use super::Graph;
use crate::event::{EventId, Kind};
use crate::ordering::Ordering;

/// Two accesses that race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race(pub EventId, pub EventId);

impl Graph {
    /// A data race, if there is one.
    #[must_use]
    pub fn race(&self) -> Option<Race> {
        let all = || (0..self.events.len()).map(EventId::at);
        let plain = |id: &EventId| {
            let event = self.event(*id);
            event.ordering == Ordering::NonAtomic && matches!(event.kind, Kind::Read | Kind::Write)
        };
        for one in all().filter(plain) {
            for other in all() {
                if self.conflict(one, other) && !self.is_ordered(one, other) {
                    return Some(Race(one.min(other), one.max(other)));
                }
            }
        }
        None
    }

    /// Do they access one location, from different threads, and one of them writes?
    fn conflict(&self, one: EventId, other: EventId) -> bool {
        let (a, b) = (self.event(one), self.event(other));
        a.place == b.place && a.thread != b.thread && (a.kind == Kind::Write || b.kind == Kind::Write)
    }

    fn is_ordered(&self, one: EventId, other: EventId) -> bool {
        self.is_in(one, &self.clocks(other).hb) || self.is_in(other, &self.clocks(one).hb)
    }
}

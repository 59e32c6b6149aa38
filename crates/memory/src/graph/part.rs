//! A part of a graph, renumbered: what a revisit keeps.

use super::Graph;
use crate::event::{Event, EventId};
use crate::ordering::Ordering;

impl Graph {
    /// Makes this graph the part of `whole` that `keep` describes: a set that contains the `porf` past of all
    /// its events, but for what `changing` reads, a read that gets a new source later.
    pub(crate) fn restrict(
        &mut self,
        whole: &Graph,
        changing: EventId,
        keep: impl Fn(EventId) -> bool,
    ) -> Option<EventId> {
        let mut renumbered = std::mem::take(&mut self.renumbered);
        renumbered.clear();
        let mut kept = 0;
        renumbered.extend((0..whole.events.len()).map(|number| {
            keep(EventId::at(number)).then(|| {
                kept += 1;
                EventId::at(kept - 1)
            })
        }));
        let new = |id: EventId| renumbered[id.number()];
        self.events.clear();
        self.clocks.clear();
        self.threads.resize_with(whole.threads.len(), Vec::new);
        self.threads.iter_mut().for_each(Vec::clear);
        self.seq_cst.clear();
        self.seq_cst.resize(whole.threads.len(), 0);
        for (number, event) in whole.events.iter().enumerate() {
            let Some(id) = new(EventId::at(number)) else { continue };
            let source = event.source.and_then(new);
            self.events.push(Event { source, ..*event });
            self.clocks.push(whole.clocks[number]);
            self.seq_cst[event.thread] += u32::from(event.ordering == Ordering::SeqCst);
            let events = &mut self.threads[event.thread];
            // Numbers need not follow program order only where a revisit has changed it, which it never does.
            debug_assert_eq!(events.len(), event.index, "what is kept of a thread is a beginning of it");
            events.push(id);
        }
        self.use_places(whole, |mine, theirs| {
            (mine.location, mine.initial) = (theirs.location, theirs.initial);
            mine.writes.clear();
            mine.writes.extend(theirs.writes.iter().copied().filter_map(new));
            mine.reads.clear();
            mine.reads.extend(theirs.reads.iter().copied().filter_map(new));
        });
        let changing = new(changing);
        self.renumbered = renumbered;
        changing
    }

    /// The number that an event of the graph that was restricted last has now.
    pub(crate) fn renumbered(&self, id: EventId) -> Option<EventId> {
        self.renumbered.get(id.number()).copied().flatten()
    }
}

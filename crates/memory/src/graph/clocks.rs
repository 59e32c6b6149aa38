//! The clocks of an event, from those before it.
//!
//! ```text
//! rs = [W ⊒ rlx] ; (rf ; rmw)*                                   release sequences of C++20
//! sw = [⊒ rel] ; ([F] ; po)? ; rs ; rf ; [R ⊒ rlx] ; (po ; [F])? ; [⊒ acq]
//! hb = (po ∪ sw ∪ create ∪ join)+          porf = (po ∪ rf ∪ create ∪ join)+
//! ```

use super::Graph;
use crate::clock::{Clock, Clocks};
use crate::event::{EventId, Kind};

impl Graph {
    /// What an event at the end of `thread` starts from: the clocks of the event before it.
    pub(crate) fn clocks_before(&self, thread: usize, index: usize) -> Clocks {
        if let Some(before) = index.checked_sub(1) {
            let clocks = self.clocks[self.threads[thread][before].number()];
            return Clocks { message: Clock::default(), ..clocks };
        }
        let creation = self.events.iter().position(|event| event.kind == Kind::Create(thread as u32));
        creation.map_or_else(Clocks::default, |id| Clocks {
            porf: self.clocks[id].porf,
            hb: self.clocks[id].hb,
            ..Clocks::default()
        })
    }

    /// Computes the clocks of an event; all events in its `porf` past have theirs.
    pub(super) fn update_clocks(&mut self, id: EventId) {
        let event = *self.event(id);
        let mut clocks = self.clocks_before(event.thread, event.index);
        clocks.porf.reach(event.thread, event.index);
        clocks.hb.reach(event.thread, event.index);
        match event.kind {
            Kind::Read => {
                if let Some(write) = event.source {
                    let source = self.clocks[write.number()];
                    clocks.porf.join(&source.porf);
                    if event.ordering.is_atomic() {
                        clocks.pending.join(&source.message);
                    }
                    if event.ordering.is_acquire() {
                        clocks.hb.join(&source.message);
                    }
                }
            }
            Kind::Write => {
                if event.ordering.is_release() {
                    clocks.message = clocks.hb;
                } else if event.ordering.is_atomic() {
                    clocks.message = clocks.fenced;
                }
                if event.exclusive {
                    let read = self.threads[event.thread][event.index - 1];
                    if let Some(write) = self.event(read).source {
                        // The read-modify-write continues the release sequences that it reads from.
                        clocks.message.join(&self.clocks[write.number()].message);
                    }
                }
            }
            Kind::Fence => {
                if event.ordering.is_acquire() {
                    let pending = clocks.pending;
                    clocks.hb.join(&pending);
                }
                if event.ordering.is_release() {
                    clocks.fenced = clocks.hb;
                }
            }
            Kind::Join(thread) => {
                if let Some(&last) = self.threads.get(thread as usize).and_then(|events| events.last()) {
                    let last = self.clocks[last.number()];
                    clocks.porf.join(&last.porf);
                    clocks.hb.join(&last.hb);
                }
            }
            Kind::Create(_) | Kind::Choice(_) | Kind::Call(_) | Kind::Return => {}
        }
        self.clocks[id.number()] = clocks;
    }
}

//! The priority queue monitor, least or greatest first: every value inserted at most once. O(log live) an
//! operation.
//!
//! A value is surely inside in the gaps after its insertion returned and before its removal was called: its
//! *cover*. A history is linearizable iff every removal of a value v has a gap, once its insertion is called
//! too, that no cover of a value leaving before v contains, and every answer "empty" a gap that no cover
//! contains (compare Lee & Mathur 2025; Abdulla et al. 2025). Each takes the *earliest* such gap: while v
//! stays longer than its cover, values that leave before it cover those gaps, so nobody that comes after v
//! loses one. Insertions take effect when they return, or just before their removal. Inside a gap: removals
//! by priority, then "empty" answers, then insertions. So the order is written without delay ([`Sweep`]).
//!
//! **Pending operations.** An insertion that never returned has no cover and counts if its value was removed.
//! Removals that never returned may take what nobody else took, and which of them takes which value is
//! searched for ([`search`]), after all rows are there; a history without such removals is decided as it
//! comes.

mod bits;
mod heap;
mod inside;
mod refute;
mod search;
mod sweep;

use linpoint_history::specs::codes::priority_queue::REMOVE;

use crate::engine::{Context, Engine, Stop, Witness};
use crate::monitor::kept::keep;
use crate::timeline::Timeline;

use sweep::{Failure, Sweep};

/// Decides histories of a priority queue. See the module's text.
#[derive(Debug, Default)]
pub struct PriorityQueueMonitor {
    sweep: Sweep,
    started: bool,
    /// All rows, where a removal never returned.
    kept: Option<Box<Timeline>>,
}

impl PriorityQueueMonitor {
    /// A monitor that has seen nothing.
    pub fn new() -> PriorityQueueMonitor {
        PriorityQueueMonitor::default()
    }

    fn has_pending_removals(timeline: &Timeline) -> bool {
        timeline.pending().iter().any(|op| op.op() == REMOVE)
    }
}

impl Engine for PriorityQueueMonitor {
    fn name(&self) -> &'static str {
        "priority queue monitor"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        if !self.started && Self::has_pending_removals(timeline) {
            self.kept = Some(Box::new(timeline.clone()));
        }
        self.started = true;
        if let Some(kept) = &mut self.kept {
            keep(kept, timeline);
            return cx.budget.check(self.memory());
        }
        self.sweep.advance(cx, timeline, upto, witness).map_err(|failure| {
            let late = Self::has_pending_removals(timeline);
            match failure {
                Failure::Covered(_) | Failure::NotEmpty if late => {
                    Stop::Unsupported("a removal that never returned became known late".into())
                }
                failure => self.sweep.refute(cx, timeline, failure),
            }
        })
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        match self.kept.take() {
            None => self.advance(cx, timeline, timeline.end(), witness),
            Some(mut kept) => {
                keep(&mut kept, timeline);
                search::search(cx, &kept, witness)
            }
        }
    }

    fn memory(&self) -> usize {
        self.sweep.memory() + self.kept.as_ref().map_or(0, |kept| kept.rows().len() * 48)
    }
}

//! One schedule again: follow it, then keep the running thread going.

use crate::event::ThreadId;
use crate::execution::Execution;
use crate::run::Run;
use crate::strategy::Strategy;

/// One run along a schedule.
pub struct Replay {
    schedule: Vec<ThreadId>,
}

impl Replay {
    /// Follows `schedule`; after its end the running thread goes on as long as it can, then the lowest.
    pub fn new(schedule: Vec<ThreadId>) -> Replay {
        Replay { schedule }
    }
}

impl Strategy for Replay {
    fn prefix(&self) -> &[ThreadId] {
        &self.schedule
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        at.default_choice()
    }

    fn keeps_going(&self) -> bool {
        true
    }

    fn advance(&mut self, _run: &Run) -> bool {
        false
    }
}

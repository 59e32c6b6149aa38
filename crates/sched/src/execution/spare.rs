//! What an execution leaves for the next one on its OS thread: the room of its lists, and its stacks.
//!
//! A small scenario has a few dozen executions, of a microsecond each. To allocate all this anew for every scenario takes as
//! long as several of them.

use std::cell::Cell;

use super::shim;
use super::state::Thread;
use crate::fiber::Fiber;
use crate::location::Locations;
use crate::run::Run;

/// Records longer than this are not kept: they would stay as long as the OS thread.
const MOST_STEPS: usize = 1 << 12;

/// The parts of an execution that are kept. Nothing in them is of a run: they are as new, but for the room they have.
pub(super) struct Spare {
    pub(super) run: Run,
    pub(super) threads: Vec<Thread>,
    #[allow(clippy::vec_box)]
    pub(super) fibers: Vec<Box<Fiber>>,
    pub(super) locations: Locations,
    pub(super) shims: shim::State,
    /// Of the stacks.
    pub(super) stack_size: usize,
}

thread_local! {
    static SPARE: Cell<Option<Spare>> = const { Cell::new(None) };
}

impl Spare {
    /// What an execution left behind on this OS thread, with stacks of that size, or new parts.
    pub(super) fn take(stack_size: usize) -> Spare {
        if let Some(mut spare) = SPARE.take() {
            if spare.stack_size != stack_size {
                spare.give_stacks_back();
                spare.stack_size = stack_size;
            }
            return spare;
        }
        Spare {
            run: Run::with_room(),
            threads: Vec::with_capacity(8),
            fibers: Vec::new(),
            locations: Locations::new(),
            shims: shim::State::new(),
            stack_size,
        }
    }

    /// Keeps the parts for the next execution on this OS thread, unless it has some already.
    pub(super) fn keep(mut self) {
        let long = self.run.steps.capacity().max(self.run.accesses.capacity()) > MOST_STEPS;
        // While the thread ends nobody is left to use them.
        let other = if long { None } else { SPARE.try_with(Cell::take).ok() };
        if !matches!(other, Some(None)) {
            if let Some(other) = other {
                SPARE.set(other);
            }
            return self.give_stacks_back();
        }
        self.shims.forget(self.run.threads.len());
        self.run.clear();
        self.locations.clear();
        for thread in &mut self.threads {
            thread.locals.forget();
        }
        SPARE.set(Some(self));
    }

    fn give_stacks_back(&mut self) {
        self.threads.clear();
        for fiber in self.fibers.drain(..) {
            fiber.give_back();
        }
    }
}

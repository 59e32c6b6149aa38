//! `std::sync::Barrier`.
//!
//! To arrive is a step, and to leave is one that waits; who arrives last leads and leaves at once.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Mutex as StdMutex, PoisonError};

use crate::event::{Action, Effect, Intent, Wait, anybody};
use crate::execution::{Handle, current};
use crate::stranger;

/// A place where threads wait for one another.
pub struct Barrier {
    real: std::sync::Barrier,
    size: usize,
    model: StdMutex<Model>,
}

/// The threads of an exploration that wait.
struct Model {
    /// The run they belong to.
    stamp: u64,
    arrived: usize,
    generation: u64,
}

/// Was this the thread that led?
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Was it?
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}

/// A thread that waits, in its own frame.
struct Waiter<'a> {
    barrier: &'a Barrier,
    generation: u64,
}

impl Drop for Waiter<'_> {
    /// A thread that is taken down while it waits is not there any more.
    fn drop(&mut self) {
        let mut model = self.barrier.model();
        if model.generation == self.generation {
            model.arrived = model.arrived.saturating_sub(1);
        }
    }
}

/// Until the waiter's generation, which the pointer is to, has passed.
static PASSED: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the waiter is in the frame of the thread that waits.
        let waiter = unsafe { &*object.cast::<Waiter<'_>>() };
        waiter.barrier.model().generation != waiter.generation
    }
    Wait { ready, held_by: anybody }
};

impl Barrier {
    /// For `size` threads.
    pub const fn new(size: usize) -> Barrier {
        let model = Model { stamp: 0, arrived: 0, generation: 0 };
        Barrier { real: std::sync::Barrier::new(size), size, model: StdMutex::new(model) }
    }

    /// Waits until as many threads are here as the barrier is for.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            assert!(
                self.model().arrived == 0,
                "a thread that the explorer does not know came to a barrier where threads of an exploration wait"
            );
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        handle.point(Intent::new(Action::BarrierArrive, self.address()));
        let (leads, generation) = self.arrive(handle);
        handle.access(Action::BarrierArrive, self.address(), Effect::ReadWrite, Ordering::AcqRel, generation);
        if !leads {
            let waiter = Waiter { barrier: self, generation };
            let object = std::ptr::from_ref(&waiter).cast();
            // SAFETY: the waiter is in this frame.
            let intent = unsafe { Intent::waiting(Action::BarrierLeave, self.address(), &PASSED, object) };
            handle.wait(intent);
            handle.access(Action::BarrierLeave, self.address(), Effect::Read, Ordering::Acquire, generation);
        }
        handle.scrub_deep();
        BarrierWaitResult(leads)
    }

    fn arrive(&self, handle: Handle) -> (bool, u64) {
        handle.hides_state();
        let mut model = self.model();
        if model.stamp != handle.stamp() {
            *model = Model { stamp: handle.stamp(), arrived: 0, generation: 0 };
        }
        let generation = model.generation;
        model.arrived += 1;
        let leads = model.arrived >= self.size;
        if leads {
            model.arrived = 0;
            model.generation += 1;
        }
        (leads, generation)
    }

    fn model(&self) -> std::sync::MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.model).addr()
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

//! `std::sync::Barrier`.
//!
//! To arrive is a step, and to leave is one that waits; who arrives last leads and leaves at once.
//!
//! Threads of an exploration and others cannot meet here: nobody could decide when the others come. Whoever comes second
//! says so, and an OS thread that waits is woken up to say it too, instead of waiting for ever.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Condvar as StdCondvar, Mutex as StdMutex, MutexGuard as StdMutexGuard, PoisonError};

use crate::event::{Action, Effect, Intent, Wait, anybody};
use crate::execution::{Handle, current};
use crate::stranger;

/// A place where threads wait for one another.
pub struct Barrier {
    size: usize,
    model: StdMutex<Model>,
    /// The OS threads that wait outside an exploration are told here.
    changed: StdCondvar,
}

/// Who waits.
struct Model {
    /// The run that the threads of an exploration belong to.
    stamp: u64,
    /// How many of them wait.
    arrived: usize,
    generation: u64,
    /// How many OS threads wait outside.
    outside: usize,
    outside_generation: u64,
    /// Did a thread of an exploration come while they waited?
    intruded: bool,
}

const MET: &str =
    "threads of an exploration and a thread that the explorer does not know came to the same barrier";

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
        let model =
            Model { stamp: 0, arrived: 0, generation: 0, outside: 0, outside_generation: 0, intruded: false };
        Barrier { size, model: StdMutex::new(model), changed: StdCondvar::new() }
    }

    /// Waits until as many threads are here as the barrier is for.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            return BarrierWaitResult(self.wait_outside());
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
            (model.stamp, model.arrived, model.generation) = (handle.stamp(), 0, 0);
        }
        if model.outside > 0 {
            model.intruded = true;
            self.changed.notify_all();
            drop(model);
            handle.misuse(MET);
            model = self.model();
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

    /// As std's: returns whether this thread leads.
    #[track_caller]
    fn wait_outside(&self) -> bool {
        let mut model = self.model();
        assert!(model.arrived == 0, "{MET}");
        let generation = model.outside_generation;
        model.outside += 1;
        // Whoever comes while the others are still to say that they were disturbed says so too.
        if model.outside >= self.size && !model.intruded {
            model.outside = 0;
            model.outside_generation += 1;
            self.changed.notify_all();
            return true;
        }
        while model.outside_generation == generation {
            if model.intruded {
                model.outside -= 1;
                model.intruded = model.outside > 0;
                drop(model);
                panic!("{MET}");
            }
            model = self.changed.wait(model).unwrap_or_else(PoisonError::into_inner);
        }
        false
    }

    fn model(&self) -> StdMutexGuard<'_, Model> {
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

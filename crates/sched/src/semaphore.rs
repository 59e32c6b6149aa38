//! A counting semaphore. Std has none; programs that wait for something other than a lock are written with it.

use std::cell::Cell;

use crate::event::{Action, Effect, Intent, Wait, anybody};
use crate::execution::{Handle, current};
use std::sync::atomic::Ordering;

/// A number of permits.
pub struct Semaphore {
    permits: Cell<usize>,
}

// SAFETY: the fibers of an execution run on one OS thread, one at a time, and the methods refuse to run outside.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    /// With `permits` to begin with.
    pub const fn new(permits: usize) -> Semaphore {
        Semaphore { permits: Cell::new(permits) }
    }

    /// Waits for a permit and takes it.
    ///
    /// # Panics
    /// Outside an exploration.
    #[track_caller]
    pub fn acquire(&self) {
        static FREE: Wait = {
            unsafe fn ready(object: *const ()) -> bool {
                // SAFETY: the semaphore is borrowed by the thread that stands at the announcement.
                unsafe { &*object.cast::<Semaphore>() }.permits.get() > 0
            }
            Wait { ready, held_by: anybody }
        };
        let handle = Self::handle();
        let object = std::ptr::from_ref(self).cast::<()>();
        // SAFETY: as above.
        handle.wait(unsafe { Intent::waiting(Action::Acquire, object.addr(), &FREE, object) });
        self.set(handle, Action::Acquire, self.permits.get().saturating_sub(1));
    }

    /// Takes a permit if there is one.
    ///
    /// # Panics
    /// Outside an exploration.
    #[track_caller]
    pub fn try_acquire(&self) -> bool {
        let handle = Self::handle();
        let address = std::ptr::from_ref(self).addr();
        handle.point(Intent::new(Action::TryAcquire, address));
        let permits = self.permits.get();
        if permits == 0 {
            handle.access(Action::TryAcquire, address, Effect::Read, Ordering::Acquire, 0);
            handle.hold();
            return false;
        }
        self.set(handle, Action::TryAcquire, permits - 1);
        true
    }

    /// Gives a permit back.
    ///
    /// # Panics
    /// Outside an exploration.
    #[track_caller]
    pub fn release(&self) {
        let handle = Self::handle();
        handle.point(Intent::new(Action::Release, std::ptr::from_ref(self).addr()));
        self.set(handle, Action::Release, self.permits.get() + 1);
    }

    /// Gives a permit, unless there is one.
    ///
    /// # Panics
    /// Outside an exploration.
    #[track_caller]
    pub fn release_up_to_one(&self) {
        let handle = Self::handle();
        handle.point(Intent::new(Action::Release, std::ptr::from_ref(self).addr()));
        self.set(handle, Action::Release, self.permits.get().max(1));
    }

    fn set(&self, handle: Handle, action: Action, permits: usize) {
        self.permits.set(permits);
        let address = std::ptr::from_ref(self).addr();
        handle.access(action, address, Effect::ReadWrite, Ordering::AcqRel, permits as u64);
        handle.hold();
    }

    fn handle() -> Handle {
        current().expect("a semaphore of the explorer is used inside an exploration")
    }
}

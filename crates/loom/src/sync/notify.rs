//! A notification that one thread waits for and others give.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use linpoint_sched::semaphore::Semaphore;

/// A notification: given by any thread, waited for and taken by one.
///
/// What was done before it was given happens before what comes after it was taken.
pub struct Notify {
    given: Semaphore,
    /// Does a thread wait?
    waiting: AtomicBool,
}

impl Notify {
    /// Not given.
    pub fn new() -> Notify {
        Notify { given: Semaphore::new(0), waiting: AtomicBool::new(false) }
    }

    /// Gives it. Given twice, it is given.
    #[track_caller]
    pub fn notify(&self) {
        self.given.release_up_to_one();
    }

    /// Waits for it, and takes it.
    ///
    /// # Panics
    /// If another thread waits already.
    #[track_caller]
    pub fn wait(&self) {
        let already = self.waiting.swap(true, Ordering::Relaxed);
        assert!(!already || linpoint_sched::looks_for_freed(), "only a single thread may wait on `Notify`");
        self.given.acquire();
        self.waiting.store(false, Ordering::Relaxed);
    }
}

impl Default for Notify {
    fn default() -> Notify {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

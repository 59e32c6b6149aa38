//! `std::sync::Condvar`.
//!
//! Which of several waiting threads `notify_one` wakes is a choice, and all of them are explored. The choice is made
//! late: a notification leaves a *permit* for the threads that wait at that moment, and whichever of them goes first
//! takes it. That gives every outcome: permits are for growing sets of threads (whoever leaves, leaves all of them), so
//! a thread that takes the earliest permit it is in never takes the only one that another could have had; and there
//! are never more permits than threads that wait, so a notification that finds everybody woken is lost, as it should be.
//!
//! A wait is three steps: to let go of the lock and begin to wait, as one; to wake up; to take the lock again. A wait
//! with a timeout can wake up at any time, and so can one that wakes up without a reason, which std allows and which is
//! explored where that is asked for (`whim.rs`).

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{LockResult, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use super::mutex::MutexGuard;
use crate::event::{Action, Effect, Intent, ThreadId, ThreadSet, Wait, anybody};
use crate::execution::{Handle, current};
use crate::{heap, stranger, whim};

/// A place to wait for something that a mutex protects.
pub struct Condvar {
    real: std::sync::Condvar,
    model: StdMutex<Model>,
}

/// The threads of an exploration that wait.
struct Model {
    /// The run they belong to.
    stamp: u64,
    /// Those that no `notify_all` woke.
    waiting: ThreadSet,
    /// Those that a `notify_all` woke.
    released: ThreadSet,
    /// A notification each: for whom. Each set contains the one before.
    permits: Vec<ThreadSet>,
}

/// Did a wait with a timeout end by the timeout?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Did it?
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Model {
    fn is_woken(&self, thread: ThreadId) -> bool {
        self.released.contains(thread) || self.permits.last().is_some_and(|permit| permit.contains(thread))
    }

    /// The thread stops to wait; returns whether it was woken.
    fn leave(&mut self, thread: ThreadId) -> bool {
        self.waiting.remove(thread);
        if self.released.contains(thread) {
            self.released.remove(thread);
            return true;
        }
        let Some(first) = self.permits.iter().position(|permit| permit.contains(thread)) else {
            return false;
        };
        self.permits.remove(first);
        for permit in &mut self.permits {
            permit.remove(thread);
        }
        true
    }

    /// Leaves a permit, if anybody is left to take it.
    fn notify_one(&mut self) -> bool {
        let useful = self.permits.len() < self.waiting.len();
        if useful {
            // It may outlive the run, in a static.
            heap::outside(|| self.permits.push(self.waiting));
        }
        useful
    }

    fn notify_all(&mut self) -> bool {
        let useful = !self.waiting.is_empty();
        self.released.0 |= self.waiting.0;
        self.waiting = ThreadSet::EMPTY;
        self.permits.clear();
        useful
    }
}

/// A thread that waits, in its own frame.
struct Waiter<'a> {
    condvar: &'a Condvar,
    thread: ThreadId,
    left: bool,
    /// May it wake up without a reason?
    fickle: bool,
}

impl Waiter<'_> {
    fn leave(&mut self) -> bool {
        self.left = true;
        self.condvar.model().leave(self.thread)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if !self.left {
            self.leave();
        }
    }
}

/// Until the waiter, which the pointer is to, is woken.
static WOKEN: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the waiter is in the frame of the thread that waits.
        let waiter = unsafe { &*object.cast::<Waiter<'_>>() };
        waiter.condvar.model().is_woken(waiter.thread)
    }
    Wait { ready, held_by: anybody }
};

impl Condvar {
    /// A new one.
    pub const fn new() -> Condvar {
        let model =
            Model { stamp: 0, waiting: ThreadSet::EMPTY, released: ThreadSet::EMPTY, permits: Vec::new() };
        Condvar { real: std::sync::Condvar::new(), model: StdMutex::new(model) }
    }

    /// Lets go of the lock, waits for a notification, and takes the lock again.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            let (lock, Some(real)) = guard.into_real() else {
                unreachable!("nobody outside goes without a lock")
            };
            let real = self.real.wait(real).unwrap_or_else(PoisonError::into_inner);
            return MutexGuard::from_real(lock, real);
        };
        let lock = guard.lock();
        let mut waiter = self.begin(handle, guard, Some(true));
        if waiter.fickle {
            handle.point(Intent::new(Action::Wake, self.address()));
        } else {
            let object = std::ptr::from_ref(&waiter).cast();
            // SAFETY: the waiter is in this frame.
            let intent = unsafe { Intent::waiting(Action::Wake, self.address(), &WOKEN, object) };
            handle.wait(intent);
        }
        let woken = waiter.leave();
        if waiter.fickle {
            handle.detail(|| if woken { "notified" } else { "without a reason" }.to_owned());
        }
        handle.visit(Action::Wake, self.address(), Ordering::Relaxed, Some(true));
        lock.lock_again(handle)
    }

    /// Waits as long as `condition` holds.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification or for the time to pass; inside an exploration that can be at any moment.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            let (lock, Some(real)) = guard.into_real() else {
                unreachable!("nobody outside goes without a lock")
            };
            let (real, result) =
                self.real.wait_timeout(real, duration).unwrap_or_else(PoisonError::into_inner);
            return with(MutexGuard::from_real(lock, real), WaitTimeoutResult(result.timed_out()));
        };
        let lock = guard.lock();
        // A wait that times out has changed nothing: a loop around it goes round in place.
        let mut waiter = self.begin(handle, guard, None);
        handle.point(Intent::new(Action::Wake, self.address()));
        let woken = waiter.leave();
        // One that wakes up without a reason does not say that the time is up.
        let timed_out = !woken && !waiter.fickle;
        handle.visit(Action::Wake, self.address(), Ordering::Relaxed, Some(!timed_out));
        handle.detail(|| match (woken, timed_out) {
            (true, _) => "notified".to_owned(),
            (false, true) => "timed out".to_owned(),
            (false, false) => "without a reason".to_owned(),
        });
        if timed_out {
            handle.yields();
        }
        handle.scrub_deep();
        with(lock.lock_again(handle), WaitTimeoutResult(timed_out))
    }

    /// Waits as long as `condition` holds, at most for a time.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        duration: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = std::time::Instant::now();
        let mut timed_out = false;
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let left = match current() {
                Some(_) if timed_out => None,
                Some(_) => Some(duration),
                None => duration.checked_sub(start.elapsed()),
            };
            let Some(left) = left else { return Ok((guard, WaitTimeoutResult(true))) };
            let (again, result) = self.wait_timeout(guard, left)?;
            guard = again;
            timed_out = result.timed_out();
        }
    }

    /// Wakes one of those that wait.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(Action::NotifyOne, Model::notify_one);
        if current().is_none() {
            self.real.notify_one();
        }
    }

    /// Wakes all that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(Action::NotifyAll, Model::notify_all);
        if current().is_none() {
            self.real.notify_all();
        }
    }

    #[track_caller]
    fn notify(&self, action: Action, notify: impl FnOnce(&mut Model) -> bool) {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            let waiting = self.model().waiting;
            assert!(
                waiting.is_empty(),
                "a condition variable that threads of an exploration wait for was notified by a thread that the \
                 explorer does not know"
            );
            return;
        };
        handle.point(Intent::new(action, self.address()));
        let useful = notify(&mut self.model_of(handle));
        let effect = if useful { Effect::ReadWrite } else { Effect::Read };
        handle.access(action, self.address(), effect, Ordering::Relaxed, 0);
        if !useful {
            handle.detail(|| "nobody waits".to_owned());
        }
        handle.scrub_deep();
    }

    /// One step: lets go of the lock and begins to wait.
    #[track_caller]
    fn begin<T>(&self, handle: Handle, guard: MutexGuard<'_, T>, changed: Option<bool>) -> Waiter<'_> {
        handle.point(Intent::new(Action::Wait, self.address()));
        let thread = handle.thread();
        // Against a graph each object has a step of its own, and what this one does to its object it does at once.
        if handle.is_weak() {
            self.model_of(handle).waiting.insert(thread);
        }
        let fickle = whim::strikes(handle, true);
        guard.release(handle);
        if !handle.is_weak() {
            self.model_of(handle).waiting.insert(thread);
        }
        handle.visit(Action::Wait, self.address(), Ordering::Relaxed, changed);
        handle.scrub_deep();
        Waiter { condvar: self, thread, left: false, fickle }
    }

    fn model(&self) -> std::sync::MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model, emptied of what an earlier run may have left.
    fn model_of(&self, handle: Handle) -> std::sync::MutexGuard<'_, Model> {
        handle.hides_state();
        let mut model = self.model();
        if model.stamp != handle.stamp() {
            model.stamp = handle.stamp();
            model.waiting = ThreadSet::EMPTY;
            model.released = ThreadSet::EMPTY;
            model.permits.clear();
        }
        model
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.model).addr()
    }
}

fn with<'a, T, R>(result: LockResult<MutexGuard<'a, T>>, more: R) -> LockResult<(MutexGuard<'a, T>, R)> {
    match result {
        Ok(guard) => Ok((guard, more)),
        Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), more))),
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

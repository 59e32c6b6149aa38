//! `std::sync::Mutex`.
//!
//! Beside the value are a real lock, without a value of its own, and who holds it. Inside an exploration a thread waits
//! until nobody holds the lock, and takes the real one as well: should a thread that the explorer does not know
//! hold it, that is noticed, and the value is never seen by two.
//!
//! Taking the lock is a step, and so is releasing it: whoever only tries can tell the difference.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::thread::panicking;

use super::poison;
use crate::event::{Action, Intent, ThreadId, ThreadSet, Wait};
use crate::execution::{Handle, current};
use crate::{helgrind, stranger};

/// Mutual exclusion around a value.
pub struct Mutex<T: ?Sized> {
    real: std::sync::Mutex<()>,
    /// The thread of the exploration that holds it, plus one.
    holder: AtomicU16,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through guards, of which there is one at a time, or with the mutex to oneself.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

/// The right to the value, until it is dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    lock: &'a Mutex<T>,
    /// Nothing if a thread that panics, and so cannot wait, goes on without the lock.
    real: Option<std::sync::MutexGuard<'a, ()>>,
    /// Where it was taken.
    site: &'static Location<'static>,
    /// Was the thread panicking already when it took the lock? Then its panic says nothing about the value.
    panicking: bool,
    /// May the value have been changed?
    changed: bool,
}

// SAFETY: as for std's guard: a shared guard gives shared access to the value.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

/// Until nobody holds the lock whose holder the pointer is to.
pub(super) static FREE: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows the mutex.
        unsafe { (*object.cast::<AtomicU16>()).load(Ordering::Relaxed) == 0 }
    }
    unsafe fn held_by(object: *const ()) -> ThreadSet {
        // SAFETY: as above.
        let holder = unsafe { (*object.cast::<AtomicU16>()).load(Ordering::Relaxed) };
        let mut threads = ThreadSet::EMPTY;
        if let Some(thread) = holder.checked_sub(1) {
            threads.insert(ThreadId(thread as u8));
        }
        threads
    }
    Wait { ready, held_by }
};

impl<T> Mutex<T> {
    /// A new one, not locked.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            real: std::sync::Mutex::new(()),
            holder: AtomicU16::new(0),
            poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        let value = self.value.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock, waiting until it is free.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            helgrind::untracked(&self.real);
            let real = self.real.lock().unwrap_or_else(PoisonError::into_inner);
            helgrind::receive(self.address());
            return self.guard(Some(real));
        };
        // SAFETY: the mutex is borrowed for longer than the thread stands at the point.
        let intent = unsafe { Intent::waiting(Action::Lock, self.address(), &FREE, self.holder()) };
        let granted = handle.wait(intent);
        self.acquire(handle, Action::Lock, granted)
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If it is not, or if a thread panicked while it held the lock.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            helgrind::untracked(&self.real);
            let real = match self.real.try_lock() {
                Ok(real) => real,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            helgrind::receive(self.address());
            return Ok(self.guard(Some(real))?);
        };
        handle.point(Intent::new(Action::TryLock, self.address()));
        if self.holder.load(Ordering::Relaxed) != 0 {
            handle.lock_refused(Action::TryLock, self.address());
            handle.detail(|| "held".to_owned());
            handle.scrub_deep();
            return Err(TryLockError::WouldBlock);
        }
        Ok(self.acquire(handle, Action::TryLock, true)?)
    }

    /// Did a thread panic while it held the lock?
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        poison::look(&self.poisoned, self.address())
    }

    /// Forgets that a thread panicked while it held the lock.
    #[track_caller]
    pub fn clear_poison(&self) {
        poison::clear(&self.poisoned, self.address());
    }

    /// The value: nobody else can see it.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        let value = self.value.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// A thread of an exploration takes the lock. If it was not granted, the thread panics, and goes on without.
    #[track_caller]
    fn acquire(&self, handle: Handle, action: Action, granted: bool) -> LockResult<MutexGuard<'_, T>> {
        let real = match self.real.try_lock() {
            Ok(real) => Some(real),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if real.is_some() {
            self.holder.store(u16::from(handle.thread().0) + 1, Ordering::Relaxed);
            handle.lock_access(action, self.address(), Ordering::Acquire, None);
        } else if granted {
            handle.misuse(
                "a mutex is held by a thread that the explorer does not know, or by a guard that was leaked",
            );
        }
        let result = self.guard(real);
        handle.scrub_deep();
        // A run that is taken down panics in all its threads; that is nothing to stumble over.
        if handle.doomed() { Ok(result.unwrap_or_else(PoisonError::into_inner)) } else { result }
    }

    #[track_caller]
    fn guard<'a>(&'a self, real: Option<std::sync::MutexGuard<'a, ()>>) -> LockResult<MutexGuard<'a, T>> {
        let guard =
            MutexGuard { lock: self, real, site: Location::caller(), panicking: panicking(), changed: false };
        if self.poisoned.load(Ordering::Relaxed) { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(&self.holder).addr()
    }

    fn holder(&self) -> *const () {
        std::ptr::from_ref(&self.holder).cast()
    }

    /// Waits for the lock after a wait on a condition variable.
    #[track_caller]
    pub(super) fn lock_again(&self, handle: Handle) -> LockResult<MutexGuard<'_, T>> {
        // SAFETY: as in `lock`.
        let intent = unsafe { Intent::waiting(Action::Lock, self.address(), &FREE, self.holder()) };
        let granted = handle.wait(intent);
        self.acquire(handle, Action::Lock, granted)
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The lock.
    pub(super) fn lock(&self) -> &'a Mutex<T> {
        self.lock
    }

    /// Gives the lock back as part of a step of a thread of an exploration.
    pub(super) fn release(mut self, handle: Handle) {
        if handle.is_weak() {
            handle.point(Intent::at(Action::Unlock, self.lock.address(), self.site));
        }
        self.give_back(Some(handle));
    }

    /// Takes the guard apart into the lock and std's guard of it, for a thread outside.
    pub(super) fn into_real(mut self) -> (&'a Mutex<T>, Option<std::sync::MutexGuard<'a, ()>>) {
        let real = self.real.take();
        helgrind::send(self.lock.address());
        (self.lock, real)
    }

    #[track_caller]
    pub(super) fn from_real(
        lock: &'a Mutex<T>,
        real: std::sync::MutexGuard<'a, ()>,
    ) -> LockResult<MutexGuard<'a, T>> {
        helgrind::receive(lock.address());
        lock.guard(Some(real))
    }

    /// Does the guard go because its thread panicked while it held the lock?
    fn poisons(&self, handle: Option<Handle>) -> bool {
        !self.panicking && panicking() && !handle.is_some_and(Handle::doomed)
    }

    fn give_back(&mut self, handle: Option<Handle>) {
        let Some(real) = self.real.take() else { return };
        let poisons = self.poisons(handle);
        if poisons {
            self.lock.poisoned.store(true, Ordering::Relaxed);
        }
        if let Some(handle) = handle {
            self.lock.holder.store(0, Ordering::Relaxed);
            handle.lock_access(
                Action::Unlock,
                self.lock.address(),
                Ordering::Release,
                Some(self.changed || poisons),
            );
            handle.scrub_deep_alone();
        } else {
            helgrind::send(self.lock.address());
        }
        drop(real);
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        /// The lock is given back even if the run is taken down at this very point.
        struct GiveBack<'g, 'a, T: ?Sized>(&'g mut MutexGuard<'a, T>, Option<Handle>);
        impl<T: ?Sized> Drop for GiveBack<'_, '_, T> {
            fn drop(&mut self) {
                self.0.give_back(self.1);
                self.1.inspect(|handle| handle.hold());
            }
        }
        if self.real.is_none() {
            return;
        }
        let handle = current();
        let (address, site) = (self.lock.address(), self.site);
        let flag = self.poisons(handle).then_some(&self.lock.poisoned);
        let _give_back = GiveBack(self, handle);
        if let Some(handle) = handle {
            if let Some(flag) = flag {
                poison::set(handle, flag, address, site);
            }
            handle.point(Intent::at(Action::Unlock, address, site));
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held. A thread that goes on without it panics, and nobody else goes until it is done.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        // SAFETY: as above.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => text.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.poisoned.load(Ordering::Relaxed)).finish_non_exhaustive()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

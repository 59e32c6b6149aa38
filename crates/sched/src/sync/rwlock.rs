//! `std::sync::RwLock`, built as [`Mutex`](super::Mutex) is.
//!
//! Std leaves the preference open, and every order is explored. A writer that comes while others read begins to wait, in a step
//! of its own, and from there on no more readers enter, as with std's lock on Linux: so a thread that reads twice may
//! wait for a writer that waits for it. A lock that lets readers pass writers does nothing that is not seen where the writer comes
//! later, for nobody else can tell that it waits.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::thread::panicking;

use super::poison;
use crate::event::{Action, Intent, ThreadId, ThreadSet, Wait};
use crate::execution::{Handle, current};
use crate::{helgrind, stranger};

/// A lock for many readers or one writer.
pub struct RwLock<T: ?Sized> {
    real: std::sync::RwLock<()>,
    model: Model,
    poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

/// Which threads of the exploration hold it.
struct Model {
    /// The writer, plus one.
    writer: AtomicU32,
    /// How many readers.
    count: AtomicU32,
    /// The readers, as a [`ThreadSet`]; a thread that reads twice is in it once.
    readers: AtomicU64,
    /// The writers that wait for readers, as a [`ThreadSet`].
    waiting: AtomicU64,
}

// SAFETY: the value is reached through guards, many that read or one that writes, or with the lock to oneself.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers on several threads share the value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

/// The right to read the value, until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    /// Nothing if a thread that panics, and so cannot wait, goes on without the lock.
    real: Option<std::sync::RwLockReadGuard<'a, ()>>,
    /// Where it was taken.
    site: &'static Location<'static>,
}

/// The right to write the value, until it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    /// As for the other guard.
    real: Option<std::sync::RwLockWriteGuard<'a, ()>>,
    /// Where it was taken.
    site: &'static Location<'static>,
    /// Was the thread panicking already when it took the lock?
    panicking: bool,
    /// May the value have been changed?
    changed: bool,
}

// SAFETY: as for std's guards.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as for std's guards.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl Model {
    /// Does nobody write?
    fn is_unwritten(&self) -> bool {
        self.writer.load(Ordering::Relaxed) == 0
    }

    fn may_read(&self) -> bool {
        let held_up = self.count.load(Ordering::Relaxed) > 0 && self.waiting.load(Ordering::Relaxed) != 0;
        self.is_unwritten() && !held_up
    }

    fn may_write(&self) -> bool {
        self.is_unwritten() && self.count.load(Ordering::Relaxed) == 0
    }

    fn holders(&self) -> ThreadSet {
        let mut threads = ThreadSet(self.readers.load(Ordering::Relaxed));
        if let Some(writer) = self.writer.load(Ordering::Relaxed).checked_sub(1) {
            threads.insert(ThreadId(writer as u8));
        }
        threads
    }

    fn begin_read(&self, thread: ThreadId) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.readers.fetch_or(1 << thread.0, Ordering::Relaxed);
    }

    fn end_read(&self, thread: ThreadId) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.readers.fetch_and(!(1 << thread.0), Ordering::Relaxed);
    }
}

unsafe fn holders(object: *const ()) -> ThreadSet {
    // SAFETY: the thread that waits borrows the lock.
    unsafe { (*object.cast::<Model>()).holders() }
}

unsafe fn holders_and_waiting(object: *const ()) -> ThreadSet {
    // SAFETY: as above.
    let model = unsafe { &*object.cast::<Model>() };
    ThreadSet(model.holders().0 | model.waiting.load(Ordering::Relaxed))
}

/// Until nobody writes, nor waits for readers to do so.
static READABLE: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows the lock.
        unsafe { (*object.cast::<Model>()).may_read() }
    }
    Wait { ready, held_by: holders_and_waiting }
};

/// Until nobody writes.
static UNWRITTEN: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows the lock.
        unsafe { (*object.cast::<Model>()).is_unwritten() }
    }
    Wait { ready, held_by: holders }
};

/// Until nobody reads or writes.
static WRITABLE: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows the lock.
        unsafe { (*object.cast::<Model>()).may_write() }
    }
    Wait { ready, held_by: holders }
};

impl<T> RwLock<T> {
    /// A new one, not locked.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            real: std::sync::RwLock::new(()),
            model: Model {
                writer: AtomicU32::new(0),
                count: AtomicU32::new(0),
                readers: AtomicU64::new(0),
                waiting: AtomicU64::new(0),
            },
            poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// If a writer panicked.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        let value = self.value.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Enters as a reader, waiting until nobody writes.
    ///
    /// # Errors
    /// If a writer panicked.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            helgrind::untracked(&self.real);
            let real = self.real.read().unwrap_or_else(PoisonError::into_inner);
            helgrind::receive(self.address());
            return self.read_guard(Some(real));
        };
        // SAFETY: the lock is borrowed for longer than the thread stands at the point.
        let intent = unsafe { Intent::waiting(Action::ReadLock, self.address(), &READABLE, self.model()) };
        let granted = handle.wait(intent);
        self.enter_read(handle, Action::ReadLock, granted)
    }

    /// Enters as a reader if nobody writes.
    ///
    /// # Errors
    /// If somebody does, or if a writer panicked.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            helgrind::untracked(&self.real);
            let real = taken(self.real.try_read()).ok_or(TryLockError::WouldBlock)?;
            helgrind::receive(self.address());
            return Ok(self.read_guard(Some(real))?);
        };
        handle.point(Intent::new(Action::TryReadLock, self.address()));
        if !self.model.may_read() {
            return Err(self.refused(handle, Action::TryReadLock));
        }
        Ok(self.enter_read(handle, Action::TryReadLock, true)?)
    }

    /// Enters as a writer, waiting until nobody reads or writes.
    ///
    /// # Errors
    /// If a writer panicked.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            helgrind::untracked(&self.real);
            let real = self.real.write().unwrap_or_else(PoisonError::into_inner);
            self.received_by_writer();
            return self.write_guard(Some(real));
        };
        // SAFETY: the lock is borrowed for longer than the thread stands at the point.
        let intent = unsafe { Intent::waiting(Action::WriteLock, self.address(), &UNWRITTEN, self.model()) };
        let granted = handle.wait(intent);
        if self.model.may_write() || handle.doomed() {
            return self.enter_write(handle, Action::WriteLock, granted);
        }
        /// It waits no more, however this ends.
        struct Waits<'a>(&'a Model, u64);
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                self.0.waiting.fetch_and(!self.1, Ordering::Relaxed);
            }
        }
        let waits = Waits(&self.model, 1 << handle.thread().0);
        self.model.waiting.fetch_or(waits.1, Ordering::Relaxed);
        handle.lock_access(Action::AwaitReaders, self.address(), Ordering::Relaxed, Some(true));
        handle.scrub_deep();
        // SAFETY: as above.
        let intent = unsafe { Intent::waiting(Action::Lock, self.address(), &WRITABLE, self.model()) };
        let granted = handle.wait(intent);
        drop(waits);
        self.enter_write(handle, Action::Lock, granted)
    }

    /// Enters as a writer if nobody reads or writes.
    ///
    /// # Errors
    /// If somebody does, or if a writer panicked.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            helgrind::untracked(&self.real);
            let real = taken(self.real.try_write()).ok_or(TryLockError::WouldBlock)?;
            self.received_by_writer();
            return Ok(self.write_guard(Some(real))?);
        };
        handle.point(Intent::new(Action::TryLock, self.address()));
        if !self.model.may_write() {
            return Err(self.refused(handle, Action::TryLock));
        }
        Ok(self.enter_write(handle, Action::TryLock, true)?)
    }

    /// Did a writer panic?
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        poison::look(&self.poisoned, self.address())
    }

    /// Forgets that a writer panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        poison::clear(&self.poisoned, self.address());
    }

    /// The value: nobody else can see it.
    ///
    /// # Errors
    /// If a writer panicked.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        let value = self.value.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// A thread of an exploration enters. If it was not granted, the thread panics, and goes on without the lock.
    #[track_caller]
    fn enter_read(
        &self,
        handle: Handle,
        action: Action,
        granted: bool,
    ) -> LockResult<RwLockReadGuard<'_, T>> {
        let real = taken(self.real.try_read());
        if real.is_some() {
            self.model.begin_read(handle.thread());
            handle.lock_access(action, self.address(), Ordering::Acquire, None);
        } else if granted {
            self.held_elsewhere(handle);
        }
        let result = self.read_guard(real);
        handle.scrub_deep();
        if handle.doomed() { Ok(result.unwrap_or_else(PoisonError::into_inner)) } else { result }
    }

    /// As `enter_read`.
    #[track_caller]
    fn enter_write(
        &self,
        handle: Handle,
        action: Action,
        granted: bool,
    ) -> LockResult<RwLockWriteGuard<'_, T>> {
        let real = taken(self.real.try_write());
        if real.is_some() {
            self.model.writer.store(u32::from(handle.thread().0) + 1, Ordering::Relaxed);
            handle.lock_access(action, self.address(), Ordering::Acquire, None);
        } else if granted {
            self.held_elsewhere(handle);
        }
        let result = self.write_guard(real);
        handle.scrub_deep();
        if handle.doomed() { Ok(result.unwrap_or_else(PoisonError::into_inner)) } else { result }
    }

    fn held_elsewhere(&self, handle: Handle) {
        handle.misuse(
            "a read-write lock is held by a thread that the explorer does not know, or by a guard that was leaked",
        );
    }

    fn refused<G>(&self, handle: Handle, action: Action) -> TryLockError<G> {
        handle.lock_refused(action, self.address());
        handle.detail(|| "held".to_owned());
        handle.scrub_deep();
        TryLockError::WouldBlock
    }

    #[track_caller]
    fn read_guard<'a>(
        &'a self,
        real: Option<std::sync::RwLockReadGuard<'a, ()>>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = RwLockReadGuard { lock: self, real, site: Location::caller() };
        if self.poisoned.load(Ordering::Relaxed) { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    #[track_caller]
    fn write_guard<'a>(
        &'a self,
        real: Option<std::sync::RwLockWriteGuard<'a, ()>>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let guard = RwLockWriteGuard {
            lock: self,
            real,
            site: Location::caller(),
            panicking: panicking(),
            changed: false,
        };
        if self.poisoned.load(Ordering::Relaxed) { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    fn model(&self) -> *const () {
        std::ptr::from_ref(&self.model).cast()
    }

    fn address(&self) -> usize {
        self.model().addr()
    }

    /// The name under which readers send what they did to writers, for Helgrind.
    fn readers(&self) -> usize {
        self.address() + 1
    }

    fn received_by_writer(&self) {
        helgrind::receive(self.address());
        helgrind::receive(self.readers());
    }
}

/// The real lock's guard, if it was free; its own poison means nothing.
fn taken<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Who only reads leaves nothing half-way.
    fn poisons(&self, _: Option<Handle>) -> Option<&'a AtomicBool> {
        None
    }

    fn give_back(&mut self, handle: Option<Handle>) {
        let Some(real) = self.real.take() else { return };
        if let Some(handle) = handle {
            self.lock.model.end_read(handle.thread());
            handle.lock_access(Action::ReadUnlock, self.lock.address(), Ordering::Release, Some(false));
            handle.scrub_deep_alone();
        } else {
            helgrind::send(self.lock.readers());
        }
        drop(real);
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The flag to set, if the guard goes because its thread panicked while it held the lock.
    fn poisons(&self, handle: Option<Handle>) -> Option<&'a AtomicBool> {
        let poisons = !self.panicking && panicking() && !handle.is_some_and(Handle::doomed);
        poisons.then_some(&self.lock.poisoned)
    }

    fn give_back(&mut self, handle: Option<Handle>) {
        let Some(real) = self.real.take() else { return };
        let poisons = self.poisons(handle).is_some();
        if poisons {
            self.lock.poisoned.store(true, Ordering::Relaxed);
        }
        if let Some(handle) = handle {
            self.lock.model.writer.store(0, Ordering::Relaxed);
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

macro_rules! guard {
    ($guard:ident, $action:ident) => {
        impl<T: ?Sized> Drop for $guard<'_, T> {
            fn drop(&mut self) {
                /// The lock is given back even if the run is taken down at this very point.
                struct GiveBack<'g, 'a, T: ?Sized>(&'g mut $guard<'a, T>, Option<Handle>);
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
                let flag = self.poisons(handle);
                let _give_back = GiveBack(self, handle);
                if let Some(handle) = handle {
                    if let Some(flag) = flag {
                        poison::set(handle, flag, address, site);
                    }
                    handle.point(Intent::at(Action::$action, address, site));
                }
            }
        }

        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the lock is held. A thread that goes on without it panics, and nobody else goes until it
                // is done.
                unsafe { &*self.lock.value.get() }
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

guard!(RwLockReadGuard, ReadUnlock);
guard!(RwLockWriteGuard, Unlock);

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.changed = true;
        // SAFETY: as for reading, and nobody else holds the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => text.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.poisoned.load(Ordering::Relaxed)).finish_non_exhaustive()
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

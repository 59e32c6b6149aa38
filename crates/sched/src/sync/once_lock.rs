//! `std::sync::OnceLock`: a [`Once`] and the value it makes.

use std::cell::UnsafeCell;
use std::fmt;

use super::once::Once;

/// A place that is written once.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, by one thread, before anybody can read it.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: std::panic::RefUnwindSafe + std::panic::UnwindSafe> std::panic::RefUnwindSafe for OnceLock<T> {}
impl<T: std::panic::UnwindSafe> std::panic::UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Not yet written.
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
    }

    /// The value, if it was written.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if self.once.is_completed() { self.peek() } else { None }
    }

    /// The value: nobody else can see it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if self.once.done() { self.value.get_mut().as_mut() } else { None }
    }

    /// The value, when it is written.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.peek().expect("a thread that panics cannot wait for a value")
    }

    /// Writes the value, unless there is one.
    ///
    /// # Errors
    /// With the value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("it is taken once"));
        value.map_or(Ok(()), Err)
    }

    /// The value; if there is none, `init` makes it.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, init: F) -> &T {
        self.once.call_once_force(|_| {
            let value = init();
            // SAFETY: this closure runs once at a time. Should a thread that panics have gone ahead, its value is
            // kept: somebody may hold a reference to it.
            let slot = unsafe { &mut *self.value.get() };
            if slot.is_none() {
                *slot = Some(value);
            }
        });
        self.peek().expect("it was just written")
    }

    /// The value.
    pub fn into_inner(self) -> Option<T> {
        if self.once.done() { self.value.into_inner() } else { None }
    }

    /// Takes the value out; the place can be written again.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }

    fn peek(&self) -> Option<&T> {
        // SAFETY: it is written before anybody comes here, and not again.
        unsafe { (*self.value.get()).as_ref() }
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => text.field(value),
            None => text.field(&format_args!("<uninit>")),
        };
        text.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get().map_or_else(OnceLock::new, |value| OnceLock::from(value.clone()))
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        let lock = OnceLock::new();
        // Nobody sees it yet, so this is no step of an exploration.
        lock.once.finish_alone();
        OnceLock { value: UnsafeCell::new(Some(value)), ..lock }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

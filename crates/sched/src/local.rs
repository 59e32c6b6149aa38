//! `thread_local!`: a value a thread, also where the threads are fibers on one OS thread.
//!
//! Inside an exploration each thread of the program has its own values, made at first use and dropped when the thread
//! ends, in the order std drops them: the first made first. The next execution begins without any.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;

use crate::execution::{Handle, current};
use crate::heap;

/// A value a thread, made by [`crate::thread_local!`].
pub struct LocalKey<T: 'static> {
    outside: std::thread::LocalKey<T>,
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(outside: std::thread::LocalKey<T>, init: fn() -> T) -> LocalKey<T> {
        LocalKey { outside, init }
    }

    /// Runs `body` on the value of the running thread.
    ///
    /// # Panics
    /// If the thread is ending and the value is gone.
    pub fn with<R>(&'static self, body: impl FnOnce(&T) -> R) -> R {
        self.try_with(body).expect("cannot access a thread-local value during or after its destruction")
    }

    /// Runs `body` on the value of the running thread.
    ///
    /// # Errors
    /// If the thread is ending and the value is gone.
    pub fn try_with<R>(&'static self, body: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        match current() {
            None => self.outside.try_with(body).map_err(|_| AccessError),
            Some(handle) => self.pointer(handle).map(|value| {
                // SAFETY: a value stays in its box until its thread ends, and that is after `body`.
                body(unsafe { &*value })
            }),
        }
    }

    fn pointer(&'static self, handle: Handle) -> Result<*const T, AccessError> {
        self.find(handle).unwrap_or_else(|| {
            let value: Box<T> = Box::new((self.init)());
            // If making the value asked for it, that one was there first: replace it, as std does.
            let pointer = &raw const *value;
            let slot = Slot { key: self.key(), size: size_of::<T>(), value: Some(value) };
            handle.hides_state();
            heap::outside(|| handle.locals().slots.push(slot));
            Ok(pointer)
        })
    }

    fn find(&'static self, handle: Handle) -> Option<Result<*const T, AccessError>> {
        let slot = handle.locals().slots.iter().find(|slot| slot.key == self.key())?;
        let value = slot.value.as_ref().and_then(|value| value.downcast_ref::<T>());
        Some(value.map(std::ptr::from_ref).ok_or(AccessError))
    }

    fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// A copy of the value.
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Sets the value and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Runs `body` on the value, borrowed.
    pub fn with_borrow<R>(&'static self, body: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| body(&cell.borrow()))
    }

    /// Runs `body` on the value, borrowed to be changed.
    pub fn with_borrow_mut<R>(&'static self, body: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| body(&mut cell.borrow_mut()))
    }

    /// Sets the value.
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// Takes the value and leaves the default.
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Sets the value and returns the one before.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// The thread is ending, and the value is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl Error for AccessError {}

/// The values of one thread.
#[derive(Default)]
pub(crate) struct Locals {
    slots: Vec<Slot>,
}

struct Slot {
    key: usize,
    size: usize,
    /// Nothing once it is dropped.
    value: Option<Box<dyn Any>>,
}

impl Locals {
    /// Is there nothing left to drop?
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.value.is_none())
    }

    /// A new thread has none.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if !self.slots.is_empty() {
            self.slots.clear();
        }
    }

    /// The next value to be dropped at the end of the thread.
    fn next_to_drop(&mut self) -> Option<Box<dyn Any>> {
        self.slots.iter_mut().find_map(|slot| slot.value.take())
    }

    /// The bytes of the values: they are part of what a thread has in mind.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = (*const u8, usize)> {
        self.slots.iter().filter_map(|slot| {
            let value = slot.value.as_ref()?;
            Some((std::ptr::from_ref::<dyn Any>(value.as_ref()).cast::<u8>(), slot.size))
        })
    }
}

/// Drops the values of the running thread, which is ending. What their destructors make anew is dropped as well.
pub(crate) fn drop_all(handle: Handle) {
    while let Some(value) = handle.locals().next_to_drop() {
        drop(value);
    }
}

/// Declares values a thread, as std's macro of the same name.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident : $type:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attribute])* $visibility static $name: $type = $init $(; $($rest)*)?);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident : $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visibility static $name: $crate::thread::LocalKey<$type> = {
            fn init() -> $type {
                $init
            }
            ::std::thread_local! {
                static OUTSIDE: $type = init();
            }
            $crate::thread::LocalKey::new(OUTSIDE, init)
        };
        $($crate::thread_local!($($rest)*);)?
    };
}

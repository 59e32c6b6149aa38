//! Atomics, with loom's additions to std's: `with_mut`, `unsync_load`, `compare_and_swap`.
//!
//! Accesses through `with_mut` and `unsync_load` are plain: one that nothing orders with an atomic access is a data race, if
//! one of the two writes. Making an atomic counts as a plain write: a thread that reaches it through a pointer which nothing has
//! published uses it before it is there.

use std::fmt;
use std::marker::PhantomData;

use linpoint_sched::atomic as sched;

use super::slot::Slot;

pub use linpoint_sched::atomic::fence;
pub use std::sync::atomic::Ordering;

/// Says that the thread waits in a loop.
#[track_caller]
pub fn spin_loop_hint() {
    linpoint_sched::hint::spin_loop();
}

macro_rules! rmw {
    ($($method:ident)*; $value:ty) => {$(
        /// As std's method of the same name.
        #[inline]
        #[track_caller]
        pub fn $method(&self, value: $value, order: Ordering) -> $value {
            let (slot, inner) = self.place();
            let before = inner.$method(value, order);
            slot.used();
            before
        }
    )*};
}

macro_rules! atomic {
    ($name:ident $(<$param:ident>)?, $value:ty, $($method:ident)*) => {
        #[doc = concat!("An atomic `", stringify!($value), "`.")]
        pub struct $name $(<$param>)? {
            number: u64,
            _value: PhantomData<sched::$name $(<$param>)?>,
        }

        impl $(<$param>)? $name $(<$param>)? {
            /// A new one.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                // SAFETY: a value of an atomic has at most eight bytes, and is written to the beginning of them.
                let bits = unsafe {
                    let mut bits = 0u64;
                    let size = size_of::<$value>();
                    (&raw mut bits).cast::<u8>().copy_from((&raw const value).cast(), size);
                    bits
                };
                Self { number: Slot::make(bits), _value: PhantomData }
            }

            #[inline]
            #[track_caller]
            fn place(&self) -> (&Slot, &sched::$name $(<$param>)?) {
                let slot = Slot::at(self.number);
                // SAFETY: what is in the slot of this atomic is one of this type, which is laid out as its value.
                (slot, unsafe { sched::$name::from_ptr(slot.pointer().cast()) })
            }

            /// Runs `body` on the value: nobody else can see it.
            #[track_caller]
            pub fn with_mut<R>(&mut self, body: impl FnOnce(&mut $value) -> R) -> R {
                body(self.get_mut())
            }

            /// Reads without atomicity.
            ///
            /// # Safety
            /// Nobody may write meanwhile. In a model that is checked.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                let (slot, inner) = self.place();
                slot.read_plainly();
                // SAFETY: the threads of an execution are fibers of one OS thread; elsewhere as the caller promises.
                unsafe { *inner.as_ptr() }
            }

            /// The value: nobody else can see it.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                let (slot, inner) = self.place();
                slot.change_plainly();
                // SAFETY: the atomic is borrowed for as long, and nobody else has its slot.
                unsafe { &mut *inner.as_ptr() }
            }

            /// The value.
            #[track_caller]
            pub fn into_inner(mut self) -> $value {
                *self.get_mut()
            }

            /// Reads.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let (slot, inner) = self.place();
                let value = inner.load(order);
                slot.used();
                value
            }

            /// Writes.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let (slot, inner) = self.place();
                inner.store(value, order);
                slot.used();
            }

            /// Writes `new` if `current` is there, and returns what was there.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                let failure = match order {
                    Ordering::Relaxed | Ordering::Release => Ordering::Relaxed,
                    Ordering::Acquire | Ordering::AcqRel => Ordering::Acquire,
                    other => other,
                };
                self.compare_exchange(current, new, order, failure).unwrap_or_else(|before| before)
            }

            /// Writes `new` if `current` is there.
            ///
            /// # Errors
            /// With what is there, if it is not `current`.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (slot, inner) = self.place();
                let result = inner.compare_exchange(current, new, success, failure);
                slot.used();
                result
            }

            /// As [`Self::compare_exchange`]. It does not fail without a reason, as in loom.
            ///
            /// # Errors
            /// With what is there, if it is not `current`.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (slot, inner) = self.place();
                let result = inner.compare_exchange_weak(current, new, success, failure);
                slot.used();
                result
            }

            /// Writes what `update` makes of the value, unless it makes nothing.
            ///
            /// # Errors
            /// With what is there, if nothing was made of it.
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut seen = self.load(fetch_order);
                while let Some(next) = update(seen) {
                    match self.compare_exchange_weak(seen, next, set_order, fetch_order) {
                        Ok(before) => return Ok(before),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }

            rmw!(swap $($method)*; $value);
        }

        impl $(<$param>)? Drop for $name $(<$param>)? {
            #[track_caller]
            fn drop(&mut self) {
                Slot::remove(self.number);
            }
        }

        impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.place().1, f)
            }
        }

        impl $(<$param>)? From<$value> for $name $(<$param>)? {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident, $value:ident;)*) => {$(
        atomic!($name, $value, fetch_add fetch_sub fetch_and fetch_nand fetch_or fetch_xor fetch_max fetch_min);

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    )*};
}

integers! {
    AtomicI8, i8;
    AtomicI16, i16;
    AtomicI32, i32;
    AtomicI64, i64;
    AtomicIsize, isize;
    AtomicU8, u8;
    AtomicU16, u16;
    AtomicU32, u32;
    AtomicU64, u64;
    AtomicUsize, usize;
}

atomic!(AtomicBool, bool, fetch_and fetch_nand fetch_or fetch_xor);
atomic!(AtomicPtr<T>, *mut T,);

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> AtomicBool {
        AtomicBool::new(false)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> AtomicPtr<T> {
        AtomicPtr::new(std::ptr::null_mut())
    }
}

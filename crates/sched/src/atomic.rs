//! `std::sync::atomic`, name for name.
//!
//! Each type is laid out as std's and behaves as std's outside an exploration. Inside one, every operation is a
//! scheduling point and takes effect sequentially consistently; the ordering asked for is recorded.

use std::fmt;
use std::sync::atomic as std_atomic;

use linpoint_memory::{Operator, Width};

pub use std::sync::atomic::Ordering;

use crate::event::{Action, Effect, Intent};
use crate::execution::weak::{Change, Word};
use crate::execution::{Handle, current};
use crate::{helgrind, stranger, whim};

/// Announces `action` on `address` and returns when it may happen.
#[inline]
#[track_caller]
fn announce(action: Action, address: usize) -> Option<Handle> {
    let Some(handle) = current() else {
        stranger::uses(address);
        return None;
    };
    handle.point(Intent::new(action, address));
    Some(handle)
}

/// The ordering in which a failed compare-and-exchange and the successful one are told apart.
struct Outcome<T> {
    before: T,
    after: T,
    wrote: bool,
}

macro_rules! shared_operations {
    ($name:ident $(<$param:ident>)?, $value:ty, $std:ty) => {
        impl $(<$param>)? $name $(<$param>)? {
            /// A new one.
            pub const fn new(value: $value) -> Self {
                Self(<$std>::new(value))
            }

            /// Views the value at `ptr` as an atomic.
            ///
            /// # Safety
            /// As for std's method of the same name.
            pub const unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: the types have the same layout; the rest the caller promises.
                unsafe { &*ptr.cast::<Self>() }
            }

            /// A pointer to the value.
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            /// The value: nobody else can see it.
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                self.alone();
                self.0.get_mut()
            }

            /// The value.
            #[track_caller]
            pub fn into_inner(self) -> $value {
                self.alone();
                self.0.into_inner()
            }

            /// Reads.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let Some(handle) = announce(Action::Load, self.address()) else { return helgrind::load(self, order, || self.0.load(order)) };
                if handle.is_weak()
                    && let Some(bits) = handle.load_weakly(self.word(), order)
                {
                    handle.scrub_deep();
                    return Self::from_bits(bits);
                }
                let value = self.0.load(Ordering::SeqCst);
                handle.access(Action::Load, self.address(), Effect::Read, order, Self::bits(value));
                if !handle.is_quiet() {
                    handle.detail(|| format!("{value:?}"));
                    handle.scrub();
                }
                value
            }

            /// Writes.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let Some(handle) = announce(Action::Store, self.address()) else { return helgrind::store(self, order, || self.0.store(value, order)) };
                if handle.is_weak() && handle.store_weakly(self.word(), Self::exposed(value), order).is_some() {
                    handle.scrub_deep();
                    return;
                }
                self.0.store(value, Ordering::SeqCst);
                handle.access(Action::Store, self.address(), Effect::Write, order, Self::bits(value));
                if !handle.is_quiet() {
                    handle.detail(|| format!("← {value:?}"));
                    handle.scrub();
                }
            }

            /// Writes, and returns what was there.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                let Some(handle) = announce(Action::Swap, self.address()) else { return helgrind::change(self, order, || self.0.swap(value, order)) };
                if handle.is_weak()
                    && let Some(before) = self.change_weakly(handle, Change::Swap(Self::exposed(value)), order, order)
                {
                    return before;
                }
                let before = self.0.swap(value, Ordering::SeqCst);
                self.changed(handle, Action::Swap, order, Outcome { before, after: value, wrote: true })
            }

            /// Writes `new` if `current` is there.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let Some(handle) = announce(Action::CompareExchange, self.address()) else {
                    return helgrind::exchange(self, success, failure, || {
                        self.0.compare_exchange(current, new, success, failure)
                    });
                };
                if handle.is_weak() {
                    let change = Change::Exchange(Self::exposed(current), Self::exposed(new));
                    if let Some(before) = self.change_weakly(handle, change, success, failure) {
                        return if before == current { Ok(before) } else { Err(before) };
                    }
                }
                let result = self.0.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst);
                let (before, wrote) = result.map_or_else(|before| (before, false), |before| (before, true));
                let order = if wrote { success } else { failure };
                let after = if wrote { new } else { before };
                self.changed(handle, Action::CompareExchange, order, Outcome { before, after, wrote });
                result
            }

            /// As [`Self::compare_exchange`]; in an exploration it fails without a reason only if that is asked for
            /// ([`crate::Limits::spurious`]).
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let Some(handle) = crate::execution::current() else {
                    stranger::uses(self.address());
                    return helgrind::exchange(self, success, failure, || {
                        self.0.compare_exchange_weak(current, new, success, failure)
                    });
                };
                if handle.spurious() == 0 {
                    return self.compare_exchange(current, new, success, failure);
                }
                if handle.is_weak() {
                    if !handle.strikes_weakly(true) {
                        return self.compare_exchange(current, new, success, failure);
                    }
                    let before = self.load(failure);
                    if before != current {
                        // It fails with a reason, which it does without this choice, too.
                        handle.stop_weakly();
                    }
                    return Err(before);
                }
                handle.point(Intent::new(Action::CompareExchange, self.address()));
                let before = self.0.load(Ordering::SeqCst);
                let fails = whim::strikes(handle, before == current);
                let wrote = before == current && !fails;
                let (order, after) = if wrote { (success, new) } else { (failure, before) };
                if wrote {
                    self.0.store(new, Ordering::SeqCst);
                }
                self.changed(handle, Action::CompareExchange, order, Outcome { before, after, wrote });
                if wrote { Ok(before) } else { Err(before) }
            }

            /// Writes what `update` makes of the value, unless it makes nothing.
            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(fetch_order);
                while let Some(next) = update(seen) {
                    match self.compare_exchange_weak(seen, next, set_order, fetch_order) {
                        Ok(before) => return Ok(before),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }

            /// The word of memory, for an execution against a graph.
            fn word(&self) -> Word {
                let address = self.0.as_ptr().expose_provenance();
                Word { address, size: size_of::<Self>(), bits: Self::exposed(self.0.load(Ordering::Relaxed)) }
            }

            /// A read-modify-write in an execution against a graph; nothing if that is being taken down.
            #[track_caller]
            fn change_weakly(
                &self,
                handle: Handle,
                change: Change,
                success: Ordering,
                failure: Ordering,
            ) -> Option<$value> {
                let before = handle.change_weakly(self.word(), change, success, failure)?;
                handle.scrub_deep();
                Some(Self::from_bits(before))
            }

            /// In an execution against a graph it is a data race if nothing orders all other accesses with this one.
            #[inline]
            #[track_caller]
            fn alone(&self) {
                if let Some(handle) = current()
                    && handle.is_weak()
                {
                    handle.plain(self.address(), Effect::Write, std::panic::Location::caller());
                }
            }

            #[inline]
            fn address(&self) -> usize {
                std::ptr::from_ref(self).addr()
            }

            /// Notes a read-modify-write and returns what was there before.
            #[inline]
            fn changed(&self, handle: Handle, action: Action, order: Ordering, outcome: Outcome<$value>) -> $value {
                let Outcome { before, after, wrote } = outcome;
                let effect = if wrote { Effect::ReadWrite } else { Effect::Read };
                handle.access(action, self.address(), effect, order, Self::bits(after));
                if !handle.is_quiet() {
                    handle.detail(|| {
                        if wrote { format!("{before:?} → {after:?}") } else { format!("{before:?}, failed") }
                    });
                    handle.scrub();
                }
                before
            }
        }

        impl $(<$param>)? linpoint_claim::Variable for $name $(<$param>)? {
            type Value = $value;

            fn id(&self) -> linpoint_claim::VarId {
                linpoint_claim::VarId::of_address(self.address())
            }

            fn peek(&self) -> $value {
                self.0.load(Ordering::SeqCst)
            }
        }

        impl $(<$param>)? fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }

        impl $(<$param>)? From<$value> for $name $(<$param>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! fetch {
    ($(#[$doc:meta])* $method:ident, $action:ident, $operator:ident, $value:ty, |$before:ident, $operand:ident| $after:expr) => {
        $(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $method(&self, value: $value, order: Ordering) -> $value {
            let Some(handle) = announce(Action::$action, self.address()) else { return helgrind::change(self, order, || self.0.$method(value, order)) };
            if handle.is_weak() {
                let change = Change::Operate(Operator::$operator, Self::WIDTH, Self::exposed(value));
                if let Some(before) = self.change_weakly(handle, change, order, order) {
                    return before;
                }
            }
            let before = self.0.$method(value, Ordering::SeqCst);
            let ($before, $operand) = (before, value);
            let after = $after;
            self.changed(handle, Action::$action, order, Outcome { before, after, wrote: true })
        }
    };
}

macro_rules! integer {
    ($($name:ident, $value:ident;)*) => {$(
        #[doc = concat!("An atomic `", stringify!($value), "`.")]
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name(std_atomic::$name);

        shared_operations!($name, $value, std_atomic::$name);

        impl $name {
            #[inline]
            fn bits(value: $value) -> u64 {
                value as u64
            }

            const WIDTH: Width = Width { bits: $value::BITS, signed: $value::MIN != 0 };

            fn exposed(value: $value) -> u64 {
                value as u64
            }

            fn from_bits(bits: u64) -> $value {
                bits as $value
            }

            fetch!(/// Adds, wrapping around.
                fetch_add, FetchAdd, Add, $value, |before, value| before.wrapping_add(value));
            fetch!(/// Subtracts, wrapping around.
                fetch_sub, FetchSub, Sub, $value, |before, value| before.wrapping_sub(value));
            fetch!(/// Bitwise and.
                fetch_and, FetchAnd, And, $value, |before, value| before & value);
            fetch!(/// Bitwise not-and.
                fetch_nand, FetchNand, Nand, $value, |before, value| !(before & value));
            fetch!(/// Bitwise or.
                fetch_or, FetchOr, Or, $value, |before, value| before | value);
            fetch!(/// Bitwise exclusive or.
                fetch_xor, FetchXor, Xor, $value, |before, value| before ^ value);
            fetch!(/// The greater of the two.
                fetch_max, FetchMax, Max, $value, |before, value| before.max(value));
            fetch!(/// The lesser of the two.
                fetch_min, FetchMin, Min, $value, |before, value| before.min(value));
        }
    )*};
}

integer! {
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

/// An atomic `bool`.
#[derive(Default)]
#[repr(transparent)]
pub struct AtomicBool(std_atomic::AtomicBool);

shared_operations!(AtomicBool, bool, std_atomic::AtomicBool);

impl AtomicBool {
    #[inline]
    fn bits(value: bool) -> u64 {
        u64::from(value)
    }

    const WIDTH: Width = Width { bits: 1, signed: false };

    fn exposed(value: bool) -> u64 {
        u64::from(value)
    }

    fn from_bits(bits: u64) -> bool {
        bits != 0
    }

    fetch!(/// Logical and.
        fetch_and, FetchAnd, And, bool, |before, value| before & value);
    fetch!(/// Logical not-and.
        fetch_nand, FetchNand, Nand, bool, |before, value| !(before & value));
    fetch!(/// Logical or.
        fetch_or, FetchOr, Or, bool, |before, value| before | value);
    fetch!(/// Logical exclusive or.
        fetch_xor, FetchXor, Xor, bool, |before, value| before ^ value);

    /// Negates.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

/// An atomic pointer.
#[repr(transparent)]
pub struct AtomicPtr<T>(std_atomic::AtomicPtr<T>);

shared_operations!(AtomicPtr<T>, *mut T, std_atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    #[inline]
    fn bits(value: *mut T) -> u64 {
        value.addr() as u64
    }

    fn exposed(value: *mut T) -> u64 {
        value.expose_provenance() as u64
    }

    fn from_bits(bits: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(bits as usize)
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

/// Notes that the atomic at `address` is accessed without atomicity, to be written or only read: whatever nothing orders with
/// that is a data race. [`plain_gone`] is to be called when the atomic goes.
#[track_caller]
pub fn plain(address: usize, writes: bool) {
    if let Some(handle) = current() {
        let effect = if writes { Effect::Write } else { Effect::Read };
        handle.plain(address, effect, std::panic::Location::caller());
    }
}

/// An atomic that several threads used is dropped: a step, so that it is explored before and after what others do.
#[track_caller]
pub fn dropped(address: usize) {
    if let Some(handle) = current() {
        if handle.is_weak() {
            // Whoever drops it has it alone: that must come after all that others did.
            return handle.plain(address, Effect::Write, std::panic::Location::caller());
        }
        handle.point(Intent::new(Action::Drop, address));
        handle.access(Action::Drop, address, Effect::Write, Ordering::Relaxed, 0);
        handle.scrub();
    }
}

/// Notes that an atomic with plain accesses goes.
pub fn plain_gone(address: usize) {
    if let Some(handle) = current() {
        handle.plain_gone(address);
    }
}

/// A fence. Under sequential consistency it orders nothing more; it counts for races on cells.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    match current() {
        None => helgrind::fence(order, || std_atomic::fence(order)),
        Some(handle) => handle.fence(order),
    }
}

/// A fence for the compiler alone: nothing to an exploration.
#[inline]
pub fn compiler_fence(order: Ordering) {
    std_atomic::compiler_fence(order);
}

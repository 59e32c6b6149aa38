//! `std::cell`, as far as cells are shared between threads: `UnsafeCell` and `Cell`.
//!
//! An access to a cell is not a scheduling point; it is noted, and after the run two accesses that nothing orders are
//! reported as a data race (see `data_race`). If there is none, it makes no difference when exactly the accesses happen.
//!
//! A cell carries its identity with it (eight bytes beside the value): it keeps it when it is moved, and a new cell at
//! an address that was used before is a new cell. So memory that is freed and used again raises no alarm. It is why
//! these cells, unlike std's, are not laid out as what they hold.

use std::cell as std_cell;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::Effect;
use crate::execution::current;
use crate::run::AsideKind;

pub use std::cell::{BorrowError, BorrowMutError, LazyCell, OnceCell, Ref, RefCell, RefMut};

/// Who a cell is: the number of the run that first touched it, and its number in that run.
struct Identity(AtomicU64);

/// Cells that can be told apart in one run.
const CELLS: u64 = 1 << 24;

impl Identity {
    const fn new() -> Identity {
        Identity(AtomicU64::new(0))
    }

    /// Notes an access to the cell.
    #[inline]
    #[track_caller]
    fn touch(&self, effect: Effect) {
        if current().is_some() {
            self.note(effect, Location::caller());
        }
    }

    fn note(&self, effect: Effect, site: &'static Location<'static>) {
        let Some(handle) = current() else { return };
        // Whether there is a race depends on the way to a state, not only on the state.
        handle.hides_state();
        let seen = self.0.load(Ordering::Relaxed);
        let number = if seen / CELLS == handle.stamp() {
            seen % CELLS
        } else {
            let number = u64::from(handle.name_cell());
            if number >= CELLS {
                return;
            }
            self.0.store(handle.stamp() * CELLS + number, Ordering::Relaxed);
            number
        };
        handle.aside(AsideKind::Cell { cell: number as u32, effect, site });
    }
}

/// The core of everything that can be changed behind a shared reference.
///
/// [`UnsafeCell::with`] and [`UnsafeCell::with_mut`] say what they do and for how long, and are tracked exactly: one
/// reads, the other writes. [`UnsafeCell::get`] hands out a pointer, and nobody sees what is done with it: the call is
/// taken for a read at that moment. So a race is found between `get` and a tracked write. It is not found between
/// two uses of `get`, nor when the pointer is kept and used later; and a pointer that is never used counts too.
pub struct UnsafeCell<T: ?Sized> {
    identity: Identity,
    value: std_cell::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A new cell.
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell { identity: Identity::new(), value: std_cell::UnsafeCell::new(value) }
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.identity.touch(Effect::Write);
        self.value.into_inner()
    }

    /// A pointer to the value, without a reference to the cell in between. It is not tracked.
    #[inline]
    pub const fn raw_get(this: *const UnsafeCell<T>) -> *mut T {
        let offset = std::mem::offset_of!(UnsafeCell<T>, value);
        this.cast::<T>().wrapping_byte_add(offset).cast_mut()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// A pointer to the value; the call counts as a read.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> *mut T {
        self.identity.touch(Effect::Read);
        self.value.get()
    }

    /// The value: nobody else can see it. That is an access like a write: whoever had it shared before must have
    /// happened before.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.identity.touch(Effect::Write);
        self.value.get_mut()
    }

    /// Runs `body` on a pointer that it only reads through.
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, body: impl FnOnce(*const T) -> R) -> R {
        self.identity.touch(Effect::Read);
        body(self.value.get())
    }

    /// Runs `body` on a pointer that it writes through.
    #[inline]
    #[track_caller]
    pub fn with_mut<R>(&self, body: impl FnOnce(*mut T) -> R) -> R {
        self.identity.touch(Effect::Write);
        body(self.value.get())
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// A cell that is read and written as a whole. Every access is tracked, as a read or a write.
pub struct Cell<T: ?Sized> {
    identity: Identity,
    value: std_cell::Cell<T>,
}

impl<T> Cell<T> {
    /// A new cell.
    pub const fn new(value: T) -> Cell<T> {
        Cell { identity: Identity::new(), value: std_cell::Cell::new(value) }
    }

    /// Sets the value.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) {
        self.identity.touch(Effect::Write);
        self.value.set(value);
    }

    /// Swaps the values of two cells.
    #[inline]
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        self.identity.touch(Effect::Write);
        other.identity.touch(Effect::Write);
        self.value.swap(&other.value);
    }

    /// Sets the value and returns the one before.
    #[inline]
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        self.identity.touch(Effect::Write);
        self.value.replace(value)
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.identity.touch(Effect::Write);
        self.value.into_inner()
    }
}

impl<T: Copy> Cell<T> {
    /// A copy of the value.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> T {
        self.identity.touch(Effect::Read);
        self.value.get()
    }

    /// Sets the value to what `update` makes of it.
    #[inline]
    #[track_caller]
    pub fn update(&self, update: impl FnOnce(T) -> T) {
        self.set(update(self.get()));
    }
}

impl<T: Default> Cell<T> {
    /// Takes the value and leaves the default.
    #[inline]
    #[track_caller]
    pub fn take(&self) -> T {
        self.replace(T::default())
    }
}

impl<T: ?Sized> Cell<T> {
    /// A pointer to the value. What is done through it is not tracked.
    #[inline]
    pub const fn as_ptr(&self) -> *mut T {
        self.value.as_ptr()
    }

    /// The value: nobody else can see it.
    #[inline]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        self.identity.touch(Effect::Write);
        self.value.get_mut()
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T: Default> Default for Cell<T> {
    fn default() -> Cell<T> {
        Cell::new(T::default())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    fn eq(&self, other: &Cell<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Cell<T>) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    fn cmp(&self, other: &Cell<T>) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}

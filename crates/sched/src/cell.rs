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
use crate::execution::{Handle, current};
use crate::run::AsideKind;

pub use std::cell::{BorrowError, BorrowMutError, LazyCell, OnceCell, Ref, RefCell, RefMut};

/// Who a cell is: the number of the run that first touched it, and its number in that run.
#[derive(Debug)]
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
        if let Some(cell) = self.number(handle) {
            handle.aside(AsideKind::Cell { cell, effect, site });
            self.place(handle);
        }
    }

    /// Says where the cell is that was noted last, where that matters.
    #[inline]
    fn place(&self, handle: Handle) {
        if handle.is_weak() {
            handle.cell_at(self.address());
        }
    }

    /// Notes that a pointer to the value, at `address` and of `size` bytes, is handed out.
    fn lend(&self, address: usize, size: usize, site: &'static Location<'static>) {
        let Some(handle) = current() else { return };
        if let Some(cell) = self.number(handle) {
            handle.aside(AsideKind::Cell { cell, effect: Effect::Read, site });
            self.place(handle);
            handle.lend(self.address(), address, size);
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The number of the cell in this run; nothing if there are too many.
    fn number(&self, handle: Handle) -> Option<u32> {
        // Whether there is a race depends on the way to a state, not only on the state.
        handle.hides_state();
        let seen = self.0.load(Ordering::Relaxed);
        let number = if seen / CELLS == handle.stamp() {
            seen % CELLS
        } else {
            let number = u64::from(handle.name_cell());
            if number >= CELLS {
                return None;
            }
            self.0.store(handle.stamp() * CELLS + number, Ordering::Relaxed);
            number
        };
        Some(number as u32)
    }

    /// Runs `body`, which accesses the cell all the time: at its end as well, if others could go meanwhile.
    #[inline]
    fn during<R>(&self, effect: Effect, site: &'static Location<'static>, body: impl FnOnce() -> R) -> R {
        let Some(handle) = current() else { return body() };
        self.note(effect, site);
        let before = handle.own_steps();
        let result = body();
        if handle.own_steps() != before {
            self.note(effect, site);
        }
        result
    }
}

impl Drop for Identity {
    /// The cell goes: nobody looks at it any more.
    #[inline]
    fn drop(&mut self) {
        if self.0.load(Ordering::Relaxed) != 0
            && let Some(handle) = current()
        {
            handle.forget_lent(self.address());
        }
    }
}

/// The core of everything that can be changed behind a shared reference.
///
/// [`UnsafeCell::with`] and [`UnsafeCell::with_mut`] say what they do and for how long, and are tracked exactly: one
/// reads, the other writes; [`UnsafeCell::pointer`] and [`UnsafeCell::pointer_mut`] do the same by a guard.
/// [`UnsafeCell::get`] hands out a pointer, as std's does. The call is taken for a read, and for a write if the value has
/// changed when the thread comes to its next step: nobody else ran in between. Not seen is a write of what was there
/// already, and what is done through the pointer after that step; and a pointer that is never used counts as a read.
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
    /// A pointer to the value; the call counts as a read, and as a write if the value changes in this step.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> *mut T {
        let pointer = self.value.get();
        if current().is_some() {
            let address = pointer.cast::<u8>().expose_provenance();
            self.identity.lend(address, size_of_val(&self.value), Location::caller());
        }
        pointer
    }

    /// A pointer that is only read through, as long as the guard lives.
    #[inline]
    #[track_caller]
    pub fn pointer(&self) -> ConstPtr<'_, T> {
        self.identity.touch(Effect::Read);
        ConstPtr { cell: self, site: Location::caller() }
    }

    /// A pointer that is written through, as long as the guard lives.
    #[inline]
    #[track_caller]
    pub fn pointer_mut(&self) -> MutPtr<'_, T> {
        self.identity.touch(Effect::Write);
        MutPtr { cell: self, site: Location::caller() }
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
        self.identity.during(Effect::Read, Location::caller(), || body(self.value.get()))
    }

    /// Runs `body` on a pointer that it writes through.
    #[inline]
    #[track_caller]
    pub fn with_mut<R>(&self, body: impl FnOnce(*mut T) -> R) -> R {
        self.identity.during(Effect::Write, Location::caller(), || body(self.value.get()))
    }
}

/// An access to a cell that lasts as long as this lives, and that may outlive the cell: memory that is gone is nobody's to
/// look at, and what this says of the cell it says by its number.
#[derive(Debug)]
pub struct Access {
    /// The number of the run, and that of the cell in it; nothing outside an exploration.
    cell: Option<(u64, u32)>,
    effect: Effect,
    site: &'static Location<'static>,
    began: u32,
}

impl Access {
    /// The number of the cell in the running execution; nothing outside.
    pub fn cell(&self) -> Option<u32> {
        self.cell.map(|(_, cell)| cell)
    }

    /// Is the cell written?
    pub fn writes(&self) -> bool {
        self.effect.writes()
    }

    /// The cell is used at this point of the access.
    pub fn used(&self) {
        let (effect, site) = (self.effect, self.site);
        self.later(|cell| AsideKind::Cell { cell, effect, site });
    }

    /// Notes something, if the thread has made steps since the access began.
    fn later(&self, kind: impl FnOnce(u32) -> AsideKind) {
        if let (Some((stamp, cell)), Some(handle)) = (self.cell, current())
            && handle.stamp() == stamp
            && handle.own_steps() != self.began
        {
            handle.aside(kind(cell));
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        let (effect, site) = (self.effect, self.site);
        self.later(|cell| AsideKind::CellEnd { cell, effect, site });
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Begins an access to the cell, which is written or only read.
    #[track_caller]
    pub fn access(&self, writes: bool) -> Access {
        let effect = if writes { Effect::Write } else { Effect::Read };
        let site = Location::caller();
        let number = current().and_then(|handle| Some((handle, self.identity.number(handle)?)));
        let Some((handle, cell)) = number else { return Access { cell: None, effect, site, began: 0 } };
        handle.aside(AsideKind::Cell { cell, effect, site });
        self.identity.place(handle);
        Access { cell: Some((handle.stamp(), cell)), effect, site, began: handle.own_steps() }
    }

    /// A pointer to the value. What is done through it is not tracked.
    #[inline]
    pub const fn untracked(&self) -> *mut T {
        self.value.get()
    }
}

/// The making of something that is shared afterwards, as an access: whoever uses it must come after whoever made it.
///
/// An atomic that is reached through a pointer which nothing has published is used before it was made, as far as its user can
/// know. So its making counts as a write, and the first use by each thread as a read.
#[derive(Debug)]
pub struct Made {
    identity: Identity,
    /// The threads of the run that used it since it was made, or changed as a whole.
    users: AtomicU64,
}

impl Made {
    /// It is made here.
    #[track_caller]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Made {
        let made = Made { identity: Identity::new(), users: AtomicU64::new(0) };
        made.identity.touch(Effect::Write);
        made
    }

    /// The running thread has just used it.
    #[inline]
    #[track_caller]
    pub fn used(&self) {
        if let Some(handle) = current() {
            let known = self.identity.0.load(Ordering::Relaxed) / CELLS == handle.stamp();
            let users = if known { self.users.load(Ordering::Relaxed) } else { 0 };
            let user = 1 << handle.thread().0;
            if users & user == 0 {
                self.users.store(users | user, Ordering::Relaxed);
                self.identity.note(Effect::Read, Location::caller());
            }
        }
    }

    /// Did more than one thread use it, of this run, since it was made or changed as a whole?
    pub fn is_shared(&self) -> bool {
        current().is_some_and(|handle| {
            let known = self.identity.0.load(Ordering::Relaxed) / CELLS == handle.stamp();
            known && self.users.load(Ordering::Relaxed).count_ones() > 1
        })
    }

    /// The running thread changes it as a whole.
    #[track_caller]
    pub fn changed(&self) {
        self.users.store(0, Ordering::Relaxed);
        self.identity.touch(Effect::Write);
    }
}

/// A pointer into a cell that is only read through. The cell is read until this is dropped.
pub struct ConstPtr<'a, T: ?Sized> {
    cell: &'a UnsafeCell<T>,
    site: &'static Location<'static>,
}

impl<T: ?Sized> ConstPtr<'_, T> {
    /// The pointer.
    pub fn get(&self) -> *const T {
        self.cell.value.get()
    }
}

impl<T: ?Sized> Drop for ConstPtr<'_, T> {
    fn drop(&mut self) {
        self.cell.identity.note(Effect::Read, self.site);
    }
}

/// A pointer into a cell that is written through. The cell is written until this is dropped.
pub struct MutPtr<'a, T: ?Sized> {
    cell: &'a UnsafeCell<T>,
    site: &'static Location<'static>,
}

impl<T: ?Sized> MutPtr<'_, T> {
    /// The pointer.
    pub fn get(&self) -> *mut T {
        self.cell.value.get()
    }
}

impl<T: ?Sized> Drop for MutPtr<'_, T> {
    fn drop(&mut self) {
        self.cell.identity.note(Effect::Write, self.site);
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

//! Cells that are shared between threads.
//!
//! Two accesses to a cell, one of them a write, that nothing orders are a data race; an access while another lasts fails
//! at once. Making a cell counts as a write: whoever accesses it must come after that.

use std::cell::RefCell;
use std::marker::PhantomData;

use linpoint_sched::cell as sched;

pub use linpoint_sched::cell::Cell;

std::thread_local! {
    /// The accesses that last, by the number of the cell: how many read, or that one writes.
    static OPEN: RefCell<Vec<(u32, Open)>> = const { RefCell::new(Vec::new()) };
}

enum Open {
    Reads(u32),
    Writes,
}

/// An execution begins.
pub(crate) fn forget() {
    OPEN.with_borrow_mut(Vec::clear);
}

/// An access that lasts.
#[derive(Debug)]
struct Held(sched::Access);

impl Held {
    #[track_caller]
    fn begin<T: ?Sized>(cell: &sched::UnsafeCell<T>, writes: bool) -> Held {
        let access = cell.access(writes);
        if let Some(number) = access.cell() {
            let free = OPEN.with_borrow_mut(|open| {
                match open.iter_mut().find(|one| one.0 == number) {
                    None => {
                        let first = if writes { Open::Writes } else { Open::Reads(1) };
                        open.push((number, first));
                    }
                    Some((_, Open::Reads(count))) if !writes => *count += 1,
                    Some((_, Open::Reads(_))) => return Err("read"),
                    Some((_, Open::Writes)) => return Err("written"),
                }
                Ok(())
            });
            // Where segments are delayed an access may end after another began, and none of it is one.
            if let Err(how) = free
                && !linpoint_sched::looks_for_freed()
            {
                let word = if writes { "write" } else { "read" };
                // What was not begun must not end.
                std::mem::forget(access);
                panic!("data race: a cell is being {how} when another access begins to {word} it");
            }
        }
        Held(access)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(number) = self.0.cell() else { return };
        OPEN.with_borrow_mut(|open| {
            let Some(at) = open.iter().position(|one| one.0 == number) else { return };
            match &mut open[at].1 {
                Open::Reads(count) if *count > 1 => *count -= 1,
                _ => _ = open.swap_remove(at),
            }
        });
    }
}

/// The core of everything that can be changed behind a shared reference.
#[derive(Debug)]
pub struct UnsafeCell<T: ?Sized> {
    inner: sched::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// A new cell.
    #[track_caller]
    pub fn new(value: T) -> UnsafeCell<T> {
        let inner = sched::UnsafeCell::new(value);
        drop(inner.access(true));
        UnsafeCell { inner }
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Runs `body` on a pointer that it only reads through.
    #[track_caller]
    pub fn with<F, R>(&self, body: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _held = Held::begin(&self.inner, false);
        body(self.inner.untracked())
    }

    /// Runs `body` on a pointer that it writes through.
    #[track_caller]
    pub fn with_mut<F, R>(&self, body: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _held = Held::begin(&self.inner, true);
        body(self.inner.untracked())
    }

    /// A pointer that is only read through. The cell is read until it is dropped.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        let held = Held::begin(&self.inner, false);
        ConstPtr { held, pointer: self.inner.untracked(), _owner: PhantomData }
    }

    /// A pointer that is written through. The cell is written until it is dropped.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        let held = Held::begin(&self.inner, true);
        MutPtr { held, pointer: self.inner.untracked(), _owner: PhantomData }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

/// A pointer into a cell that is only read through.
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    held: Held,
    pointer: *const T,
    _owner: PhantomData<*const T>,
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a raw pointer: the value must be there, and nobody may write it meanwhile.
    pub unsafe fn deref(&self) -> &T {
        self.held.0.used();
        // SAFETY: as the caller promises.
        unsafe { &*self.pointer }
    }

    /// Runs `body` on the pointer.
    pub fn with<F, R>(&self, body: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.held.0.used();
        body(self.pointer)
    }
}

/// A pointer into a cell that is written through.
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    held: Held,
    pointer: *mut T,
    _owner: PhantomData<*mut T>,
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// As for a raw pointer: the value must be there, and nobody else may look at it meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn deref(&self) -> &mut T {
        self.held.0.used();
        // SAFETY: as the caller promises.
        unsafe { &mut *self.pointer }
    }

    /// Runs `body` on the pointer.
    pub fn with<F, R>(&self, body: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.held.0.used();
        body(self.pointer)
    }
}

//! Memory and values that must be given back before an execution ends.
//!
//! Tracked is what is allocated here and what is put into a [`Track`]; allocations of the program by other ways are not.

use std::cell::RefCell;

use linpoint_sched::leak::{self, Kept};

#[doc(no_inline)]
pub use std::alloc::Layout;

/// Allocates, as std's function of the same name.
///
/// # Safety
/// As for std's.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller promises.
    let block = unsafe { std::alloc::alloc(layout) };
    leak::give(Kept::Block, Some(block.addr()));
    block
}

/// Allocates zeros, as std's function of the same name.
///
/// # Safety
/// As for std's.
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller promises.
    let block = unsafe { std::alloc::alloc_zeroed(layout) };
    leak::give(Kept::Block, Some(block.addr()));
    block
}

/// Frees what [`alloc`] or [`alloc_zeroed`] allocated.
///
/// # Safety
/// As for std's function of the same name.
///
/// # Panics
/// If the block was not allocated here, or was freed before.
#[track_caller]
pub unsafe fn dealloc(block: *mut u8, layout: Layout) {
    assert!(leak::take_back(Kept::Block, block.addr()), "pointer not tracked");
    if linpoint_sched::is_exploring() {
        FREED.with_borrow_mut(|freed| freed.0.push((block, layout)));
    } else {
        // SAFETY: as the caller promises.
        unsafe { std::alloc::dealloc(block, layout) };
    }
}

std::thread_local! {
    static FREED: RefCell<Freed> = const { RefCell::new(Freed(Vec::new())) };
}

/// Blocks that an execution freed. They stay as they are until the next one begins: whoever still uses an atomic in one finds
/// it dropped, and nothing else in its place.
struct Freed(Vec<(*mut u8, Layout)>);

impl Drop for Freed {
    fn drop(&mut self) {
        for (block, layout) in self.0.drain(..) {
            // SAFETY: it was given to `dealloc`, and the execution is over.
            unsafe { std::alloc::dealloc(block, layout) };
        }
    }
}

/// An execution begins.
pub(crate) fn begin() {
    drop(FREED.replace(Freed(Vec::new())));
}

/// A value that must be dropped before an execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _kept: Guard,
}

/// The number under which a value is tracked.
#[derive(Debug)]
struct Guard(Option<usize>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            leak::take_back(Kept::Value, number);
        }
    }
}

impl<T> Track<T> {
    /// Tracks a value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        Track { value, _kept: Guard(leak::give(Kept::Value, None)) }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, no longer tracked.
    pub fn into_inner(self) -> T {
        self.value
    }
}

//! Pages for blocks whose use after their free is to be seen.
//!
//! Each block lies on pages of its own, at their end. When it is freed, nobody may touch them any more; a
//! read or a write then raises a signal, which [`crate::overflow`] handles. Only the blocks that a run is
//! known to free are put here (`execution/guard.rs`), so that all of it is free again when the run is over.
//!
//! Every arena is cut from one region of the address space, reserved once and never given back: whether an
//! address is in it takes one comparison, which the allocator makes at every free.

use std::alloc::Layout;
use std::ops::Range;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::overflow::page_size;

/// The size of the region.
const REGION: usize = 1 << 36;

/// The size of an arena.
const ARENA: usize = 1 << 26;

/// Where the region begins; at first where no address is near.
static START: AtomicUsize = AtomicUsize::new(1 << (usize::BITS - 1));

/// Arenas that nobody uses.
static POOL: Mutex<Vec<Arena>> = Mutex::new(Vec::new());

/// Is the address one of the region?
#[inline]
pub(crate) fn holds(address: usize) -> bool {
    address.wrapping_sub(START.load(Ordering::Relaxed)) < REGION
}

/// Pages that one execution at a time uses.
#[derive(Debug)]
pub(crate) struct Arena {
    /// Where what may be used begins: behind what could not be used again.
    start: usize,
    end: usize,
    /// Up to here it is used.
    next: usize,
}

impl Arena {
    /// An arena that was used before, or a new one; none where there cannot be any.
    pub(crate) fn take() -> Option<Arena> {
        let used = POOL.lock().unwrap_or_else(PoisonError::into_inner).pop();
        used.or_else(Arena::new)
    }

    /// Keeps it for others.
    pub(crate) fn give_back(self) {
        POOL.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// A place for a block, with its pages; none if there is no room.
    pub(crate) fn place(&mut self, layout: Layout) -> Option<(usize, Range<usize>)> {
        let page = page_size();
        let from = self.next.checked_next_multiple_of(layout.align().max(page))?;
        let whole = layout.size().checked_next_multiple_of(layout.align().max(16))?;
        let to = from.checked_add(whole.checked_next_multiple_of(page)?)?;
        if to > self.end {
            return None;
        }
        self.next = to;
        // At the end of its pages, unless it asks for more than a page starts with.
        let start = if layout.align() > page { from } else { to - whole };
        Some((start, from..to))
    }

    /// All of it may be used anew. With `lost` somebody may still use what was placed so far: that is left alone for good.
    pub(crate) fn clear(&mut self, lost: bool) {
        if lost {
            self.start = self.next;
        }
        self.next = self.start;
    }

    /// What was placed since it was cleared.
    pub(crate) fn used(&self) -> Range<usize> {
        self.start..self.next
    }
}

#[cfg(target_os = "linux")]
impl Arena {
    fn new() -> Option<Arena> {
        static CUT: AtomicUsize = AtomicUsize::new(0);
        static RESERVED: OnceLock<Option<usize>> = OnceLock::new();
        let start = (*RESERVED.get_or_init(|| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a mapping where the kernel finds room.
            let region = unsafe { libc::mmap(std::ptr::null_mut(), REGION, libc::PROT_NONE, flags, -1, 0) };
            (region != libc::MAP_FAILED).then(|| {
                let start = region.expose_provenance();
                START.store(start, Ordering::Relaxed);
                start
            })
        }))?;
        let at = CUT.fetch_add(ARENA, Ordering::Relaxed);
        if at.checked_add(ARENA)? > REGION {
            return None;
        }
        let arena = Arena { start: start + at, end: start + at + ARENA, next: start + at };
        allow(&(arena.start..arena.end)).then_some(arena)
    }
}

#[cfg(not(target_os = "linux"))]
impl Arena {
    fn new() -> Option<Arena> {
        None
    }
}

/// Nobody may touch these pages from now on. Returns whether that could be seen to.
pub(crate) fn forbid(pages: &Range<usize>) -> bool {
    protect(pages, true)
}

/// These pages may be touched again.
pub(crate) fn allow(pages: &Range<usize>) -> bool {
    protect(pages, false)
}

#[cfg(target_os = "linux")]
fn protect(pages: &Range<usize>, forbid: bool) -> bool {
    let how = if forbid { libc::PROT_NONE } else { libc::PROT_READ | libc::PROT_WRITE };
    let start = std::ptr::with_exposed_provenance_mut(pages.start);
    // SAFETY: pages of the region, which belong to the caller.
    pages.is_empty() || unsafe { libc::mprotect(start, pages.len(), how) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn protect(_pages: &Range<usize>, _forbid: bool) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_where_their_layout_asks_and_on_pages_of_their_own() {
        let mut arena = Arena::take().expect("address space for an arena");
        let mut before = arena.used().end;
        for (size, align) in
            [(1, 1), (16, 8), (24, 64), (4096, 4096), (5000, 16), (3 << 12, 8), (100, 1 << 14)]
        {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            let (start, pages) = arena.place(layout).expect("room");
            assert!(start.is_multiple_of(align) && pages.start >= before && pages.start <= start);
            assert!(start + size <= pages.end && holds(start));
            before = pages.end;
        }
        let whole = Layout::from_size_align(ARENA, 8).expect("a layout");
        assert!(arena.place(whole).is_none());
        let end = arena.used().end;
        arena.clear(true);
        assert_eq!(arena.used(), end..end);
        assert!(!holds(0) && !holds(&raw const before as usize));
    }
}

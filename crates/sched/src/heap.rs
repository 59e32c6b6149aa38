//! The heap of an explored program, block by block.
//!
//! With this as its global allocator a program's memory can be compared between executions: every block that the
//! program allocates in an execution is known, and has a *name* that does not depend on its address: who allocated it,
//! in which operation, as the how-manieth. Blocks that the program frees are kept until the execution is over, so that
//! no address means two things in one execution, and what a thread may have read from a freed block still counts.
//! And memory that is used after its free, or freed twice, is seen (`execution/guard.rs`).
//!
//! ```
//! #[global_allocator]
//! static HEAP: linpoint_sched::Heap = linpoint_sched::Heap::new();
//! ```
//!
//! Without it everything works but that, and the search over states (it then never finds two states equal, and is not used).
//! Outside an exploration it hands everything to the system's allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::arena;
use crate::execution;
use crate::failure::Place;
use crate::ledger::Free;

thread_local! {
    /// Does the program run, and not the explorer?
    static IN_PROGRAM: Cell<bool> = const { Cell::new(false) };
}

/// Was a [`Heap`] asked for memory at all?
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// A global allocator that knows the blocks of an execution.
#[derive(Debug, Default)]
pub struct Heap(());

impl Heap {
    /// The allocator.
    pub const fn new() -> Heap {
        Heap(())
    }

    /// Is it the program's global allocator?
    pub fn is_installed() -> bool {
        INSTALLED.load(Ordering::Relaxed)
    }
}

// SAFETY: every block comes from the system's allocator with the layout asked for, and goes back to it with the same
// one: at once, or, if it belongs to the running execution, when that is over.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !INSTALLED.load(Ordering::Relaxed) {
            INSTALLED.store(true, Ordering::Relaxed);
        }
        if let Some(watched) = watched(layout) {
            return watched;
        }
        // SAFETY: as the caller promises.
        let block = unsafe { System.alloc(layout) };
        note(block, layout);
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(watched) = watched(layout) {
            // SAFETY: it is as large as the layout says, and was used before.
            unsafe { watched.write_bytes(0, layout.size()) };
            return watched;
        }
        // SAFETY: as the caller promises.
        let block = unsafe { System.alloc_zeroed(layout) };
        note(block, layout);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let handle = if IN_PROGRAM.try_with(Cell::get).is_ok() { execution::current() } else { None };
        // What lies in an arena is the execution's own: it is not the system's to take back.
        let watched = arena::holds(block.addr());
        if !handle.is_some_and(|handle| handle.keep_freed(block.addr(), layout)) && !watched {
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(block, layout) };
        }
        if let Some(handle) = handle {
            handle.scrub_alone();
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if execution::current().is_none() && !arena::holds(block.addr()) {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        // SAFETY: as the caller promises: the new size, rounded up, does not overflow; both blocks are at least as
        // large as what is copied.
        unsafe {
            let new_layout = Layout::from_size_align_unchecked(new_size, layout.align());
            let bigger = self.alloc(new_layout);
            if !bigger.is_null() {
                std::ptr::copy_nonoverlapping(block, bigger, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            bigger
        }
    }
}

/// Notes a block that the program allocated.
#[inline]
fn note(block: *mut u8, layout: Layout) {
    if !block.is_null()
        && IN_PROGRAM.try_with(Cell::get).unwrap_or(false)
        && let Some(handle) = execution::current()
    {
        handle.note_allocated(block, layout);
        handle.scrub_alone();
    }
}

/// The place of a block that the program allocates, if it is to be watched.
#[inline]
fn watched(layout: Layout) -> Option<*mut u8> {
    if !IN_PROGRAM.try_with(Cell::get).unwrap_or(false) {
        return None;
    }
    execution::current().filter(|handle| handle.is_guarding())?.place_watched(layout)
}

/// Runs `body` as the explorer's own code: what it allocates is not the program's.
pub(crate) fn outside<T>(body: impl FnOnce() -> T) -> T {
    let _outside = Outside::enter();
    body()
}

/// While it lives, the explorer's own code runs.
pub(crate) struct Outside(bool);

impl Outside {
    #[inline]
    pub(crate) fn enter() -> Outside {
        Outside(IN_PROGRAM.replace(false))
    }
}

impl Drop for Outside {
    #[inline]
    fn drop(&mut self) {
        IN_PROGRAM.set(self.0);
    }
}

/// From here on the program runs (or no longer does).
#[inline]
pub(crate) fn set_in_program(runs: bool) {
    IN_PROGRAM.set(runs);
}

/// The blocks of the running execution.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// In order of address.
    blocks: Vec<Block>,
    /// How many each thread allocated in its current operation.
    counts: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    layout: Layout,
    name: u64,
    freed: bool,
    made: Place,
    gone: Place,
}

/// More blocks than this are not compared.
const MOST: usize = 4096;

impl Blocks {
    /// `thread`, in its operation number `operation`, allocated a block.
    pub(crate) fn add(&mut self, start: *mut u8, layout: Layout, made: Place, operation: u32) {
        let thread = made.thread;
        let start = start.expose_provenance();
        if self.counts.len() <= thread.index() {
            self.counts.resize(thread.index() + 1, (0, 0));
        }
        let (current, count) = &mut self.counts[thread.index()];
        if *current != operation {
            (*current, *count) = (operation, 0);
        }
        *count += 1;
        let name = mix(u64::from(thread.0) << 48 ^ u64::from(operation) << 24 ^ u64::from(*count));
        let at = self.blocks.partition_point(|block| block.start < start);
        self.blocks.insert(at, Block { start, layout, name, freed: false, made, gone: made });
    }

    /// The program frees the block at `start`. Was it of this execution? Then it is kept.
    pub(crate) fn free(&mut self, start: usize, place: Place) -> Free {
        let at = self.blocks.partition_point(|block| block.start < start);
        match self.blocks.get_mut(at) {
            Some(block) if block.start == start && block.freed => {
                Free::Again(block.layout.size(), block.made, block.gone)
            }
            Some(block) if block.start == start => {
                (block.freed, block.gone) = (true, place);
                Free::Kept
            }
            _ => Free::Unknown,
        }
    }

    /// The execution is over: what the program freed goes back, and with `leaks` what it forgot as well.
    pub(crate) fn release(&mut self, leaks: bool) {
        for block in self.blocks.drain(..) {
            if block.freed || leaks {
                // SAFETY: it came from the system's allocator with this layout, and nobody uses it any more.
                unsafe { System.dealloc(std::ptr::with_exposed_provenance_mut(block.start), block.layout) };
            }
        }
        self.counts.clear();
    }

    /// Too many to compare?
    pub(crate) fn too_many(&self) -> bool {
        self.blocks.len() > MOST
    }

    /// A word as it can be compared between executions: a pointer into a block becomes the block's name and the
    /// offset.
    #[inline]
    pub(crate) fn canonical(&self, word: u64) -> u64 {
        let address = word as usize;
        let (Some(first), Some(last)) = (self.blocks.first(), self.blocks.last()) else { return word };
        if address < first.start || address > last.start + last.layout.size() {
            return word;
        }
        let at = self.blocks.partition_point(|block| block.start <= address);
        match at.checked_sub(1).map(|at| &self.blocks[at]) {
            Some(block) if address <= block.start + block.layout.size() => {
                block.name.wrapping_add((address - block.start) as u64)
            }
            _ => word,
        }
    }

    /// Is the address inside a block?
    pub(crate) fn contains(&self, address: usize) -> bool {
        let at = self.blocks.partition_point(|block| block.start <= address);
        at.checked_sub(1).is_some_and(|at| address < self.blocks[at].start + self.blocks[at].layout.size())
    }

    /// A fingerprint of the contents of all blocks, freed ones included.
    pub(crate) fn fingerprint(&self) -> u128 {
        let mut sum = 0u128;
        for block in &self.blocks {
            let mut hash = Fingerprint::new(block.name ^ u64::from(block.freed));
            let mut at = block.start;
            let end = block.start + block.layout.size();
            while at + 8 <= end {
                // SAFETY: inside a block that has not been given back; volatile, as nothing is asked of what it holds.
                let word = unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() };
                hash.add(self.canonical(word));
                at += 8;
            }
            while at < end {
                // SAFETY: as above.
                hash.add(u64::from(unsafe { std::ptr::with_exposed_provenance::<u8>(at).read_volatile() }));
                at += 1;
            }
            sum = sum.wrapping_add(hash.value());
        }
        sum
    }
}

/// A 128-bit hash of words.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint(u64, u64);

impl Fingerprint {
    pub(crate) fn new(seed: u64) -> Fingerprint {
        Fingerprint(mix(seed), mix(seed ^ 0xa076_1d64_78bd_642f))
    }

    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        self.1 = (self.1 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    pub(crate) fn value(self) -> u128 {
        u128::from(mix(self.0)) << 64 | u128::from(mix(self.1 ^ self.0.rotate_left(32)))
    }
}

#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}

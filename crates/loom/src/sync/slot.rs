//! Where the values of atomics are: an atomic itself is a number of eight bytes, as loom's are.
//!
//! Crates reckon with that size. And an atomic is known by its number, not by its address: it may be moved until it is
//! shared, memory that is used again holds other atomics, and one that was dropped is known to be gone, whatever its memory
//! became.
//!
//! The atomics of an execution have their places in an arena of the OS thread that explores; the next execution begins it
//! anew. Those that are made outside have theirs in a box. A number says which of the two: that of a place in the arena is
//! odd, and contains the number of the execution.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use linpoint_sched::atomic as sched;
use linpoint_sched::cell::Made;

/// The place of an atomic.
pub(super) struct Slot {
    /// The bits of the value, at its beginning.
    value: UnsafeCell<u64>,
    made: Made,
    /// Did it have plain accesses, other than being made?
    plain: AtomicBool,
    gone: AtomicBool,
}

// SAFETY: the value is accessed as an atomic, or by who says that nobody else does.
unsafe impl Sync for Slot {}

/// Places of an arena that are allocated at a time.
const CHUNK: usize = 256;

/// Bits of a number that say which place of the arena.
const PLACES: u32 = 24;

#[derive(Default)]
struct Arena {
    /// In boxes: a place stays where it is.
    chunks: Vec<Box<[Slot]>>,
    used: usize,
}

std::thread_local! {
    static ARENA: RefCell<Arena> = const { RefCell::new(Arena { chunks: Vec::new(), used: 0 }) };
    /// The number of the execution that runs on this OS thread, or ran last.
    static EXECUTION: Cell<u64> = const { Cell::new(0) };
}

/// Places outside arenas, by address.
static BOXES: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// An execution begins on this OS thread.
pub(crate) fn begin() {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    EXECUTION.set(NEXT.fetch_add(1, Ordering::Relaxed));
    ARENA.with_borrow_mut(|arena| arena.used = 0);
}

impl Slot {
    #[track_caller]
    fn new(bits: u64) -> Slot {
        let (plain, gone) = (AtomicBool::new(false), AtomicBool::new(false));
        Slot { value: UnsafeCell::new(bits), made: Made::new(), plain, gone }
    }

    /// Makes a place with a value, and returns its number.
    #[track_caller]
    pub(super) fn make(bits: u64) -> u64 {
        let slot = Slot::new(bits);
        if !linpoint_sched::is_exploring() {
            let address = Box::into_raw(Box::new(slot)).expose_provenance();
            with_boxes(|boxes| boxes.insert(address));
            return address as u64;
        }
        ARENA.with_borrow_mut(|arena| {
            let at = arena.used;
            assert!(at < 1 << PLACES, "an execution made more than {} atomics", 1 << PLACES);
            arena.used += 1;
            if at / CHUNK == arena.chunks.len() {
                arena.chunks.push((0..CHUNK).map(|_| Slot::new(0)).collect());
            }
            arena.chunks[at / CHUNK][at % CHUNK] = slot;
            (EXECUTION.get() << PLACES | at as u64) << 1 | 1
        })
    }

    /// The place with a number, if there is one.
    fn find<'a>(number: u64) -> Option<&'a Slot> {
        if number & 1 == 1 {
            let (execution, at) = (number >> 1 >> PLACES, (number >> 1) as usize & ((1 << PLACES) - 1));
            if execution != EXECUTION.get() {
                return None;
            }
            return ARENA.with_borrow(|arena| {
                let slot = arena.chunks.get(at / CHUNK)?.get(at % CHUNK)?;
                // SAFETY: chunks are never freed while their OS thread lives, and places are made anew only when the
                // execution is over.
                Some(unsafe { &*std::ptr::from_ref(slot) })
            });
        }
        let address = number as usize;
        with_boxes(|boxes| boxes.contains(&address)).then(|| {
            // SAFETY: it is in its box until the atomic is dropped, which takes it off the list.
            unsafe { &*std::ptr::with_exposed_provenance(address) }
        })
    }

    /// The place with a number.
    #[inline]
    #[track_caller]
    pub(super) fn at<'a>(number: u64) -> &'a Slot {
        match Slot::find(number) {
            Some(slot) if !slot.gone.load(Ordering::Relaxed) => slot,
            Some(_) => panic!("use after free: this atomic was dropped"),
            None if !linpoint_sched::is_exploring() => panic!(
                "this atomic was made in a model, and the thread that uses it here is none of the model's: start threads with \
                 `loom::thread::spawn`, not with std's or those of another crate"
            ),
            None => panic!(
                "this is no atomic of the running execution: its memory was freed, or it is kept beyond the execution that \
                 made it, in a static for instance"
            ),
        }
    }

    /// The atomic with a number goes. Where other threads used it that is a step: whoever uses it after that is found.
    #[track_caller]
    pub(super) fn remove(number: u64) {
        let Some(slot) = Slot::find(number) else { return };
        if slot.made.is_shared() {
            sched::dropped(slot.address());
        }
        if slot.plain.load(Ordering::Relaxed) {
            sched::plain_gone(slot.address());
        }
        slot.gone.store(true, Ordering::Relaxed);
        if number & 1 == 0 {
            let address = number as usize;
            with_boxes(|boxes| boxes.remove(&address));
            // SAFETY: it came from a box, and is taken off the list once.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Slot>(address)) });
        }
    }

    /// Where the value is.
    pub(super) fn pointer(&self) -> *mut u64 {
        self.value.get()
    }

    fn address(&self) -> usize {
        self.value.get().addr()
    }

    /// The running thread has just used the atomic.
    #[inline]
    #[track_caller]
    pub(super) fn used(&self) {
        // Where segments are delayed it may have been dropped since the step, and that is no use of it.
        let gone = self.gone.load(Ordering::Relaxed) && !linpoint_sched::looks_for_freed();
        assert!(!gone, "use after free: this atomic was dropped");
        self.made.used();
    }

    /// It is read plainly.
    #[track_caller]
    pub(super) fn read_plainly(&self) {
        self.plain.store(true, Ordering::Relaxed);
        self.made.used();
        sched::plain(self.address(), false);
    }

    /// It is changed plainly.
    #[track_caller]
    pub(super) fn change_plainly(&self) {
        self.plain.store(true, Ordering::Relaxed);
        sched::plain(self.address(), true);
        self.made.changed();
    }
}

fn with_boxes<R>(body: impl FnOnce(&mut HashSet<usize>) -> R) -> R {
    let mut boxes = BOXES.lock().unwrap_or_else(PoisonError::into_inner);
    body(boxes.get_or_insert_default())
}

//! The blocks that the program of a run allocates and frees, by who did so and when.
//!
//! With [`crate::Heap`] every block that is freed in a run is kept until the run is over. So no address is
//! used twice in one run, memory that is used after its free is still there, and what is freed twice is
//! known. A block is found again in another run of the same schedule by the thread that allocated it, how
//! many steps that had taken, and the how-manieth block since then it is.

use std::alloc::{GlobalAlloc, Layout, System};

use rustc_hash::FxHashMap;

use crate::event::ThreadId;
use crate::failure::Place;

/// A block of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    start: usize,
    pub(crate) layout: Layout,
    pub(crate) made: Place,
    /// Which of those allocated in that moment.
    pub(crate) number: u32,
    pub(crate) freed: Freeing,
}

/// Was a block freed?
#[derive(Clone, Copy, Debug)]
pub(crate) enum Freeing {
    Not,
    By(Place),
    /// While the run was taken down.
    Late,
}

/// What came of a free.
pub(crate) enum Free {
    /// The block is none of the run's.
    Unknown,
    /// It is kept.
    Kept,
    /// It was freed before: its size, who allocated it, and who freed it.
    Again(usize, Place, Place),
}

/// The blocks of a run.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    by_address: FxHashMap<usize, u32>,
    numbers: Numbers,
    /// How many were freed by a thread that ran, and not taken down.
    frees: usize,
}

/// How many blocks each thread has allocated since its latest step.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Vec<(u32, u32)>);

impl Numbers {
    /// The number of the next block of `thread`, which has taken so many steps.
    pub(crate) fn next(&mut self, thread: ThreadId, steps: u32) -> u32 {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, (0, 0));
        }
        let (at, count) = &mut self.0[thread.index()];
        if *at != steps {
            (*at, *count) = (steps, 0);
        }
        *count += 1;
        *count
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Ledger {
    /// The program allocated a block.
    pub(crate) fn add(&mut self, start: *mut u8, layout: Layout, made: Place) {
        let start = start.expose_provenance();
        let number = self.numbers.next(made.thread, made.steps);
        let index = self.entries.len() as u32;
        self.entries.push(Entry { start, layout, made, number, freed: Freeing::Not });
        // If there was one at this address, it was freed where nobody looked.
        self.by_address.insert(start, index);
    }

    /// The block at `start` is freed, if it is one of the run: then it is kept. `when` is nothing while a run is taken down.
    pub(crate) fn free(&mut self, start: usize, layout: Layout, when: Option<Place>) -> Free {
        let Some(&index) = self.by_address.get(&start) else { return Free::Unknown };
        let entry = &mut self.entries[index as usize];
        if entry.layout != layout && matches!(entry.freed, Freeing::Not) {
            // That one was freed where nobody looked.
            return Free::Unknown;
        }
        match (entry.freed, when) {
            (Freeing::Not, Some(when)) => {
                entry.freed = Freeing::By(when);
                self.frees += 1;
                Free::Kept
            }
            (Freeing::Not, None) => {
                entry.freed = Freeing::Late;
                Free::Kept
            }
            (Freeing::By(before), Some(_)) => Free::Again(entry.layout.size(), entry.made, before),
            _ => Free::Kept,
        }
    }

    /// Was a block freed by a thread that ran?
    pub(crate) fn has_frees(&self) -> bool {
        self.frees > 0
    }

    /// The blocks that threads freed.
    pub(crate) fn freed(&self) -> impl Iterator<Item = (&Entry, Place)> {
        self.entries.iter().filter_map(|entry| match entry.freed {
            Freeing::By(when) => Some((entry, when)),
            _ => None,
        })
    }

    /// The run is over: what was freed in it goes back.
    pub(crate) fn release(&mut self) {
        for entry in self.entries.drain(..) {
            if !matches!(entry.freed, Freeing::Not) {
                // SAFETY: it came from the system's allocator with this layout, and nobody uses it any more.
                unsafe { System.dealloc(std::ptr::with_exposed_provenance_mut(entry.start), entry.layout) };
            }
        }
        self.by_address.clear();
        self.numbers.clear();
        self.frees = 0;
    }
}

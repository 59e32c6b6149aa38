//! A write-back cache of blocks in front of a store.
//!
//! A block belongs to one set of the cache, by its number, and a set has a few frames and a lock. A write changes the frame and marks it dirty; the store
//! gets it later, from the flusher (a thread of the cache's own, [`BlockCache::flush`]) or when the frame is needed for another block. The flusher copies a frame under the lock, writes
//! the copy to the store without it, and comes back: if the frame was not written meanwhile, it is clean. A frame being flushed is
//! pinned: it is not evicted, so the store is never written by two at once.
//!
//! This is the part of Boxwood in which Elmas, Tasiran & Qadeer (2005) found a bug with this method: a block that was marked clean although the store did not have it.
//!
//! **View.** A block's content: what the cache has, or else the store ([`model::Layers`]). **Commits.** Reads and writes commit inside the lock of the set; an
//! eviction that makes room is part of the same block of writes. The flusher commits internally: what it does must not change the view.
//!
//! Mutations, and what to expect:
//! - [`EVICT_DIRTY`]: a dirty frame is evicted without being written. Views differ at the operation that evicts; answers when the block is read again.
//! - [`MARK_CLEAN`]: the flusher marks a frame clean that was written while it was being flushed. Views differ when the frame is
//!   evicted, an internal commit later or much later; answers when the block is read again.

pub mod model;

use std::sync::{Mutex, MutexGuard, PoisonError};

use linpoint_monitor::{Block as Writes, Monitor, MonitorError, Object, Op};

use super::give_way;
use crate::CORRECT;

/// A dirty frame is evicted without being written.
pub const EVICT_DIRTY: u8 = 1;
/// A frame that was written while it was being flushed is marked clean.
pub const MARK_CLEAN: u8 = 2;

/// What a block holds.
pub type Content = u64;

const WAYS: usize = 4;

/// The cache and its store.
#[derive(Debug)]
pub struct BlockCache<const MUTATION: u8 = CORRECT> {
    sets: Vec<Mutex<Set>>,
    store: Vec<Mutex<Option<Content>>>,
    object: Object,
    read: Op,
    write: Op,
}

#[derive(Debug, Default)]
struct Set {
    frames: [Option<Frame>; WAYS],
    /// The frame to be evicted next.
    hand: usize,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    block: u64,
    content: Option<Content>,
    dirty: bool,
    /// The flusher is about it.
    pinned: bool,
    /// How often it was written.
    version: u64,
}

impl<const MUTATION: u8> BlockCache<MUTATION> {
    /// A cache of `sets` sets before a store of `blocks` blocks, watched by `monitor`; with its view or without.
    ///
    /// # Errors
    /// Where the monitor takes no more objects.
    pub fn watched(monitor: &Monitor, sets: usize, blocks: usize, view: bool) -> Result<Self, MonitorError> {
        let registration = monitor.object_with("block cache", Box::new(model::Blocks::default()));
        let registration =
            if view { registration.view_with(Box::new(model::Layers::default())) } else { registration };
        Ok(Self::new(sets, blocks, registration.watch()?))
    }

    /// A cache that logs to `object`.
    pub fn new(sets: usize, blocks: usize, object: Object) -> Self {
        let (read, write) = (object.op("read"), object.op("write"));
        BlockCache {
            sets: (0..sets.max(1)).map(|_| Mutex::default()).collect(),
            store: (0..blocks).map(|_| Mutex::default()).collect(),
            object,
            read,
            write,
        }
    }

    /// What `block` holds; nothing if it was never written.
    pub fn read(&self, block: u64) -> Option<Content> {
        let op = self.object.call(self.read, block);
        let mut set = self.set(block);
        if let Some(at) = set.find(block) {
            op.commit();
            let content = set.frames[at].and_then(|frame| frame.content);
            drop(set);
            return op.returns(content);
        }
        let content = *self.stored(block);
        let frame = Frame { block, content, dirty: false, pinned: false, version: 0 };
        let filled = self.fill(&mut set, frame);
        op.commit_block(|writes| filled.log(writes));
        drop(set);
        op.returns(content)
    }

    /// From now on `block` holds `content`.
    pub fn write(&self, block: u64, content: Content) {
        let op = self.object.call(self.write, (block, content));
        let mut set = self.set(block);
        if let Some(frame) = set.find(block).and_then(|at| set.frames[at].as_mut()) {
            *frame = Frame { content: Some(content), dirty: true, version: frame.version + 1, ..*frame };
            op.commit_block(|writes| writes.write(model::in_cache(block), content));
        } else {
            let frame = Frame { block, content: Some(content), dirty: true, pinned: false, version: 0 };
            let filled = self.fill(&mut set, frame);
            op.commit_block(|writes| filled.log(writes));
        }
        drop(set);
        op.returns(());
    }

    /// Writes every dirty frame to the store. For the flusher: one thread at a time may call this.
    pub fn flush(&self) {
        for set in &self.sets {
            for at in 0..WAYS {
                self.flush_frame(set, at);
            }
        }
    }

    fn flush_frame(&self, set: &Mutex<Set>, at: usize) {
        let internal = self.object.internal();
        let copy = match &mut lock(set).frames[at] {
            Some(frame) if frame.dirty => {
                frame.pinned = true;
                *frame
            }
            _ => return,
        };
        // The frame hides the store as long as it is pinned, so this write is nobody's business yet.
        *self.stored(copy.block) = copy.content;
        self.object.write(model::in_store(copy.block), copy.content);
        if MUTATION == MARK_CLEAN {
            give_way();
        }
        if let Some(frame) = &mut lock(set).frames[at] {
            if frame.version == copy.version || MUTATION == MARK_CLEAN {
                frame.dirty = false;
            }
            frame.pinned = false;
        }
        internal.commit();
    }

    /// Puts `frame` into the set, which must not have its block, in the place of another if need be.
    fn fill(&self, set: &mut Set, frame: Frame) -> Filled {
        let at = set.victim();
        let evicted = set.frames[at].replace(frame);
        let written = evicted.filter(|old| old.dirty && MUTATION != EVICT_DIRTY);
        if let Some(old) = written {
            *self.stored(old.block) = old.content;
        }
        Filled { frame, evicted, written }
    }

    fn set(&self, block: u64) -> MutexGuard<'_, Set> {
        lock(&self.sets[block as usize % self.sets.len()])
    }

    fn stored(&self, block: u64) -> MutexGuard<'_, Option<Content>> {
        lock(&self.store[block as usize % self.store.len()])
    }
}

/// What changed when a frame was filled.
struct Filled {
    frame: Frame,
    evicted: Option<Frame>,
    /// The evicted one, if the store got it.
    written: Option<Frame>,
}

impl Filled {
    fn log(&self, writes: &mut Writes<'_>) {
        if let Some(old) = self.written {
            writes.write(model::in_store(old.block), old.content);
        }
        if let Some(old) = self.evicted {
            writes.write(model::in_cache(old.block), ());
        }
        writes.write(model::in_cache(self.frame.block), self.frame.content);
    }
}

impl Set {
    fn find(&self, block: u64) -> Option<usize> {
        self.frames.iter().position(|frame| frame.is_some_and(|frame| frame.block == block))
    }

    /// A frame that is free, or may be evicted: at most one is pinned.
    fn victim(&mut self) -> usize {
        if let Some(free) = self.frames.iter().position(Option::is_none) {
            return free;
        }
        loop {
            self.hand = (self.hand + 1) % WAYS;
            if self.frames[self.hand].is_none_or(|frame| !frame.pinned) {
                return self.hand;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! One depth-first search for several workers: who has nothing left takes the untried choice nearest to the root from
//! another, where the largest part is.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::event::ThreadId;
use crate::execution::Execution;
use crate::run::Run;
use crate::strategy::Strategy;
use crate::strategy::dfs::Dfs;

/// The parts of a tree that nobody searches yet.
pub struct Pool {
    /// They, and how many workers are at work.
    left: Mutex<(Vec<Dfs>, usize)>,
    changed: Condvar,
    hungry: AtomicUsize,
    over: AtomicBool,
}

impl Pool {
    /// The whole of `search`, for so many workers.
    pub fn new(search: Dfs, workers: usize) -> Pool {
        Pool {
            left: Mutex::new((vec![search], workers)),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Was the search left before its end?
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Nobody shall go on.
    pub fn end(&self) {
        let _left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Something to do, unless everybody is done.
    fn take(&self) -> Option<Dfs> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.1 -= 1;
        self.hungry.fetch_add(1, Ordering::Relaxed);
        loop {
            if self.is_over() {
                break;
            }
            if let Some(dfs) = left.0.pop() {
                left.1 += 1;
                self.hungry.fetch_sub(1, Ordering::Relaxed);
                return Some(dfs);
            }
            if left.1 == 0 {
                break;
            }
            left = self.changed.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        self.changed.notify_all();
        None
    }

    fn give(&self, dfs: Dfs) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).0.push(dfs);
        self.changed.notify_one();
    }
}

/// The share of one worker.
pub struct SharedDfs<'a> {
    pool: &'a Pool,
    dfs: Dfs,
    cut: bool,
}

impl<'a> SharedDfs<'a> {
    /// The first part that is to be had; `None` if there is none any more.
    pub fn new(pool: &'a Pool) -> Option<SharedDfs<'a>> {
        Some(SharedDfs { pool, dfs: pool.take()?, cut: false })
    }

    /// Did the bound keep a schedule out?
    pub fn was_cut(&self) -> bool {
        self.cut || self.dfs.was_cut()
    }

    /// Which part of its share is behind it: see [`Dfs::progress`].
    pub fn progress(&self) -> f64 {
        self.dfs.progress()
    }
}

impl Strategy for SharedDfs<'_> {
    fn prefix(&self) -> &[ThreadId] {
        self.dfs.prefix()
    }

    fn follows(&self) -> bool {
        self.dfs.follows()
    }

    fn next(&mut self, at: &Execution) -> Option<ThreadId> {
        self.dfs.next(at)
    }

    fn keeps_going(&self) -> bool {
        self.dfs.keeps_going()
    }

    fn makes_every_order(&self) -> bool {
        true
    }

    fn advance(&mut self, run: &Run) -> bool {
        if self.pool.is_over() {
            return false;
        }
        if self.dfs.advance(run) {
            if self.pool.hungry.load(Ordering::Relaxed) > 0
                && let Some(part) = self.dfs.split()
            {
                self.pool.give(part);
            }
            return true;
        }
        self.cut |= self.dfs.was_cut();
        match self.pool.take() {
            Some(part) => {
                self.dfs = part;
                true
            }
            None => false,
        }
    }
}

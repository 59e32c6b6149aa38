//! Who holds which lock, and the writes that nobody else can see yet.
//!
//! Single writes between an acquire and a release wait for the thread's next commit, or for the release of its last lock, whichever comes
//! first ([`crate::event`]).

use rustc_hash::FxHashMap;

use crate::event::{ThreadId, Write};
use crate::finding::Mistake;

/// The critical sections that are open.
#[derive(Default)]
pub(crate) struct Sections {
    threads: FxHashMap<ThreadId, Section>,
    holders: FxHashMap<u64, ThreadId>,
}

#[derive(Default)]
struct Section {
    /// A lock taken twice is in it twice.
    held: Vec<u64>,
    /// Writes with their numbers.
    writes: Vec<(u64, Write)>,
}

impl Sections {
    pub fn acquire(&mut self, thread: ThreadId, lock: u64) -> Result<(), Mistake> {
        let holder = *self.holders.entry(lock).or_insert(thread);
        if holder != thread {
            return Err(Mistake::HeldTwice { thread, lock, holder });
        }
        self.threads.entry(thread).or_default().held.push(lock);
        Ok(())
    }

    /// Gives the writes that become visible.
    pub fn release(&mut self, thread: ThreadId, lock: u64) -> Result<Vec<(u64, Write)>, Mistake> {
        let section = self.threads.get_mut(&thread);
        let place = section.as_ref().and_then(|section| section.held.iter().rposition(|&held| held == lock));
        let (Some(section), Some(place)) = (section, place) else {
            return Err(Mistake::NotHeld { thread, lock });
        };
        section.held.remove(place);
        if !section.held.contains(&lock) {
            self.holders.remove(&lock);
        }
        Ok(if section.held.is_empty() { std::mem::take(&mut section.writes) } else { Vec::new() })
    }

    /// A single write: gives it back where it is visible at once.
    #[inline]
    pub fn write(&mut self, number: u64, thread: ThreadId, write: Write) -> Option<Write> {
        match self.threads.get_mut(&thread) {
            Some(section) if !section.held.is_empty() => {
                section.writes.push((number, write));
                None
            }
            _ => Some(write),
        }
    }

    /// The thread commits: gives the writes that become visible.
    #[inline]
    pub fn commit(&mut self, thread: ThreadId) -> Vec<(u64, Write)> {
        if self.threads.is_empty() {
            return Vec::new();
        }
        self.threads.get_mut(&thread).map(|section| std::mem::take(&mut section.writes)).unwrap_or_default()
    }

    /// Does the thread hold a lock?
    pub fn is_inside(&self, thread: ThreadId) -> bool {
        self.threads.get(&thread).is_some_and(|section| !section.held.is_empty())
    }

    /// A lock that was never released, if there is one.
    pub fn held_at_the_end(&self) -> Option<Mistake> {
        let (&lock, &thread) = self.holders.iter().min()?;
        Some(Mistake::NeverReleased { thread, lock })
    }
}

//! Who holds which lock, and the writes that nobody else can see yet.
//!
//! Single writes between an acquire and a release wait for the thread's next commit, or for the release of
//! its last lock, whichever comes first ([`crate::event`]). Writes to one place take effect in the order of
//! their numbers: one that still waits when a later write to the same place shows, a block of the same thread
//! or a write of another, was there before it, and is dropped.

use rustc_hash::FxHashMap;

use crate::event::{Location, ThreadId, Write};
use crate::finding::Mistake;

/// The critical sections that are open.
#[derive(Default)]
pub(crate) struct Sections {
    threads: FxHashMap<ThreadId, Section>,
    holders: FxHashMap<u64, ThreadId>,
    /// Threads that go on after the end.
    going_on: Vec<ThreadId>,
    /// The places that writes wait for.
    places: FxHashMap<Location, Place>,
}

/// A place that writes wait for.
#[derive(Default)]
struct Place {
    waiting: usize,
    /// Writes with smaller numbers were overwritten by one that shows.
    shown: u64,
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
        Ok(if section.held.is_empty() { self.show(thread) } else { Vec::new() })
    }

    /// The writes of a thread that waited, but for those that were overwritten meanwhile.
    fn show(&mut self, thread: ThreadId) -> Vec<(u64, Write)> {
        let Some(section) = self.threads.get_mut(&thread) else { return Vec::new() };
        let mut writes = std::mem::take(&mut section.writes);
        writes.retain(|(number, write)| {
            let Some(place) = self.places.get_mut(&write.location) else { return true };
            let shown = place.shown;
            place.waiting -= 1;
            if place.waiting == 0 {
                self.places.remove(&write.location);
            }
            *number >= shown
        });
        writes
    }

    /// A write with this number shows: those to the same place that wait and are older never will.
    #[inline]
    pub fn shows(&mut self, number: u64, location: Location) {
        if !self.places.is_empty()
            && let Some(place) = self.places.get_mut(&location)
        {
            place.shown = place.shown.max(number);
        }
    }

    /// A single write: gives it back where it is visible at once.
    #[inline]
    pub fn write(&mut self, number: u64, thread: ThreadId, write: Write) -> Option<Write> {
        match self.threads.get_mut(&thread) {
            Some(section) if !section.held.is_empty() => {
                self.places.entry(write.location).or_default().waiting += 1;
                section.writes.push((number, write));
                None
            }
            _ => Some(write),
        }
    }

    /// The thread commits: gives the writes that become visible.
    #[inline]
    pub fn commit(&mut self, thread: ThreadId) -> Vec<(u64, Write)> {
        if self.places.is_empty() {
            return Vec::new();
        }
        self.show(thread)
    }

    /// Does the thread hold a lock?
    pub fn is_inside(&self, thread: ThreadId) -> bool {
        self.threads.get(&thread).is_some_and(|section| !section.held.is_empty())
    }

    /// This thread goes on after the end: it may hold locks there.
    pub fn goes_on(&mut self, thread: ThreadId) {
        self.going_on.push(thread);
    }

    /// Is no lock held, and did all of these threads end?
    pub fn are_over(&self, threads: &[ThreadId]) -> bool {
        self.holders.is_empty() && !threads.iter().any(|thread| self.going_on.contains(thread))
    }

    /// A lock that was never released by a thread that has ended, if there is one.
    pub fn held_at_the_end(&self) -> Option<Mistake> {
        let ended = |holder: &(&u64, &ThreadId)| !self.going_on.contains(holder.1);
        let (&lock, &thread) = self.holders.iter().filter(ended).min()?;
        Some(Mistake::NeverReleased { thread, lock })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linpoint_history::Value;
    use linpoint_history::rng::Rng;

    /// A write, and whether it shows.
    struct Past {
        thread: ThreadId,
        place: Location,
        number: u64,
        shows: bool,
    }

    /// Whatever threads do: a place holds the write with the largest number of those that show.
    #[test]
    fn the_latest_write_that_shows_is_there() {
        let mut overwritten = 0;
        for seed in 0..20_000 {
            let mut rng = Rng::new(seed);
            let mut sections = Sections::default();
            let mut held: FxHashMap<ThreadId, Vec<u64>> = FxHashMap::default();
            let mut there: FxHashMap<Location, u64> = FxHashMap::default();
            let mut past: Vec<Past> = Vec::new();
            for number in 0..2 + rng.below(14) {
                let thread = ThreadId(rng.below(3) as u32);
                let place = Location(rng.below(2));
                let write = |value: u64| Write { location: place, value: Value::Int(value as i64) };
                let locks = held.entry(thread).or_default();
                let mut shown: Vec<(u64, Write)> = Vec::new();
                match rng.below(5) {
                    0 => {
                        let lock = rng.below(2) + 2 * u64::from(thread.0);
                        sections.acquire(thread, lock).expect("it is this thread's");
                        locks.push(lock);
                    }
                    1 if !locks.is_empty() => {
                        let lock = locks.remove(rng.below(locks.len() as u64) as usize);
                        shown = sections.release(thread, lock).expect("it is held");
                        let all = locks.is_empty();
                        past.iter_mut().filter(|past| past.thread == thread).for_each(|it| it.shows |= all);
                    }
                    2 => {
                        shown = sections.commit(thread);
                        past.iter_mut().filter(|past| past.thread == thread).for_each(|it| it.shows = true);
                    }
                    // A block.
                    3 => {
                        shown.push((number, write(number)));
                        past.push(Past { thread, place, number, shows: true });
                    }
                    _ => {
                        shown.extend(sections.write(number, thread, write(number)).map(|it| (number, it)));
                        past.push(Past { thread, place, number, shows: locks.is_empty() });
                    }
                }
                for (number, write) in shown {
                    sections.shows(number, write.location);
                    overwritten += u64::from(there.insert(write.location, number).is_some());
                }
                for place in [Location(0), Location(1)] {
                    let latest =
                        past.iter().filter(|past| past.shows && past.place == place).map(|it| it.number);
                    assert_eq!(
                        there.get(&place).copied(),
                        latest.max(),
                        "seed {seed}, {place:?} at {number}"
                    );
                }
            }
        }
        assert!(overwritten > 10_000, "{overwritten}");
    }
}

//! Data races on cells, by the happens-before order of C11 as Rust has it.
//!
//! Two accesses to the same cell by different threads, one of them a write, must be ordered by *happens before*: the
//! order of each thread's own program, with what synchronises threads: creating and joining them, a release that an
//! acquire reads from (through read-modify-writes in between, and through fences), locks, messages. The orderings are
//! those that the program asked for: a pointer published by a relaxed store is a race, though every run here is
//! sequentially consistent.
//!
//! The check goes once over the record of a run with vector clocks (Fidge 1988, Mattern 1989) and keeps for each cell
//! its last write and the last read of each thread, as Flanagan and Freund 2009 do: a write that is ordered after the
//! last one and after all reads is ordered after everything before. Without a cell nothing is done at all.
//!
//! # One execution a trace is enough
//! Take two executions that differ in the order of independent steps. As long as no cell is raced on, what a read
//! of a cell sees is the write before it in happens-before, and happens-before is built from the order of each
//! thread's steps and from the order of the accesses to each location; both are the same in the two. So both have
//! the same values, the same steps, the same clocks, and the same verdict: up to the first race in one of them the
//! argument holds for the other, and so the other has that race as well.
//!
//! # What is not covered
//! Executions that only a weak memory has: a relaxed load never sees an old value here. A program whose race
//! shows only after such a load is not caught.

use std::panic::Location;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use crate::event::{Access, Action, Effect, Loc, ThreadId};
use crate::failure::Failure;
use crate::run::{Aside, AsideKind, Run};

/// The memory of the check, reused from run to run.
#[derive(Default)]
pub(crate) struct DataRaces {
    /// Threads in the run: the length of a clock.
    width: usize,
    /// What happened before the point where each thread is.
    now: Vec<Vec<u32>>,
    /// Did the thread's last step release something? What it does until its next step is then later by its own clock, and
    /// still belongs to that step.
    just_released: Vec<bool>,
    /// What a thread would have acquired with its relaxed loads, had a fence followed.
    unfenced: Vec<Vec<u32>>,
    /// What happened before each thread's last release fence.
    fenced: Vec<Vec<u32>>,
    released: FxHashMap<Key, Vec<u32>>,
    cells: FxHashMap<u32, Cell>,
    /// Atomics, if the run accesses any without atomicity.
    atomics: FxHashMap<Loc, Atomic>,
    /// Does it?
    plain: bool,
}

/// Where a clock was left for others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    /// By a write to a location, or the release of a lock.
    Write(Loc),
    /// By the readers of a lock.
    Readers(Loc),
    /// With a message.
    Post(u32),
}

#[derive(Default)]
struct Cell {
    write: Option<Seen>,
    reads: Vec<Seen>,
}

/// The accesses to an atomic: of the atomic ones the last read and the last write of each thread.
#[derive(Default)]
struct Atomic {
    reads: Vec<(ThreadId, u32, Action)>,
    writes: Vec<(ThreadId, u32, Action)>,
    plain: Cell,
}

/// An access to a cell: whose, when by its own clock, and where in the source.
#[derive(Clone, Copy)]
struct Seen {
    thread: ThreadId,
    time: u32,
    site: &'static Location<'static>,
}

impl Cell {
    /// An access to the cell by a thread whose clock this is.
    fn touch(&mut self, mut seen: Seen, clock: &[u32], effect: Effect) -> Option<Failure> {
        let Seen { thread, site, .. } = seen;
        let own = |other: &&Seen| other.thread == thread;
        // The end of an access may count as earlier than a use within it.
        let before =
            if effect.writes() { self.write.as_ref().filter(own) } else { self.reads.iter().find(own) };
        seen.time = before.map_or(seen.time, |before| seen.time.max(before.time));
        let unordered = |seen: &Seen| clock[seen.thread.index()] < seen.time;
        let race = |other: &Seen, wrote: bool| Failure::DataRace {
            accesses: [(other.thread, other.site, wrote), (thread, site, effect.writes())],
        };
        if let Some(write) = self.write.filter(unordered) {
            return Some(race(&write, true));
        }
        if effect.writes() {
            if let Some(read) = self.reads.iter().find(|read| unordered(read)) {
                return Some(race(read, false));
            }
            self.reads.clear();
            self.write = Some(seen);
        } else {
            match self.reads.iter_mut().find(|read| read.thread == thread) {
                Some(read) => *read = seen,
                None => self.reads.push(seen),
            }
        }
        None
    }
}

impl DataRaces {
    /// The first race of `run`, if it has one.
    pub(crate) fn check(&mut self, run: &Run) -> Option<Failure> {
        self.reset(run.threads.len());
        self.plain = run.asides.iter().any(|aside| matches!(aside.kind, AsideKind::Plain { .. }));
        let mut asides = run.asides.iter().peekable();
        let mut at = 0;
        for (index, step) in run.steps.iter().enumerate() {
            for access in run.accesses_of(index) {
                while let Some(aside) = asides.next_if(|aside| aside.at <= at) {
                    if let Some(race) = self.aside(aside) {
                        return Some(race);
                    }
                }
                let thread = step.thread.index();
                let time = self.now[thread][thread];
                self.access(step.thread, access);
                self.just_released[thread] = self.now[thread][thread] > time;
                if self.plain
                    && let Some(race) = self.atomically(step.thread, time, access)
                {
                    return Some(race);
                }
                at += 1;
            }
        }
        asides.find_map(|aside| self.aside(aside))
    }

    fn reset(&mut self, threads: usize) {
        self.width = threads;
        self.released.clear();
        self.cells.clear();
        self.atomics.clear();
        for clocks in [&mut self.now, &mut self.unfenced, &mut self.fenced] {
            clocks.resize_with(clocks.len().max(threads), Vec::new);
            for clock in &mut clocks[..threads] {
                clock.clear();
                clock.resize(threads, 0);
            }
        }
        self.just_released.clear();
        self.just_released.resize(threads, false);
        for (thread, clock) in self.now[..threads].iter_mut().enumerate() {
            clock[thread] = 1;
        }
    }

    fn aside(&mut self, aside: &Aside) -> Option<Failure> {
        let thread = aside.thread.index();
        match aside.kind {
            AsideKind::Cell { cell, effect, site } => {
                return self.touch(aside.thread, (cell, self.now[thread][thread]), effect, site);
            }
            AsideKind::CellEnd { cell, effect, site } => {
                // A guard that gives back its lock and then, when its fields are dropped, its pointer into the cell has not
                // used the cell in between: an access that ends right after a release ends with it.
                let time = self.now[thread][thread] - u32::from(self.just_released[thread]);
                return self.touch(aside.thread, (cell, time), effect, site);
            }
            AsideKind::Plain { loc, effect, site } => return self.plainly(aside.thread, loc, effect, site),
            AsideKind::Gone(loc) => _ = self.atomics.remove(&loc),
            AsideKind::Fence(order) => {
                if acquires(order) {
                    join(&mut self.now[thread], &self.unfenced[thread]);
                }
                if releases(order) {
                    self.fenced[thread].clone_from(&self.now[thread]);
                    self.tick(thread);
                }
            }
            AsideKind::Spawn(child) => {
                let clock = self.now[thread].clone();
                join(&mut self.now[child.index()], &clock);
                self.tick(thread);
            }
            AsideKind::Post(number) => self.leave(thread, Key::Post(number)),
            AsideKind::Take(number) => self.pick_up(thread, Key::Post(number)),
        }
        None
    }

    fn access(&mut self, by: ThreadId, access: &Access) {
        let thread = by.index();
        let loc = access.loc;
        match access.action {
            Action::Join => {
                if let Some(ended) = loc.ended_thread() {
                    let clock = self.now[ended.index()].clone();
                    join(&mut self.now[thread], &clock);
                }
            }
            // What these order is said by a lock or by what was posted; claims order nothing.
            Action::Look
            | Action::Claim
            | Action::Exit
            | Action::IsFinished
            | Action::IsPoisoned
            | Action::ClearPoison
            | Action::Poison
            | Action::Drop
            | Action::ArcClone
            | Action::ArcCount
            | Action::Detach
            | Action::Wait
            | Action::Wake
            | Action::NotifyOne
            | Action::NotifyAll
            | Action::Send
            | Action::TrySend
            | Action::Receive
            | Action::TryReceive => {}
            Action::Lock | Action::TryLock | Action::WriteLock if access.effect.writes() => {
                self.pick_up(thread, Key::Write(loc));
                self.pick_up(thread, Key::Readers(loc));
            }
            Action::ReadLock | Action::TryReadLock if access.effect.writes() => {
                self.pick_up(thread, Key::Write(loc));
            }
            Action::Lock
            | Action::TryLock
            | Action::WriteLock
            | Action::AwaitReaders
            | Action::ReadLock
            | Action::TryReadLock => {}
            // The last reference comes after what was done through the others.
            Action::ArcDrop | Action::ArcUpgrade | Action::ArcUnique => {
                if acquires(access.ordering) {
                    self.pick_up(thread, Key::Write(loc));
                }
                if releases(access.ordering) {
                    self.leave(thread, Key::Write(loc));
                }
            }
            Action::Unlock => self.leave(thread, Key::Write(loc)),
            Action::ReadUnlock => self.leave(thread, Key::Readers(loc)),
            _ => self.atomic(thread, access),
        }
    }

    fn atomic(&mut self, thread: usize, access: &Access) {
        let key = Key::Write(access.loc);
        if access.effect.reads()
            && let Some(clock) = self.released.get(&key)
        {
            let into = if acquires(access.ordering) { &mut self.now } else { &mut self.unfenced };
            join(&mut into[thread], clock);
        }
        if access.effect.writes() {
            let width = self.width;
            let clock = self.released.entry(key).or_insert_with(|| vec![0; width]);
            if access.effect == Effect::Write {
                // A plain store heads no release sequence but its own.
                clock.fill(0);
            }
            let release = releases(access.ordering);
            join(clock, if release { &self.now[thread] } else { &self.fenced[thread] });
            if release {
                self.tick(thread);
            }
        }
    }

    /// An access to a cell at a time by the thread's own clock.
    fn touch(
        &mut self,
        thread: ThreadId,
        (cell, time): (u32, u32),
        effect: Effect,
        site: &'static Location<'static>,
    ) -> Option<Failure> {
        let seen = Seen { thread, time, site };
        self.cells.entry(cell).or_default().touch(seen, &self.now[thread.index()], effect)
    }

    /// An atomic access that `thread` made at `time` by its own clock, and that has acquired what it acquires.
    fn atomically(&mut self, thread: ThreadId, time: u32, access: &Access) -> Option<Failure> {
        if !access.action.is_atomic() || !access.loc.is_memory() {
            return None;
        }
        let clock = &self.now[thread.index()];
        let unordered = |seen: &&Seen| clock[seen.thread.index()] < seen.time;
        let atomic = self.atomics.entry(access.loc).or_default();
        let Cell { write, reads } = &atomic.plain;
        let read = reads.iter().find(unordered).filter(|_| access.effect.writes());
        if let Some((seen, wrote)) =
            write.as_ref().filter(unordered).map(|seen| (seen, true)).or(read.map(|seen| (seen, false)))
        {
            let plain = (seen.thread, seen.site, wrote);
            return Some(Failure::PlainRace { plain, atomic: (thread, access.action) });
        }
        let list = if access.effect.writes() { &mut atomic.writes } else { &mut atomic.reads };
        match list.iter_mut().find(|one| one.0 == thread) {
            Some(one) => *one = (thread, time, access.action),
            None => list.push((thread, time, access.action)),
        }
        None
    }

    /// A plain access to an atomic.
    fn plainly(
        &mut self,
        thread: ThreadId,
        loc: Loc,
        effect: Effect,
        site: &'static Location<'static>,
    ) -> Option<Failure> {
        let clock = &self.now[thread.index()];
        let atomic = self.atomics.entry(loc).or_default();
        let reads = if effect.writes() { &atomic.reads[..] } else { &[] };
        let mut others = atomic.writes.iter().chain(reads);
        if let Some(other) = others.find(|other| clock[other.0.index()] < other.1) {
            let plain = (thread, site, effect.writes());
            return Some(Failure::PlainRace { plain, atomic: (other.0, other.2) });
        }
        let seen = Seen { thread, time: clock[thread.index()], site };
        atomic.plain.touch(seen, clock, effect)
    }

    /// Adds what happened before the thread's point to the clock under `key`.
    fn leave(&mut self, thread: usize, key: Key) {
        let width = self.width;
        join(self.released.entry(key).or_insert_with(|| vec![0; width]), &self.now[thread]);
        self.tick(thread);
    }

    fn pick_up(&mut self, thread: usize, key: Key) {
        if let Some(clock) = self.released.get(&key) {
            join(&mut self.now[thread], clock);
        }
    }

    fn tick(&mut self, thread: usize) {
        self.now[thread][thread] += 1;
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

//! The traces found so far, and whether one of them begins with a given prefix.
//!
//! A trace is stored thread by thread: the fingerprint of each step and its clock, so that the n-th step of a thread is
//! found at once, and once more as the sequence of threads that went. For every fingerprint there is a list of the
//! traces it occurs in. A prefix is looked up by the rarest of the fingerprints that end it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::clocks::Clocks;
use crate::event::ThreadId;
use crate::run::Run;

/// Traces.
#[derive(Default)]
pub(super) struct Traces {
    traces: Vec<Trace>,
    known: FxHashSet<u64>,
    schedules: Vec<ThreadId>,
    threads: Vec<Thread>,
    prints: Vec<u64>,
    clocks: Vec<u16>,
    /// The observers, as indices into `prints`.
    observers: FxHashSet<usize>,
    /// For each fingerprint: how many traces have it, and the first entry of their list.
    lists: FxHashMap<u64, (u32, u32)>,
    entries: Vec<(u32, u32)>,
    /// The prefix asked for: how many steps of each thread, and the fingerprint of its last.
    cut: Vec<(u32, u64)>,
    /// The same, by the numbers that the threads have in another trace.
    counts: Vec<u32>,
    names: Vec<ThreadId>,
    births: Vec<(ThreadId, u32)>,
}

#[derive(Clone, Copy)]
struct Trace {
    schedule: u32,
    len: u32,
    threads: u32,
    count: u32,
    prints: u32,
    /// Into `clocks`; `count` numbers a step.
    clocks: usize,
}

#[derive(Clone, Copy)]
struct Thread {
    /// Its first step, counted from the trace's `prints`.
    first: u32,
    steps: u32,
    birth: u64,
    parent: ThreadId,
    born_at: u32,
}

const NONE: u32 = u32::MAX;

impl Traces {
    pub(super) fn len(&self) -> usize {
        self.traces.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.traces.capacity() * size_of::<Trace>()
            + self.known.capacity() * 9
            + self.schedules.capacity()
            + self.threads.capacity() * size_of::<Thread>()
            + self.prints.capacity() * 8
            + self.clocks.capacity() * 2
            + self.lists.capacity() * 17
            + self.entries.capacity() * 8
    }

    /// Stores the trace of a run and returns its number, unless it is there already.
    /// `observers` are steps whose accesses do not count.
    pub(super) fn add(&mut self, run: &Run, clocks: &Clocks, observers: &[u32]) -> Option<u32> {
        if !self.known.insert(clocks.trace_fingerprint()) {
            return None;
        }
        let number = self.traces.len() as u32;
        let count = run.threads.len();
        self.traces.push(Trace {
            schedule: self.schedules.len() as u32,
            len: run.steps.len() as u32,
            threads: self.threads.len() as u32,
            count: count as u32,
            prints: self.prints.len() as u32,
            clocks: self.clocks.len(),
        });
        self.schedules.extend(run.steps.iter().map(|step| step.thread));
        let start = self.prints.len() as u32;
        for (index, record) in run.threads.iter().enumerate() {
            let thread = ThreadId(index as u8);
            let steps = clocks.steps_of(thread);
            self.threads.push(Thread {
                first: self.prints.len() as u32 - start,
                steps: steps.len() as u32,
                birth: clocks.birth_fingerprint(thread),
                parent: record.parent.unwrap_or(thread),
                born_at: record.born_at,
            });
            for &step in steps {
                let print = clocks.fingerprint(step as usize);
                if observers.binary_search(&step).is_ok() {
                    self.observers.insert(self.prints.len());
                }
                self.prints.push(print);
                self.clocks.extend(clocks.past(step as usize)[..count].iter().map(|&own| own as u16));
                let list = self.lists.entry(print).or_insert((0, NONE));
                self.entries.push((number, list.1));
                *list = (list.0 + 1, self.entries.len() as u32 - 1);
            }
        }
        Some(number)
    }

    /// Is step `own` of `thread` in the prefix W of `trace` for the race (g, f)? The two are given as thread and number.
    fn inside(&self, trace: &Trace, thread: ThreadId, own: u32, race: &[Option<(ThreadId, u32)>; 2]) -> bool {
        let at = (self.threads[trace.threads as usize + thread.index()].first + own - 1) as usize;
        let row = &self.clocks[trace.clocks + at * trace.count as usize..];
        race.iter().flatten().all(|&(other, number)| u32::from(row[other.index()]) < number)
    }

    /// Calls `found` with the steps of W in their order: each as a thread and its number.
    fn prefix(&self, trace: usize, g: usize, f: usize, end: usize, mut found: impl FnMut(ThreadId, u32)) {
        let trace = &self.traces[trace];
        let schedule = &self.schedules[trace.schedule as usize..][..trace.len as usize];
        let number = |at: usize| {
            schedule.get(at).map(|&thread| {
                (thread, schedule[..=at].iter().filter(|&&other| other == thread).count() as u32)
            })
        };
        let race = [number(g), number(f)];
        let mut owns = [0_u32; crate::event::ThreadSet::CAPACITY];
        for &thread in &schedule[..end] {
            let own = &mut owns[thread.index()];
            *own += 1;
            if self.inside(trace, thread, *own, &race) {
                found(thread, *own);
            }
        }
    }

    /// Prepares the W of a race, for [`Traces::covered`].
    pub(super) fn cut(&mut self, trace: usize, g: usize, f: usize, end: usize) {
        let mut cut = std::mem::take(&mut self.cut);
        cut.clear();
        cut.resize(self.traces[trace].count as usize, (0, 0));
        self.prefix(trace, g, f, end, |thread, own| cut[thread.index()].0 = own);
        for (index, last) in cut.iter_mut().enumerate().filter(|(_, last)| last.0 > 0) {
            last.1 = self.print(trace, index, last.0);
        }
        self.cut = cut;
    }

    fn print(&self, trace: usize, thread: usize, own: u32) -> u64 {
        let trace = &self.traces[trace];
        let first = self.threads[trace.threads as usize + thread].first;
        self.prints[(trace.prints + first + own - 1) as usize]
    }

    /// Does a trace begin with the prefix last cut, out of `trace`, followed by `thread`? Not with an observer, if the
    /// step of `thread` is `opaque`.
    pub(super) fn covered(&mut self, trace: usize, thread: ThreadId, opaque: bool) -> bool {
        let list = |last: &(u32, u64)| self.lists.get(&last.1).copied().unwrap_or((0, NONE));
        let rarest = self.cut.iter().filter(|last| last.0 > 0).map(list).min();
        let Some((_, mut entry)) = rarest else {
            return (0..self.traces.len()).any(|other| self.begins(other, trace, thread, opaque));
        };
        while entry != NONE {
            let (other, next) = self.entries[entry as usize];
            if self.begins(other as usize, trace, thread, opaque) {
                return true;
            }
            entry = next;
        }
        false
    }

    /// Does trace `other` begin so?
    fn begins(&mut self, other: usize, trace: usize, thread: ThreadId, opaque: bool) -> bool {
        let found = self.traces[other];
        let threads = &self.threads[found.threads as usize..][..found.count as usize];
        self.counts.clear();
        self.counts.resize(found.count as usize, 0);
        let mut follows = None;
        for (index, &(own, print)) in self.cut.iter().enumerate() {
            if own == 0 {
                continue;
            }
            let has = |at: usize| {
                threads.get(at).is_some_and(|thread| {
                    thread.steps >= own
                        && self.prints[(found.prints + thread.first + own - 1) as usize] == print
                })
            };
            // Threads are numbered by their creation, which may be in another order there.
            let at = if has(index) { Some(index) } else { (0..threads.len()).find(|&at| has(at)) };
            let Some(at) = at else { return false };
            self.counts[at] = own;
            if index == thread.index() {
                follows = Some(at);
            }
        }
        if self.cut[thread.index()].0 == 0 {
            let birth = self.threads[self.traces[trace].threads as usize + thread.index()].birth;
            follows = threads.iter().position(|thread| thread.birth == birth);
        }
        let Some(at) = follows else { return false };
        let own = self.counts[at];
        if threads[at].steps <= own {
            return false;
        }
        if opaque && self.observers.contains(&((found.prints + threads[at].first + own) as usize)) {
            return false;
        }
        let row = found.clocks + (threads[at].first + own) as usize * found.count as usize;
        self.counts[at] += 1;
        self.clocks[row..][..found.count as usize]
            .iter()
            .zip(&self.counts)
            .all(|(&past, &count)| u32::from(past) <= count)
    }

    /// Writes W as a schedule, and returns the number of `thread` in it: without g, threads may be created in
    /// another order and so have other numbers.
    pub(super) fn schedule(
        &mut self,
        trace: usize,
        g: usize,
        f: usize,
        end: usize,
        thread: ThreadId,
        into: &mut Vec<ThreadId>,
    ) -> ThreadId {
        let mut names = std::mem::take(&mut self.names);
        names.clear();
        let stored = self.traces[trace];
        let births = std::mem::take(&mut self.births);
        let births = self.births_of(&stored, births);
        names.resize(births.len(), ThreadId(u8::MAX));
        let mut used = 0;
        create(&births, &mut names, &mut used, ThreadId(0));
        into.clear();
        self.prefix(trace, g, f, end, |thread, own| {
            into.push(names[thread.index()]);
            create_children(&births, &mut names, &mut used, thread, own);
        });
        self.births = births;
        let then = names[thread.index()];
        self.names = names;
        then
    }
}

impl Traces {
    /// Who created each thread of a trace, after how many of its steps.
    fn births_of(&self, trace: &Trace, mut births: Vec<(ThreadId, u32)>) -> Vec<(ThreadId, u32)> {
        births.clear();
        let threads = &self.threads[trace.threads as usize..][..trace.count as usize];
        births.extend(threads.iter().map(|thread| (thread.parent, thread.born_at)));
        births
    }
}

/// A schedule in another order: without what came between, threads may be created in another order and so have
/// other numbers. `births` says who created each thread, after how many of its steps.
pub(super) fn rename(
    births: &[(ThreadId, u32)],
    schedule: impl Iterator<Item = ThreadId>,
) -> Box<[ThreadId]> {
    let mut names = vec![ThreadId(u8::MAX); births.len()];
    let mut owns = vec![0; births.len()];
    let mut used = 0;
    create(births, &mut names, &mut used, ThreadId(0));
    schedule
        .map(|thread| {
            owns[thread.index()] += 1;
            let name = names[thread.index()];
            create_children(births, &mut names, &mut used, thread, owns[thread.index()]);
            name
        })
        .collect()
}

/// Numbers a thread that is created now, and those it creates before its first step.
fn create(births: &[(ThreadId, u32)], names: &mut [ThreadId], used: &mut u8, thread: ThreadId) {
    names[thread.index()] = ThreadId(*used);
    *used += 1;
    create_children(births, names, used, thread, 0);
}

/// Numbers those that `thread` creates after its step `own`.
fn create_children(
    births: &[(ThreadId, u32)],
    names: &mut [ThreadId],
    used: &mut u8,
    thread: ThreadId,
    own: u32,
) {
    for (index, &birth) in births.iter().enumerate().skip(1) {
        if birth == (thread, own) {
            create(births, names, used, ThreadId(index as u8));
        }
    }
}

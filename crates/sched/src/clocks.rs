//! Vector clocks of a run: which step happens before which (Lamport 1978; Fidge 1988, Mattern 1989).
//!
//! A step happens after the steps of its own thread, after the step in which its thread was created, after the last
//! step of a thread it saw the end of, and after every earlier step that it *depends* on: one that touched the same
//! location, where one of the two wrote. What follows from these by transitivity is the order of the run's trace
//! (Mazurkiewicz 1977): two runs with the same order are the same but for the sequence of steps that do not matter to
//! each other.
//!
//! **Fingerprints.** With a fixed program a step is determined by its past. The fingerprint of a step hashes the
//! fingerprints of the steps it directly follows, so it stands for the step together with its whole past, in every run:
//! it mentions neither the numbers of threads nor of locations, which may differ between runs of one trace.
//! The sum over the last steps of all threads stands for the whole trace.
//!
//! Everything is kept in flat arrays that are reused. Runs of a depth-first search share long beginnings: only what is
//! behind them is computed ([`Clocks::update`]).

use crate::event::{Access, Action, Effect, Loc, ThreadId, ThreadSet};
use crate::run::Run;

/// The happens-before order of a run.
#[derive(Debug, Default)]
pub struct Clocks {
    /// Threads a row has room for.
    stride: usize,
    /// One row a step: how many steps of each thread are in its past, itself included.
    rows: Vec<u32>,
    steps: Vec<StepClock>,
    /// The steps of each thread.
    positions: Vec<Vec<u32>>,
    links: Vec<Link>,
    /// The latest access to each location, as an index into `links`; locations are numbered by [`slot`].
    latest: Vec<u32>,
    /// Who created each thread and when, and how many that one had created before.
    births: Vec<Birth>,
    /// Steps whose accesses do not count, in order.
    ignored: Vec<u32>,
    /// Does nothing count that is touched because of claims?
    without_claims: bool,
}

#[derive(Clone, Copy, Debug)]
struct StepClock {
    thread: ThreadId,
    /// Its number among the steps of its thread, from 1.
    own: u32,
    /// Its first link.
    first: u32,
    fingerprint: u64,
}

/// An access, linked to the one before it at the same location.
#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    /// The latest write before it at the same location.
    write_before: u32,
    step: u32,
    loc: u32,
    writes: bool,
    /// By a claim: it lets nobody go on who waits.
    claims: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Birth {
    parent: ThreadId,
    born_at: u32,
    /// How many the parent had created before, since its last step.
    rank: u32,
}

const NONE: u32 = u32::MAX;

impl Clocks {
    /// Clocks of no run yet.
    pub fn new() -> Clocks {
        Clocks::default()
    }

    /// Clocks of what the program does, whatever is claimed about it: claims change nothing in the program, so every order
    /// that these allow is one of a run with the same steps and results.
    pub fn without_claims() -> Clocks {
        Clocks { without_claims: true, ..Clocks::default() }
    }

    /// Makes these the clocks of `run`, whose first `shared` steps were those of the run before.
    pub fn update(&mut self, run: &Run, shared: usize) {
        self.truncate(shared);
        self.extend(run);
    }

    /// As [`Clocks::update`] from the beginning, as if the steps `ignored`, given in order, touched nothing.
    pub(crate) fn update_without(&mut self, run: &Run, ignored: &[u32]) {
        self.ignored.clear();
        self.ignored.extend_from_slice(ignored);
        self.update(run, 0);
    }

    /// Forgets all but the first `len` steps.
    pub fn truncate(&mut self, len: usize) {
        let Some(first) = self.steps.get(len).map(|step| step.first as usize) else { return };
        for link in self.links.drain(first..).rev() {
            self.latest[link.loc as usize] = link.before;
        }
        for step in self.steps.drain(len..) {
            self.positions[step.thread.index()].pop();
        }
        self.rows.truncate(len * self.stride);
    }

    /// Takes in the steps of `run` that are not yet in.
    pub fn extend(&mut self, run: &Run) {
        if run.threads.len() > self.stride {
            self.widen(run.threads.len());
        }
        self.births(run);
        for index in self.steps.len()..run.steps.len() {
            self.push(run, index);
        }
    }

    /// How many steps are in.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Is no step in?
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many steps of each thread are in the past of step `index`, which counts itself.
    #[inline]
    pub fn past(&self, index: usize) -> &[u32] {
        &self.rows[index * self.stride..(index + 1) * self.stride]
    }

    /// Does step `i` happen before step `j`, or is it the same?
    #[inline]
    pub fn before_or_equal(&self, i: usize, j: usize) -> bool {
        let step = &self.steps[i];
        self.rows[j * self.stride + step.thread.index()] >= step.own
    }

    /// The steps of `thread`, as positions in the run.
    #[inline]
    pub fn steps_of(&self, thread: ThreadId) -> &[u32] {
        self.positions.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// The number of step `index` among the steps of its thread, from 1.
    #[inline]
    pub fn own(&self, index: usize) -> u32 {
        self.steps[index].own
    }

    /// The step of the same thread before step `index`.
    #[inline]
    pub fn previous(&self, index: usize) -> Option<usize> {
        let step = &self.steps[index];
        let at = (step.own as usize).checked_sub(2)?;
        Some(self.positions[step.thread.index()][at] as usize)
    }

    /// A number that stands for step `index` with its past, in every run of the program.
    #[inline]
    pub fn fingerprint(&self, index: usize) -> u64 {
        self.steps[index].fingerprint
    }

    /// A number that stands for `thread` before its first step, in every run of the program.
    pub fn birth_fingerprint(&self, thread: ThreadId) -> u64 {
        let Some(birth) = self.births.get(thread.index()).filter(|birth| birth.parent != thread) else {
            return mix(thread.index() as u64);
        };
        let creator = match (birth.born_at as usize).checked_sub(1) {
            None => self.birth_fingerprint(birth.parent),
            Some(at) => {
                let position = self.positions[birth.parent.index()].get(at);
                // Its creator may be in the middle of that step, as where a thread ends inside an atomic block.
                let step = position.and_then(|&position| self.steps.get(position as usize));
                step.map_or(0, |step| step.fingerprint)
            }
        };
        mix(creator.wrapping_add(0x5851_f42d_4c95_7f2d).wrapping_mul(3 + 2 * u64::from(birth.rank)))
    }

    /// A number that stands for the whole trace.
    pub fn trace_fingerprint(&self) -> u64 {
        self.positions
            .iter()
            .filter_map(|positions| positions.last())
            .fold(0, |sum, &last| u64::wrapping_add(sum, self.steps[last as usize].fingerprint))
    }

    /// Calls `found` with every earlier step that step `index` depends on directly: the latest write to what it
    /// touches, and the reads since where it writes. A step may come up more than once.
    #[inline]
    pub fn dependences(&self, index: usize, mut found: impl FnMut(usize)) {
        let first = self.steps[index].first as usize;
        let end = self.steps.get(index + 1).map_or(self.links.len(), |next| next.first as usize);
        for link in &self.links[first..end] {
            self.followed(link, |other| {
                if other as usize != index {
                    found(other as usize);
                }
            });
        }
    }

    /// Calls `found` with every earlier write to a location that step `index` touches, latest first for each. Claims do not
    /// count.
    pub fn writes_before(&self, index: usize, mut found: impl FnMut(usize)) {
        let first = self.steps[index].first as usize;
        let end = self.steps.get(index + 1).map_or(self.links.len(), |next| next.first as usize);
        for link in self.links[first..end].iter().filter(|link| !link.claims) {
            self.chain(link.write_before, |step| {
                if step != index {
                    found(step);
                }
            });
        }
    }

    /// Calls `found` with every write to `loc`, latest first.
    pub fn writes_to(&self, loc: Loc, found: impl FnMut(usize)) {
        let latest = self.latest.get(slot(loc)).copied().unwrap_or(NONE);
        let write = match self.links.get(latest as usize) {
            Some(link) if !link.writes => link.write_before,
            _ => latest,
        };
        self.chain(write, found);
    }

    fn chain(&self, mut write: u32, mut found: impl FnMut(usize)) {
        while let Some(link) = self.links.get(write as usize) {
            if !link.claims {
                found(link.step as usize);
            }
            write = link.write_before;
        }
    }

    /// The steps that an access follows directly.
    #[inline]
    fn followed(&self, link: &Link, mut found: impl FnMut(u32)) {
        if !link.writes {
            if link.write_before != NONE {
                found(self.links[link.write_before as usize].step);
            }
            return;
        }
        let mut before = link.before;
        while before != NONE {
            let other = &self.links[before as usize];
            found(other.step);
            if other.writes {
                break;
            }
            before = other.before;
        }
    }

    fn push(&mut self, run: &Run, index: usize) {
        let thread = run.steps[index].thread;
        let first = self.links.len() as u32;
        let start = self.rows.len();
        let previous = self.positions[thread.index()].last().copied();
        let mut fingerprint = match previous {
            Some(position) => {
                let from = position as usize * self.stride;
                self.rows.extend_from_within(from..from + self.stride);
                self.steps[position as usize].fingerprint
            }
            None => {
                self.be_born(thread);
                self.birth_fingerprint(thread)
            }
        };
        self.positions[thread.index()].push(index as u32);
        let own = self.positions[thread.index()].len() as u32;
        // What a step touches because of claims comes in no particular order.
        let mut claimed = 0_u64;
        let counts = self.ignored.is_empty() || self.ignored.binary_search(&(index as u32)).is_err();
        let accesses = if counts { run.accesses_of(index) } else { &[] };
        for &access in accesses {
            if self.without_claims && access.action == Action::Claim {
                continue;
            }
            let followed = self.add(access, index, start);
            if access.action == Action::Claim {
                claimed = claimed.wrapping_add(mix(followed));
            } else {
                fingerprint = mix(fingerprint ^ followed.rotate_left(17));
            }
        }
        fingerprint = fingerprint.wrapping_add(claimed);
        self.rows[start + thread.index()] = own;
        fingerprint = mix(fingerprint.wrapping_add(u64::from(own)));
        self.steps.push(StepClock { thread, own, first, fingerprint });
    }

    /// The row of a thread that takes its first step: that of its creator, then.
    fn be_born(&mut self, thread: ThreadId) {
        let mut thread = thread;
        let mut source = None;
        while let Some(birth) = self.births.get(thread.index()).filter(|birth| birth.parent != thread) {
            if let Some(at) = (birth.born_at as usize).checked_sub(1) {
                source = self.positions[birth.parent.index()].get(at).copied();
                break;
            }
            thread = birth.parent;
        }
        match source {
            Some(position) => {
                let from = position as usize * self.stride;
                self.rows.extend_from_within(from..from + self.stride);
            }
            None => self.rows.resize(self.rows.len() + self.stride, 0),
        }
    }

    /// Links an access of step `index`, whose row begins at `row`; returns a hash of the steps it follows.
    #[inline]
    fn add(&mut self, access: Access, index: usize, row: usize) -> u64 {
        if let Some(ended) = access.loc.ended_thread() {
            let last = self.positions.get(ended.index()).and_then(|positions| positions.last());
            return match last {
                Some(&last) => {
                    self.join(last as usize, row);
                    self.steps[last as usize].fingerprint
                }
                None => self.birth_fingerprint(ended),
            };
        }
        let loc = slot(access.loc);
        if loc >= self.latest.len() {
            self.latest.resize(loc + 1, NONE);
        }
        let before = self.latest[loc];
        let write_before = match self.links.get(before as usize) {
            Some(link) if !link.writes => link.write_before,
            _ => before,
        };
        let writes = access.effect.writes();
        let claims = access.action == Action::Claim;
        let link = Link { before, write_before, step: index as u32, loc: loc as u32, writes, claims };
        let mut hash = match access.effect {
            Effect::Read => 1,
            Effect::Write => 2,
            Effect::ReadWrite => 3,
        };
        // `followed` borrows everything, so its loop is written out here.
        let mut at = if writes { before } else { write_before };
        while at != NONE {
            let other = self.links[at as usize];
            if other.step != index as u32 {
                self.join(other.step as usize, row);
                hash = u64::wrapping_add(hash, self.steps[other.step as usize].fingerprint);
            }
            if other.writes {
                break;
            }
            at = other.before;
        }
        self.latest[loc] = self.links.len() as u32;
        self.links.push(link);
        hash
    }

    #[inline]
    fn join(&mut self, step: usize, row: usize) {
        let (earlier, later) = self.rows.split_at_mut(row);
        let from = &earlier[step * self.stride..(step + 1) * self.stride];
        for (mine, &theirs) in later.iter_mut().zip(from) {
            *mine = (*mine).max(theirs);
        }
    }

    /// Makes room for more threads.
    fn widen(&mut self, threads: usize) {
        let stride = threads.next_power_of_two().max(4);
        let mut rows = Vec::with_capacity(self.steps.len() * stride);
        for row in self.rows.chunks_exact(self.stride.max(1)) {
            rows.extend_from_slice(row);
            rows.resize(rows.len() + stride - self.stride, 0);
        }
        self.rows = rows;
        self.stride = stride;
        self.positions.resize_with(stride, Vec::new);
    }

    fn births(&mut self, run: &Run) {
        if self.steps.is_empty() {
            self.births.clear();
        }
        self.births.truncate(run.threads.len());
        for (index, record) in run.threads.iter().enumerate() {
            let thread = ThreadId(index as u8);
            let parent = record.parent.unwrap_or(thread);
            let same = |birth: &&Birth| birth.parent == parent && birth.born_at == record.born_at;
            if self.births.get(index).is_some_and(|birth| same(&birth)) {
                continue;
            }
            self.births.truncate(index);
            let rank = self.births.iter().filter(same).count() as u32;
            self.births.push(Birth { parent, born_at: record.born_at, rank });
        }
    }
}

/// A small number for a location: first those that stand for the progress of threads, then memory.
#[inline]
fn slot(loc: Loc) -> usize {
    match loc.progressing_thread() {
        Some(thread) => thread.index(),
        None => ThreadSet::CAPACITY + loc.0 as usize,
    }
}

#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let value = (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    value ^ (value >> 32)
}

//! From the rings to whoever checks: takes what threads have published, in rounds.
//!
//! A round first looks at every object's counter, then takes everything from every ring, then *seals*: an
//! event with a number below what was looked at had been numbered before the round began; whatever call it
//! could have seen had been published before that, and so was taken in this round at the latest. (The call's
//! publication happens before its effect, the effect before the numbering of the event that saw it, the
//! numbering before the look, the look before the taking.) The same holds for threads that join: joining
//! comes before the first record.
//!
//! # Objects are let in after a ring was taken, before what was taken is told
//!
//! An object is put on the registry's list before its handle exists, whoever logs about it has got the
//! handle, and a record is published after it was made: so its registration happens before the publication of
//! any record about it, and whoever has *taken* such a record (an acquire load of the ring's end) finds the
//! object on the list. Letting objects in only before the rings are taken is too early: an object may be
//! made, used and published in between, and its first records would be about nobody. So after each ring the
//! list is looked at, and newcomers are let in and told before the records are.
//!
//! - An object that is dropped at once is on the list all the same; the list holds what is needed.
//! - It has no look in its first round, and is sealed in the next.
//! - A thread is let in *before* the rings are taken and after the looks: the seal needs that. One that ends
//!   before it was let in has left its ring; a ring is forgotten only when its thread is gone and it is
//!   empty.
//! - A thread that logs while it ends has a second ring. Rings are read in the order in which they were made,
//!   and a thread's next ring not before the last one was read to its end; the second ring was made after the
//!   last record of the first.
//!
//! # Barriers
//!
//! A call that only *reads* may have read before its record is visible. So between the look and the taking
//! every thread passes a barrier ([`crate::barrier`]): a call whose record comes after that began, for all
//! its reads can tell, after the numbers that were looked at. Its own look may be older (the thread was
//! interrupted in between); it is raised to the seal, if that was made with a barrier. Without such a barrier
//! calls have a fence each. Exact commits need none of this, and objects that have nothing else are sealed
//! without a barrier.
//!
//! # What stays behind
//!
//! Where a ring is not read to its end, because what is next in it is too far ahead ([`crate::gate`]), its
//! object is sealed no further than that: the looks of a thread at one object never go back, so what stays in
//! the ring has looks at least as large. What stands behind it about other objects is not known, and they are
//! not sealed in this round.
//!
//! At the end, and where an object is no longer logged, there is a mark: what comes after it is left out
//! ([`crate::marks`]).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::event::{Event, ObjectId, ThreadId};
use crate::file::{Counts, Frame, Writer};
use crate::gate::Gate;
use crate::local::IDLE;
use crate::marks::{Mark, Marks};
use crate::object::Watched;
use crate::primitive::Ordering;
use crate::record::{self, Kind};
use crate::registry::{Entrant, Member, Registry};
use crate::stamp::{Stamps, ticks};
use crate::ticks::{SLACK, Widen};
use crate::unpack::Held;

/// Who is told.
pub(crate) trait Sink {
    /// An object takes part.
    fn object(&mut self, entrant: Entrant);
    /// An event, in the order of its thread.
    fn event(&mut self, event: Event);
    /// Every call that an event of `object` with a smaller number could have seen was told.
    fn seal(&mut self, object: ObjectId, number: u64);
    /// So many records of this object were lost until now.
    fn lost(&mut self, object: ObjectId, count: u64);
    /// At the end: what was taken of this object, all in all.
    fn counted(&mut self, object: ObjectId, counts: Counts);
    /// At the end: this thread has not ended.
    fn running(&mut self, thread: ThreadId);
    /// A good moment to judge what was told.
    fn pause(&mut self);
}

/// The reading ends of all rings.
#[derive(Debug)]
pub(crate) struct Drain {
    registry: Arc<Registry>,
    members: Vec<Member>,
    objects: Vec<Followed>,
    words: Vec<u64>,
    gate: Gate,
    marks: Marks,
    refused: Refused,
    file: Option<Writer>,
    /// Bytes that have reached the operating system.
    written: Arc<AtomicU64>,
    /// With ticks for stamps.
    widen: Option<Widen>,
    /// The log file's first trouble; nothing is written after it.
    pub(crate) trouble: Option<std::io::Error>,
}

#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) watched: Arc<Watched>,
    sealed: u64,
    /// As far as it was sealed with a barrier.
    barred: u64,
    lost: u64,
    pub(crate) counts: Counts,
    pub(crate) mark: Mark,
}

/// Operations whose calls made no sense (a value that is nested too deep): what they logged later is nothing
/// that could be judged either.
#[derive(Debug, Default)]
struct Refused(Vec<(ThreadId, ObjectId)>);

impl Refused {
    fn note(&mut self, thread: ThreadId, kind: Option<Kind>, object: ObjectId) {
        if kind == Some(Kind::Call) {
            self.0.push((thread, object));
        }
    }

    /// Is this of an operation that was refused?
    #[inline]
    fn is_refused(&mut self, thread: ThreadId, kind: Option<Kind>, object: ObjectId) -> bool {
        let Some(place) = self.0.iter().position(|open| *open == (thread, object)) else { return false };
        match kind {
            Some(Kind::Return | Kind::Abandon) => {
                self.0.swap_remove(place);
                true
            }
            Some(Kind::Commit | Kind::CommitBlock | Kind::Window | Kind::CommitAt | Kind::CommitAfter) => {
                true
            }
            _ => false,
        }
    }
}

/// What a round found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Round {
    /// Words taken.
    pub(crate) words: usize,
    /// Threads that can still log.
    pub(crate) threads: usize,
    /// Did something stay in the rings?
    pub(crate) held: bool,
}

impl Drain {
    /// Reads what is at most a `window` of numbers ahead of what was judged; everything, without one.
    pub(crate) fn new(registry: Arc<Registry>, file: Option<Writer>, window: Option<u64>) -> Drain {
        let (widen, error) = match registry.stamps {
            Stamps::Numbers => (None, None),
            Stamps::Ticks { error } => (Some(Widen::new(error)), Some(error)),
        };
        Drain {
            registry,
            members: Vec::new(),
            objects: Vec::new(),
            words: Vec::new(),
            gate: Gate::new(window),
            marks: Marks::new(error),
            refused: Refused::default(),
            file,
            written: Arc::default(),
            widen,
            trouble: None,
        }
    }

    /// The program wants to know: what is logged from now on is left out, and the gate opens for the rest.
    pub(crate) fn mark_the_end(&mut self, sink: &mut impl Sink) {
        self.gate.open();
        self.admit_objects(sink);
        self.marks.end(&mut self.objects);
    }

    /// Was everything taken that came before the end was marked?
    pub(crate) fn is_over(&self) -> bool {
        self.marks.is_over(&self.objects)
    }

    /// Takes everything that is there and not too far ahead.
    pub(crate) fn round(&mut self, sink: &mut impl Sink) -> Round {
        self.marks.begin_round();
        let looks: Vec<u64> = self.objects.iter().map(|object| object.watched.counter.look()).collect();
        let grown = self.objects.iter().zip(&looks).any(|(object, look)| *look > object.sealed);
        let until = self.until();
        let barred = self.registry.barrier.pass_if(grown && self.registry.needs_barrier());
        self.admit_threads();
        let limits: Vec<u64> = self.objects.iter().map(|object| self.gate.limit(&object.watched)).collect();
        let too_far =
            |object: ObjectId, stamp| limits.get(usize::from(object.0)).is_some_and(|limit| stamp > *limit);
        let oldest = self.crowded().then_some(until);
        let mut round = Round::default();
        let mut held: Vec<Held> = Vec::new();
        let mut behind: Vec<ThreadId> = Vec::new();
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            let thread = member.thread;
            let since = member.since.load(Ordering::Acquire);
            if oldest.is_some_and(|oldest| since > oldest) || behind.contains(&thread) {
                behind.push(thread);
                round.held = true;
                continue;
            }
            self.words.clear();
            let (words, stays) = match self.widen {
                Some(_) => member.ring.take(|_, _| false, &mut self.words),
                None => member.ring.take(too_far, &mut self.words),
            };
            round.words += words;
            if stays.is_some() {
                behind.push(thread);
                held.extend(stays);
            }
            if !self.words.is_empty() {
                self.hand_on(thread, sink);
            }
        }
        round.held |= !held.is_empty();
        self.gate.note(round.held, self.judged());
        // A ring that is finished now had nothing left after its thread was gone.
        self.members.retain(|member| !member.ring.is_finished());
        round.threads = self.members.len();
        self.admit_objects(sink);
        if self.widen.is_some() {
            self.place(until, sink);
        } else if barred || !self.registry.needs_barrier() {
            self.seal(&looks, &held, barred, sink);
        }
        if round.words > 0 {
            self.flush();
        }
        round
    }

    /// Tells of the records that were just taken.
    fn hand_on(&mut self, thread: ThreadId, sink: &mut impl Sink) {
        self.admit_objects(sink);
        self.marks.cut(&mut self.words, &mut self.objects, &self.registry.common);
        if self.words.is_empty() {
            return;
        }
        self.raise();
        let Drain { words, objects, widen, refused, .. } = self;
        let mut readable: Vec<u64> = Vec::new();
        let (mut from, mut whole) = (0, true);
        while let Some(header) = words.get(from) {
            let (kind, object) = record::kind_and_object(*header);
            let length = record::length(*header).min(words.len() - from);
            let record = &words[from..from + length];
            let known = objects.get_mut(usize::from(object.0));
            let of_refused = refused.is_refused(thread, kind, object);
            match record::read(thread, record).filter(|_| !of_refused) {
                Some(event) => {
                    if let Some(object) = known {
                        object.counts.count(&event);
                    }
                    if !whole {
                        readable.extend(record);
                    }
                    match widen {
                        Some(widen) => widen.push(event),
                        None => sink.event(event),
                    }
                }
                None => {
                    if std::mem::take(&mut whole) {
                        readable.extend(&words[..from]);
                    }
                    refused.note(thread, kind, object);
                    if let Some(object) = known {
                        object.watched.refuse(record.get(1).copied().unwrap_or(0));
                    }
                }
            }
            from += length;
        }
        if !whole {
            self.words = readable;
        }
        if !self.words.is_empty() {
            self.keep(|file, words| file.records(thread, words));
        }
    }

    /// Ticks: do more events wait for their place than should?
    fn crowded(&self) -> bool {
        let waiting = self.widen.as_ref().map_or(0, Widen::waiting);
        self.gate.width().is_some_and(|width| waiting as u64 > width)
    }

    /// What tells whether anything moves.
    fn judged(&self) -> u64 {
        let placed = self.widen.as_ref().map_or(0, Widen::placed);
        self.objects.iter().fold(placed, |sum, object| sum.wrapping_add(object.watched.judged()))
    }

    /// Ticks: no event with a smaller stamp will come.
    fn until(&self) -> u64 {
        let now = ticks().saturating_sub(SLACK);
        self.members
            .iter()
            .map(|member| member.since.load(Ordering::Acquire))
            .filter(|since| *since != IDLE)
            .fold(now, u64::min)
    }

    /// Calls whose records came after a seal began after it.
    fn raise(&mut self) {
        if self.widen.is_some() || !self.registry.needs_barrier() {
            return;
        }
        let mut at = 0;
        while let Some(header) = self.words.get(at) {
            if let Some(object) = record::object_of_call(*header)
                && let Some(object) = self.objects.get(usize::from(object.0))
                && let Some(stamp) = self.words.get_mut(at + 1)
            {
                *stamp = (*stamp).max(object.barred);
            }
            at += record::length(self.words[at]);
        }
    }

    /// Ticks: places what can be placed.
    fn place(&mut self, until: u64, sink: &mut impl Sink) {
        let Some(mut widen) = self.widen.take() else { return };
        for object in &mut self.objects {
            let lost = object.watched.lost();
            if lost > object.lost {
                object.lost = lost;
                widen.lost(object.watched.id, object.watched.lost_after());
                sink.lost(object.watched.id, lost);
            }
        }
        self.keep(|file, _| file.frame(&Frame::Seal(EVERY, until)));
        widen.advance(until, sink);
        self.widen = Some(widen);
    }

    /// Bytes in the log file.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, Writer::bytes)
    }

    /// Bytes in the log file that can be read back, as they grow.
    pub(crate) fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    fn flush(&mut self) {
        self.keep(|file, _| file.flush());
        if self.file.is_some() {
            self.written.store(self.bytes(), Ordering::Release);
        }
    }

    /// The objects met so far.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &Arc<Watched>> {
        self.objects.iter().map(|object| &object.watched)
    }

    /// No more rounds: says how much there was, and closes the log file.
    pub(crate) fn close(&mut self, sink: &mut impl Sink) {
        self.place(u64::MAX, sink);
        let running = self.members.iter().filter(|member| !member.ring.is_finished());
        let running: Vec<ThreadId> = running.map(|member| member.thread).collect();
        for thread in running {
            self.keep(|file, _| file.frame(&Frame::Running(thread)));
            sink.running(thread);
        }
        let counts: Vec<(ObjectId, Counts)> =
            self.objects.iter().map(|object| (object.watched.id, object.counts)).collect();
        for (object, counts) in &counts {
            self.keep(|file, _| file.frame(&Frame::Counts(*object, *counts)));
            sink.counted(*object, *counts);
        }
        self.keep(|file, _| file.frame(&Frame::End(counts.len() as u64)));
        self.flush();
    }

    /// Lets in the threads that came since the last round.
    fn admit_threads(&mut self) {
        for member in self.registry.new_threads() {
            let frame = Frame::Thread(member.thread, member.name.clone());
            self.keep(|file, _| file.frame(&frame));
            self.members.push(member);
        }
    }

    /// Lets in the objects that came since the last time; none once the end is marked.
    fn admit_objects(&mut self, sink: &mut impl Sink) {
        if self.marks.has_end() {
            return;
        }
        for entrant in self.registry.new_objects(self.objects.len()) {
            let watched = Arc::clone(&entrant.watched);
            let frame = Frame::Object(watched.id, entrant.description.clone());
            self.keep(|file, _| file.frame(&frame));
            let mark = self.marks.of(&watched);
            let counts = Counts::default();
            self.objects.push(Followed { watched, sealed: 0, barred: 0, lost: 0, counts, mark });
            sink.object(entrant);
        }
    }

    /// Objects that came in during this round have no look, and wait for the next.
    fn seal(&mut self, looks: &[u64], held: &[Held], barred: bool, sink: &mut impl Sink) {
        let mut frames = Vec::new();
        for (object, look) in self.objects.iter_mut().zip(looks) {
            let id = object.watched.id;
            let lost = object.watched.lost();
            if lost > object.lost {
                object.lost = lost;
                frames.push(Frame::Lost(id, lost));
                sink.lost(id, lost);
            }
            let up_to = |held: &Held| if held.object == id { held.stamp } else { 0 };
            let look = held.iter().map(up_to).fold(*look, u64::min).min(object.mark.0);
            if look > object.sealed {
                object.sealed = look;
                frames.push(Frame::Seal(id, look));
                sink.seal(id, look);
            }
            if barred {
                object.barred = object.sealed;
            }
        }
        for frame in frames {
            self.keep(|file, _| file.frame(&frame));
        }
    }

    /// Writes to the log file, until that fails once.
    fn keep(&mut self, write: impl FnOnce(&mut Writer, &[u64]) -> std::io::Result<()>) {
        if let Some(file) = &mut self.file
            && let Err(error) = write(file, &self.words)
        {
            self.trouble = Some(error);
            self.file = None;
        }
    }
}

/// However the verification ends, with a panic too, the program goes on: nobody waits for room in a ring,
/// whether its thread was let in or not. Not before the report is made: what is refused from here on is none
/// of its losses.
impl Drop for Drain {
    fn drop(&mut self) {
        self.members.clear();
        self.registry.close();
    }
}

/// In a log of ticks: the seal of all objects, which is a time.
pub(crate) const EVERY: ObjectId = ObjectId(u16::MAX);

#[cfg(test)]
mod tests;

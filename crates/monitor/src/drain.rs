//! From the rings to whoever checks: takes what threads have published, in rounds.
//!
//! A round first looks at every object's counter, then takes everything from every ring, then *seals*: an event with a number below what was
//! looked at had been numbered before the round began; whatever call it could have seen had been published before that, and so
//! was taken in this round at the latest. (The call's publication happens before its effect, the effect before the numbering of the event that
//! saw it, the numbering before the look, the look before the taking.) The same holds for threads that join: joining comes before the first record.
//!
//! A call that only *reads* may have read before its record is visible. So between the look and the taking every thread passes a
//! barrier ([`crate::barrier`]): a call whose record comes after that began, for all its reads can tell, after the numbers that were looked at. Its
//! own look may be older (the thread was interrupted in between); it is raised to the seal. Without such a barrier calls have a fence each.
//! Exact commits need none of this, and objects that have nothing else are sealed without a barrier.
//!
//! Where a ring is not read to its end, because what is next in it is too far ahead ([`crate::gate`]), its object is sealed no further than that: the looks of a thread at one
//! object never go back, so what stays in the ring has looks at least as large. What stands behind it about other objects is not known, and they are not sealed in
//! this round.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::event::{Event, ObjectId};
use crate::file::{Frame, Writer};
use crate::gate::Gate;
use crate::local::IDLE;
use crate::object::Watched;
use crate::primitive::Ordering;
use crate::record;
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
    file: Option<Writer>,
    /// Bytes that have reached the operating system.
    written: Arc<AtomicU64>,
    /// With ticks for stamps.
    widen: Option<Widen>,
    /// The log file's first trouble; nothing is written after it.
    pub(crate) trouble: Option<std::io::Error>,
}

#[derive(Debug)]
struct Followed {
    watched: Arc<Watched>,
    sealed: u64,
    lost: u64,
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
        let widen = match registry.stamps {
            Stamps::Numbers => None,
            Stamps::Ticks { error } => Some(Widen::new(error)),
        };
        let (members, objects, words) = (Vec::new(), Vec::new(), Vec::new());
        let gate = Gate::new(window);
        Drain { registry, members, objects, words, gate, file, written: Arc::default(), widen, trouble: None }
    }

    /// From now on takes everything.
    pub(crate) fn open_gate(&mut self) {
        self.gate.open();
    }

    /// Takes everything that is there and not too far ahead.
    pub(crate) fn round(&mut self, sink: &mut impl Sink) -> Round {
        let looks: Vec<u64> = self.objects.iter().map(|object| object.watched.counter.look()).collect();
        let grown = self.objects.iter().zip(&looks).any(|(object, look)| *look > object.sealed);
        let until = self.until();
        let barred = !(grown && self.registry.needs_barrier()) || self.registry.barrier.pass();
        self.admit(sink);
        let limits: Vec<u64> = self.objects.iter().map(|object| self.gate.limit(&object.watched)).collect();
        let too_far =
            |object: ObjectId, stamp| limits.get(usize::from(object.0)).is_some_and(|limit| stamp > *limit);
        let oldest = self.crowded().then_some(until);
        let mut round = Round::default();
        let mut held: Vec<Held> = Vec::new();
        for at in 0..self.members.len() {
            let member = &mut self.members[at];
            if oldest.is_some_and(|oldest| member.since.load(Ordering::Acquire) > oldest) {
                round.held = true;
                continue;
            }
            self.words.clear();
            let (words, stays) = match self.widen {
                Some(_) => member.ring.take(|_, _| false, &mut self.words),
                None => member.ring.take(too_far, &mut self.words),
            };
            round.words += words;
            held.extend(stays);
            if !self.words.is_empty() {
                let thread = member.thread;
                self.raise();
                self.keep(|file, words| file.records(thread, words));
                match &mut self.widen {
                    Some(widen) => record::tell(thread, &self.words, &mut |event| widen.push(event)),
                    None => record::tell(thread, &self.words, &mut |event| sink.event(event)),
                };
            }
        }
        round.held |= !held.is_empty();
        self.gate.note(round.held, self.judged());
        // A ring that is finished now had nothing left after its thread was gone.
        self.members.retain(|member| !member.ring.is_finished());
        round.threads = self.members.len();
        if self.widen.is_some() {
            self.place(until, sink);
        } else if barred || !self.registry.relies_on_barrier() {
            self.seal(&looks, &held, sink);
        }
        if round.words > 0 {
            self.flush();
        }
        round
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
                *stamp = (*stamp).max(object.sealed);
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

    /// No more rounds: closes the log file.
    pub(crate) fn close(&mut self, sink: &mut impl Sink) {
        self.place(u64::MAX, sink);
        self.keep(|file, _| file.frame(&Frame::End));
        self.flush();
    }

    /// Lets in who came since the last round.
    fn admit(&mut self, sink: &mut impl Sink) {
        let (threads, entrants) = self.registry.newcomers();
        for entrant in entrants {
            let watched = Arc::clone(&entrant.watched);
            let frame = Frame::Object(watched.id, entrant.description.clone());
            self.keep(|file, _| file.frame(&frame));
            self.objects.push(Followed { watched, sealed: 0, lost: 0 });
            sink.object(entrant);
        }
        for member in threads {
            let frame = Frame::Thread(member.thread, member.name.clone());
            self.keep(|file, _| file.frame(&frame));
            self.members.push(member);
        }
    }

    /// Objects that came in during this round have no look, and wait for the next.
    fn seal(&mut self, looks: &[u64], held: &[Held], sink: &mut impl Sink) {
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
            let look = held.iter().map(up_to).fold(*look, u64::min);
            if look > object.sealed {
                object.sealed = look;
                frames.push(Frame::Seal(id, look));
                sink.seal(id, look);
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

/// In a log of ticks: the seal of all objects, which is a time.
pub(crate) const EVERY: ObjectId = ObjectId(u16::MAX);

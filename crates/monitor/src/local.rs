//! A thread's end of the log: where records are written.
//!
//! A thread that meets a monitored object for the first time gets a ring; after that an event is a few
//! stores. What happens when the ring is full is the user's choice ([`Overflow`]). A record that is lost
//! still takes its number, so that nothing after it is ever judged.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::event::ThreadId;
use crate::object::Watched;
use crate::payload::{Form, Payload};
use crate::primitive::{AtomicU64, Ordering, Patience, fence};
use crate::record::{self, Kind};
use crate::registry::Registry;
use crate::ring::{Full, Place, Producer};
use crate::stamp::{Stamps, ticks};

/// What a thread does when its ring is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    /// It waits for the verification thread: nothing is lost, the program may be slowed down.
    #[default]
    Block,
    /// It goes on and the record is lost: the object cannot be judged from there on.
    Gap,
}

/// A thread's log.
#[derive(Debug)]
pub(crate) struct Local {
    registry: u64,
    thread: ThreadId,
    producer: Producer,
    overflow: Overflow,
    /// The stamp of the record before.
    before: Cell<u64>,
    /// Ticks only: no record with a smaller stamp will come from this thread; [`IDLE`] between operations.
    since: Arc<AtomicU64>,
    /// Ticks only: the last stamp.
    last: Cell<u64>,
    /// Ticks only: operations open on this thread, one inside another.
    depth: Cell<u32>,
}

/// The thread is in no operation.
pub(crate) const IDLE: u64 = u64::MAX;

/// A thread's logs.
struct Locals(RefCell<Vec<Rc<Local>>>);

impl Drop for Locals {
    fn drop(&mut self) {
        LAST.set(NONE);
        let mut ended = [(u64::MAX, ThreadId(0)); REMEMBERED];
        let logs = self.0.get_mut().iter().rev();
        ended.iter_mut().zip(logs).for_each(|(place, local)| *place = (local.registry, local.thread));
        ENDED.set(ended);
    }
}

/// So many logs of a thread are remembered while it ends.
const REMEMBERED: usize = 8;

/// Are the thread's logs gone? It is about to end then.
pub(crate) fn is_ending() -> bool {
    LOCALS.try_with(|_| ()).is_err()
}

/// No monitor has this number.
const NONE: (u64, *const Local) = (u64::MAX, std::ptr::null());

thread_local! {
    /// This thread's logs, one a monitor.
    static LOCALS: Locals = const { Locals(RefCell::new(Vec::new())) };
    /// The one used last, and of which monitor: found without looking through the others. The pointer is to
    /// one of `LOCALS`.
    static LAST: Cell<(u64, *const Local)> = const { Cell::new(NONE) };
    /// Monitors and the thread's numbers there, once `LOCALS` is gone: destructors of other variables of the
    /// thread may still log. It has no destructor itself.
    static ENDED: Cell<[(u64, ThreadId); REMEMBERED]> = const { Cell::new([(u64::MAX, ThreadId(0)); REMEMBERED]) };
}

impl Local {
    /// A log whose other end is registered.
    pub(crate) fn new(
        (registry, thread): (u64, ThreadId),
        producer: Producer,
        overflow: Overflow,
        since: Arc<AtomicU64>,
    ) -> Local {
        let (before, last, depth) = (Cell::new(0), Cell::new(0), Cell::new(0));
        Local { registry, thread, producer, overflow, before, since, last, depth }
    }

    /// This thread's log for `registry`.
    #[inline]
    pub(crate) fn of(registry: &Arc<Registry>) -> Rc<Local> {
        let (id, last) = LAST.get();
        if id != registry.id {
            return Local::find(registry);
        }
        // SAFETY: `LAST` has no destructor, so it can be read at any time. It points to a log in `LOCALS`,
        // which were made by `Rc`; it is reset whenever one of them is removed and when all of them are
        // dropped, and no other thread can see it.
        #[allow(unsafe_code)]
        unsafe {
            Rc::increment_strong_count(last);
            Rc::from_raw(last)
        }
    }

    #[cold]
    fn find(registry: &Arc<Registry>) -> Rc<Local> {
        let found = LOCALS.try_with(|locals| {
            let mut locals = locals.0.borrow_mut();
            let known = locals.iter().find(|local| local.registry == registry.id).cloned();
            known.unwrap_or_else(|| {
                // Logs of monitors that are gone stay behind otherwise.
                LAST.set(NONE);
                locals.retain(|local| !local.producer.is_abandoned());
                let local = Rc::new(registry.join(None));
                locals.push(Rc::clone(&local));
                local
            })
        });
        match found {
            Ok(local) => {
                LAST.set((registry.id, Rc::as_ptr(&local)));
                local
            }
            Err(_) => Local::once_more(registry),
        }
    }

    /// The thread is ending, and its logs are closed: another one, for what this operation has to say. The
    /// reader takes rings of one thread in the order in which they were made, so the thread's order is kept.
    fn once_more(registry: &Arc<Registry>) -> Rc<Local> {
        let mut ended = ENDED.get();
        let known = ended.iter().find(|(id, _)| *id == registry.id).map(|(_, thread)| *thread);
        let local = Rc::new(registry.join(known));
        if known.is_none() {
            ended.rotate_right(1);
            ended[0] = (registry.id, local.thread);
            ENDED.set(ended);
        }
        local
    }

    /// Logs a call; `false` where the record was lost.
    #[inline]
    pub(crate) fn call(&self, on: &Watched, op: u8, arg: &impl Payload) -> bool {
        let logged = self.put(on, Kind::Call, op, None, arg);
        if on.fence {
            fence(Ordering::SeqCst);
        }
        logged
    }

    /// Logs a numbered event with a payload.
    #[inline]
    pub(crate) fn answer(&self, on: &Watched, kind: Kind, value: &impl Payload) {
        self.put(on, kind, 0, None, value);
    }

    /// Logs a numbered event with nothing more to say.
    #[inline]
    pub(crate) fn plain(&self, on: &Watched, kind: Kind) {
        self.put(on, kind, 0, None, &());
    }

    /// Logs a numbered event with one word.
    #[inline]
    pub(crate) fn word(&self, on: &Watched, kind: Kind, word: u64) {
        self.put(on, kind, 0, Some(word), &());
    }

    /// Logs one write.
    #[inline]
    pub(crate) fn write(&self, on: &Watched, location: u64, value: &impl Payload) {
        self.put(on, Kind::Write, 0, Some(location), value);
    }

    /// Writes a record and publishes it, short where that can be; `false` where it was lost. The payload is
    /// code of the program's own, which may panic or log: it is asked before there is anything of the record
    /// that could be left half done.
    #[inline]
    fn put(&self, on: &Watched, kind: Kind, op: u8, word: Option<u64>, payload: &impl Payload) -> bool {
        let form = payload.form();
        let Some(count) = form.words() else { return self.put_coded(on, kind, op, word, payload) };
        let (mut words, mut given) = ([0; 2], 0);
        payload.write(&mut |word| {
            if let Some(place) = words.get_mut(given) {
                *place = word;
            }
            given += 1;
        });
        let whole = 2 + usize::from(word.is_some()) + count;
        let Some(place) = self.room(on, whole) else { return false };
        let stamp = self.stamp(on, kind);
        let tag = record::tag(kind, form, op, on.id);
        let mut at = match record::difference(stamp, self.before.replace(stamp)) {
            Some(difference) => {
                place.put(0, tag | record::SHORT | difference);
                1
            }
            None => {
                place.put(0, tag | (whole as u64) << 32);
                place.put(1, stamp);
                2
            }
        };
        if let Some(word) = word {
            place.put(at, word);
            at += 1;
        }
        for word in words.iter().take(count) {
            place.put(at, *word);
            at += 1;
        }
        self.producer.publish(place, at);
        true
    }

    /// The same with a value of any length, which is written in its place.
    fn put_coded(&self, on: &Watched, kind: Kind, op: u8, word: Option<u64>, payload: &impl Payload) -> bool {
        let head = 2 + usize::from(word.is_some());
        let whole = head + size(payload);
        let Some(place) = self.room(on, whole) else { return false };
        if !self.code(place, head..whole, payload, false) {
            on.lose(self.last.get());
            return false;
        }
        let stamp = self.stamp(on, kind);
        self.before.set(stamp);
        place.put(0, record::tag(kind, Form::Coded, op, on.id) | (whole as u64) << 32);
        place.put(1, stamp);
        if let Some(word) = word {
            place.put(2, word);
        }
        self.producer.publish(place, whole);
        true
    }

    /// Writes a value's words where they belong, in its own form or always coded; `false` where there are
    /// more or fewer than it said before. What it logs meanwhile is lost: it would stand in the same place.
    #[inline]
    fn code(&self, place: Place<'_>, room: Range<usize>, value: &impl Payload, always: bool) -> bool {
        let _held = self.producer.hold();
        let mut at = room.start;
        let mut put = |word| {
            if at < room.end {
                place.put(at, word);
            }
            at += 1;
        };
        if always {
            value.code(&mut put)
        } else {
            value.write(&mut put)
        }
        at == room.end
    }

    /// The stamp of a record: a look for a call, a number for all others.
    #[inline]
    fn stamp(&self, on: &Watched, kind: Kind) -> u64 {
        match (kind, on.stamps) {
            (Kind::Call, Stamps::Numbers) => on.counter.look(),
            (Kind::Call, Stamps::Ticks { .. }) => {
                if self.depth.replace(self.depth.get() + 1) == 0 {
                    self.since.store(self.last.get(), Ordering::Release);
                }
                self.tick()
            }
            _ => self.number(on),
        }
    }

    /// A look at the counter, or the time.
    #[inline]
    pub(crate) fn look(&self, on: &Watched) -> u64 {
        match on.stamps {
            Stamps::Numbers => on.counter.look(),
            Stamps::Ticks { .. } => self.tick(),
        }
    }

    /// The operation is over: no stamp of this thread is awaited.
    #[inline]
    pub(crate) fn rest(&self, on: &Watched) {
        if let Stamps::Ticks { .. } = on.stamps {
            self.depth.set(self.depth.get() - 1);
            if self.depth.get() == 0 {
                self.since.store(IDLE, Ordering::Release);
            }
        }
    }

    #[inline]
    fn number(&self, on: &Watched) -> u64 {
        match on.stamps {
            Stamps::Numbers => on.counter.take(),
            Stamps::Ticks { .. } => self.tick(),
        }
    }

    #[inline]
    fn tick(&self) -> u64 {
        // A processor may read the counter early; within a thread we do not let time go back.
        let now = ticks().max(self.last.get());
        self.last.set(now);
        now
    }

    /// Is there room for a record? Waits for it where the user said so; what finds none is lost.
    #[inline]
    fn room(&self, on: &Watched, words: usize) -> Option<Place<'_>> {
        (self.producer.fits(words) || self.wait(on, words)).then(|| self.producer.place())
    }

    #[cold]
    fn wait(&self, on: &Watched, words: usize) -> bool {
        let patience = Patience::default();
        loop {
            match self.producer.reserve(words) {
                Ok(()) => return true,
                Err(Full::Now) if self.overflow == Overflow::Block => patience.wait(),
                Err(_) => {
                    on.lose(self.last.get());
                    return false;
                }
            }
        }
    }
}

/// How many words a payload takes, coded.
#[inline]
fn size(payload: &impl Payload) -> usize {
    let mut words = 0;
    payload.code(&mut |_| words += 1);
    words
}

/// A block of writes on its way into the log.
#[derive(Debug)]
pub struct Block<'a> {
    local: &'a Local,
    on: &'a Watched,
    /// Where in the ring the block began.
    start: usize,
    words: usize,
    count: u64,
    lost: bool,
}

impl<'a> Block<'a> {
    pub(crate) fn new(local: &'a Local, on: &'a Watched) -> Block<'a> {
        let start = local.producer.position();
        Block { local, on, start, words: 3, count: 0, lost: local.room(on, 3).is_none() }
    }

    /// `location` holds `value` from now on.
    #[inline]
    pub fn write(&mut self, location: u64, value: impl Payload) {
        let end = self.words + 1 + size(&value);
        let Some(place) = self.room(end) else { return };
        place.put(self.words, location);
        if !self.local.code(place, self.words + 1..end, &value, true) {
            self.on.lose(self.local.last.get());
            self.lost = true;
            return;
        }
        self.words = end;
        self.count += 1;
    }

    /// Room for so many words. What logs something else in the middle of a block writes over it: the block is
    /// lost then.
    #[inline]
    fn room(&mut self, words: usize) -> Option<Place<'a>> {
        if self.lost {
            return None;
        }
        let place = if self.local.producer.position() == self.start {
            self.local.room(self.on, words)
        } else {
            self.on.lose(self.local.last.get());
            None
        };
        self.lost = place.is_none();
        place
    }

    /// Takes a number and publishes.
    #[inline]
    pub(crate) fn publish(mut self, kind: Kind) {
        let Some(place) = self.room(self.words) else { return };
        let stamp = self.local.number(self.on);
        self.local.before.set(stamp);
        place.put(0, record::tag(kind, Form::Null, 0, self.on.id) | (self.words as u64) << 32);
        place.put(1, stamp);
        place.put(2, self.count);
        self.local.producer.publish(place, self.words);
    }
}

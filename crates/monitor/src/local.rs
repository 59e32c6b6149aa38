//! A thread's end of the log: where records are written.
//!
//! A thread that meets a monitored object for the first time gets a ring; after that an event is a few stores. What happens when the ring is
//! full is the user's choice ([`Overflow`]). A record that is lost still takes its number, so that nothing after it is ever judged.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_utils::Backoff;

use crate::event::ObjectId;
use crate::object::Watched;
use crate::payload::{Form, Payload};
use crate::primitive::{AtomicU64, Ordering, fence};
use crate::record::{self, Kind};
use crate::registry::Registry;
use crate::ring::{Full, Producer};
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
    producer: Producer,
    overflow: Overflow,
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
    }
}

/// No monitor has this number.
const NONE: (u64, *const Local) = (u64::MAX, std::ptr::null());

thread_local! {
    /// This thread's logs, one a monitor.
    static LOCALS: Locals = const { Locals(RefCell::new(Vec::new())) };
    /// The one used last, and of which monitor: found without looking through the others. The pointer is to one of `LOCALS`.
    static LAST: Cell<(u64, *const Local)> = const { Cell::new(NONE) };
}

impl Local {
    /// A log whose other end is registered.
    pub(crate) fn new(registry: u64, producer: Producer, overflow: Overflow, since: Arc<AtomicU64>) -> Local {
        Local { registry, producer, overflow, since, last: Cell::new(0), depth: Cell::new(0) }
    }

    /// This thread's log for `registry`; `None` where the thread is ending.
    #[inline]
    pub(crate) fn of(registry: &Arc<Registry>) -> Option<Rc<Local>> {
        let (id, last) = LAST.get();
        if id != registry.id {
            return Local::find(registry);
        }
        // SAFETY: `LAST` has no destructor, so it can be read at any time. It points to a log in `LOCALS`, which were made by `Rc`; it is reset whenever
        // one of them is removed and when all of them are dropped, and no other thread can see it.
        #[allow(unsafe_code)]
        unsafe {
            Rc::increment_strong_count(last);
            Some(Rc::from_raw(last))
        }
    }

    #[cold]
    fn find(registry: &Arc<Registry>) -> Option<Rc<Local>> {
        let found = LOCALS.try_with(|locals| {
            let mut locals = locals.0.borrow_mut();
            let known = locals.iter().find(|local| local.registry == registry.id).cloned();
            known.unwrap_or_else(|| {
                // Logs of monitors that are gone stay behind otherwise.
                LAST.set(NONE);
                locals.retain(|local| !local.producer.is_abandoned());
                let local = Rc::new(registry.join());
                locals.push(Rc::clone(&local));
                local
            })
        });
        let local = found.ok()?;
        LAST.set((registry.id, Rc::as_ptr(&local)));
        Some(local)
    }

    /// Logs a call; `false` where the record was lost.
    #[inline]
    pub(crate) fn call(&self, on: &Watched, op: u8, arg: &impl Payload) -> bool {
        let form = arg.form();
        let words = 2 + size(form, arg);
        if !self.room(on, words) {
            return false;
        }
        let stamp = match on.stamps {
            Stamps::Numbers => on.counter.look(),
            Stamps::Ticks { .. } => {
                if self.depth.replace(self.depth.get() + 1) == 0 {
                    self.since.store(self.last.get(), Ordering::Release);
                }
                self.tick()
            }
        };
        self.begin(Kind::Call, form, op, on.id, words, stamp);
        self.fill(2, arg);
        self.producer.publish(words);
        if on.fence {
            fence(Ordering::SeqCst);
        }
        true
    }

    /// Logs a numbered event with a payload.
    #[inline]
    pub(crate) fn answer(&self, on: &Watched, kind: Kind, value: &impl Payload) {
        let form = value.form();
        let words = 2 + size(form, value);
        if self.room(on, words) {
            self.begin(kind, form, 0, on.id, words, self.number(on));
            self.fill(2, value);
            self.producer.publish(words);
        }
    }

    /// Logs a numbered event with nothing more to say.
    #[inline]
    pub(crate) fn plain(&self, on: &Watched, kind: Kind) {
        if self.room(on, 2) {
            self.begin(kind, Form::Null, 0, on.id, 2, self.number(on));
            self.producer.publish(2);
        }
    }

    /// Logs a numbered event with one word.
    #[inline]
    pub(crate) fn word(&self, on: &Watched, kind: Kind, word: u64) {
        if self.room(on, 3) {
            self.begin(kind, Form::Null, 0, on.id, 3, self.number(on));
            self.producer.put(2, word);
            self.producer.publish(3);
        }
    }

    /// Logs one write.
    #[inline]
    pub(crate) fn write(&self, on: &Watched, location: u64, value: &impl Payload) {
        let form = value.form();
        let words = 3 + size(form, value);
        if self.room(on, words) {
            self.begin(Kind::Write, form, 0, on.id, words, self.number(on));
            self.producer.put(2, location);
            self.fill(3, value);
            self.producer.publish(words);
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

    #[inline]
    fn begin(&self, kind: Kind, form: Form, op: u8, object: ObjectId, words: usize, stamp: u64) {
        self.producer.put(0, record::header(kind, form, op, object, words));
        self.producer.put(1, stamp);
    }

    #[inline]
    fn fill(&self, from: usize, payload: &impl Payload) {
        let mut at = from;
        payload.write(&mut |word| {
            self.producer.put(at, word);
            at += 1;
        });
    }

    /// Is there room for a record? Waits for it where the user said so; what finds none is lost.
    #[inline]
    fn room(&self, on: &Watched, words: usize) -> bool {
        self.producer.reserve(words).is_ok() || self.wait(on, words)
    }

    #[cold]
    fn wait(&self, on: &Watched, words: usize) -> bool {
        let backoff = Backoff::new();
        loop {
            match self.producer.reserve(words) {
                Ok(()) => return true,
                Err(Full::Now) if self.overflow == Overflow::Block => {
                    if backoff.is_completed() {
                        std::thread::sleep(Duration::from_micros(50));
                    } else {
                        backoff.snooze();
                    }
                }
                Err(_) => {
                    on.lose(self.last.get());
                    return false;
                }
            }
        }
    }
}

/// How many words a payload takes in its form.
#[inline]
fn size(form: Form, payload: &impl Payload) -> usize {
    match form {
        Form::Null | Form::False | Form::True => 0,
        Form::Int => 1,
        Form::Ints => 2,
        Form::Coded => {
            let mut words = 0;
            payload.code(&mut |_| words += 1);
            words
        }
    }
}

/// A block of writes on its way into the log.
#[derive(Debug)]
pub struct Block<'a> {
    local: &'a Local,
    on: &'a Watched,
    words: usize,
    count: u64,
    lost: bool,
}

impl<'a> Block<'a> {
    pub(crate) fn new(local: &'a Local, on: &'a Watched) -> Block<'a> {
        let lost = !local.room(on, 3);
        Block { local, on, words: 3, count: 0, lost }
    }

    /// `location` holds `value` from now on.
    #[inline]
    pub fn write(&mut self, location: u64, value: impl Payload) {
        let words = 1 + size(Form::Coded, &value);
        if self.lost || !self.local.room(self.on, self.words + words) {
            self.lost = true;
            return;
        }
        self.local.producer.put(self.words, location);
        let mut at = self.words + 1;
        value.code(&mut |word| {
            self.local.producer.put(at, word);
            at += 1;
        });
        self.words += words;
        self.count += 1;
    }

    /// Takes a number and publishes.
    #[inline]
    pub(crate) fn publish(self, kind: Kind) {
        if self.lost {
            return;
        }
        let stamp = self.local.number(self.on);
        self.local.begin(kind, Form::Null, 0, self.on.id, self.words, stamp);
        self.local.producer.put(2, self.count);
        self.local.producer.publish(self.words);
    }
}

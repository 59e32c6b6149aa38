//! What the application holds: a monitored object, and an operation in progress.
//!
//! ```text
//! let op = object.call(INSERT, (key, value));     // looks at the counter
//! let mut bucket = self.bucket(key).lock();
//! let old = bucket.insert(key, value);
//! op.commit();                                    // takes a number, inside the lock
//! drop(bucket);
//! op.returns(old)                                 // takes a number
//! ```
//!
//! An operation commits once. One that returns without a commit, or with two, is reported as a mistake of the
//! annotation. One that is dropped before it returns (a panic, a `?`) is pending: it may or may not have
//! taken effect.

use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crossbeam_utils::CachePadded;
use linpoint_history::Signature;

use crate::event::ObjectId;
use crate::local::{Block, Local};
use crate::payload::Payload;
use crate::primitive::{AtomicU64, Ordering};
use crate::record::Kind;
use crate::registry::Registry;
use crate::stamp::{Counter, Stamps, ticks};

/// The object is logged.
pub(crate) const ON: u64 = 0;
/// It is not.
pub(crate) const OFF: u64 = 1;
/// The next call panics.
pub(crate) const PANIC: u64 = 2;
/// The next call waits.
pub(crate) const WAIT: u64 = 3;

/// What all objects of a monitor share.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Is there an object whose operations are placed by windows or intervals?
    pub(crate) by_windows: AtomicBool,
    /// How often a [`Watched::mark`] was set.
    pub(crate) marks: AtomicU64,
}

/// An object's part that the application writes to.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
    pub(crate) stamps: Stamps,
    pub(crate) counter: Counter,
    common: Arc<Common>,
    /// Does a call need a fence of its own? See [`crate::barrier`].
    pub(crate) fence: bool,
    /// See [`ON`] and its neighbours.
    off: AtomicU64,
    /// Records that found no room.
    lost: AtomicU64,
    /// See [`Watched::recent`].
    counted: AtomicU64,
    /// Ticks only: the first of them was lost after this.
    lost_after: AtomicU64,
    /// See [`Watched::mark`].
    mark: AtomicU64,
    /// Events with smaller numbers take no room any more. The checker's, and far from what the application
    /// uses.
    judged: CachePadded<AtomicU64>,
}

impl Watched {
    pub(crate) fn new(
        id: ObjectId,
        name: String,
        stamps: Stamps,
        common: Arc<Common>,
        fence: bool,
    ) -> Watched {
        let (off, lost) = (AtomicU64::new(0), AtomicU64::new(0));
        let (lost_after, mark) = (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
        Watched {
            id,
            name,
            stamps,
            counter: Counter::default(),
            common,
            fence,
            off,
            lost,
            lost_after,
            mark,
            counted: AtomicU64::new(0),
            judged: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Is it logged?
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.off.load(Ordering::Relaxed) == ON
    }

    /// Logs it no longer. What was called before is logged to its end, and judged up to the mark.
    pub(crate) fn turn_off(&self) {
        self.set_mark();
        let _ = self.off.compare_exchange(ON, OFF, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// From now on calls do what `mode` says.
    pub(crate) fn set(&self, mode: u64) {
        if mode != ON {
            self.set_mark();
        }
        self.off.store(mode, Ordering::Release);
    }

    /// Nothing with this number (or tick), or a larger one, is judged. It is set before the first call that
    /// is not logged: what took its number before cannot have seen what such a call did, and what takes it
    /// later may have.
    pub(crate) fn mark(&self) -> u64 {
        self.mark.load(Ordering::Acquire)
    }

    fn set_mark(&self) {
        self.mark.fetch_min(self.now(), Ordering::AcqRel);
        self.common.marks.fetch_add(1, Ordering::Release);
    }

    /// The next number, or the time.
    pub(crate) fn now(&self) -> u64 {
        match self.stamps {
            Stamps::Numbers => self.counter.look(),
            Stamps::Ticks { .. } => ticks(),
        }
    }

    /// Numbers taken since [`Watched::forget_recent`].
    pub(crate) fn recent(&self) -> u64 {
        self.counter.look() - self.counted.load(Ordering::Relaxed)
    }

    /// Begins to count anew.
    pub(crate) fn forget_recent(&self) {
        self.counted.store(self.counter.look(), Ordering::Relaxed);
    }

    /// A window is about to be logged.
    #[inline]
    fn expect_windows(&self) {
        if !self.common.by_windows.load(Ordering::Relaxed) {
            self.common.by_windows.store(true, Ordering::SeqCst);
        }
    }

    /// Events with smaller numbers take no room any more.
    pub(crate) fn judged(&self) -> u64 {
        self.judged.load(Ordering::Relaxed)
    }

    /// The checker has got so far.
    pub(crate) fn set_judged(&self, number: u64) {
        self.judged.store(number, Ordering::Relaxed);
    }

    /// Records lost so far.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    /// Ticks only: nothing stamped later than this can be judged.
    pub(crate) fn lost_after(&self) -> u64 {
        self.lost_after.load(Ordering::Acquire)
    }

    /// A record with this stamp makes no sense to whoever reads it: it is lost, and nothing after it is
    /// judged. If it took a number, that is missing.
    pub(crate) fn refuse(&self, stamp: u64) {
        self.lost_after.fetch_min(stamp.saturating_sub(1), Ordering::AcqRel);
        self.lost.fetch_add(1, Ordering::AcqRel);
        self.turn_off();
    }

    /// A record found no room. Its number is taken all the same, so that it is missed; and since nothing
    /// after it can be judged, nothing more is logged.
    pub(crate) fn lose(&self, after: u64) {
        self.lost_after.fetch_min(after, Ordering::AcqRel);
        self.lost.fetch_add(1, Ordering::AcqRel);
        self.counter.take();
        self.turn_off();
    }
}

/// An operation of an object's specification, looked up once by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Op(pub(crate) u8);

/// A monitored object, as the application sees it. Cloning gives another handle of the same object.
#[derive(Clone, Debug)]
pub struct Object {
    watched: Arc<Watched>,
    registry: Arc<Registry>,
    signature: Arc<Signature>,
}

impl Object {
    pub(crate) fn new(watched: Arc<Watched>, registry: Arc<Registry>, signature: Arc<Signature>) -> Object {
        Object { watched, registry, signature }
    }

    /// The operation with that name.
    ///
    /// # Panics
    ///
    /// Where the specification has no such operation: that is a mistake in the program, and it names those
    /// there are.
    pub fn op(&self, name: &str) -> Op {
        match self.signature.find(name) {
            Some(code) => Op(code.0),
            None => panic!(
                "object `{}` has no operation `{name}`; its specification knows: {}",
                self.watched.name,
                self.signature.names()
            ),
        }
    }

    /// An operation begins.
    #[inline]
    pub fn call(&self, op: Op, arg: impl Payload) -> Operation<'_> {
        let local = if self.watched.is_on() { Some(Local::of(&self.registry)) } else { self.halt() };
        let local = local.filter(|local| local.call(&self.watched, op.0, &arg));
        Operation { on: &self.watched, local }
    }

    /// A call on an object that is not logged: for good, or because something was found.
    #[cold]
    fn halt(&self) -> Option<Rc<Local>> {
        match self.watched.off.load(Ordering::Acquire) {
            // A panic in the middle of another one, or while a thread ends, would end the program.
            PANIC if std::thread::panicking() || crate::local::is_ending() => None,
            PANIC => match self.registry.finding() {
                Some(finding) => panic!("linpoint monitor: {finding}"),
                None => None,
            },
            WAIT => {
                self.registry.wait();
                None
            }
            _ => None,
        }
    }

    /// A piece of work of the object's own (compaction, rebalancing) begins. It must not change the view.
    #[inline]
    pub fn internal(&self) -> Internal<'_> {
        Internal { on: &self.watched, local: self.local() }
    }

    /// `location` holds `value` from now on.
    #[inline]
    pub fn write(&self, location: u64, value: impl Payload) {
        if let Some(local) = self.local() {
            local.write(&self.watched, location, &value);
        }
    }

    /// Several writes that nobody can see in part, because the caller has exclusive access to all of it.
    #[inline]
    pub fn block(&self, writes: impl FnOnce(&mut Block<'_>)) {
        if let Some(local) = self.local() {
            let mut block = Block::new(&local, &self.watched);
            writes(&mut block);
            block.publish(Kind::Block);
        }
    }

    /// The caller has got exclusive access to what `lock` protects: its writes show when it commits or
    /// releases.
    #[inline]
    pub fn acquire(&self, lock: u64) {
        if let Some(local) = self.local() {
            local.word(&self.watched, Kind::Acquire, lock);
        }
    }

    /// The caller is about to give up `lock`.
    #[inline]
    pub fn release(&self, lock: u64) {
        if let Some(local) = self.local() {
            local.word(&self.watched, Kind::Release, lock);
        }
    }

    /// Is it still logged? Not after sampling or an overhead budget left it out, nor after a record was lost.
    pub fn is_watched(&self) -> bool {
        self.watched.is_on()
    }

    #[inline]
    fn local(&self) -> Option<Rc<Local>> {
        self.watched.is_on().then(|| Local::of(&self.registry))
    }
}

/// An operation between its call and its return.
#[derive(Debug)]
#[must_use = "an operation that is dropped at once is pending; end it with `returns`"]
pub struct Operation<'a> {
    on: &'a Watched,
    /// `None` where the object is not watched, and after the return.
    local: Option<Rc<Local>>,
}

impl Operation<'_> {
    /// It takes effect here. Call this while holding the lock (or whatever else) that keeps conflicting
    /// operations out: a commit logged after an atomic step, without a lock, may be overtaken; use
    /// [`Operation::commit_window`] there.
    #[inline]
    pub fn commit(&self) {
        if let Some(local) = &self.local {
            local.plain(self.on, Kind::Commit);
        }
    }

    /// It takes effect here, with these writes, and nobody can see them in part.
    #[inline]
    pub fn commit_block(&self, writes: impl FnOnce(&mut Block<'_>)) {
        if let Some(local) = &self.local {
            let mut block = Block::new(local, self.on);
            writes(&mut block);
            block.publish(Kind::CommitBlock);
        }
    }

    /// It takes effect somewhere inside `step`, if `step` succeeds: a compare-and-swap, say. Put as little as
    /// possible into it.
    #[inline]
    pub fn commit_window<T, E>(&self, step: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Some(local) = &self.local else { return step() };
        self.on.expect_windows();
        let from = local.look(self.on);
        let result = step();
        if result.is_ok() {
            local.word(self.on, Kind::Window, from);
        }
        result
    }

    /// It takes effect as number `version` in a count of the object's own.
    #[inline]
    pub fn commit_at(&self, version: u64) {
        if let Some(local) = &self.local {
            local.word(self.on, Kind::CommitAt, version);
        }
    }

    /// It changes nothing, and saw what number `version` left.
    #[inline]
    pub fn commit_after(&self, version: u64) {
        if let Some(local) = &self.local {
            local.word(self.on, Kind::CommitAfter, version);
        }
    }

    /// It answers `result`, which is handed back.
    #[inline]
    pub fn returns<T: Payload>(self, result: T) -> T {
        if let Some(local) = &self.local {
            // A value that panics while it is logged leaves the operation pending.
            local.answer(self.on, Kind::Return, &result);
        }
        // It does not end a second time.
        let mut over = ManuallyDrop::new(self);
        if let Some(local) = over.local.take() {
            local.rest(over.on);
        }
        result
    }
}

impl Drop for Operation<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(local) = self.local.take() {
            local.plain(self.on, Kind::Abandon);
            local.rest(self.on);
        }
    }
}

/// A piece of work of the object's own.
#[derive(Debug)]
pub struct Internal<'a> {
    on: &'a Watched,
    local: Option<Rc<Local>>,
}

impl Internal<'_> {
    /// It is done: from here on the view must be what it was.
    #[inline]
    pub fn commit(self) {
        if let Some(local) = &self.local {
            local.plain(self.on, Kind::Internal);
        }
    }
}

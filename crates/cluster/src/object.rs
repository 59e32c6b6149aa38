//! One object: the online check of its rows, in as little memory as its present needs.
//!
//! Most objects, most of the time, are one state and at most one row that waits: that is an [`Object`], one
//! line of the processor's cache. Whatever else an object comes to is [`busy`]; it goes back when it is over.
//! No stage guesses: what cannot be decided is `unknown` with its reason. See `docs/cluster.md`.

mod batch;
mod busy;
mod engaged;
mod kept;

use std::time::Instant;

use linpoint_history::{Basis, Builtin, OpCode, Operation, ProcessId, Symbols, Verdict};

use self::busy::Busy;
use crate::clock::Clocks;
use crate::quiet::Quiet;

/// Room for busy objects that is kept for the next.
const SPARE: usize = 256;

/// What all objects of a worker share.
pub struct World {
    /// What numbers stand for.
    pub symbols: Symbols,
    /// The error bounds of the sources.
    pub clocks: Clocks,
    /// The specifications, by number.
    pub specs: Vec<Builtin>,
    /// When the run must end.
    pub deadline: Option<Instant>,
    /// When an object that is decided at the end must make room for others.
    pub turn_ends: Option<Instant>,
    /// Not with more memory than this.
    pub memory_bytes: Option<usize>,
    /// Are checkpoints taken? Then rows are kept that otherwise were released.
    pub keeps: bool,
    /// Room that busy objects left.
    pub(crate) spare: Spare,
}

/// Room for busy objects.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "the boxes are what is kept")]
pub(crate) struct Spare(Vec<Box<Busy>>);

/// An object and what is known of it.
#[repr(align(64))]
pub struct Object {
    spec: u16,
    /// Is it in its worker's list of objects with rows that wait?
    pub listed: bool,
    has_only: bool,
    /// Operations that came in; where it is busy, that is counted there.
    count: u32,
    /// The only row that waits.
    only: Operation,
    /// The one state that everything forgotten ended in.
    start: Quiet,
    busy: Option<Box<Busy>>,
}

const _: () = assert!(size_of::<Object>() == 64);

impl Object {
    /// In its initial state.
    pub fn new(spec: u16, world: &mut World) -> Object {
        let start = Quiet::initial(&world.specs[usize::from(spec)], &mut world.symbols);
        let only = Operation::new(ProcessId(0), OpCode(0));
        Object { spec, listed: false, has_only: false, count: 0, only, start, busy: None }
    }

    /// A row comes in; nothing that is still to come, this row included, was called before `mark` in real
    /// time.
    #[inline]
    pub fn push(&mut self, row: Operation, mark: i64, world: &mut World) {
        if self.busy.is_none() {
            self.step(mark, world);
            if !self.has_only && !row.is_pending() && self.count < u32::MAX {
                (self.only, self.has_only) = (row, true);
                self.count += 1;
                return;
            }
        }
        self.push_busy(row, mark, world);
    }

    /// Lets the only row happen, if it is alone between two quiet moments and its step is possible.
    #[inline]
    fn step(&mut self, mark: i64, world: &mut World) {
        if self.has_only && world.clocks.latest(&self.only) < mark {
            let spec = &world.specs[usize::from(self.spec)];
            self.has_only = !self.start.step(spec, &self.only, &mut world.symbols);
        }
    }

    fn push_busy(&mut self, row: Operation, mark: i64, world: &mut World) {
        self.busy(mark, world).push(row, mark, world);
        self.rest(world);
    }

    /// Turns busy, if it is not.
    ///
    /// What was forgotten had returned before the mark of that time, and what came since, and the only row
    /// with it, was called at that mark or later; marks only rise. So the moment just before this mark, or
    /// before the only row's call if that is earlier, parts the two.
    fn busy(&mut self, mark: i64, world: &mut World) -> &mut Busy {
        let Object { spec, has_only, count, only, start, .. } = self;
        self.busy.get_or_insert_with(|| {
            let mark = if *has_only { mark.min(world.clocks.earliest(only)) } else { mark };
            let start = std::mem::replace(start, Quiet::NOTHING);
            let mut busy = match world.spare.0.pop() {
                Some(mut busy) => {
                    busy.renew(*spec, u64::from(*count), start, mark.saturating_sub(1));
                    busy
                }
                None => Box::new(Busy::new(*spec, u64::from(*count), start, mark.saturating_sub(1))),
            };
            if std::mem::replace(has_only, false) {
                busy.rows.push(*only);
            }
            busy
        })
    }

    /// Is busy no longer, if it need not be.
    fn rest(&mut self, world: &mut World) {
        let counts = |busy: &&mut Box<Busy>| u32::try_from(busy.operations).ok().filter(|_| busy.is_idle());
        let Some(count) = self.busy.as_mut().as_ref().and_then(counts) else { return };
        let Some(mut busy) = self.busy.take() else { return };
        self.count = count;
        self.start = std::mem::replace(&mut busy.start, Quiet::NOTHING);
        if let Some(row) = busy.rows.pop() {
            (self.only, self.has_only) = (row, true);
        }
        if world.spare.0.len() < SPARE && busy.rows.capacity() <= 64 {
            world.spare.0.push(busy);
        }
    }

    /// Operations that came in, pending ones included.
    pub fn operations(&self) -> u64 {
        self.busy.as_ref().map_or(u64::from(self.count), |busy| busy.operations)
    }

    /// Has it a verdict that nothing changes any more?
    #[inline]
    pub fn is_decided(&self) -> bool {
        self.busy.as_ref().is_some_and(|busy| busy.is_decided())
    }

    /// The verdict, if there is one already.
    #[inline]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.busy.as_ref()?.verdict()
    }

    /// Its specification's number.
    pub fn spec(&self) -> usize {
        usize::from(self.spec)
    }

    /// Pending operations.
    pub fn pending(&self) -> u64 {
        self.busy.as_ref().map_or(0, |busy| busy.pending())
    }

    /// The engine that decided or is at work.
    pub fn engine(&self) -> &'static str {
        self.busy.as_ref().map_or("segments", |busy| busy.engine())
    }

    /// Something that stands in the object's memory: to ask for it is to fetch it.
    #[inline]
    pub(crate) fn touch(&self) -> u32 {
        self.count
    }

    /// As [`Object::touch`], of the memory beyond its own.
    #[inline]
    pub(crate) fn touch_state(&self) -> u32 {
        self.start.touch()
    }

    /// Rows held.
    pub fn held(&self) -> usize {
        usize::from(self.has_only) + self.busy.as_ref().map_or(0, |busy| busy.rows.len())
    }

    /// Is something of it not explained yet?
    pub fn waits(&self) -> bool {
        self.has_only || self.busy.as_ref().is_some_and(|busy| busy.waits())
    }

    /// Nothing can be said of it any more, unless something was.
    pub fn give_up(&mut self, why: String, world: &mut World) {
        self.busy(i64::MAX, world).give_up(why);
    }

    /// Decides what is complete: nothing that is still to come was called before `mark`.
    pub fn settle(&mut self, mark: i64, world: &mut World) {
        if self.busy.is_none() {
            self.step(mark, world);
            if !self.has_only || world.clocks.latest(&self.only) >= mark {
                return;
            }
        }
        self.busy(mark, world).settle(mark, world);
        self.rest(world);
    }

    /// Nothing more comes: the verdict.
    pub fn finish(&mut self, world: &mut World) -> Verdict {
        self.settle(i64::MAX, world);
        match &mut self.busy {
            Some(busy) => busy.finish(world),
            None => Verdict::Holds(Basis::Witness { operations: self.operations() }),
        }
    }
}

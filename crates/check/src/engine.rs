//! What every engine is: something that explains one return after another, in bounded steps.
//!
//! The driver loads rows into a [`Timeline`] and says how far they are complete: before it asks for the
//! returns below `upto` to be explained, every operation that was called by then is loaded (`earliest <= i`
//! for some `i < upto`), with its result, even if it returns later. Engines write the order they found into a
//! [`Witness`]; they may lag behind, but by the end every completed operation stands in it exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use linpoint_history::formats::Guard;
use linpoint_history::formats::guard::Reached;
use linpoint_history::{Builtin, Operation, Symbols};
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::resident::resident_bytes;
use crate::timeline::{OpId, Timeline};

/// What an engine is told besides the timeline.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What the numbers stand for.
    pub symbols: &'a Symbols,
    /// The specification.
    pub spec: &'a Builtin,
    /// When to give up.
    pub budget: &'a Budget,
}

/// A way to decide histories.
pub trait Engine {
    /// Its name in reports: `queue monitor`, `metastates`.
    fn name(&self) -> &'static str;

    /// Explains all returns below `upto` that are not explained yet.
    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop>;

    /// All rows were given and explained; what is left over (pending operations, elements never removed) is
    /// settled.
    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop>;

    /// Is there more to be settled at the end? Then [`Engine::finish`] is called again, once what it wrote
    /// was taken: all that is left over need not be in memory a second time.
    fn has_more(&self) -> bool {
        false
    }

    /// Bytes held now, roughly.
    fn memory(&self) -> usize {
        0
    }

    /// How many returns are explained so far, where that is not what it was asked for: in the middle of a
    /// step, or in an engine that only collects rows until the end.
    fn explained(&self) -> Option<u32> {
        None
    }

    /// Operations below this that do not stand in the order yet will come with their rows ([`Edit::Fill`]),
    /// so that nobody else needs to remember these.
    fn carries_below(&self) -> u32 {
        0
    }
}

/// The order found, as far as it is known. The driver takes what is in it after each step.
///
/// Most engines only ever add at the end. One that must leave an operation open for long (a stack does not
/// know where the push of an element belongs until the element leaves) marks *holes* in the order, and later
/// adds operations behind a hole or closes it. By the end all holes are closed.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// Operations in the order of taking effect, to be added at the end of what was given before.
    pub order: Vec<OpId>,
    /// Holes between the operations of `order`, in order of their place.
    pub holes: Vec<Hole>,
    /// What happens to holes, given now or before, in this order; how much of it before a hole is made, the
    /// hole says.
    pub edits: Vec<Edit>,
}

/// A place in an order where operations may be added later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// How many operations of [`Witness::order`] stand before it.
    pub at: usize,
    /// Its name. Names rise along the order.
    pub name: u32,
    /// How many of [`Witness::edits`] are done before it is made.
    pub edits: usize,
}

/// What happens to a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// An operation is put right behind the hole, before all that stands there already. Its row comes along,
    /// since the timeline may have released it.
    Fill {
        /// Which hole.
        hole: u32,
        /// Which operation.
        op: OpId,
        /// Its row.
        row: Operation,
    },
    /// Nothing more will be put into the hole.
    Close {
        /// Which hole.
        hole: u32,
    },
}

impl Witness {
    /// Forgets what is in it.
    pub fn clear(&mut self) {
        self.order.clear();
        self.holes.clear();
        self.edits.clear();
    }

    /// Adds another piece behind this one.
    pub fn extend(&mut self, more: Witness) {
        let (before, edits) = (self.order.len(), self.edits.len());
        self.order.extend(more.order);
        let moved = |hole: Hole| Hole { at: hole.at + before, edits: hole.edits + edits, ..hole };
        self.holes.extend(more.holes.into_iter().map(moved));
        self.edits.extend(more.edits);
    }

    /// The whole order without holes, given that nothing was taken from this witness yet.
    pub fn into_order(self) -> Vec<OpId> {
        if self.holes.is_empty() {
            return self.order;
        }
        let mut behind: FxHashMap<u32, Vec<OpId>> = FxHashMap::default();
        let mut filled = 0;
        for edit in &self.edits {
            if let Edit::Fill { hole, op, .. } = edit {
                behind.entry(*hole).or_default().push(*op);
                filled += 1;
            }
        }
        let mut order = Vec::with_capacity(self.order.len() + filled);
        let mut from = 0;
        for hole in &self.holes {
            order.extend_from_slice(&self.order[from..hole.at]);
            order.extend(behind.remove(&hole.name).unwrap_or_default().into_iter().rev());
            from = hole.at;
        }
        order.extend_from_slice(&self.order[from..]);
        order
    }
}

/// Why an engine stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The history cannot be explained.
    Violated(Violation),
    /// A limit was reached.
    Limit(Limit),
    /// This engine cannot decide this history: what it would need.
    Unsupported(String),
}

/// Why a history cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The operation that finds no place.
    pub at: OpId,
    /// Operations that alone cannot be explained, if the engine knows them. Copies, since the timeline may
    /// have released them. Empty: the history up to the return of `at` is meant.
    pub core: Vec<Operation>,
    /// One sentence, if the engine has one.
    pub reason: String,
}

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Limit {
    /// The time is up.
    #[error("the time limit was reached")]
    Time,
    /// The memory is used up.
    #[error("the memory limit was reached")]
    Memory,
    /// Another engine has answered.
    #[error("another engine was faster")]
    Overtaken,
}

/// When to give up.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Not after this moment.
    pub deadline: Option<Instant>,
    /// Not with more bytes than this.
    pub memory_bytes: Option<usize>,
    /// Not with more bytes than this that an engine says it holds itself, however much the history takes.
    pub search_bytes: Option<usize>,
    /// Not after another engine has answered.
    pub racer: Option<Racer>,
    /// Not after this is set: another object was found violated, so that this one does not matter any more.
    pub over: Option<Arc<AtomicBool>>,
}

impl Budget {
    /// No limits.
    pub fn unlimited() -> Budget {
        Budget::default()
    }

    /// The same, but for no longer than this.
    #[must_use]
    pub fn within(&self, time: Duration) -> Budget {
        let soon = Instant::now() + time;
        Budget { deadline: Some(self.deadline.map_or(soon, |deadline| deadline.min(soon))), ..self.clone() }
    }

    /// Stops an engine that holds `bytes` now, if a limit is reached. Costs a look at the clock: ask every
    /// thousand steps.
    pub fn check(&self, bytes: usize) -> Result<(), Stop> {
        self.limit(bytes).map_or(Ok(()), |limit| Err(Stop::Limit(limit)))
    }

    /// As [`Budget::check`], but takes `bytes` for all there is: for engines that ask often, under a driver
    /// that asks for the whole process now and then.
    pub fn check_own(&self, bytes: usize) -> Result<(), Stop> {
        if self.is_too_much(bytes) {
            return Err(Stop::Limit(Limit::Memory));
        }
        self.time().map_or(Ok(()), |limit| Err(Stop::Limit(limit)))
    }

    /// The limit that is reached with `bytes` held now, if one is.
    pub fn limit(&self, bytes: usize) -> Option<Limit> {
        if self.is_too_much(bytes) {
            return Some(Limit::Memory);
        }
        if let Some(limit) = self.memory_bytes {
            let is_largest = self.racer.as_ref().is_none_or(|racer| racer.is_largest(bytes));
            if is_largest && resident_bytes().is_some_and(|resident| resident > limit) {
                return Some(Limit::Memory);
            }
        }
        self.time()
    }

    /// Is the time up?
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    /// The limit that is reached with `more` bytes than there are now: to be asked before a large piece is
    /// taken.
    pub fn limit_with(&self, more: usize) -> Option<Limit> {
        let full = |limit| resident_bytes().is_some_and(|resident| resident.saturating_add(more) > limit);
        if self.memory_bytes.is_some_and(full) {
            return Some(Limit::Memory);
        }
        self.time()
    }

    /// What a reader asks while it reads: the same limits.
    pub fn guard(&self) -> Guard {
        if self.deadline.is_none() && self.memory_bytes.is_none() {
            return Guard::default();
        }
        let budget = self.clone();
        Guard::new(move |more| {
            budget.limit_with(more).map(|limit| match limit {
                Limit::Memory => Reached::Memory,
                Limit::Time | Limit::Overtaken => Reached::Time,
            })
        })
    }

    fn is_too_much(&self, own: usize) -> bool {
        let is_above = |limit: Option<usize>| limit.is_some_and(|limit| own > limit);
        is_above(self.memory_bytes) || is_above(self.search_bytes)
    }

    fn time(&self) -> Option<Limit> {
        if self.over.as_ref().is_some_and(|over| over.load(Ordering::Relaxed)) {
            return Some(Limit::Overtaken);
        }
        if self.racer.as_ref().is_some_and(Racer::is_overtaken) {
            return Some(Limit::Overtaken);
        }
        self.is_late().then_some(Limit::Time)
    }
}

/// One of several engines at work on the same history; see [`crate::decide`].
#[derive(Clone, Debug)]
pub struct Racer {
    race: Arc<Race>,
    lane: usize,
}

/// What racers know of each other.
#[derive(Debug)]
struct Race {
    is_over: AtomicBool,
    /// Bytes that each racer says it holds; none when it has left.
    bytes: Vec<AtomicUsize>,
}

impl Racer {
    /// So many racers.
    pub(crate) fn lanes(count: usize) -> Vec<Racer> {
        let bytes = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let race = Arc::new(Race { is_over: AtomicBool::new(false), bytes });
        (0..count).map(|lane| Racer { race: race.clone(), lane }).collect()
    }

    /// It has answered: the others may stop.
    pub(crate) fn win(&self) {
        self.race.is_over.store(true, Ordering::Relaxed);
    }

    /// It has left, and holds nothing any more.
    pub(crate) fn leave(&self) {
        self.race.bytes[self.lane].store(0, Ordering::Relaxed);
    }

    fn is_overtaken(&self) -> bool {
        self.race.is_over.load(Ordering::Relaxed)
    }

    /// Does none of the others hold more? Memory is the process's, so when there is too much of it, the one
    /// that has most stops, and the others go on with what it gives back.
    fn is_largest(&self, bytes: usize) -> bool {
        let own = &self.race.bytes[self.lane];
        // Where an engine asks for the time alone, it says nothing of its size.
        if bytes > 0 {
            own.store(bytes, Ordering::Relaxed);
        }
        let bytes = own.load(Ordering::Relaxed);
        let others = self.race.bytes.iter().enumerate().filter(|(lane, _)| *lane != self.lane);
        others.map(|(_, other)| other.load(Ordering::Relaxed)).all(|other| other <= bytes)
    }
}

/// Runs an engine over a whole timeline and gives the order it found.
pub fn run(engine: &mut dyn Engine, cx: &Context<'_>, timeline: &Timeline) -> Result<Vec<OpId>, Stop> {
    let mut witness = Witness::default();
    engine.advance(cx, timeline, timeline.end(), &mut witness)?;
    engine.finish(cx, timeline, &mut witness)?;
    while engine.has_more() {
        engine.finish(cx, timeline, &mut witness)?;
    }
    Ok(witness.into_order())
}

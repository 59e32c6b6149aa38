//! What every engine is: something that explains one return after another, in bounded steps.
//!
//! The driver loads rows into a [`Timeline`] and says how far they are complete: before it asks for the returns below
//! `upto` to be explained, every operation that was called by then is loaded (`earliest <= i` for some `i < upto`), with
//! its result, even if it returns later. Engines write the order they found into a [`Witness`]; they may lag behind, but by
//! the end every completed operation stands in it exactly once.

use std::time::Instant;

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

    /// All rows were given and explained; what is left over (pending operations, elements never removed) is settled.
    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop>;

    /// Is there more to be settled at the end? Then [`Engine::finish`] is called again, once what it wrote was taken: all that is
    /// left over need not be in memory a second time.
    fn has_more(&self) -> bool {
        false
    }

    /// Bytes held now, roughly.
    fn memory(&self) -> usize {
        0
    }

    /// Operations below this that do not stand in the order yet will come with their rows ([`Edit::Fill`]), so that nobody
    /// else needs to remember these.
    fn carries_below(&self) -> u32 {
        0
    }
}

/// The order found, as far as it is known. The driver takes what is in it after each step.
///
/// Most engines only ever add at the end. One that must leave an operation open for long (a stack does not know where the push of
/// an element belongs until the element leaves) marks *holes* in the order, and later adds operations behind a hole or
/// closes it. By the end all holes are closed.
#[derive(Clone, Debug, Default)]
pub struct Witness {
    /// Operations in the order of taking effect, to be added at the end of what was given before.
    pub order: Vec<OpId>,
    /// Holes between the operations of `order`, in order of their place.
    pub holes: Vec<Hole>,
    /// What happens to holes, given now or before, in this order; how much of it before a hole is made, the hole says.
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
    /// An operation is put right behind the hole, before all that stands there already. Its row comes along, since the timeline
    /// may have released it.
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
    /// Operations that alone cannot be explained, if the engine knows them. Copies, since the timeline may have released
    /// them. Empty: the history up to the return of `at` is meant.
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
}

/// When to give up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Not after this moment.
    pub deadline: Option<Instant>,
    /// Not with more bytes than this.
    pub memory_bytes: Option<usize>,
}

impl Budget {
    /// No limits.
    pub fn unlimited() -> Budget {
        Budget::default()
    }

    /// Stops an engine that holds `bytes` now, if a limit is reached. Costs a look at the clock: ask every thousand steps.
    pub fn check(&self, bytes: usize) -> Result<(), Stop> {
        self.limit(bytes).map_or(Ok(()), |limit| Err(Stop::Limit(limit)))
    }

    /// As [`Budget::check`], but takes `bytes` for all there is: for engines that ask often, under a driver that asks for the whole
    /// process now and then.
    pub fn check_own(&self, bytes: usize) -> Result<(), Stop> {
        if self.memory_bytes.is_some_and(|limit| bytes > limit) {
            return Err(Stop::Limit(Limit::Memory));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(Stop::Limit(Limit::Time));
        }
        Ok(())
    }

    /// The limit that is reached with `bytes` held now, if one is.
    pub fn limit(&self, bytes: usize) -> Option<Limit> {
        if let Some(limit) = self.memory_bytes
            && (bytes > limit || resident_bytes().is_some_and(|resident| resident > limit))
        {
            return Some(Limit::Memory);
        }
        self.deadline.is_some_and(|deadline| Instant::now() > deadline).then_some(Limit::Time)
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

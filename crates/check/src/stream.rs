//! One engine over rows that come in one after another: [`crate::online`] for those who have rows instead of
//! events.
//!
//! Rows are pushed in order of return; [`Stream::advance`] says up to where they are complete. The order the
//! engine finds is rechecked on the way, as everywhere. A stream cannot be started again; whoever wants
//! another engine begins a new one with the rows that were kept.

use linpoint_history::{Builtin, Counterexample, Operation, Symbols};

use crate::counterexample;
use crate::drive::{Course, DriveError, Ended, Halt};
use crate::engine::{Budget, Context, Engine, Limit, Violation};
use crate::feed::Feed;
use crate::timeline::Ties;

/// A check of one object that goes on while rows come in.
pub struct Stream {
    engine: Box<dyn Engine + Send>,
    course: Course,
}

/// Why a stream cannot go on.
#[derive(Debug)]
pub enum Halted {
    /// There is no order, where touching operations are read strictly.
    Violated {
        /// What the engine says.
        violation: Violation,
        /// The row that finds no place, if it is still known.
        at: Option<Operation>,
        /// Did operations of one process touch? Then the stricter reading may be too strict.
        touching: bool,
    },
    /// A limit came first.
    Limit(Limit),
    /// The engine is not for this history.
    Unsupported(String),
    /// The order found did not pass its recheck.
    Bug(String),
}

impl Stream {
    /// Begins with an object in its initial state.
    pub fn new(engine: Box<dyn Engine + Send>, spec: &Builtin, symbols: &Symbols) -> Stream {
        Stream { engine, course: Course::new(spec, symbols, Ties::Strict) }
    }

    /// The engine at work.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// Completed operations, in order of return (ties in order of call), behind all that came before.
    pub fn push(&mut self, rows: &[Operation]) {
        self.course.timeline.extend(rows);
    }

    /// An operation that never returned. Nothing beyond its call was explained yet.
    pub fn push_pending(&mut self, row: Operation) {
        self.course.timeline.push_pending(row);
    }

    /// Explains what is complete: no operation still to come was called before `floor`.
    pub fn advance(&mut self, cx: &Context<'_>, floor: i64) -> Result<(), Halted> {
        let step = self.course.advance(self.engine.as_mut(), cx, floor, &mut None);
        self.halted(step).map(|_| ())
    }

    /// No more rows; how many operations are in the order.
    pub fn finish(mut self, cx: &Context<'_>) -> Result<u64, Halted> {
        self.advance(cx, i64::MAX)?;
        let step = self.course.finish(self.engine.as_mut(), cx, &mut None);
        self.halted(step)
    }

    /// From a violation to a few operations and a sentence, as far as the rows still known tell.
    pub fn explain(
        &self,
        spec: &Builtin,
        symbols: &Symbols,
        violation: Violation,
        at: Option<Operation>,
        budget: &Budget,
    ) -> Option<Counterexample> {
        let name = self.engine.name();
        let built = counterexample::build(spec, symbols, &Feed::of(Vec::new()), violation, at, name, budget);
        built.ok().filter(|example| !example.core.is_empty())
    }

    /// Bytes held by the engine, roughly.
    pub fn memory(&self) -> usize {
        self.engine.memory() + self.course.timeline.known_rows().len() * 64
    }

    fn halted(&self, step: Result<(), Halt>) -> Result<u64, Halted> {
        match self.course.ended(step, self.engine.explained()) {
            Ok(Ended::Explained { operations, .. }) => Ok(operations),
            Ok(Ended::Violated { violation, at, touching }) => {
                Err(Halted::Violated { violation, at, touching })
            }
            Ok(Ended::Limit { limit, .. }) => Err(Halted::Limit(limit)),
            Ok(Ended::Unsupported(why)) => Err(Halted::Unsupported(why)),
            Err(DriveError::Witness(bad)) => Err(Halted::Bug(bad.to_string())),
            Err(error) => Err(Halted::Bug(error.to_string())),
        }
    }
}

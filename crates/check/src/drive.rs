//! Runs one engine over one history: loads rows, lets the engine explain them, rechecks the order it gives, forgets what
//! is settled.
//!
//! Memory holds one chunk of rows, the rows the engine has not explained yet, and the rows that are explained but do not stand in the
//! order yet (an enqueue whose neighbours are still undecided).

mod draft;
mod judge;

use std::collections::VecDeque;

use linpoint_history::{Builtin, Diagnostic, Operation, Symbols};
use thiserror::Error;

use self::draft::{Draft, Piece};
use self::judge::Judge;
use crate::engine::{Budget, Context, Edit, Engine, Limit, Stop, Violation, Witness};
use crate::feed::{Feed, Names};
use crate::recheck::BadWitness;
use crate::resident::resident_bytes;
use crate::timeline::{OpId, Ties, Timeline};

/// Where a witness goes, operation by operation, besides the recheck.
pub type Sink<'a> = &'a mut (dyn FnMut(&Symbols, &Operation) + Send);

/// What a drive needs besides the engine.
pub struct Drive<'a, 'f> {
    /// The specification.
    pub spec: &'a Builtin,
    /// The rows.
    pub feed: &'a Feed<'f>,
    /// When to give up.
    pub budget: &'a Budget,
    /// How touching operations of one process are ordered.
    pub ties: Ties,
}

/// How a drive ended.
#[derive(Debug)]
pub enum Ended {
    /// An order was found and rechecked.
    Explained {
        /// Operations in it.
        operations: u64,
        /// Did operations of one process touch?
        touching: bool,
    },
    /// There is none.
    Violated {
        /// What the engine says.
        violation: Violation,
        /// The row of the operation that finds no place, if it is still known.
        at: Option<Operation>,
        /// Did operations of one process touch?
        touching: bool,
    },
    /// A limit came first.
    Limit {
        /// Which.
        limit: Limit,
        /// Returns explained by then.
        decided: u64,
    },
    /// The engine cannot decide this history.
    Unsupported(String),
}

/// Why a drive failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The history is not readable.
    #[error(transparent)]
    Input(#[from] Diagnostic),
    /// The order the engine found is wrong: a mistake of ours, unless operations of one process touch.
    #[error(transparent)]
    Witness(#[from] BadWitness),
}

/// Why a drive halts.
pub(crate) enum Halt {
    /// The engine says so.
    Stop(Stop),
    /// The rows or the witness are bad.
    Error(DriveError),
}

impl From<Diagnostic> for Halt {
    fn from(diagnostic: Diagnostic) -> Halt {
        Halt::Error(diagnostic.into())
    }
}

impl From<BadWitness> for Halt {
    fn from(bad: BadWitness) -> Halt {
        Halt::Error(bad.into())
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Halt {
        Halt::Stop(stop)
    }
}

impl Drive<'_, '_> {
    /// Runs `engine` over the history.
    pub fn run(
        &self,
        engine: &mut dyn Engine,
        names: &mut Names<'_>,
        sink: Option<Sink<'_>>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Ended, DriveError> {
        let mut course = Course::new(self.spec, names.get(), self.ties);
        let mut sink = sink;
        for pending in &self.feed.pending {
            let earliest = match self.ties {
                Ties::Strict => pending.strict_earliest,
                Ties::Relaxed => pending.earliest,
            };
            course.timeline.push_pending_at(pending.op, earliest);
        }
        let mut walked = self.feed.chunks(names, |symbols, rows, floor| {
            course.timeline.extend(rows);
            let cx = Context { symbols, spec: self.spec, budget: self.budget };
            let step = course.advance(engine, &cx, floor, &mut sink);
            progress(u64::from(course.explained));
            step
        });
        if walked.is_ok() {
            let cx = Context { symbols: names.get(), spec: self.spec, budget: self.budget };
            walked = course.finish(engine, &cx, &mut sink);
        }
        course.ended(walked)
    }
}

/// A drive under way.
pub(crate) struct Course {
    pub(crate) timeline: Timeline,
    recheck: Judge,
    witness: Witness,
    /// Rows that were released from the timeline, from the first on that does not stand in the order yet.
    floating: VecDeque<Operation>,
    /// The number of the first of them.
    floating_base: u32,
    explained: u32,
    /// The order so far, for whoever wants it, while it has holes.
    draft: Draft,
}

impl Course {
    /// At the beginning.
    pub(crate) fn new(spec: &Builtin, symbols: &Symbols, ties: Ties) -> Course {
        Course {
            timeline: Timeline::new(ties),
            recheck: Judge::new(spec, symbols),
            witness: Witness::default(),
            floating: VecDeque::new(),
            floating_base: 0,
            explained: 0,
            draft: Draft::default(),
        }
    }

    /// How many returns are explained.
    pub(crate) fn explained(&self) -> u32 {
        self.explained
    }

    /// Explains what is complete: no operation still to come was called before `floor`.
    pub(crate) fn advance(
        &mut self,
        engine: &mut dyn Engine,
        cx: &Context<'_>,
        floor: i64,
        sink: &mut Option<Sink<'_>>,
    ) -> Result<(), Halt> {
        let rows = self.timeline.rows();
        let upto = self.timeline.base() + rows.partition_point(|op| op.ret < floor) as u32;
        if cx.budget.memory_bytes.is_some() {
            cx.budget.check(resident_bytes().unwrap_or_else(|| engine.memory()))?;
        }
        engine.advance(cx, &self.timeline, upto, &mut self.witness)?;
        self.explained = upto;
        self.settle(cx, sink)?;
        self.keep_floating(engine.carries_below(), upto);
        self.timeline.release(upto);
        Ok(())
    }

    /// Copies the rows that are about to be released and may still be asked for, and forgets those that will not be.
    fn keep_floating(&mut self, carried: u32, upto: u32) {
        let needed = self.recheck.first_missing().max(carried).min(upto);
        let settled = needed.saturating_sub(self.floating_base).min(self.floating.len() as u32);
        self.floating.drain(..settled as usize);
        self.floating_base += settled;
        let base = self.timeline.base();
        if self.floating.is_empty() {
            self.floating_base = needed.max(base);
        }
        let from = self.floating_base + self.floating.len() as u32;
        self.floating.extend(&self.timeline.rows()[(from - base) as usize..(upto - base) as usize]);
    }

    /// Settles what is left when there are no more rows.
    pub(crate) fn finish(
        &mut self,
        engine: &mut dyn Engine,
        cx: &Context<'_>,
        sink: &mut Option<Sink<'_>>,
    ) -> Result<(), Halt> {
        engine.finish(cx, &self.timeline, &mut self.witness)?;
        self.settle(cx, sink)?;
        self.recheck.finish(self.timeline.end())?;
        self.draft.give(cx, sink);
        Ok(())
    }

    /// Rechecks the part of the order that is new.
    fn settle(&mut self, cx: &Context<'_>, sink: &mut Option<Sink<'_>>) -> Result<(), Halt> {
        let mut witness = std::mem::take(&mut self.witness);
        let mut holes = witness.holes.iter().peekable();
        for (index, id) in witness.order.iter().enumerate() {
            while let Some(hole) = holes.next_if(|hole| hole.at <= index) {
                self.hole(hole.name, sink.is_some())?;
            }
            let row = self.row(*id)?;
            self.recheck.take(cx, *id, &row)?;
            match sink {
                Some(_) if self.draft.has_holes => self.draft.pieces.push(Piece::Op(row)),
                Some(sink) => sink(cx.symbols, &row),
                None => {}
            }
        }
        for hole in holes {
            self.hole(hole.name, sink.is_some())?;
        }
        for edit in &witness.edits {
            self.edit(edit, sink.is_some())?;
        }
        // The room is used again.
        witness.clear();
        self.witness = witness;
        Ok(())
    }

    fn row(&self, id: OpId) -> Result<Operation, BadWitness> {
        let floating = |id: u32| self.floating.get(id.checked_sub(self.floating_base)? as usize);
        self.timeline.get(id).or_else(|| floating(id.0)).copied().ok_or(BadWitness::TWICE)
    }

    fn hole(&mut self, name: u32, drafted: bool) -> Result<(), BadWitness> {
        let Judge::Holes(segments) = &mut self.recheck else { return Err(BadWitness::HOLES) };
        if drafted {
            self.draft.has_holes = true;
            self.draft.pieces.push(Piece::Hole(name));
        }
        segments.hole(name)
    }

    fn edit(&mut self, edit: &Edit, drafted: bool) -> Result<(), BadWitness> {
        let Judge::Holes(segments) = &mut self.recheck else { return Err(BadWitness::HOLES) };
        match edit {
            Edit::Fill { hole, op, row } => {
                if drafted {
                    self.draft.behind.entry(*hole).or_default().push(*row);
                }
                segments.fill(*hole, *op, row)
            }
            Edit::Close { hole } => segments.close(*hole),
        }
    }

    /// What the way a drive went means.
    pub(crate) fn ended(&self, walked: Result<(), Halt>) -> Result<Ended, DriveError> {
        let touching = self.timeline.has_touching();
        match walked {
            Ok(()) => Ok(Ended::Explained { operations: self.recheck.operations(), touching }),
            Err(Halt::Error(error)) => Err(error),
            Err(Halt::Stop(Stop::Violated(violation))) => {
                let at = self.row(violation.at).ok();
                Ok(Ended::Violated { violation, at, touching })
            }
            Err(Halt::Stop(Stop::Limit(limit))) => {
                Ok(Ended::Limit { limit, decided: u64::from(self.explained) })
            }
            Err(Halt::Stop(Stop::Unsupported(why))) => Ok(Ended::Unsupported(why)),
        }
    }
}

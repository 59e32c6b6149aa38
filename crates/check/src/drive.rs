//! Runs one engine over one history: loads rows, lets the engine explain them, rechecks the order it gives,
//! forgets what is settled.
//!
//! Memory holds one chunk of rows, the rows the engine has not explained yet, and the rows that are explained
//! but do not stand in the order yet (an enqueue whose neighbours are still undecided).

mod draft;
mod judge;

use linpoint_history::{Builtin, Diagnostic, Operation, Symbols};
use thiserror::Error;

use self::draft::{Draft, Piece};
use self::judge::Judge;
use crate::engine::{Budget, Context, Edit, Engine, Limit, Stop, Violation, Witness};
use crate::feed::{Feed, Names};
use crate::recheck::BadWitness;
use crate::recheck::segments::Segments;
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
        course.ended(walked, engine.explained())
    }
}

/// How many returns are explained between two looks at the memory of the process.
const WEIGHED: u32 = 1 << 15;

/// A drive under way.
pub(crate) struct Course {
    pub(crate) timeline: Timeline,
    recheck: Judge,
    witness: Witness,
    explained: u32,
    /// How many returns were explained when the memory of the process was last looked at.
    weighed: Option<u32>,
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
            explained: 0,
            weighed: None,
            draft: Draft::default(),
        }
    }

    /// How many returns are explained.
    pub(crate) fn explained(&self) -> u32 {
        self.explained
    }

    /// Has every operation so far its place in an order that passed its recheck?
    pub(crate) fn is_settled(&self) -> bool {
        self.explained == self.timeline.end() && self.recheck.first_missing() == self.timeline.end()
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
        // To ask the system costs as much as a hundred operations.
        if cx.budget.memory_bytes.is_some() && self.weighed.is_none_or(|at| upto - at >= WEIGHED) {
            cx.budget.check(engine.memory())?;
            self.weighed = Some(upto);
        }
        engine.advance(cx, &self.timeline, upto, &mut self.witness)?;
        self.explained = upto;
        self.settle(cx, sink)?;
        // Rows that do not stand in the order yet may still be asked for.
        let needed = self.recheck.first_missing().max(engine.carries_below());
        self.timeline.release_but(upto, needed);
        Ok(())
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
        while engine.has_more() {
            engine.finish(cx, &self.timeline, &mut self.witness)?;
            self.settle(cx, sink)?;
        }
        self.recheck.finish(self.timeline.end())?;
        self.draft.give(cx, sink);
        Ok(())
    }

    /// Rechecks the part of the order that is new.
    fn settle(&mut self, cx: &Context<'_>, sink: &mut Option<Sink<'_>>) -> Result<(), Halt> {
        let mut witness = std::mem::take(&mut self.witness);
        let timeline = &self.timeline;
        match &mut self.recheck {
            Judge::Plain(recheck) if sink.is_none() && witness.holes.is_empty() => {
                recheck.take_all(cx.spec, cx.symbols, timeline, &witness.order)?;
            }
            Judge::Holes(segments) if sink.is_none() => {
                let (mut from, mut edited) = (0, 0);
                for hole in &witness.holes {
                    let between = witness.order.get(from..hole.at).ok_or(BadWitness::HOLES)?;
                    segments.push_all(timeline, between)?;
                    for change in witness.edits.get(edited..hole.edits).ok_or(BadWitness::HOLES)? {
                        edit(segments, change)?;
                    }
                    (from, edited) = (hole.at, hole.edits);
                    segments.hole(hole.name)?;
                }
                segments.push_all(timeline, &witness.order[from..])?;
                witness.edits[edited..].iter().try_for_each(|change| edit(segments, change))?;
            }
            _ => self.settle_and_show(cx, &witness, sink)?,
        }
        // The room is used again.
        witness.clear();
        self.witness = witness;
        Ok(())
    }

    /// As [`Course::settle`], for an order that somebody wants to see.
    fn settle_and_show(
        &mut self,
        cx: &Context<'_>,
        witness: &Witness,
        sink: &mut Option<Sink<'_>>,
    ) -> Result<(), Halt> {
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
        witness.edits.iter().try_for_each(|change| self.edit(change, sink.is_some()))?;
        Ok(())
    }

    fn row(&self, id: OpId) -> Result<Operation, BadWitness> {
        self.timeline.row(id).ok_or(BadWitness::TWICE)
    }

    fn hole(&mut self, name: u32, drafted: bool) -> Result<(), BadWitness> {
        let Judge::Holes(segments) = &mut self.recheck else { return Err(BadWitness::HOLES) };
        if drafted {
            self.draft.has_holes = true;
            self.draft.pieces.push(Piece::Hole(name));
        }
        segments.hole(name)
    }

    fn edit(&mut self, change: &Edit, drafted: bool) -> Result<(), BadWitness> {
        let Judge::Holes(segments) = &mut self.recheck else { return Err(BadWitness::HOLES) };
        if let Edit::Fill { hole, row, .. } = change
            && drafted
        {
            self.draft.behind.entry(*hole).or_default().push(*row);
        }
        edit(segments, change)
    }

    /// What the way a drive went means; the engine may know better how much is `explained`.
    pub(crate) fn ended(
        &self,
        walked: Result<(), Halt>,
        explained: Option<u32>,
    ) -> Result<Ended, DriveError> {
        let touching = self.timeline.has_touching();
        match walked {
            Ok(()) => Ok(Ended::Explained { operations: self.recheck.operations(), touching }),
            Err(Halt::Error(error)) => Err(error),
            Err(Halt::Stop(Stop::Violated(violation))) => {
                let at = self.row(violation.at).ok();
                Ok(Ended::Violated { violation, at, touching })
            }
            Err(Halt::Stop(Stop::Limit(limit))) => {
                let decided = explained.unwrap_or(self.explained);
                Ok(Ended::Limit { limit, decided: u64::from(decided) })
            }
            Err(Halt::Stop(Stop::Unsupported(why))) => Ok(Ended::Unsupported(why)),
        }
    }
}

#[inline]
fn edit(segments: &mut Segments, change: &Edit) -> Result<(), BadWitness> {
    match change {
        Edit::Fill { hole, op, row } => segments.fill(*hole, *op, row),
        Edit::Close { hole } => segments.close(*hole),
    }
}

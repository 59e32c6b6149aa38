//! An object with more than one row to think of.
//!
//! It goes through stages. **Quiet**: all that is remembered is the one state it is in, and rows that are not
//! complete yet. Whenever everything up to a moment surely precedes everything after it and nothing earlier
//! can still arrive (a *cut*), the rows before the cut are decided ([`crate::segment`]); if they can end in
//! one state only, they are forgotten. **Engaged**: the object is not quiet for long, so an engine of `check`
//! goes along, and rows are kept since the last single state, so that another engine can take over.
//! **Committed**: it is never quiet; the engine has the rows, and nobody else. **Deferred**: what an engine
//! met needs the batch checker, which decides all kept rows when the source ends (or on what is known so far,
//! where a violation is suspected).

use std::time::{Duration, Instant};

use linpoint_check::{Budget, Context};
use linpoint_history::specs::State;
use linpoint_history::{Basis, Call, KeyId, Operation, Spec, Unknown, Value, Verdict};

use super::World;
use super::engaged::{Distinct, Engaged};

use crate::lead;
use crate::quiet::Quiet;
use crate::segment::{self, Ends};

/// Rows since the last single state, from which on an engine goes along.
pub(super) const ENGAGE: usize = 96;
/// Rows that an object may hold for the batch checker.
pub(super) const HOLD: usize = 1 << 22;
/// Rows that are looked at without asking for memory.
const ROWS_WITHOUT_MEMORY: usize = 16;
/// How long one object may hold up the others in one step.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);

/// What is known of such an object.
pub(super) struct Busy {
    pub(super) spec: u16,
    /// How many of `rows` are decided.
    pub(super) done: u32,
    /// Operations that came in, pending ones included.
    pub(super) operations: u64,
    /// Up to which mark it was looked at.
    settled: i64,
    /// All that was forgotten had returned by this, in real time, and all that is here or still to come is
    /// called after it.
    pub(super) since: i64,
    /// The one state that everything forgotten ended in.
    pub(super) start: Quiet,
    /// Completed rows since then, in order of return and call.
    pub(super) rows: Vec<Operation>,
    pub(super) more: Option<Box<More>>,
}

/// What few objects have.
#[derive(Default)]
pub(super) struct More {
    pub(super) stage: Stage,
    pub(super) track: Track,
    /// Operations that never returned and may have taken effect, in the order they came in.
    pub(super) pending: Vec<Operation>,
    /// Pending operations, those that can change nothing included.
    pub(super) unanswered: u64,
    /// When those that can change nothing were called, since the last checkpoint.
    pub(super) looks: Vec<i64>,
    /// When other operations were called that came after the verdict, since the last checkpoint.
    pub(super) late: Vec<i64>,
    pub(super) verdict: Option<Verdict>,
    /// The engine that decided, where it was not a segment's.
    pub(super) engine: &'static str,
    /// The number of rows at which a suspicion is looked at again.
    pub(super) retry: usize,
}

/// What is known of the states that the decided rows may end in.
#[derive(Default)]
pub(super) enum Track {
    /// The start.
    #[default]
    Start,
    /// These.
    States(Vec<State>),
    /// Too many, or too hard to say.
    Lost,
}

#[derive(Default)]
pub(super) enum Stage {
    #[default]
    Quiet,
    Engaged(Box<Engaged>),
    Deferred,
}

impl Busy {
    /// In the state `start`, with nothing to think of.
    pub(super) fn new(spec: u16, operations: u64, start: Quiet, since: i64) -> Busy {
        Busy { spec, done: 0, operations, settled: i64::MIN, since, start, rows: Vec::new(), more: None }
    }

    /// As new; what room there was for rows is kept.
    pub(super) fn renew(&mut self, spec: u16, operations: u64, start: Quiet, since: i64) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        *self = Busy { rows, ..Busy::new(spec, operations, start, since) };
    }

    /// Is one row, or none, all there is to think of?
    pub(super) fn is_idle(&self) -> bool {
        self.more.is_none() && self.rows.len() <= 1 && self.done == 0
    }

    /// A row comes in; nothing that is still to come, this row included, was called before `mark` in real
    /// time.
    pub(super) fn push(&mut self, row: Operation, mark: i64, world: &mut World) {
        if mark > self.settled {
            self.settle(mark, world);
        }
        self.operations += 1;
        self.insert(row, world);
    }

    /// Takes in a row that is counted already.
    pub(super) fn insert(&mut self, row: Operation, world: &World) {
        if row.is_pending() {
            let spec = &world.specs[usize::from(self.spec)];
            let more = self.more.get_or_insert_default();
            more.unanswered += 1;
            let arg = world.symbols.value(row.arg);
            // One that only looks changes nothing, and nobody heard its answer.
            let looks = spec.is_read_only(Call { op: row.op(), process: row.process(), arg: &arg }, None);
            if looks || more.verdict.is_some() {
                if world.keeps {
                    more.looks.push(world.clocks.earliest(&row));
                }
            } else {
                more.pending.push(row);
            }
            return;
        }
        if let Some(More { verdict: Some(_), late, .. }) = self.more.as_deref_mut() {
            if world.keeps {
                late.push(world.clocks.earliest(&row));
            }
            return;
        }
        let place = (row.ret, row.call);
        let at = self.rows.iter().rposition(|other| (other.ret, other.call) <= place).map_or(0, |at| at + 1);
        self.rows.insert(at, row);
    }

    /// Has it a verdict that nothing changes any more?
    pub(super) fn is_decided(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.verdict.is_some())
    }

    /// The verdict, if there is one already.
    pub(super) fn verdict(&self) -> Option<&Verdict> {
        self.more.as_ref()?.verdict.as_ref()
    }

    /// Pending operations.
    pub(super) fn pending(&self) -> u64 {
        self.more.as_ref().map_or(0, |more| more.unanswered)
    }

    /// The engine that decided or is at work.
    pub(super) fn engine(&self) -> &'static str {
        match self.more.as_deref() {
            Some(More { stage: Stage::Engaged(engaged), .. }) => engaged.stream.engine(),
            Some(more) if !more.engine.is_empty() => more.engine,
            _ => "segments",
        }
    }

    /// Is something of it not explained yet?
    pub(super) fn waits(&self) -> bool {
        !self.is_decided() && self.rows.len() > self.done as usize
    }

    /// Nothing can be said of it any more, unless something was.
    pub(super) fn give_up(&mut self, why: String) {
        if !self.is_decided() {
            let engine = self.engine();
            self.decide(Verdict::Unknown(Unknown::Unsupported { why }), engine);
        }
    }

    pub(super) fn decide(&mut self, verdict: Verdict, engine: &'static str) {
        let more = self.more.get_or_insert_default();
        more.verdict = Some(verdict);
        more.engine = engine;
        more.late.extend(self.rows.iter().map(|row| row.call));
        more.looks.extend(more.pending.iter().map(|row| row.call));
        more.stage = Stage::Quiet;
        more.track = Track::Lost;
        more.pending = Vec::new();
        self.rows = Vec::new();
        self.done = 0;
    }

    /// Decides what is complete: nothing that is still to come was called before `mark`.
    pub(super) fn settle(&mut self, mark: i64, world: &mut World) {
        self.settled = mark;
        if self.more.is_none() && self.done == 0 && self.rows.len() <= ROWS_WITHOUT_MEMORY {
            self.steps(mark, world);
            let first = self.rows.first().map_or(i64::MAX, |row| row.ret);
            if first >= mark && world.clocks.are_exact() {
                return;
            }
        }
        if self.is_decided() || self.rows.is_empty() && self.more.is_none() {
            return;
        }
        self.cut(mark, world);
        if self.is_decided() {
            return;
        }
        match self.more.as_deref().map(|more| &more.stage) {
            None | Some(Stage::Quiet) if self.rows.len() >= ENGAGE => self.engage(0, world),
            Some(Stage::Deferred) => self.suspect(mark, world),
            _ => {}
        }
        self.drive(mark, world);
    }

    /// The usual case, done quickly: the first rows are segments of one operation each, and steps of the one
    /// state. What else there is, [`Busy::cut`] does.
    fn steps(&mut self, mark: i64, world: &mut World) {
        let mut behind = [mark; ROWS_WITHOUT_MEMORY];
        for i in (1..self.rows.len()).rev() {
            behind[i - 1] = behind[i].min(world.clocks.earliest(&self.rows[i]));
        }
        let spec = &world.specs[usize::from(self.spec)];
        let mut done = 0;
        for (row, floor) in self.rows.iter().zip(behind) {
            let latest = world.clocks.latest(row);
            if latest >= floor || !self.start.step(spec, row, &mut world.symbols) {
                break;
            }
            (self.since, done) = (latest, done + 1);
        }
        self.rows.drain(..done);
    }

    /// Finds cuts below `mark` and decides the segments before them.
    fn cut(&mut self, mark: i64, world: &mut World) {
        let more = self.more.as_deref();
        if more.is_some_and(|more| matches!(more.track, Track::Lost)) {
            return;
        }
        // What never returned is never behind us.
        let pending = more.map_or(&[][..], |more| &more.pending);
        let mark = pending.iter().map(|row| world.clocks.earliest(row)).fold(mark, i64::min);
        let done = self.done as usize;
        let open = &self.rows[done..];
        // The least call of what stands behind each row.
        let mut behind = vec![mark; open.len()];
        for i in (1..open.len()).rev() {
            behind[i - 1] = behind[i].min(world.clocks.earliest(&open[i]));
        }
        // Rows before `base` are forgotten, those before `from` decided.
        let (mut base, mut from, mut latest, mut complete) = (0, done, i64::MIN, 0);
        for (i, floor) in behind.into_iter().enumerate() {
            latest = latest.max(world.clocks.latest(&self.rows[done + i]));
            complete += usize::from(latest < mark);
            if latest >= floor {
                continue;
            }
            let to = done + i + 1;
            match self.segment(from, to, world) {
                Next::Violated => {
                    self.rows.drain(..base);
                    self.violated(to - base, world);
                    return;
                }
                // All that was explained ends in one state: it is all that is remembered.
                Next::Single(state) => {
                    let spec = &world.specs[usize::from(self.spec)];
                    (self.start, self.since) = (Quiet::of(spec, state, &mut world.symbols), latest);
                    base = to;
                }
                Next::Several => {}
            }
            from = to;
            complete = 0;
        }
        self.rows.drain(..base);
        self.done = (from - base) as u32;
        let Some(more) = self.more.as_deref_mut() else { return };
        if complete > segment::LONGEST {
            more.track = Track::Lost;
        }
        if base > 0 {
            if let Stage::Engaged(engaged) = &more.stage {
                more.engine = engaged.stream.engine();
            }
            more.stage = Stage::Quiet;
            let plain = more.pending.is_empty() && more.engine.is_empty() && more.unanswered == 0;
            if plain && matches!(more.track, Track::Start) {
                self.more = None;
            }
        }
        if self.rows.is_empty() && self.rows.capacity() > 16 {
            self.rows = Vec::new();
        }
    }

    /// Decides the rows `from..to`.
    fn segment(&mut self, from: usize, to: usize, world: &World) -> Next {
        let spec = &world.specs[usize::from(self.spec)];
        let more = self.more.get_or_insert_default();
        let start;
        let states = match &more.track {
            Track::Start => {
                start = [self.start.state(&world.symbols)];
                &start[..]
            }
            Track::States(states) => states.as_slice(),
            Track::Lost => return Next::Several,
        };
        let large = states.iter().any(|state| state_size(state) > 4 * ENGAGE);
        let ends = if large {
            Ends::TooMany
        } else {
            segment::explore(spec, states, &self.rows[from..to], &world.clocks, &world.symbols)
        };
        match ends {
            // An engine or the batch checker decides.
            Ends::TooMany => {
                more.track = Track::Lost;
                Next::Several
            }
            Ends::States(ends) if ends.is_empty() => Next::Violated,
            Ends::States(mut ends) => match ends.pop() {
                Some(state) if ends.is_empty() && lead::is_memorable(spec, &state) => {
                    more.track = Track::Start;
                    Next::Single(state)
                }
                last => {
                    ends.extend(last);
                    more.track = Track::States(ends);
                    Next::Several
                }
            },
        }
    }

    /// Nothing more comes: the verdict.
    pub(super) fn finish(&mut self, world: &mut World) -> Verdict {
        self.settle(i64::MAX, world);
        if let Some(verdict) = self.verdict() {
            return verdict.clone();
        }
        let operations = self.operations;
        let holds = || Verdict::Holds(Basis::Witness { operations });
        let Some(more) = self.more.as_deref_mut() else { return holds() };
        // Pending operations may be left out.
        if !matches!(more.track, Track::Lost) && self.done as usize == self.rows.len() {
            return holds();
        }
        if let Stage::Engaged(engaged) = std::mem::take(&mut more.stage) {
            more.engine = engaged.stream.engine();
            let budget = patience(world.deadline, 4 * PATIENCE);
            let spec = &world.specs[usize::from(self.spec)];
            let cx = Context { symbols: &world.symbols, spec, budget: &budget };
            if let Some(Distinct { doubted: Some(example), twice, .. }) = engaged.committed {
                return match twice {
                    None => Verdict::Violated(example),
                    Some(value) => unknown(format!(
                        "{}: value {} is inserted twice; earlier operations are not kept, so no other engine can begin",
                        more.engine,
                        world.symbols.value(value)
                    )),
                };
            }
            let committed = engaged.committed.is_some();
            match engaged.stream.finish(&cx) {
                Ok(_) => return holds(),
                Err(halted) if committed => return unknown(format!("{}: {halted:?}", more.engine)),
                Err(_) => {}
            }
        }
        let rows: Vec<Operation> = self.rows.iter().chain(&more.pending).copied().collect();
        let deadline = world.deadline.into_iter().chain(world.turn_ends).min();
        self.batch(&rows, world, deadline)
    }
}

/// What follows a segment.
enum Next {
    /// The past is one state.
    Single(State),
    /// It is not.
    Several,
    /// There is no explanation.
    Violated,
}

/// The row as engines want it, without its source.
pub(super) fn bare(row: &Operation) -> Operation {
    let mut row = *row;
    row.key = KeyId::NONE;
    row
}

pub(super) fn unknown(why: impl Into<String>) -> Verdict {
    Verdict::Unknown(Unknown::Unsupported { why: why.into() })
}

pub(super) fn patience(deadline: Option<Instant>, patience: Duration) -> Budget {
    let soon = Instant::now() + patience;
    let deadline = deadline.map_or(soon, |deadline| deadline.min(soon));
    Budget { deadline: Some(deadline), ..Budget::unlimited() }
}

fn state_size(state: &State) -> usize {
    match state {
        State::Sequence(items) => items.len(),
        State::Bag(bag) => bag.len(),
        State::Map(map) => map.len(),
        State::Value(Value::List(items)) => items.len(),
        _ => 1,
    }
}

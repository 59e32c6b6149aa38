//! One object: the online check of its rows, in as little memory as its present needs.
//!
//! An object goes through stages. **Quiet**: all that is remembered is the one state it is in, and rows that are not complete yet. Whenever everything up to a moment
//! surely precedes everything after it and nothing earlier can still arrive (a *cut*), the rows before the cut are decided ([`crate::segment`]); if they can end in one
//! state only, they are forgotten. **Engaged**: the object is not quiet for long, so an engine of `check` goes along, and rows are kept since the last single
//! state, so that another engine can take over. **Committed**: it is never quiet; the engine has the rows, and nobody else. **Deferred**: what an engine met needs the
//! batch checker, which decides all kept rows when the source ends (or on what is known so far, where a violation is suspected).
//!
//! No stage guesses: what cannot be decided is `unknown` with its reason. See `docs/cluster.md`.

mod batch;
mod engaged;
mod kept;

use std::time::{Duration, Instant};

use linpoint_check::{Budget, Context};
use linpoint_history::specs::State;
use linpoint_history::{
    Basis, Builtin, Call, KeyId, OpCode, Operation, ProcessId, Spec, Symbols, Unknown, Value, Verdict,
};

use self::engaged::{Distinct, Engaged};

use crate::clock::Clocks;
use crate::lead;
use crate::quiet::Quiet;
use crate::segment::{self, Ends};

/// Rows since the last single state, from which on an engine goes along.
const ENGAGE: usize = 96;
/// Rows that an object may hold for the batch checker.
const HOLD: usize = 1 << 22;
/// How long one object may hold up the others in one step.
const PATIENCE: Duration = Duration::from_millis(500);

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
    /// Not with more memory than this.
    pub memory_bytes: Option<usize>,
    /// Are checkpoints taken? Then rows are kept that otherwise were released.
    pub keeps: bool,
}

/// An object and what is known of it.
pub struct Object {
    spec: u16,
    /// Is it in its worker's list of objects with rows that wait?
    pub listed: bool,
    /// How many of `rows` are decided.
    done: u32,
    /// Operations that came in, pending ones included.
    pub operations: u64,
    /// Up to which mark it was looked at.
    settled: i64,
    /// All that was forgotten had returned by this, in real time.
    since: i64,
    /// The one state that everything forgotten ended in.
    start: Quiet,
    /// The only row that waits, where there is but one and nothing else to know: most objects, most of the time.
    only: Operation,
    has_only: bool,
    /// Completed rows since then, in order of return and call.
    rows: Vec<Operation>,
    more: Option<Box<More>>,
}

/// What few objects have.
#[derive(Default)]
struct More {
    stage: Stage,
    track: Track,
    /// Operations that never returned and may have taken effect, in the order they came in.
    pending: Vec<Operation>,
    /// Pending operations, those that can change nothing included.
    unanswered: u64,
    /// When those that can change nothing were called, since the last checkpoint.
    looks: Vec<i64>,
    /// When other operations were called that came after the verdict, since the last checkpoint.
    late: Vec<i64>,
    verdict: Option<Verdict>,
    /// The engine that decided, where it was not a segment's.
    engine: &'static str,
    /// The number of rows at which a suspicion is looked at again.
    retry: usize,
}

/// What is known of the states that the decided rows may end in.
#[derive(Default)]
enum Track {
    /// The start.
    #[default]
    Start,
    /// These.
    States(Vec<State>),
    /// Too many, or too hard to say.
    Lost,
}

#[derive(Default)]
enum Stage {
    #[default]
    Quiet,
    Engaged(Box<Engaged>),
    Deferred,
}

impl Object {
    /// In its initial state.
    pub fn new(spec: u16, world: &mut World) -> Object {
        let start = Quiet::initial(&world.specs[usize::from(spec)], &mut world.symbols);
        Object {
            spec,
            listed: false,
            done: 0,
            operations: 0,
            settled: i64::MIN,
            since: i64::MIN,
            start,
            only: Operation::new(ProcessId(0), OpCode(0)),
            has_only: false,
            rows: Vec::new(),
            more: None,
        }
    }

    /// A row comes in; nothing that is still to come, this row included, was called before `mark` in real time.
    #[inline]
    pub fn push(&mut self, row: Operation, mark: i64, world: &mut World) {
        if mark > self.settled {
            self.settle(mark, world);
        }
        self.insert(row, world);
    }

    fn insert(&mut self, row: Operation, world: &World) {
        self.operations += 1;
        if row.is_pending() {
            let spec = &world.specs[usize::from(self.spec)];
            self.spread();
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
        if self.more.is_none() && self.rows.is_empty() && !self.has_only {
            (self.only, self.has_only) = (row, true);
            return;
        }
        self.spread();
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

    /// The only row stands among the others.
    fn spread(&mut self) {
        if std::mem::replace(&mut self.has_only, false) {
            self.rows.push(self.only);
        }
    }

    /// Has it a verdict that nothing changes any more?
    pub fn is_decided(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.verdict.is_some())
    }

    /// The verdict, if there is one already.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.more.as_ref()?.verdict.as_ref()
    }

    /// Its specification's number.
    pub fn spec(&self) -> usize {
        usize::from(self.spec)
    }

    /// Pending operations.
    pub fn pending(&self) -> u64 {
        self.more.as_ref().map_or(0, |more| more.unanswered)
    }

    /// The engine that decided or is at work.
    pub fn engine(&self) -> &'static str {
        match self.more.as_deref() {
            Some(More { stage: Stage::Engaged(engaged), .. }) => engaged.stream.engine(),
            Some(more) if !more.engine.is_empty() => more.engine,
            _ => "segments",
        }
    }

    /// Up to which mark it was looked at.
    #[inline]
    pub fn settled(&self) -> i64 {
        self.settled
    }

    /// Rows held.
    pub fn held(&self) -> usize {
        self.rows.len() + usize::from(self.has_only)
    }

    /// Is something of it not explained yet?
    pub fn waits(&self) -> bool {
        self.has_only || !self.is_decided() && self.rows.len() > self.done as usize
    }

    /// Nothing can be said of it any more, unless something was.
    pub fn give_up(&mut self, why: String) {
        if !self.is_decided() {
            let engine = self.engine();
            self.decide(Verdict::Unknown(Unknown::Unsupported { why }), engine);
        }
    }

    fn decide(&mut self, verdict: Verdict, engine: &'static str) {
        self.spread();
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
    pub fn settle(&mut self, mark: i64, world: &mut World) {
        self.settled = mark;
        if self.has_only {
            // The usual case: one row, alone between two quiet moments.
            let latest = world.clocks.latest(&self.only);
            if latest >= mark {
                return;
            }
            let spec = &world.specs[usize::from(self.spec)];
            if self.start.step(spec, &self.only, &mut world.symbols) {
                (self.since, self.has_only) = (latest, false);
                return;
            }
            self.spread();
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
    pub fn finish(&mut self, world: &mut World) -> Verdict {
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
        self.batch(&rows, world, world.deadline)
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
fn bare(row: &Operation) -> Operation {
    let mut row = *row;
    row.key = KeyId::NONE;
    row
}

fn unknown(why: impl Into<String>) -> Verdict {
    Verdict::Unknown(Unknown::Unsupported { why: why.into() })
}

fn patience(deadline: Option<Instant>, patience: Duration) -> Budget {
    let soon = Instant::now() + patience;
    let deadline = deadline.map_or(soon, |deadline| deadline.min(soon));
    Budget { deadline: Some(deadline), memory_bytes: None, racer: None }
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

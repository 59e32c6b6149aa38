//! One object: the online check of its rows, in as little memory as its present needs.
//!
//! An object goes through stages. **Quiet**: all that is remembered is the one state it is in, and rows that are not complete yet. Whenever everything up to a moment
//! surely precedes everything after it and nothing earlier can still arrive (a *cut*), the rows before the cut are decided ([`crate::segment`]); if they can end in one
//! state only, they are forgotten. **Engaged**: the object is not quiet for long, so an engine of `check` goes along, and rows are kept since the last single
//! state, so that another engine can take over. **Committed**: it is never quiet; the engine has the rows, and nobody else. **Deferred**: what an engine met needs the
//! batch checker, which decides all kept rows when the source ends (or on what is known so far, where a violation is suspected).
//!
//! No stage guesses: what cannot be decided is `unknown` with its reason. See `docs/cluster.md`.

use std::time::{Duration, Instant};

use linpoint_check::monitor::seen::Seen;
use linpoint_check::portfolio::{Candidate, Choice, candidates};
use linpoint_check::stream::{Halted, Stream};
use linpoint_check::{Budget, Context, Limit, Options, Partition, check_rows};
use linpoint_history::specs::{State, codes};
use linpoint_history::{
    Basis, Builtin, Call, Counterexample, KeyId, Kind, OpCode, Operation, ProcessId, Spec, Start, Symbols,
    Unknown, Value, ValueId, Verdict,
};

use crate::clock::Clocks;
use crate::lead;
use crate::progress::{Kept, KeptRow, KeptState};
use crate::quiet::Quiet;
use crate::segment::{self, Ends};
use crate::wire::Wire;

/// Rows since the last single state, from which on an engine goes along.
const ENGAGE: usize = 96;
/// Rows that are kept for another engine; with more, the one at work is the last.
const COMMIT: usize = 1 << 16;
/// Rows that an object may hold for the batch checker.
const HOLD: usize = 1 << 22;
/// Rows an engine is given at a time.
const STRIDE: usize = 256;
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

struct Engaged {
    stream: Stream,
    /// Its place among the candidates.
    candidate: usize,
    /// How many of `rows`, and how many of the pending ones, it was given.
    given: usize,
    given_pending: usize,
    /// Once rows are not kept any more: the values inserted so far, where the engine rests on no value being inserted twice.
    committed: Option<Distinct>,
}

/// Values inserted so far.
#[derive(Default)]
struct Distinct {
    seen: Seen,
    /// A value that was inserted twice.
    twice: Option<ValueId>,
    /// A violation that stands if no value is inserted twice.
    doubted: Option<Counterexample>,
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

    /// What must be kept of it at a checkpoint: everything below `mark` is decided as far as it can be, and nothing above it.
    pub(crate) fn keep(&mut self, mark: i64, world: &mut World) -> Kept {
        self.settle(mark, world);
        self.spread();
        let clocks = &world.clocks;
        let pending = self.more.as_ref().map_or(&[][..], |more| &more.pending);
        let later = self.rows.iter().chain(pending).filter(|row| clocks.earliest(row) >= mark).count() as u64;
        let symbols = &world.symbols;
        let looks =
            self.more.as_ref().map_or(0, |more| more.looks.iter().filter(|&&call| call >= mark).count());
        let later_pending = pending.iter().filter(|row| clocks.earliest(row) >= mark).count() + looks;
        let after =
            self.more.as_ref().map_or(0, |more| more.late.iter().filter(|&&call| call >= mark).count());
        let before = |row: &&Operation| clocks.earliest(row) < mark;
        let rows = self.rows.iter().chain(pending).filter(before).map(|row| KeptRow::new(row, symbols));
        let kept = Kept {
            spec: (String::new(), None),
            name: Wire(Value::Null),
            operations: self.operations - later - looks as u64 - after as u64,
            unanswered: self.pending() - later_pending as u64,
            since: self.since,
            start: KeptState::new(&self.start.state(symbols), symbols),
            rows: rows.collect(),
            found: None,
        };
        if let Some(more) = self.more.as_deref_mut() {
            more.looks.retain(|&call| call >= mark);
            more.late.retain(|&call| call >= mark);
        }
        kept
    }

    /// As it was at a checkpoint.
    pub(crate) fn restored(spec: u16, kept: &Kept, world: &mut World) -> Object {
        let mut object = Object::new(spec, world);
        let start = kept.start.rebuilt(&mut world.symbols);
        object.start = Quiet::of(&world.specs[usize::from(spec)], start, &mut world.symbols);
        object.since = kept.since;
        for row in &kept.rows {
            let row = row.rebuilt(&mut world.symbols);
            object.insert(row, world);
        }
        object.operations = kept.operations;
        if kept.unanswered > 0 {
            object.more.get_or_insert_default().unanswered = kept.unanswered;
        }
        if kept.found.is_some() {
            object.decide(unknown("it was decided before the run was interrupted"), "segments");
        }
        object
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

    /// The first `to` rows have no explanation: few of them, and a sentence.
    fn violated(&mut self, to: usize, world: &mut World) {
        let rows = self.rows[..to].to_vec();
        let verdict = match self.batch(&rows, world, world.deadline) {
            Verdict::Holds(_) => unknown("two decisions of the same rows disagree: a mistake of ours"),
            verdict => verdict,
        };
        self.decide(verdict, "segments");
    }

    /// Operations that lead to the start.
    fn lead(&self, world: &mut World) -> Result<Vec<Operation>, String> {
        let spec = world.specs[usize::from(self.spec)].clone();
        let start = self.start.state(&world.symbols);
        let found = lead::lead(&spec, &start, &mut world.symbols, self.since.saturating_add(1));
        found.ok_or_else(|| format!("no way back to the state {} is known", spec.show(&start)))
    }

    /// What the batch checker says of `rows`, from the start.
    fn batch(&self, rows: &[Operation], world: &mut World, deadline: Option<Instant>) -> Verdict {
        let exact = self.batch_stamps(rows, world, deadline);
        if world.clocks.are_exact() || !matches!(&exact, Ok(Verdict::Violated(_))) {
            return exact.unwrap_or_else(unknown);
        }
        // The stamps ask for too much; widened, for too little.
        let widened: Vec<Operation> = rows.iter().map(|row| world.clocks.widened(row)).collect();
        match self.batch_stamps(&widened, world, deadline) {
            Ok(Verdict::Violated(mut example)) => {
                for row in example.core.iter_mut().chain(&mut example.prefix) {
                    let original = rows.iter().find(|other| world.clocks.widened(other) == *row);
                    *row = original.copied().unwrap_or(*row);
                }
                Verdict::Violated(example)
            }
            Ok(Verdict::Holds(_)) => unknown(
                "the clocks of the sources are not exact enough: the stamps as they are have no explanation, widened by their error bounds they have one",
            ),
            Ok(other) => other,
            Err(why) => unknown(why),
        }
    }

    fn batch_stamps(
        &self,
        rows: &[Operation],
        world: &mut World,
        deadline: Option<Instant>,
    ) -> Result<Verdict, String> {
        let lead = self.lead(world)?;
        let spec = world.specs[usize::from(self.spec)].clone();
        let options = Options {
            partition: Partition::None,
            threads: 1,
            time_limit: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
            memory_limit_bytes: world.memory_bytes,
            ..Options::default()
        };
        let all = lead.iter().copied().chain(rows.iter().map(bare)).collect();
        let answer =
            check_rows(all, &spec, &mut world.symbols, &options).map_err(|error| error.to_string())?;
        Ok(match answer.verdict {
            Verdict::Violated(example) => {
                let forgotten = self.operations - self.pending() - self.rows.len() as u64;
                let begun = (forgotten > 0).then(|| Start {
                    state: spec.show_named(&self.start.state(&world.symbols), &world.symbols),
                    operations: forgotten,
                });
                Verdict::Violated(without_lead(example, &lead, begun, rows))
            }
            other => other,
        })
    }

    /// Begins with the engine at `candidate`, or the next that there is.
    fn engage(&mut self, candidate: usize, world: &mut World) {
        let lead = self.lead(world);
        let spec = &world.specs[usize::from(self.spec)];
        let all = candidates(spec, Choice::Auto);
        // Those that collect rows and decide at the end: the batch checker does that better.
        let streams = |next: &&Candidate| !matches!(next.choice, Choice::Brute | Choice::Search);
        let (Some(next), Ok(lead)) = (all.get(candidate).filter(streams), lead) else {
            self.defer();
            return;
        };
        let mut stream = Stream::new((next.make)(spec), spec, &world.symbols);
        stream.push(&lead);
        let engaged = Engaged { stream, candidate, given: 0, given_pending: 0, committed: None };
        self.more.get_or_insert_default().stage = Stage::Engaged(Box::new(engaged));
    }

    fn defer(&mut self) {
        let engine = self.engine();
        let more = self.more.get_or_insert_default();
        if engine != "segments" {
            more.engine = engine;
        }
        more.stage = Stage::Deferred;
        more.retry = 0;
    }

    /// Gives the engine what is complete, if that is enough to be worth it.
    fn drive(&mut self, mark: i64, world: &mut World) {
        let Some(more) = self.more.as_deref_mut() else { return };
        let Stage::Engaged(engaged) = &mut more.stage else { return };
        let given = engaged.given;
        let ready = self.rows[given..].partition_point(|row| row.ret < mark);
        if ready < STRIDE && mark != i64::MAX {
            return;
        }
        let rows: Vec<Operation> = self.rows[given..given + ready].iter().map(bare).collect();
        engaged.stream.push(&rows);
        engaged.given += ready;
        let spec = &world.specs[usize::from(self.spec)];
        if let Some(distinct) = &mut engaged.committed {
            rows.iter().for_each(|row| distinct.note(spec, row));
        }
        // A pending row finds its place among all that returned before its call, so these come first.
        more.pending[engaged.given_pending..].sort_by_key(|row| row.call);
        let known = more.pending[engaged.given_pending..].partition_point(|row| row.call < mark);
        for row in &more.pending[engaged.given_pending..][..known] {
            engaged.stream.push_pending(bare(row));
        }
        engaged.given_pending += known;
        // What waits may have been called long ago.
        let waiting = self.rows[engaged.given..].iter().map(|row| row.call).min();
        let floor = waiting.unwrap_or(i64::MAX).min(mark);
        let budget = patience(world.deadline, PATIENCE);
        let cx = Context { symbols: &world.symbols, spec, budget: &budget };
        match engaged.stream.advance(&cx, floor) {
            Ok(()) if world.keeps && self.rows.len() > HOLD => {
                self.give_up(format!("more than {HOLD} operations since it was last in one known state: too many to keep on disk"));
            }
            Ok(()) => self.commit(world),
            Err(halted) => self.halted(halted, mark, world),
        }
    }

    /// Keeps no more rows than another engine would need, and none if there are too many.
    fn commit(&mut self, world: &mut World) {
        let lead = self.lead(world).unwrap_or_default();
        let Some(More { stage: Stage::Engaged(engaged), track, .. }) = self.more.as_deref_mut() else {
            return;
        };
        if engaged.committed.is_none() && engaged.given >= COMMIT && !world.keeps {
            let spec = &world.specs[usize::from(self.spec)];
            let mut distinct = Distinct::default();
            distinct.begin(spec, &world.symbols);
            lead.iter().chain(&self.rows[..engaged.given]).for_each(|row| distinct.note(spec, row));
            engaged.committed = Some(distinct);
            *track = Track::Lost;
        }
        if engaged.committed.is_some() {
            self.rows.drain(..engaged.given);
            (engaged.given, self.done) = (0, 0);
        }
    }

    /// The engine does not go on.
    fn halted(&mut self, halted: Halted, mark: i64, world: &mut World) {
        let Some(More { stage: Stage::Engaged(engaged), .. }) = self.more.as_deref_mut() else { return };
        let name = engaged.stream.engine();
        let Some(distinct) = &mut engaged.committed else {
            match halted {
                Halted::Unsupported(_) => {
                    let next = engaged.candidate + 1;
                    self.engage(next, world);
                    self.drive(mark, world);
                }
                Halted::Bug(why) => {
                    self.decide(unknown(format!("internal error in the {name}: {why}")), name)
                }
                Halted::Violated { .. } | Halted::Limit(_) => {
                    self.defer();
                    self.suspect(mark, world);
                }
            }
            return;
        };
        let verdict = match halted {
            Halted::Unsupported(why) => unknown(format!(
                "{name}: {why}; earlier operations are not kept, so no other engine can begin"
            )),
            Halted::Limit(Limit::Memory) => Verdict::Unknown(Unknown::Memory { decided: 0, widest: 0 }),
            Halted::Limit(_) => Verdict::Unknown(Unknown::Time { decided: 0, widest: 0 }),
            Halted::Bug(why) => unknown(format!("internal error in the {name}: {why}")),
            Halted::Violated { touching: true, .. } => {
                unknown("operations of one process touch, and too many rows came since to look twice")
            }
            Halted::Violated { .. } if !world.clocks.are_exact() => unknown(
                "the stamps as they are have no explanation, and too many rows came since to look again with the error bounds of the clocks",
            ),
            Halted::Violated { violation, at, .. } => {
                let spec = &world.specs[usize::from(self.spec)];
                let rests = candidates(spec, Choice::Auto)[engaged.candidate].distinct;
                let reason = violation.reason.clone();
                let budget = patience(world.deadline, PATIENCE);
                match engaged.stream.explain(spec, &world.symbols, violation, at, &budget) {
                    Some(example) if rests => {
                        distinct.doubted = Some(example);
                        return;
                    }
                    Some(example) => Verdict::Violated(example),
                    None => unknown(format!("{name}: {reason}; too many rows came since to look again")),
                }
            }
        };
        self.decide(verdict, name);
    }

    /// Something may be wrong: looks at what is known so far, each time there is twice as much.
    fn suspect(&mut self, mark: i64, world: &mut World) {
        if self.rows.len() > HOLD {
            self.give_up(format!("more than {HOLD} operations wait for a decision"));
            return;
        }
        let Some(more) = self.more.as_deref_mut().filter(|more| self.rows.len() >= more.retry) else {
            return;
        };
        more.retry = 2 * self.rows.len().max(ENGAGE);
        // A prefix of the history: what had not returned by the mark is pending in it.
        let known = self.rows.iter().chain(&more.pending).filter(|row| row.call < mark);
        let open = |row: &Operation| {
            let mut row = *row;
            row.ret = Operation::NEVER;
            row
        };
        let prefix: Vec<Operation> = known.map(|row| if row.ret < mark { *row } else { open(row) }).collect();
        let soon = Instant::now() + 2 * PATIENCE;
        let deadline = world.deadline.map_or(soon, |deadline| deadline.min(soon));
        if let verdict @ Verdict::Violated(_) = self.batch(&prefix, world, Some(deadline)) {
            self.decide(verdict, "batch checker");
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

impl Distinct {
    fn begin(&mut self, spec: &Builtin, symbols: &Symbols) {
        let initial = match &spec.initial {
            Value::List(items) if spec.kind != Kind::Register => items.to_vec(),
            other => vec![other.clone()],
        };
        for id in initial.iter().filter_map(|value| symbols.find(value)) {
            self.seen.insert(id);
        }
    }

    fn note(&mut self, spec: &Builtin, row: &Operation) {
        let insertion = if spec.kind == Kind::Kv { codes::kv::PUT } else { OpCode(0) };
        if row.op() == insertion && !self.seen.insert(row.arg) {
            self.twice = Some(row.arg);
        }
    }
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

/// A counterexample without the operations that lead to its start; rows get their sources back.
fn without_lead(
    example: Counterexample,
    lead: &[Operation],
    begun: Option<Start>,
    rows: &[Operation],
) -> Counterexample {
    let is_lead = |op: &Operation| lead.contains(op);
    let source = |op: &Operation| {
        let same = rows.iter().find(|row| bare(row) == *op);
        same.copied().unwrap_or(*op)
    };
    let mut places = Vec::with_capacity(example.core.len());
    let mut core = Vec::new();
    for op in &example.core {
        places.push((!is_lead(op)).then_some(core.len()));
        if !is_lead(op) {
            core.push(source(op));
        }
    }
    let place = |index: &usize| places.get(*index).copied().flatten();
    // What the batch checker says of the past does not know what was forgotten.
    let reason = match (&example.start, &begun) {
        (None, Some(Start { state, .. })) if core.len() == 1 => {
            format!("an operation is impossible in the state {state}, in which everything before it ends")
        }
        (None, Some(Start { state, .. })) => {
            let many = core.len();
            format!(
                "{many} operations have no order from the state {state}, in which everything before them ends"
            )
        }
        _ => example.reason.clone(),
    };
    Counterexample {
        reason,
        start: example.start.or(begun),
        prefix: example.prefix.iter().map(source).collect(),
        impossible: example.impossible.as_ref().and_then(place),
        explained: example.explained.iter().filter_map(place).collect(),
        core,
        ..example
    }
}

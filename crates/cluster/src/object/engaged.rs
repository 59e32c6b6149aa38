//! An engine that goes along with an object.
//!
//! As long as rows are kept another engine can begin where this one meets what it does not handle. With too
//! many rows it is committed: the rows are its own, and what it cannot decide stays undecided.

use std::time::Instant;

use linpoint_check::monitor::seen::Seen;
use linpoint_check::portfolio::{Candidate, Choice, candidates};
use linpoint_check::stream::{Halted, Stream};
use linpoint_check::{Context, Limit};
use linpoint_history::specs::codes;
use linpoint_history::{
    Builtin, Counterexample, Kind, OpCode, Operation, Symbols, Unknown, Value, ValueId, Verdict,
};

use super::World;
use super::busy::{Busy, ENGAGE, HOLD, More, PATIENCE, Stage, Track, bare, patience, unknown};

/// Rows that are kept for another engine; with more, the one at work is the last.
const COMMIT: usize = 1 << 16;
/// Rows an engine is given at a time.
const STRIDE: usize = 256;

pub(super) struct Engaged {
    pub(super) stream: Stream,
    /// Its place among the candidates.
    pub(super) candidate: usize,
    /// How many of `rows`, and how many of the pending ones, it was given.
    pub(super) given: usize,
    pub(super) given_pending: usize,
    /// Once rows are not kept any more: the values inserted so far, where the engine rests on no value being
    /// inserted twice.
    pub(super) committed: Option<Distinct>,
}

/// Values inserted so far.
#[derive(Default)]
pub(super) struct Distinct {
    pub(super) seen: Seen,
    /// A value that was inserted twice.
    pub(super) twice: Option<ValueId>,
    /// A violation that stands if no value is inserted twice.
    pub(super) doubted: Option<Counterexample>,
}

impl Busy {
    /// Begins with the engine at `candidate`, or the next that there is.
    pub(super) fn engage(&mut self, candidate: usize, world: &mut World) {
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

    pub(super) fn defer(&mut self) {
        let engine = self.engine();
        let more = self.more.get_or_insert_default();
        if engine != "segments" {
            more.engine = engine;
        }
        more.stage = Stage::Deferred;
        more.retry = 0;
    }

    /// Gives the engine what is complete, if that is enough to be worth it.
    pub(super) fn drive(&mut self, mark: i64, world: &mut World) {
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
    pub(super) fn commit(&mut self, world: &mut World) {
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
    pub(super) fn halted(&mut self, halted: Halted, mark: i64, world: &mut World) {
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
    pub(super) fn suspect(&mut self, mark: i64, world: &mut World) {
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
}

impl Distinct {
    pub(super) fn begin(&mut self, spec: &Builtin, symbols: &Symbols) {
        let initial = match &spec.initial {
            Value::List(items) if spec.kind != Kind::Register => items.to_vec(),
            other => vec![other.clone()],
        };
        for id in initial.iter().filter_map(|value| symbols.find(value)) {
            self.seen.insert(id);
        }
    }

    pub(super) fn note(&mut self, spec: &Builtin, row: &Operation) {
        let insertion = if spec.kind == Kind::Kv { codes::kv::PUT } else { OpCode(0) };
        if row.op() == insertion && !self.seen.insert(row.arg) {
            self.twice = Some(row.arg);
        }
    }
}

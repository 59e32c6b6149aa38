//! Events one at a time: the same engines beside a running system.
//!
//! A call says that an operation is open, a return says what it answered. An engine may explain return i once
//! every operation called by then is known with its result ([`crate::engine`]), so the *mark* it may go up to
//! is the oldest call still open. Each event is answered with what is known about everything before the mark;
//! memory holds what lies after it, and what the engine keeps of live elements.
//!
//! One operation that hangs stops the mark, and what follows it piles up. [`Online::lost`] declares it
//! pending: it may or may not have taken effect, and the mark moves on.
//!
//! A stream cannot be started again, so the engine is chosen at the beginning: one that takes repeated
//! values, unless [`Promise::Distinct`] says that there are none. Should it meet an operation or a value that
//! it does not know, the next one takes over where the past is still known (`restart.rs`).

mod restart;

use std::collections::BTreeSet;

use linpoint_history::{
    Basis, Builtin, Counterexample, OpCode, Operation, ProcessId, Signature, Spec, Start, Symbols,
    Unexplained, Unknown, Value, Verdict,
};
use rustc_hash::FxHashMap;
use thiserror::Error;

use self::restart::Restart;
use crate::counterexample;
use crate::decide::with_shortfall;
use crate::drive::{Course, DriveError, Ended};
use crate::engine::{Budget, Context, Engine, Limit};
use crate::feed::Feed;
use crate::metastate::generic::Generic;
use crate::portfolio;
use crate::timeline::Ties;

/// What is known beforehand about the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promise {
    /// Nothing.
    #[default]
    None,
    /// No value is inserted or written twice: a monitor will do. If the promise is broken the answer is
    /// `unknown`.
    Distinct,
}

/// What is known after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The first so many returns are explained; all before the oldest open call are.
    Fine {
        /// Returns explained.
        explained: u64,
        /// Operations open now.
        open: usize,
    },
    /// The stream is decided: violated or unknown. What follows changes nothing.
    Decided(Box<Verdict>),
}

/// An event that cannot follow what came before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EventError {
    /// A process calls while its last operation is open.
    #[error("process {0} calls an operation while another of its operations is open")]
    AlreadyOpen(Value),
    /// A process returns with nothing open.
    #[error("process {0} returns, but has no operation open")]
    NotOpen(Value),
    /// The specification has no such operation.
    #[error("no operation `{0}`; known: {1}")]
    UnknownOperation(String, String),
    /// An argument or a result that does not fit.
    #[error("{what} {value} of `{op}` does not fit; expected {expected}")]
    Shape {
        /// `argument` or `result`.
        what: &'static str,
        /// The value.
        value: Value,
        /// The operation.
        op: &'static str,
        /// What would fit.
        expected: String,
    },
}

/// A check that goes on while events come in.
pub struct Online {
    spec: Builtin,
    symbols: Symbols,
    engine: Box<dyn Engine + Send>,
    course: Course,
    budget: Budget,
    open: FxHashMap<ProcessId, Operation>,
    /// Calls still open, by stamp.
    calls: BTreeSet<i64>,
    stamp: i64,
    decided: Option<Verdict>,
    /// Rows since the engine last went on.
    waiting: u32,
    /// Engines that had their turn.
    tried: usize,
    restart: Restart,
    /// Operations before those that the engine at work knows.
    before: u64,
    /// Operations that returned, and that never will.
    returned: u64,
    lost: u64,
}

impl Online {
    /// Begins with an object in its initial state.
    pub fn new(spec: Builtin, promise: Promise, budget: Budget) -> Online {
        let spec = spec.until(budget.deadline);
        let mut symbols = Symbols::new();
        crate::decide::intern_initial(&spec, &mut symbols);
        let mut restart = Restart::new(&spec, &symbols);
        let engine = match portfolio::for_stream(&spec, promise == Promise::Distinct, 0) {
            Some(engine) => engine,
            None => Box::new(Generic::new(spec.clone())),
        };
        // A monitor says late that a value came twice: then nobody else may take over.
        if promise == Promise::Distinct {
            restart.give_up();
        }
        Online {
            engine,
            course: Course::new(&spec, &symbols, Ties::Strict),
            symbols,
            spec,
            budget,
            open: FxHashMap::default(),
            calls: BTreeSet::new(),
            stamp: 0,
            decided: None,
            waiting: 0,
            tried: 1,
            restart,
            before: 0,
            returned: 0,
            lost: 0,
        }
    }

    /// The engine at work.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// What the numbers of rows stand for.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Process `process` calls operation `op` with `arg`.
    pub fn call(&mut self, process: &Value, op: &str, arg: &Value) -> Result<Status, EventError> {
        let code = self.find(op)?;
        let decl = self.spec.signature().decl(code);
        if !decl.arg.admits(arg) {
            let (op, expected) = (decl.name, decl.arg.expected().into_owned());
            return Err(EventError::Shape { what: "argument", value: arg.clone(), op, expected });
        }
        let id = self.symbols.process(process);
        if self.open.contains_key(&id) {
            return Err(EventError::AlreadyOpen(process.clone()));
        }
        let mut row = Operation::new(id, code);
        row.call = self.tick();
        row.arg = self.symbols.intern(arg);
        self.calls.insert(row.call);
        self.open.insert(id, row);
        Ok(self.status())
    }

    /// The open operation of `process` returns `result`.
    pub fn ret(&mut self, process: &Value, result: &Value) -> Result<Status, EventError> {
        let id = self.symbols.process(process);
        let Some(row) = self.open.get(&id) else { return Err(EventError::NotOpen(process.clone())) };
        let decl = self.spec.signature().decl(row.op()).clone();
        if !decl.result.admits(result) {
            let (op, expected) = (decl.name, decl.result.expected().into_owned());
            return Err(EventError::Shape { what: "result", value: result.clone(), op, expected });
        }
        let Some(mut row) = self.open.remove(&id) else { return Err(EventError::NotOpen(process.clone())) };
        row.result = decl.result.normalise(self.symbols.intern(result));
        row.ret = self.tick();
        self.calls.remove(&row.call);
        self.course.timeline.push(row);
        self.restart.note(row);
        self.returned += 1;
        self.waiting += 1;
        self.advance(false);
        Ok(self.status())
    }

    /// The open operation of `process` is known not to have happened.
    pub fn failed(&mut self, process: &Value) -> Result<Status, EventError> {
        let id = self.symbols.process(process);
        let Some(row) = self.open.remove(&id) else { return Err(EventError::NotOpen(process.clone())) };
        self.calls.remove(&row.call);
        self.advance(false);
        Ok(self.status())
    }

    /// The open operation of `process` will never answer: it may or may not take effect, now or later.
    pub fn lost(&mut self, process: &Value) -> Result<Status, EventError> {
        let id = self.symbols.process(process);
        let Some(row) = self.open.remove(&id) else { return Err(EventError::NotOpen(process.clone())) };
        self.lose(row);
        self.advance(false);
        Ok(self.status())
    }

    /// Has any operation returned? If not there is nothing to check, and that is what [`Online::finish`]
    /// says.
    pub fn has_returns(&self) -> bool {
        self.returned > 0
    }

    /// No more events: operations still open are pending.
    pub fn finish(mut self) -> Verdict {
        let mut left: Vec<Operation> = self.open.drain().map(|(_, row)| row).collect();
        left.sort_by_key(|row| row.call);
        left.into_iter().for_each(|row| self.lose(row));
        self.advance(true);
        if let Some(verdict) = self.decided {
            return verdict;
        }
        loop {
            let cx = Context { symbols: &self.symbols, spec: &self.spec, budget: &self.budget };
            let ended = self.course.finish(self.engine.as_mut(), &cx, &mut None);
            let ended = self.course.ended(ended, self.engine.explained());
            if matches!(ended, Ok(Ended::Unsupported(_))) && self.next_engine() {
                self.advance(true);
                match self.decided {
                    Some(verdict) => return verdict,
                    None => continue,
                }
            }
            return self.verdict(ended);
        }
    }

    fn lose(&mut self, mut row: Operation) {
        self.calls.remove(&row.call);
        row.ret = Operation::NEVER;
        self.course.timeline.push_pending(row);
        self.restart.note_pending(row);
        self.lost += 1;
    }

    fn find(&self, op: &str) -> Result<OpCode, EventError> {
        let signature: &Signature = self.spec.signature();
        signature.find(op).ok_or_else(|| EventError::UnknownOperation(op.to_owned(), signature.names()))
    }

    fn tick(&mut self) -> i64 {
        self.stamp += 1;
        self.stamp
    }

    fn status(&self) -> Status {
        match &self.decided {
            Some(verdict) => Status::Decided(Box::new(verdict.clone())),
            None => {
                let explained = self.before + u64::from(self.course.explained());
                Status::Fine { explained, open: self.open.len() }
            }
        }
    }

    /// Lets the engine go up to the mark.
    fn advance(&mut self, now: bool) {
        if self.decided.is_some() || self.waiting == 0 && !now {
            return;
        }
        self.waiting = 0;
        let floor = self.calls.first().copied().unwrap_or(i64::MAX);
        loop {
            let cx = Context { symbols: &self.symbols, spec: &self.spec, budget: &self.budget };
            let step = self.course.advance(self.engine.as_mut(), &cx, floor, &mut None);
            if step.is_ok() {
                break;
            }
            let ended = self.course.ended(step, self.engine.explained());
            if !matches!(ended, Ok(Ended::Unsupported(_))) || !self.next_engine() {
                self.decided = Some(self.verdict(ended));
                return;
            }
        }
        if self.open.is_empty() && self.restart.wants_cut() && self.course.is_settled() {
            self.restart.cut();
        }
    }

    /// The engine at work cannot go on: another begins where the past is known from. Is there one?
    fn next_engine(&mut self) -> bool {
        let Some(spec) = self.restart.begin(&self.spec, &self.symbols) else { return false };
        let Some(engine) = portfolio::for_stream(&spec, false, self.tried) else { return false };
        self.tried += 1;
        self.engine = engine;
        self.course = Course::new(&spec, &self.symbols, Ties::Strict);
        self.course.timeline.extend(&self.restart.rows);
        for row in &self.restart.pending {
            self.course.timeline.push_pending(*row);
        }
        self.before = self.restart.before;
        self.spec = spec;
        true
    }

    /// What the end of a drive means for the whole stream.
    fn verdict(&self, ended: Result<Ended, DriveError>) -> Verdict {
        if matches!(ended, Ok(Ended::Explained { .. })) && self.returned == 0 {
            return Verdict::Unknown(Unknown::Nothing { pending: self.lost });
        }
        let verdict = verdict(&self.spec, &self.symbols, self.engine.name(), ended);
        // An outcome that was missing may be the one that explains it, and makes it replay.
        let is_settled = matches!(verdict, Verdict::Holds(_)) || !self.spec.ran_out_of_time();
        let verdict =
            if is_settled { verdict } else { Verdict::Unknown(Unknown::Time { decided: 0, widest: 0 }) };
        let mut verdict = with_shortfall(verdict, &self.spec);
        let Some(before) = Some(self.before).filter(|before| *before > 0) else { return verdict };
        match &mut verdict {
            Verdict::Holds(Basis::Witness { operations }) => *operations += before,
            Verdict::Violated(example) => match &mut example.start {
                Some(start) => start.operations += before,
                None => {
                    let state = self.spec.initial();
                    let shown = self.spec.show(&state);
                    example.start = Some(Start { state: Some(state), shown, operations: before });
                }
            },
            Verdict::Unknown(Unknown::Time { decided, .. } | Unknown::Memory { decided, .. }) => {
                *decided += before;
            }
            Verdict::Unknown(Unknown::Nothing { .. } | Unknown::Unsupported { .. }) => {}
        }
        verdict
    }
}

fn verdict(spec: &Builtin, symbols: &Symbols, engine: &str, ended: Result<Ended, DriveError>) -> Verdict {
    let unknown = |why: String| Verdict::Unknown(Unknown::Unsupported { why });
    match ended {
        Ok(Ended::Explained { operations, .. }) => Verdict::Holds(Basis::Witness { operations }),
        Ok(Ended::Violated { violation, at, .. }) => {
            let rows: Vec<Operation> = at.into_iter().collect();
            let reason = violation.reason.clone();
            let budget = Budget::unlimited();
            match counterexample::build(spec, symbols, &Feed::of(Vec::new()), violation, at, engine, &budget)
            {
                Ok(example) if !example.core.is_empty() => Verdict::Violated(example),
                _ => {
                    let found = Unexplained {
                        core: rows,
                        start: None,
                        prefix: Vec::new(),
                        impossible: at.map(|_| 0),
                        explained: Vec::new(),
                        reason,
                    };
                    Verdict::Violated(Counterexample::new(found, false))
                }
            }
        }
        Ok(Ended::Limit { limit: Limit::Time | Limit::Overtaken, decided }) => {
            Verdict::Unknown(Unknown::Time { decided, widest: 0 })
        }
        Ok(Ended::Limit { limit: Limit::Memory, decided }) => {
            Verdict::Unknown(Unknown::Memory { decided, widest: 0 })
        }
        Ok(Ended::Unsupported(why)) => unknown(why),
        Err(error) => unknown(error.to_string()),
    }
}

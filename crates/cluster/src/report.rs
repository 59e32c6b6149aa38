//! What came out of a run: from each worker, and of all.
//!
//! A [`Report`] travels to the first worker, so it speaks of names and not of numbers. [`Outcome`] joins
//! them: violated if one object is, unknown if one is and none is violated, or if something happened to a
//! source. It gives the same [`Answer`] that `check` gives.

use std::time::Duration;

use linpoint_check::Answer;
use linpoint_history::{
    Basis, Counterexample, KeyId, OpCode, Operation, Start, Symbols, Unexplained, Unknown, Value, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::wire::Wire;

/// What one worker found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Operations, pending ones included.
    pub operations: u64,
    /// Operations that never returned.
    pub pending: u64,
    /// Objects.
    pub objects: u64,
    /// Objects that are explained.
    pub explained: u64,
    /// Objects that are not, a few of them.
    pub violated: Vec<Found>,
    /// How many objects are violated.
    pub violations: u64,
    /// Objects that are undecided, a few of them.
    pub unknown: Vec<Found>,
    /// How many objects are undecided.
    pub unknowns: u64,
    /// The specifications of the sources, as these call them.
    pub specs: Vec<String>,
    /// Engines that decided.
    pub engines: Vec<String>,
    /// The object with the most operations, and how many.
    pub hottest: Option<(Wire, u64)>,
    /// What went wrong with sources.
    pub troubles: Vec<String>,
    /// The run was stopped before its end.
    pub stopped: bool,
    /// The most rows this worker held at one time.
    pub most_held: u64,
    /// Rows that the sources of this worker gave out.
    pub read: u64,
    /// Operations that were there already, from an earlier run that was interrupted.
    pub resumed: u64,
}

/// An object that is not explained.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Its name.
    pub key: Wire,
    /// Its specification.
    pub spec: String,
    /// Operations on it.
    pub operations: u64,
    /// The engine that decided.
    pub engine: String,
    /// What.
    pub what: What,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// Nothing explains it.
    Violated(Box<Example>),
    /// Not decided, and why.
    Unknown(String),
}

/// A counterexample with names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Example {
    core: Vec<Named>,
    prefix: Vec<Named>,
    start: Option<(String, u64)>,
    impossible: Option<usize>,
    explained: Vec<usize>,
    rechecked: bool,
    reason: String,
}

/// An operation with names.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Named {
    process: Wire,
    op: u8,
    arg: Wire,
    result: Wire,
    call: i64,
    ret: i64,
    source: String,
}

impl Example {
    /// A worker's counterexample; `source` names a source.
    pub fn new(example: &Counterexample, symbols: &Symbols, source: impl Fn(KeyId) -> String) -> Example {
        let named = |row: &Operation| Named {
            process: Wire(symbols.process_name(row.process())),
            op: row.op().0,
            arg: Wire(symbols.value(row.arg)),
            result: Wire(symbols.value(row.result)),
            call: row.call,
            ret: row.ret,
            source: source(row.key),
        };
        Example {
            core: example.core.iter().map(named).collect(),
            prefix: example.prefix.iter().map(named).collect(),
            start: example.start.as_ref().map(|start| (start.shown.clone(), start.operations)),
            impossible: example.impossible,
            explained: example.explained.clone(),
            rechecked: example.rechecked,
            reason: example.reason.clone(),
        }
    }

    /// The sources that operations of the core came from, each once.
    pub fn sources(&self) -> Vec<String> {
        let mut names: Vec<String> = self.core.iter().map(|row| row.source.clone()).collect();
        names.retain(|name| !name.is_empty());
        names.sort();
        names.dedup();
        names
    }

    fn rebuilt(&self, symbols: &mut Symbols, key: &Value) -> Counterexample {
        let mut row = |named: &Named| {
            let mut row = Operation::new(symbols.process(&named.process.0), OpCode(named.op));
            (row.call, row.ret) = (named.call, named.ret);
            (row.arg, row.result) = (symbols.intern(&named.arg.0), symbols.intern(&named.result.0));
            row.key = symbols.key(key);
            row
        };
        let found = Unexplained {
            core: self.core.iter().map(&mut row).collect(),
            prefix: self.prefix.iter().map(&mut row).collect(),
            start: self.start.clone().map(|(shown, operations)| Start { state: None, shown, operations }),
            impossible: self.impossible,
            explained: self.explained.clone(),
            reason: self.reason.clone(),
        };
        Counterexample::new(found, self.rechecked)
    }
}

/// What came out of all workers.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All reports as one.
    pub report: Report,
    /// How long it took.
    pub elapsed: Duration,
}

impl Outcome {
    /// Joins what workers found.
    pub fn join(reports: Vec<Report>, elapsed: Duration) -> Outcome {
        let mut all = Report::default();
        for report in reports {
            all.operations += report.operations;
            all.pending += report.pending;
            all.objects += report.objects;
            all.explained += report.explained;
            all.violations += report.violations;
            all.unknowns += report.unknowns;
            all.violated.extend(report.violated);
            all.unknown.extend(report.unknown);
            all.specs.extend(report.specs);
            all.engines.extend(report.engines);
            all.troubles.extend(report.troubles);
            all.stopped |= report.stopped;
            all.most_held += report.most_held;
            all.read += report.read;
            all.resumed += report.resumed;
            let more = |a: &Option<(Wire, u64)>| a.as_ref().map_or(0, |(_, count)| *count);
            if more(&report.hottest) > more(&all.hottest) {
                all.hottest = report.hottest;
            }
        }
        all.specs.sort();
        all.specs.dedup();
        all.engines.sort();
        all.engines.dedup();
        let by_name = |found: &Found| (found.key.0.clone(), found.spec.clone());
        all.violated.sort_by_key(by_name);
        all.unknown.sort_by_key(by_name);
        all.troubles.sort();
        all.troubles.dedup();
        Outcome { report: all, elapsed }
    }

    /// A run that broke off: nothing was decided.
    pub fn broken(why: String, elapsed: Duration) -> Outcome {
        let report = Report { troubles: vec![why], stopped: true, ..Report::default() };
        Outcome { report, elapsed }
    }

    /// The answer about the whole history, and what the numbers in it stand for.
    pub fn answer(&self) -> (Answer, Symbols) {
        let report = &self.report;
        let mut symbols = Symbols::new();
        let first = report.violated.first().or(report.unknown.first());
        let verdict = match first.map(|found| &found.what) {
            Some(What::Violated(example)) => {
                let key = first.map_or(Value::Null, |found| found.key.0.clone());
                Verdict::Violated(example.rebuilt(&mut symbols, &key))
            }
            _ if !report.troubles.is_empty() => unknown(report.troubles.join("; ")),
            Some(What::Unknown(why)) => match report.unknowns {
                0 | 1 => unknown(why.clone()),
                many => unknown(format!("{why} (and {} more objects)", many - 1)),
            },
            None if report.stopped => unknown("the run was stopped".to_owned()),
            None if report.operations == report.pending => {
                Verdict::Unknown(Unknown::Nothing { pending: report.pending })
            }
            None => Verdict::Holds(Basis::Witness { operations: report.operations }),
        };
        let named = |found: &Found| Some(found.key.0.clone()).filter(|name| !name.is_null());
        let answer = Answer {
            verdict,
            engine: first.map_or_else(|| report.engines.join(", "), |found| found.engine.clone()),
            because: String::new(),
            operations: report.operations,
            pending: report.pending,
            objects: report.objects.max(1) as usize,
            object: first.and_then(named),
            elapsed: self.elapsed,
        };
        (answer, symbols)
    }

    /// The object that has more than a tenth of all operations, and its share.
    pub fn hot(&self) -> Option<(&Value, f64)> {
        let (key, count) = self.report.hottest.as_ref()?;
        let share = *count as f64 / self.report.operations.max(1) as f64;
        (share > 0.1 && self.report.objects > 1).then_some((&key.0, share))
    }
}

fn unknown(why: String) -> Verdict {
    Verdict::Unknown(Unknown::Unsupported { why })
}

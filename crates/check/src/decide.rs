//! From a history to a verdict: split it into objects, try engines, recheck, explain.
//!
//! Linearizability is local (Herlihy & Wing 1990): a history of several objects is linearizable iff each
//! object's part is. So a history with keys is checked part by part, on as many cores as there are, and the
//! first part that is violated decides. So is a map, entry by entry, as long as nobody asks for its size. A
//! long history of one object is split by time where one core would take long, or by value where that is
//! asked for ([`pieces`]).
//!
//! Where operations of one process touch (`a.ret == b.call`) real time is no interval order, and objects are
//! not independent: [`touching`].

mod limited;
mod objects;
mod pieces;
mod race;
mod rounds;
mod touching;
mod unwritten;

use std::time::{Duration, Instant};

use linpoint_history::{
    Basis, Builtin, Diagnostic, Kind, Operation, OwnSpec, Spec, Symbols, Unknown, Value, Verdict,
};
use thiserror::Error;

use self::limited::{limited, or_limit};
use self::touching::Touching;
use crate::counterexample;
use crate::drive::{Drive, DriveError, Ended, Sink};
use crate::engine::{Budget, Limit, Violation};
use crate::feed::{Feed, FeedError, HOLD, Names, Open};
use crate::one_pass;
use crate::portfolio::{self, Candidate, Choice};
use crate::timeline::Ties;

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which engines.
    pub choice: Choice,
    /// Give up after this long.
    pub time_limit: Option<Duration>,
    /// Give up when the process holds this much.
    pub memory_limit_bytes: Option<usize>,
    /// An engine that searches gives up when it alone holds this much.
    pub search_limit_bytes: Option<usize>,
    /// Is each key an object of its own?
    pub partition: Partition,
    /// Threads to use where parts are independent.
    pub threads: usize,
    /// When a long history of one object is split over the threads.
    pub split: Split,
    /// Rows held in memory before a file is streamed instead.
    pub hold: usize,
    /// Can the history be opened more than once? Standard input cannot, and is held in memory.
    pub may_read_again: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            choice: Choice::Auto,
            time_limit: None,
            memory_limit_bytes: None,
            search_limit_bytes: Some(SEARCH_BYTES),
            partition: Partition::ByKey,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            split: Split::WhenSlow,
            hold: HOLD,
            may_read_again: true,
        }
    }
}

/// What a search may hold unless somebody says otherwise: with one on each of a few cores, a fraction of any
/// machine. A history that needs more is hardly ever decided with more.
pub const SEARCH_BYTES: usize = 1 << 30;

impl Options {
    fn budget(&self, started: Instant) -> Budget {
        Budget {
            deadline: self.time_limit.map(|limit| started + limit),
            memory_bytes: self.memory_limit_bytes,
            ..Budget::unlimited()
        }
    }
}

/// When a long history of one object is split over the threads. A split that comes to nothing costs its time,
/// see `decide/pieces.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// One thread has all of it.
    Never,
    /// When an engine takes long for each return and is not about to be done: priority queues.
    WhenSlow,
    /// Before any engine is tried: priority queues, and sets.
    AtOnce,
}

/// What is an object of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Each key of the history; of maps each entry, where no operation looks at several.
    ByKey,
    /// The whole history is one object, whatever keys it has.
    None,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// The engine that gave it; several, if parts took different ones.
    pub engine: String,
    /// Why it was this engine's turn: who was tried before, and why that one did not decide. Empty if it was
    /// the first choice.
    pub because: String,
    /// Operations, completed and pending.
    pub operations: u64,
    /// Operations that never returned.
    pub pending: u64,
    /// Objects.
    pub objects: usize,
    /// The object that is violated, where there are several.
    pub object: Option<Value>,
    /// How long it took.
    pub elapsed: Duration,
}

/// Why there is no answer at all.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The history is not readable.
    #[error(transparent)]
    Input(#[from] Diagnostic),
    /// The recheck failed: a mistake of ours.
    #[error("internal error in the {engine}: {why}")]
    Bug {
        /// The engine.
        engine: String,
        /// What the recheck says.
        why: String,
        /// A history that shows it, where there is a small one.
        rows: Vec<Operation>,
    },
}

/// Someone who watches a long check.
pub trait Watch: Sync {
    /// So many rows were read.
    fn read(&self, rows: u64);
    /// So many of so many returns were explained.
    fn explained(&self, returns: u64, of: u64);
}

/// Nobody watches.
pub struct Unwatched;

impl Watch for Unwatched {
    fn read(&self, _rows: u64) {}
    fn explained(&self, _returns: u64, _of: u64) {}
}

/// Checks a history that `open` opens.
pub fn check(
    open: &Open<'_>,
    spec: &Builtin,
    symbols: &mut Symbols,
    options: &Options,
    watch: &dyn Watch,
    sink: Option<Sink<'_>>,
) -> Result<Answer, CheckError> {
    let started = Instant::now();
    let mut read = 0;
    let spec = &spec.until(options.time_limit.map(|limit| started + limit));
    let found = read_and_decide(open, spec, symbols, options, watch, sink, started, &mut read);
    or_limit(found, spec, read, symbols, started)
}

#[allow(clippy::too_many_arguments)]
fn read_and_decide(
    open: &Open<'_>,
    spec: &Builtin,
    symbols: &mut Symbols,
    options: &Options,
    watch: &dyn Watch,
    sink: Option<Sink<'_>>,
    started: Instant,
    read: &mut u64,
) -> Result<Answer, CheckError> {
    intern_initial(spec, symbols);
    let budget = options.budget(started);
    let guard = budget.guard();
    let guarded = || {
        let mut reader = open()?;
        reader.set_guard(guard.clone());
        Ok(reader)
    };
    let open: &Open<'_> = &guarded;
    if sink.is_none()
        && let Some(answer) = in_one_pass(open, spec, symbols, options, watch, started)?
    {
        return Ok(answer);
    }
    let hold = if options.may_read_again { options.hold } else { usize::MAX };
    let feed = Feed::read(open, symbols, hold, &guard, &mut |rows| {
        *read = rows;
        watch.read(rows);
        budget.limit(0).map_or(Ok(()), Err)
    });
    match feed {
        Ok(feed) => check_feed(feed, spec, symbols, options, watch, sink, started),
        Err(FeedError::Input(diagnostic)) => Err(diagnostic.into()),
        Err(FeedError::Limit(limit)) => Ok(limited(limit, *read, symbols, started)),
    }
}

/// The common case, see [`one_pass`]; `None` where it is not the case.
fn in_one_pass(
    open: &Open<'_>,
    spec: &Builtin,
    symbols: &mut Symbols,
    options: &Options,
    watch: &dyn Watch,
    started: Instant,
) -> Result<Option<Answer>, CheckError> {
    let first = portfolio::candidates(spec, options.choice).into_iter().next();
    let Some(candidate) = first.filter(|first| options.may_read_again && first.choice == Choice::Monitor)
    else {
        return Ok(None);
    };
    let mut engine = (candidate.make)(spec);
    let mut reader = open()?;
    let budget = options.budget(started);
    let explained = one_pass::explain(
        reader.as_mut(),
        engine.as_mut(),
        spec,
        symbols,
        &budget,
        options.hold,
        &mut |rows| watch.read(rows),
    );
    Ok(explained.filter(|found| found.operations > 0).map(|found| Answer {
        verdict: Verdict::Holds(Basis::Witness { operations: found.operations }),
        engine: engine.name().to_owned(),
        because: String::new(),
        operations: found.operations,
        pending: 0,
        objects: 1,
        object: None,
        elapsed: started.elapsed(),
    }))
}

/// Checks rows in memory.
pub fn check_rows(
    rows: Vec<Operation>,
    spec: &Builtin,
    symbols: &mut Symbols,
    options: &Options,
) -> Result<Answer, CheckError> {
    intern_initial(spec, symbols);
    let (read, started) = (rows.len() as u64, Instant::now());
    let spec = &spec.until(options.time_limit.map(|limit| started + limit));
    let found = check_feed(Feed::of(rows), spec, symbols, options, &Unwatched, None, started);
    or_limit(found, spec, read, symbols, started)
}

/// Engines compare ids, so the initial contents need theirs before anything runs.
pub(crate) fn intern_initial(spec: &Builtin, symbols: &mut Symbols) {
    symbols.intern(&spec.initial);
    if let Value::List(items) = &spec.initial {
        items.iter().for_each(|item| {
            symbols.intern(item);
        });
    }
}

fn check_feed(
    feed: Feed<'_>,
    spec: &Builtin,
    symbols: &mut Symbols,
    options: &Options,
    watch: &dyn Watch,
    sink: Option<Sink<'_>>,
    started: Instant,
) -> Result<Answer, CheckError> {
    let budget = options.budget(started);
    feed.check_processes(&mut Names::Own(symbols), spec.signature())?;
    let operations = feed.completed + feed.pending.len() as u64;
    let pending = feed.pending.len() as u64;
    let keyed = symbols.key_count() > 0;
    if feed.completed == 0 {
        return Ok(Answer {
            verdict: Verdict::Unknown(Unknown::Nothing { pending }),
            engine: String::new(),
            because: String::new(),
            operations,
            pending,
            objects: symbols.key_count().max(1),
            object: None,
            elapsed: started.elapsed(),
        });
    }
    let Options { choice, threads, split, search_limit_bytes, .. } = *options;
    let part = Part { spec, choice, budget: &budget, watch, threads, split, search_limit_bytes };
    let mut objects = Vec::new();
    let by_object = options.partition == Partition::ByKey && (keyed || spec.kind == Kind::Map);
    let touches = feed.touches();
    let is_held = feed.in_memory().is_some();
    // What is made of the rows is counted before it is there: a copy, where objects are taken apart.
    let guard = budget.guard();
    let bytes = operations as usize * size_of::<Operation>();
    let feed = if (by_object || touches) && !is_held {
        guard.ask(bytes)?;
        feed.hold(symbols)?
    } else {
        feed
    };
    if touches {
        guard.ask(if by_object { 2 * bytes } else { bytes })?;
    } else if by_object {
        guard.ask(bytes)?;
    }
    let found = if touches {
        let rows = feed.into_rows().unwrap_or_default();
        if by_object {
            objects = objects::split(&rows, spec, symbols);
        }
        Touching::new(&part, rows, options.threads).decide(by_object, symbols, sink)?
    } else if by_object {
        objects = objects::split(&feed.into_rows().unwrap_or_default(), spec, symbols);
        part.decide_all(&objects, symbols, options.threads, sink)?
    } else {
        part.decide_whole(&feed, symbols, sink)?
    };
    let named = keyed || objects.len() > 1;
    Ok(Answer {
        verdict: with_shortfall(found.verdict, spec),
        engine: found.engine,
        because: found.because,
        operations,
        pending,
        objects: objects.len().max(1),
        object: found
            .object
            .filter(|_| named)
            .and_then(|index| objects.get(index))
            .map(|one| one.name.clone()),
        elapsed: started.elapsed(),
    })
}

/// What nothing explains may be explained by an outcome that the user's own specification left out.
pub(crate) fn with_shortfall(verdict: Verdict, spec: &Builtin) -> Verdict {
    match (&verdict, spec.as_own().and_then(OwnSpec::shortfall)) {
        (Verdict::Violated(_), Some(why)) => Verdict::Unknown(Unknown::Unsupported { why }),
        _ => verdict,
    }
}

/// What was found about one object, or about all.
struct Found {
    verdict: Verdict,
    engine: String,
    because: String,
    /// Which object, where there are several.
    object: Option<usize>,
}

/// Decides objects.
#[derive(Clone, Copy)]
struct Part<'a> {
    spec: &'a Builtin,
    choice: Choice,
    budget: &'a Budget,
    watch: &'a dyn Watch,
    /// How many engines may be at work on one object.
    threads: usize,
    split: Split,
    /// What an engine that searches may hold.
    search_limit_bytes: Option<usize>,
}

/// What one engine came to.
struct Attempt {
    engine: String,
    outcome: Outcome,
}

/// How an attempt ended.
enum Outcome {
    /// An order of so many operations was replayed.
    Holds(u64),
    /// There is none; and the row that finds no place.
    Violated(Violation, Option<Operation>),
    /// A limit came first; so many returns were explained by then.
    Limit(Limit, u64),
    /// This engine is not for this history.
    Unfit(String),
}

impl Outcome {
    /// Does it say whether the history is linearizable?
    fn is_answer(&self) -> bool {
        matches!(self, Outcome::Holds(_) | Outcome::Violated(..))
    }
}

impl Part<'_> {
    /// Lets one engine try.
    fn attempt(
        &self,
        candidate: &Candidate,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        sink: Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Attempt, CheckError> {
        let budget = Budget {
            search_bytes: self.search_limit_bytes.filter(|_| candidate.may_take_long()),
            ..self.budget.clone()
        };
        let this = &Part { budget: &budget, ..*self };
        this.attempt_within(candidate, feed, names, sink, watched)
    }

    fn attempt_within(
        &self,
        candidate: &Candidate,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        mut sink: Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Attempt, CheckError> {
        let mut made = (candidate.make)(self.spec);
        let engine = made.name().to_owned();
        // Where operations touch, stamps were made fine before ([`touching`]).
        let drive = Drive { spec: self.spec, feed, budget: self.budget, ties: Ties::Strict };
        let ended = drive.run(made.as_mut(), names, reborrow(&mut sink), &mut |returns| watched(returns));
        drop(made);
        let ended = ended.map_err(|error| bad(error, &engine, feed))?;
        let outcome = match ended {
            Ended::Violated { violation, at, .. } => {
                match candidate.distinct.then(|| feed.repeated(self.spec, names)).transpose()?.flatten() {
                    Some(value) => Outcome::Unfit(format!("value {value} is inserted twice")),
                    None => Outcome::Violated(violation, at),
                }
            }
            Ended::Unsupported(why) => Outcome::Unfit(why),
            Ended::Explained { operations, .. } => Outcome::Holds(operations),
            // Brute force reads everything before it explains anything.
            Ended::Limit { limit, .. } if candidate.choice == Choice::Brute => Outcome::Limit(limit, 0),
            Ended::Limit { limit, decided } => Outcome::Limit(limit, decided),
        };
        Ok(Attempt { engine, outcome })
    }

    /// What an outcome means to the user: of a violation, few operations and a sentence.
    fn verdict(
        &self,
        outcome: Outcome,
        engine: &str,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
    ) -> Result<Verdict, CheckError> {
        Ok(match outcome {
            Outcome::Holds(operations) => Verdict::Holds(Basis::Witness { operations }),
            Outcome::Violated(violation, at) => {
                // Without a core from the engine the rows are needed, and a long file was not held.
                let held = if violation.core.is_empty() { feed.held(names)? } else { None };
                let feed = held.as_ref().unwrap_or(feed);
                let (spec, symbols) = (self.spec, names.get());
                let built = counterexample::build(spec, symbols, feed, violation, at, engine, self.budget)?;
                Verdict::Violated(built)
            }
            Outcome::Limit(limit, decided) => Verdict::Unknown(unknown(limit, decided, feed)),
            Outcome::Unfit(why) => Verdict::Unknown(Unknown::Unsupported { why }),
        })
    }
}

/// The same sink, for a while.
fn reborrow<'a>(sink: &'a mut Option<Sink<'_>>) -> Option<Sink<'a>> {
    match sink {
        Some(sink) => Some(&mut **sink),
        None => None,
    }
}

/// A history that is not readable, or a mistake of ours.
fn bad(error: DriveError, engine: &str, feed: &Feed<'_>) -> CheckError {
    match error {
        DriveError::Input(diagnostic) => CheckError::Input(diagnostic),
        DriveError::Witness(bad) => {
            let rows = feed.in_memory().filter(|rows| rows.len() <= 10_000).unwrap_or_default().to_vec();
            CheckError::Bug { engine: engine.to_owned(), why: bad.to_string(), rows }
        }
    }
}

fn unknown(limit: Limit, decided: u64, feed: &Feed<'_>) -> Unknown {
    let widest = feed.widest();
    match limit {
        Limit::Time | Limit::Overtaken => Unknown::Time { decided, widest },
        Limit::Memory => Unknown::Memory { decided, widest },
    }
}

//! From a history to a verdict: split it into objects, try engines, recheck, explain.
//!
//! Linearizability is local (Herlihy & Wing 1990): a history of several objects is linearizable iff each object's part is. So a
//! history with keys is checked part by part, on as many cores as there are, and the first part that is violated decides. So is
//! a map, entry by entry, as long as nobody asks for its size. A long history of one object is split by time where one core would take long, or by value where that is asked for ([`pieces`]).
//!
//! Touching operations of one process (`a.ret == b.call`) are handled by enclosure, see [`crate::timeline`]: what holds
//! under the stricter reading holds, what is violated under the laxer one is violated, and brute force decides what is left.

mod objects;
mod pieces;
mod race;
mod touching;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use linpoint_history::{Basis, Builtin, Diagnostic, Kind, Operation, Spec, Symbols, Unknown, Value, Verdict};
use thiserror::Error;

use self::objects::Object;
use crate::counterexample;
use crate::drive::{Drive, DriveError, Ended, Sink};
use crate::engine::{Budget, Limit, Violation};
use crate::feed::{CHUNK, Feed, FeedError, HOLD, Names, Open};
use crate::one_pass;
use crate::portfolio::{self, Candidate, Choice};
use crate::recheck::BadWitness;
use crate::timeline::Ties;

/// How to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which engines.
    pub choice: Choice,
    /// Give up after this long.
    pub time_limit: Option<Duration>,
    /// Give up when an engine holds this much.
    pub memory_limit_bytes: Option<usize>,
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
            partition: Partition::ByKey,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            split: Split::WhenSlow,
            hold: HOLD,
            may_read_again: true,
        }
    }
}

impl Options {
    fn budget(&self, started: Instant) -> Budget {
        Budget {
            deadline: self.time_limit.map(|limit| started + limit),
            memory_bytes: self.memory_limit_bytes,
            racer: None,
        }
    }
}

/// When a long history of one object is split over the threads. A split that comes to nothing costs its time, see `decide/pieces.rs`.
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
    /// Why it was this engine's turn: who was tried before, and why that one did not decide. Empty if it was the first choice.
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
    intern_initial(spec, symbols);
    let budget = options.budget(started);
    if sink.is_none()
        && let Some(answer) = in_one_pass(open, spec, symbols, options, watch, started)?
    {
        return Ok(answer);
    }
    let mut read = 0;
    let hold = if options.may_read_again { options.hold } else { usize::MAX };
    let feed = Feed::read(open, symbols, hold, &mut |rows| {
        read = rows;
        watch.read(rows);
        budget.limit(crate::resident::resident_bytes().unwrap_or(0)).map_or(Ok(()), Err)
    });
    match feed {
        Ok(feed) => check_feed(feed, spec, symbols, options, watch, sink, started),
        Err(FeedError::Input(diagnostic)) => Err(diagnostic.into()),
        Err(FeedError::Limit(limit)) => Ok(Answer {
            verdict: Verdict::Unknown(match limit {
                Limit::Time | Limit::Overtaken => Unknown::Time { decided: 0, widest: 0 },
                Limit::Memory => Unknown::Memory { decided: 0, widest: 0 },
            }),
            engine: "reader".into(),
            because: String::new(),
            operations: read,
            pending: 0,
            objects: symbols.key_count().max(1),
            object: None,
            elapsed: started.elapsed(),
        }),
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
    Ok(explained.map(|found| Answer {
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
    check_feed(Feed::of(rows), spec, symbols, options, &Unwatched, None, Instant::now())
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
    let Options { choice, threads, split, .. } = *options;
    let part = Part { spec, choice, budget: &budget, watch, threads, split };
    let mut objects = Vec::new();
    let found = if options.partition == Partition::ByKey && (keyed || spec.kind == Kind::Map) {
        let feed = if feed.in_memory().is_some() { feed } else { feed.hold(symbols)? };
        let rows = feed.into_rows().unwrap_or_default();
        objects = objects::split(&rows, spec, symbols);
        if touching::is_across(&rows, &objects) {
            part.decide_touching(&rows, &objects, symbols, options.threads, sink)?
        } else {
            part.decide_all(&objects, symbols, options.threads, sink)?
        }
    } else {
        let split = if options.split == Split::AtOnce && sink.is_none() {
            pieces::decide(&part, &feed, symbols, pieces::LEAST)?
        } else {
            None
        };
        match split {
            Some(found) => found,
            None => part.decide(&feed, &mut Names::Own(symbols), sink)?,
        }
    };
    let named = keyed || objects.len() > 1;
    Ok(Answer {
        verdict: found.verdict,
        engine: found.engine,
        because: found.because,
        operations,
        pending,
        objects: objects.len().max(1),
        object: found.object.filter(|_| named).map(|index| objects[index].name.clone()),
        elapsed: started.elapsed(),
    })
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
    /// Decides all objects: violated if one is, unknown if one is and none is violated.
    fn decide_all(
        &self,
        objects: &[Object],
        symbols: &Symbols,
        threads: usize,
        sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let total: u64 = objects.iter().map(|object| object.rows.len() as u64).sum();
        let results: Mutex<Vec<(usize, Result<Found, CheckError>)>> = Mutex::new(Vec::new());
        let sink = Mutex::new(sink);
        let decided = AtomicUsize::new(0);
        // Objects have the cores.
        let part = Part { threads: if objects.len() > 1 { 1 } else { self.threads }, ..*self };
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(object) = objects.get(index).filter(|_| !stop.load(Ordering::Relaxed)) else {
                    break;
                };
                let rows = &object.rows;
                let feed = Feed::of(rows.clone());
                let mut order = Vec::new();
                let mut collect = |_: &Symbols, op: &Operation| order.push(*op);
                let wanted = sink.lock().is_ok_and(|sink| sink.is_some());
                let found = part.decide(
                    &feed,
                    &mut Names::Shared(symbols),
                    if wanted { Some(&mut collect) } else { None },
                );
                if let Ok(mut sink) = sink.lock()
                    && let Some(sink) = sink.as_mut()
                {
                    order.iter().for_each(|op| sink(symbols, op));
                }
                let done = decided.fetch_add(rows.len(), Ordering::Relaxed) + rows.len();
                self.watch.explained(done as u64, total);
                if !matches!(&found, Ok(Found { verdict: Verdict::Holds(_), .. })) {
                    stop.store(true, Ordering::Relaxed);
                }
                if let Ok(mut results) = results.lock() {
                    results.push((index, found));
                }
            }
        };
        std::thread::scope(|scope| {
            // A thread costs more than a short history.
            let threads = if total < CHUNK as u64 { 1 } else { threads.clamp(1, objects.len().max(1)) };
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_default();
        results.sort_by_key(|(index, _)| *index);
        join(results)
    }

    /// Decides objects whose operations touch across objects, see [`touching`].
    fn decide_touching(
        &self,
        rows: &[Operation],
        objects: &[Object],
        symbols: &mut Symbols,
        threads: usize,
        mut sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let mut orders = Vec::new();
        let mut collect = |symbols: &Symbols, op: &Operation| {
            orders.push(*op);
            if let Some(sink) = &mut sink {
                sink(symbols, op);
            }
        };
        let found = self.decide_all(objects, symbols, threads, Some(&mut collect))?;
        let orders = objects::split(&orders, self.spec, symbols);
        if !matches!(found.verdict, Verdict::Holds(_)) || touching::agree(rows, &orders) {
            return Ok(found);
        }
        let why = "each object can be explained, but operations of one process on different objects touch (one is called at the \
                   stamp at which the other returns), and no order of all was found";
        Ok(Found { verdict: Verdict::Unknown(Unknown::Unsupported { why: why.into() }), ..found })
    }

    /// Decides one object: tries engines one after another while they are sure to end soon, and races the rest of them ([`race`]).
    fn decide(
        &self,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        mut sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let (mut because, mut engine) = (Vec::new(), String::new());
        let mut limits: Vec<(Limit, u64, String)> = Vec::new();
        let mut rest = portfolio::candidates(self.spec, self.choice);
        let shared = feed.shared().filter(|_| self.threads > 1);
        while !rest.is_empty() && limits.is_empty() {
            let racing = rest.iter().take_while(|next| next.races && shared.is_some()).count();
            let mut attempts = match shared.filter(|_| racing > 1) {
                Some(shared) => race::race(self, &rest[..racing], shared, names.get(), &mut sink)?,
                None => {
                    let watched = |returns| self.watch.explained(returns, feed.completed);
                    vec![self.attempt(&rest[0], feed, names, reborrow(&mut sink), &watched)?]
                }
            };
            rest.drain(..racing.max(1));
            if let Some(won) = attempts.iter().position(|attempt| attempt.outcome.is_answer()) {
                let won = attempts.remove(won);
                let slower = |attempt: &Attempt| match &attempt.outcome {
                    Outcome::Unfit(why) => format!("{}: {why}", attempt.engine),
                    _ => format!("{}: slower, side by side", attempt.engine),
                };
                because.extend(attempts.iter().map(slower));
                let verdict = self.verdict(won.outcome, &won.engine, feed, names)?;
                return Ok(Found { verdict, engine: won.engine, because: because.join("; "), object: None });
            }
            for attempt in attempts {
                match attempt.outcome {
                    Outcome::Limit(limit, decided) => limits.push((limit, decided, attempt.engine)),
                    Outcome::Unfit(why) => {
                        because.push(format!("{}: {why}", attempt.engine));
                        engine = attempt.engine;
                    }
                    Outcome::Holds(_) | Outcome::Violated(..) => {}
                }
            }
        }
        // Of several that ran into limits, the one that came furthest says how far that is.
        if let Some(&(limit, decided, _)) = limits.iter().max_by_key(|(_, decided, _)| *decided) {
            let tried: Vec<&str> = limits.iter().map(|(_, _, engine)| engine.as_str()).collect();
            let verdict = Verdict::Unknown(unknown(limit, decided, feed));
            return Ok(Found {
                verdict,
                engine: tried.join(", "),
                because: because.join("; "),
                object: None,
            });
        }
        let why = if because.is_empty() {
            "no engine of this kind knows this specification".into()
        } else {
            because.join("; ")
        };
        Ok(Found {
            verdict: Verdict::Unknown(Unknown::Unsupported { why }),
            engine,
            because: String::new(),
            object: None,
        })
    }

    /// Lets one engine try.
    fn attempt(
        &self,
        candidate: &Candidate,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        mut sink: Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Attempt, CheckError> {
        let mut made = (candidate.make)(self.spec);
        let engine = made.name().to_owned();
        let ended = self.drive(made.as_mut(), feed, names, Ties::Strict, &mut sink, watched);
        drop(made);
        let ended = match ended {
            Ok(Ended::Violated { touching, .. }) if touching || feed.has_touching_pending() => {
                self.relaxed(candidate, feed, names, &mut sink, watched)?
            }
            Err(DriveError::Witness(bad)) => {
                self.bad_witness(bad, &engine, feed, names, &mut sink, watched)?
            }
            other => other.map_err(input)?,
        };
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

    fn drive(
        &self,
        engine: &mut dyn crate::engine::Engine,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        ties: Ties,
        sink: &mut Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Ended, DriveError> {
        let drive = Drive { spec: self.spec, feed, budget: self.budget, ties };
        drive.run(engine, names, reborrow(sink), &mut |returns| watched(returns))
    }

    /// Violated under the stricter reading of touching operations: what of the laxer one?
    fn relaxed(
        &self,
        candidate: &Candidate,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        sink: &mut Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Ended, CheckError> {
        let mut engine = (candidate.make)(self.spec);
        match self.drive(engine.as_mut(), feed, names, Ties::Relaxed, sink, watched) {
            Err(DriveError::Witness(_)) => self.exact(feed, names, sink, watched),
            other => other.map_err(input),
        }
    }

    /// Neither reading settles it: try every order, reading stamps and processes as they are.
    fn exact(
        &self,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        sink: &mut Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Ended, CheckError> {
        let mut brute = crate::brute::Brute::default();
        match self.drive(&mut brute, feed, names, Ties::Strict, sink, watched) {
            Err(DriveError::Witness(bad)) => {
                Err(CheckError::Bug { engine: "brute force".into(), why: bad.to_string(), rows: Vec::new() })
            }
            other => other.map_err(input),
        }
    }

    /// A witness failed its recheck. Where operations of one process touch at chunk borders that may be honest.
    fn bad_witness(
        &self,
        bad: BadWitness,
        engine: &str,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        sink: &mut Option<Sink<'_>>,
        watched: &dyn Fn(u64),
    ) -> Result<Ended, CheckError> {
        if feed.has_touching_pending() {
            return self.exact(feed, names, sink, watched);
        }
        let rows = feed.in_memory().filter(|rows| rows.len() <= 10_000).unwrap_or_default().to_vec();
        Err(CheckError::Bug { engine: engine.to_owned(), why: bad.to_string(), rows })
    }
}

/// The same sink, for a while.
fn reborrow<'a>(sink: &'a mut Option<Sink<'_>>) -> Option<Sink<'a>> {
    match sink {
        Some(sink) => Some(&mut **sink),
        None => None,
    }
}

fn input(error: DriveError) -> CheckError {
    match error {
        DriveError::Input(diagnostic) => CheckError::Input(diagnostic),
        DriveError::Witness(bad) => {
            CheckError::Bug { engine: "recheck".into(), why: bad.to_string(), rows: Vec::new() }
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

/// One verdict from many.
fn join(parts: Vec<(usize, Result<Found, CheckError>)>) -> Result<Found, CheckError> {
    let (mut operations, mut engines, mut because) = (0, Vec::new(), String::new());
    let mut undecided = None;
    for (index, found) in parts {
        let found = found?;
        if !engines.contains(&found.engine) {
            engines.push(found.engine.clone());
        }
        if because.is_empty() {
            because.clone_from(&found.because);
        }
        match found.verdict {
            Verdict::Holds(Basis::Witness { operations: n }) => operations += n,
            Verdict::Violated(_) => return Ok(Found { object: Some(index), ..found }),
            Verdict::Unknown(_) => undecided = Some(Found { object: Some(index), ..found }),
        }
    }
    Ok(undecided.unwrap_or(Found {
        verdict: Verdict::Holds(Basis::Witness { operations }),
        engine: engines.join(", "),
        because,
        object: None,
    }))
}

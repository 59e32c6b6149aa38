//! Operations of one process that touch: one is called at the very stamp at which the other returned, as
//! often where clocks are coarse.
//!
//! The two follow one another; operations of different processes that meet at a stamp are concurrent. That
//! order need not be an interval order, and then linearizability is not local: with p: a on x `1..5`, b on y
//! `5..8` and q: d on y `1..5`, c on x `5..8`, object x may want c before a and y b before d, which no order
//! of all four allows. So a history whose operations touch is decided in three steps (`docs/soundness.md`,
//! "Touching"):
//!
//! 1. *As logged.* A log mostly has operations in the order in which they returned, finer than its stamps
//!    say. Under that guess every stamp can be made fine: real time is an interval order again, objects are
//!    independent, and every engine is as fast as ever. An order found so is an order.
//! 2. *Relaxed.* If there is none, objects are explained one by one as if touching operations were
//!    concurrent. What cannot be explained so cannot be explained.
//! 3. *Exactly.* Otherwise the orders found are the plan of a search over all objects at once
//!    ([`crate::guided`]), which takes stamps and processes as they are.

mod stamps;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use linpoint_history::{Basis, Counterexample, Operation, Symbols, Unexplained, Unknown, Verdict};
use rustc_hash::FxHashMap;

use self::stamps::{as_logged, as_sorted, merged};
use super::objects::{self, Object};
use super::{CheckError, Found, Outcome, Part, Sink, Split, pieces, unknown};
use crate::brute::several;
use crate::engine::{Context, Engine, Limit, Stop, Violation, Witness};
use crate::feed::{CHUNK, Feed, Names};
use crate::guided::{self, Problem};
use crate::portfolio;
use crate::recheck;
use crate::timeline::{OpId, Ties, Timeline};

/// A history whose operations touch.
pub(super) struct Touching<'a> {
    part: &'a Part<'a>,
    /// In order of return, those of one process in its order; then those that never returned.
    rows: Vec<Operation>,
    completed: usize,
    threads: usize,
}

/// What a relaxed reading of one object came to.
enum Relaxed {
    /// Rows of the object, in an order that respects stamps, by number.
    Plan(Vec<u32>),
    /// There is none.
    Violated(Box<Found>),
    /// It is not known.
    Limit(Limit, String),
}

/// What a reading of all objects came to.
enum Planned {
    /// An order of all rows that respects stamps.
    Plan(Vec<u32>),
    /// There is none, or it is not known.
    No(Box<Found>),
}

/// All rows that concern an object, for the search.
struct Whole {
    rows: Vec<Operation>,
    completed: usize,
    object: Vec<u32>,
    objects: usize,
    /// The number here of each row of the history.
    number: Vec<u32>,
}

impl Whole {
    fn new(all: &[Operation], of_row: &[u32], objects: usize) -> Whole {
        let kept: Vec<usize> = (0..all.len()).filter(|&row| of_row[row] != u32::MAX).collect();
        let mut number = vec![u32::MAX; all.len()];
        kept.iter().enumerate().for_each(|(index, &row)| number[row] = index as u32);
        let rows: Vec<Operation> = kept.iter().map(|&row| all[row]).collect();
        let completed = rows.partition_point(|row| !row.is_pending());
        Whole { completed, object: kept.iter().map(|&row| of_row[row]).collect(), objects, number, rows }
    }

    fn numbered(&self, plan: &[u32]) -> Vec<u32> {
        plan.iter().map(|&row| self.number[row as usize]).collect()
    }

    fn problem<'p>(&'p self, plan: &'p [u32], makes_over: bool) -> Problem<'p> {
        let Whole { rows, object, objects, completed, .. } = self;
        Problem { rows, completed: *completed, object, objects: *objects, plan, makes_over }
    }
}

impl<'a> Touching<'a> {
    pub(super) fn new(part: &'a Part<'a>, rows: Vec<Operation>, threads: usize) -> Touching<'a> {
        let completed = rows.partition_point(|row| !row.is_pending());
        Touching { part, rows, completed, threads }
    }

    /// Decides it. `by_object`: keys name objects.
    pub(super) fn decide(
        &self,
        by_object: bool,
        symbols: &mut Symbols,
        mut sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let found = self.as_logged(by_object, symbols, &mut sink)?;
        if !matches!(found.verdict, Verdict::Violated(_)) {
            return Ok(found);
        }
        let objects =
            if by_object { objects::split(&self.rows, self.part.spec, symbols) } else { Vec::new() };
        let of_row = self.objects_of_rows(&objects, symbols);
        let count = objects.len().max(1);
        let mut of_object: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (index, object) in of_row.iter().enumerate().filter(|(_, object)| **object != u32::MAX) {
            of_object[*object as usize].push(index as u32);
        }
        let whole = Whole::new(&self.rows, &of_row, count);
        let patience = 4096 + self.rows.len() as u64 / 16;
        let sorted = as_sorted(&self.rows, self.completed);
        let mut plans = Vec::new();
        if let Planned::Plan(plan) = self.planned(&of_object, &sorted, symbols)? {
            plans.push(whole.numbered(&plan));
            let found = self.search(&whole.problem(&plans[0], false), symbols, patience);
            if !matches!(found, Ok(guided::Found::GaveUp)) {
                return self.concluded(found, &whole, symbols, &mut sink);
            }
        }
        match self.planned(&of_object, &self.rows, symbols)? {
            Planned::Plan(plan) => plans.push(whole.numbered(&plan)),
            Planned::No(found) => return Ok(*found),
        }
        // Each plan for a while, as it is and made over; then one of them to the end.
        let last = plans.len() - 1;
        let tries =
            [(last, false, patience), (0, true, patience), (last, true, patience), (0, false, u64::MAX)];
        let mut found = Ok(guided::Found::GaveUp);
        for (plan, makes_over, patience) in tries {
            found = self.search(&whole.problem(&plans[plan], makes_over), symbols, patience);
            if !matches!(found, Ok(guided::Found::GaveUp)) {
                break;
            }
        }
        self.concluded(found, &whole, symbols, &mut sink)
    }

    fn search(&self, problem: &Problem<'_>, symbols: &Symbols, patience: u64) -> Result<guided::Found, Stop> {
        guided::search(self.part.spec, symbols, problem, patience, self.part.budget)
    }

    /// One plan of all objects with the stamps of `stamped`.
    fn planned(
        &self,
        of_object: &[Vec<u32>],
        stamped: &[Operation],
        symbols: &Symbols,
    ) -> Result<Planned, CheckError> {
        let mut plans = Vec::with_capacity(of_object.len());
        for (object, relaxed) in self.relaxed(of_object, stamped, symbols)?.into_iter().enumerate() {
            match relaxed {
                Relaxed::Plan(plan) => plans.push(plan),
                Relaxed::Violated(found) => {
                    return Ok(Planned::No(Box::new(Found { object: Some(object), ..*found })));
                }
                Relaxed::Limit(limit, engine) => {
                    return Ok(Planned::No(Box::new(self.limited(limit, engine))));
                }
            }
        }
        Ok(Planned::Plan(merged(stamped, plans)))
    }

    /// Takes the order of the log for the order of returns.
    fn as_logged(
        &self,
        by_object: bool,
        symbols: &mut Symbols,
        sink: &mut Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let refined = as_logged(&self.rows, self.completed);
        let part = self.part;
        let mut order: Vec<Operation> = Vec::new();
        let mut collect = |_: &Symbols, op: &Operation| order.push(*op);
        let collect: Option<Sink<'_>> = if sink.is_some() { Some(&mut collect) } else { None };
        let found = if by_object {
            let objects = objects::split(&refined, part.spec, symbols);
            part.decide_all(&objects, symbols, self.threads, collect)?
        } else {
            part.decide_whole(&Feed::of(refined), symbols, collect)?
        };
        if let Some(sink) = sink.as_mut().filter(|_| matches!(found.verdict, Verdict::Holds(_))) {
            let pending: FxHashMap<_, _> =
                self.rows[self.completed..].iter().map(|op| (op.process(), op)).collect();
            for op in &order {
                let row = match op.is_pending() {
                    true => pending.get(&op.process()).copied(),
                    false => self.rows.get(op.ret as usize / 2),
                };
                row.into_iter().for_each(|row| sink(symbols, row));
            }
        }
        Ok(found)
    }

    /// The object of each row; [`u32::MAX`] for those that belong to none.
    fn objects_of_rows(&self, objects: &[Object], symbols: &mut Symbols) -> Vec<u32> {
        if objects.is_empty() {
            return vec![0; self.rows.len()];
        }
        objects::of_rows(&self.rows, self.part.spec, symbols)
    }

    /// Explains every object as if touching operations were concurrent, with the stamps of `stamped`.
    fn relaxed(
        &self,
        of_object: &[Vec<u32>],
        stamped: &[Operation],
        symbols: &Symbols,
    ) -> Result<Vec<Relaxed>, CheckError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<(usize, Result<Relaxed, CheckError>)>> = Mutex::new(Vec::new());
        let work = || {
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(rows) = of_object.get(index)
            {
                let found = self.relaxed_one(rows, stamped, symbols);
                if let Ok(mut results) = results.lock() {
                    results.push((index, found));
                }
            }
        };
        std::thread::scope(|scope| {
            let threads = if self.rows.len() < CHUNK { 1 } else { self.threads.clamp(1, of_object.len()) };
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_default();
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, found)| found).collect()
    }

    fn relaxed_one(
        &self,
        of_rows: &[u32],
        stamped: &[Operation],
        symbols: &Symbols,
    ) -> Result<Relaxed, CheckError> {
        let part = self.part;
        let mut of_rows = of_rows.to_vec();
        of_rows.sort_by_key(|&row| stamped[row as usize].ret);
        let rows: Vec<Operation> = of_rows.iter().map(|&row| stamped[row as usize]).collect();
        let completed = rows.partition_point(|row| !row.is_pending());
        let mut timeline = Timeline::new(Ties::Relaxed);
        timeline.extend(&rows[..completed]);
        rows[completed..].iter().for_each(|row| timeline.push_pending(*row));
        let number = |id: &OpId| match id.as_pending() {
            Some(pending) => of_rows[completed + pending],
            None => of_rows[id.0 as usize],
        };
        for candidate in portfolio::candidates(part.spec, part.choice) {
            let mut engine = (candidate.make)(part.spec);
            let name = engine.name().to_owned();
            match run(engine.as_mut(), &Context { symbols, spec: part.spec, budget: part.budget }, &timeline)
            {
                Ok(order) => return Ok(Relaxed::Plan(order.iter().map(number).collect())),
                Err(Stop::Limit(limit)) => return Ok(Relaxed::Limit(limit, name)),
                Err(Stop::Unsupported(_)) => {}
                Err(Stop::Violated(violation)) => {
                    if !std::ptr::eq(stamped, self.rows.as_slice()) {
                        // It is a guess that is wrong; there is nothing to be shown.
                        let verdict = Verdict::Unknown(Unknown::Unsupported { why: String::new() });
                        let found = Found { verdict, engine: name, because: String::new(), object: None };
                        return Ok(Relaxed::Violated(Box::new(found)));
                    }
                    let feed = Feed::over(&rows);
                    let mut names = Names::Shared(symbols);
                    if candidate.distinct && feed.repeated(part.spec, &mut names)?.is_some() {
                        continue;
                    }
                    let at = timeline.row(violation.at);
                    let verdict = part.verdict(Outcome::Violated(violation, at), &name, &feed, &mut names)?;
                    let found = Found { verdict, engine: name, because: String::new(), object: None };
                    return Ok(Relaxed::Violated(Box::new(found)));
                }
            }
        }
        // Nobody knows this specification: what the log says is as good as anything.
        Ok(Relaxed::Plan(of_rows.to_vec()))
    }

    /// What a search for an order of all objects means.
    fn concluded(
        &self,
        found: Result<guided::Found, Stop>,
        whole: &Whole,
        symbols: &Symbols,
        sink: &mut Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let spec = self.part.spec;
        let Whole { rows, object, objects, completed, .. } = whole;
        let engine = "guided search".to_owned();
        let because = "operations of one process touch".to_owned();
        match found {
            Ok(guided::Found::Order(order)) => {
                let operations = recheck::whole(spec, symbols, rows, *completed, object, *objects, &order)
                    .map_err(|bad| self.bug(&engine, bad.to_string()))?;
                if let Some(sink) = sink {
                    order.iter().for_each(|&row| sink(symbols, &rows[row as usize]));
                }
                let verdict = Verdict::Holds(Basis::Witness { operations });
                Ok(Found { verdict, engine, because, object: None })
            }
            Ok(guided::Found::None) if *objects == 1 => {
                let violation = Violation { at: OpId(0), core: rows.clone(), reason: String::new() };
                let mut names = Names::Shared(symbols);
                let outcome = Outcome::Violated(violation, None);
                let verdict = self.part.verdict(outcome, &engine, &Feed::over(rows), &mut names)?;
                Ok(Found { verdict, engine, because, object: None })
            }
            Ok(guided::Found::None) => {
                let verdict = Verdict::Violated(self.across(rows, object, symbols)?);
                Ok(Found { verdict, engine, because, object: None })
            }
            Ok(guided::Found::GaveUp) | Err(Stop::Unsupported(_)) => {
                let why = "operations of one process touch, and no order was found".to_owned();
                Ok(Found {
                    verdict: Verdict::Unknown(Unknown::Unsupported { why }),
                    engine,
                    because,
                    object: None,
                })
            }
            Err(Stop::Violated(_)) => Err(self.bug(&engine, "it knows of no violations".into())),
            Err(Stop::Limit(limit)) => Ok(self.limited(limit, engine)),
        }
    }

    /// What is wrong where each object can be explained: as few objects as show it.
    fn across(
        &self,
        rows: &[Operation],
        object: &[u32],
        symbols: &Symbols,
    ) -> Result<Counterexample, CheckError> {
        let mut core: Vec<(Operation, u32)> = rows.iter().copied().zip(object.iter().copied()).collect();
        let mut left: Vec<u32> = object.to_vec();
        left.sort_unstable();
        left.dedup();
        // Without the operations of an object, an order is still an order.
        for object in left {
            let fewer: Vec<(Operation, u32)> = core.iter().copied().filter(|(_, of)| *of != object).collect();
            if self.has_none(&fewer, symbols) {
                core = fewer;
            }
        }
        core.sort_by_key(|(op, _)| (op.call, op.ret));
        let (rows, object): (Vec<Operation>, Vec<u32>) = core.into_iter().unzip();
        // A step of the plain search looks at all operations, so it is for cores.
        let is_small = rows.len() <= MOST_SECOND;
        let second =
            is_small.then(|| several::search(self.part.spec, &rows, &object, symbols, SECOND)).flatten();
        if second == Some(true) {
            let why = format!("the core of {} operations it gave can be explained", rows.len());
            return Err(CheckError::Bug { engine: "guided search".into(), why, rows });
        }
        let found = Unexplained {
            core: rows,
            start: None,
            prefix: Vec::new(),
            impossible: None,
            explained: Vec::new(),
            reason: "each object can be explained, but no order of all operations keeps to the order of each process".into(),
        };
        Ok(Counterexample::new(found, second == Some(false)))
    }

    /// Is there surely no order of these?
    fn has_none(&self, core: &[(Operation, u32)], symbols: &Symbols) -> bool {
        let (rows, of): (Vec<Operation>, Vec<u32>) = core.iter().copied().unzip();
        let mut objects: Vec<u32> = of.clone();
        objects.sort_unstable();
        objects.dedup();
        let object: Vec<u32> =
            of.iter().map(|of| objects.partition_point(|other| other < of) as u32).collect();
        let completed = rows.partition_point(|row| !row.is_pending());
        let problem = Problem {
            rows: &rows,
            completed,
            object: &object,
            objects: objects.len(),
            plan: &[],
            makes_over: false,
        };
        let found = guided::search(self.part.spec, symbols, &problem, SHRINK_STEPS, self.part.budget);
        matches!(found, Ok(guided::Found::None))
    }

    fn limited(&self, limit: Limit, engine: String) -> Found {
        let feed = Feed::over(&self.rows);
        let verdict = Verdict::Unknown(unknown(limit, 0, &feed));
        Found { verdict, engine, because: "operations of one process touch".into(), object: None }
    }

    fn bug(&self, engine: &str, why: String) -> CheckError {
        let rows = if self.rows.len() <= 10_000 { self.rows.clone() } else { Vec::new() };
        CheckError::Bug { engine: engine.to_owned(), why, rows }
    }
}

/// Steps back while a core is made smaller.
const SHRINK_STEPS: u64 = 10_000;
/// Steps of the plain search over several objects.
const SECOND: u64 = 1_000_000;
/// More operations than this are not given to it.
const MOST_SECOND: usize = 48;

/// Runs an engine over a whole timeline, with a look at the clock now and then. What it finds is not
/// rechecked, since nothing rests on it.
fn run(engine: &mut dyn Engine, cx: &Context<'_>, timeline: &Timeline) -> Result<Vec<OpId>, Stop> {
    let mut witness = Witness::default();
    let mut upto = 0;
    while upto < timeline.end() {
        upto = timeline.end().min(upto + CHUNK as u32);
        engine.advance(cx, timeline, upto, &mut witness)?;
        cx.budget.check(engine.memory())?;
    }
    engine.advance(cx, timeline, timeline.end(), &mut witness)?;
    engine.finish(cx, timeline, &mut witness)?;
    while engine.has_more() {
        engine.finish(cx, timeline, &mut witness)?;
    }
    Ok(witness.into_order())
}

impl Part<'_> {
    /// Decides one object, in pieces where that was asked for.
    pub(super) fn decide_whole(
        &self,
        feed: &Feed<'_>,
        symbols: &mut Symbols,
        sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        if self.split == Split::AtOnce
            && sink.is_none()
            && let Some(found) = pieces::decide(self, feed, symbols, pieces::LEAST)?
        {
            return Ok(found);
        }
        self.decide_alone(feed, &mut Names::Own(symbols), sink)
    }
}

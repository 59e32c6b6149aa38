//! Many objects, few of them hard: everybody has a turn, and turns grow.
//!
//! One violated object decides the whole, and one that is hard must not keep it from being found. So objects
//! are looked at in *rounds*. In the first one, every object is given to the engines that are sure to end
//! soon, and to a look for results that come from nowhere ([`super::unwritten`]): nothing is searched. In
//! those that follow, each engine that searches has a *slice* of time for each object that is still open, and
//! slices grow by a factor. What such an engine did in an earlier slice is lost; as slices grow geometrically
//! that costs a constant factor. An engine that said that an object is not for it, or ran out of memory over
//! it, has no further turn there.
//!
//! The first violation ends everything: whoever is still at work stops at the next look at the clock. When
//! one object is left it has all cores, and engines race ([`super::race`]). The slices are wall-clock time,
//! so on a busy machine more rounds may be needed; but whatever is answered was proved, as ever.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use linpoint_history::{Basis, Operation, Symbols, Unknown, Verdict};

use super::objects::Object;
use super::{Attempt, CheckError, Found, Outcome, Part, race, reborrow, unknown, unwritten};
use crate::drive::Sink;
use crate::engine::{Budget, Limit};
use crate::feed::{CHUNK, Feed, Names};
use crate::portfolio::{self, Candidate, Choice};

/// The first slice of an engine that searches, and how slices grow.
const FIRST: Duration = Duration::from_millis(50);
const GROWTH: u32 = 4;

/// How long engines that search may take now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slice {
    /// They have no turn yet.
    None,
    /// So long, each of them.
    Of(Duration),
    /// As long as the limits allow.
    Whole,
}

/// What is remembered of an object from one turn to the next.
#[derive(Default)]
struct Turn {
    /// Engines that have no further turn, by their place among the candidates.
    out: Vec<usize>,
    /// Why they have none.
    because: Vec<String>,
    engine: String,
    /// Limits that engines ran into for good.
    limits: Vec<(Limit, u64, String)>,
    /// Was it looked for results that come from nowhere?
    is_looked_over: bool,
}

/// What a turn came to.
enum Turned {
    /// The end of it.
    Ended(Box<Found>),
    /// It needs another turn; what there is to say should there be none.
    Again(Box<Found>),
}

impl Part<'_> {
    /// Decides all objects: violated if one is, unknown if one is and none is violated.
    pub(super) fn decide_all(
        &self,
        objects: &[Object],
        symbols: &Symbols,
        threads: usize,
        sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let over = Arc::new(AtomicBool::new(false));
        let budget = Budget { over: Some(over.clone()), ..self.budget.clone() };
        let total: u64 = objects.iter().map(|object| object.rows.len() as u64).sum();
        let hall = Hall {
            part: Part { budget: &budget, threads: 1, ..*self },
            objects,
            symbols,
            over: &over,
            turns: objects.iter().map(|_| Mutex::new(Turn::default())).collect(),
            sink: Mutex::new(sink),
            decided: AtomicUsize::new(0),
            total,
        };
        let mut found: Vec<(usize, Result<Found, CheckError>)> = Vec::new();
        let mut left: Vec<usize> = (0..objects.len()).collect();
        let mut slice = Slice::None;
        while !left.is_empty() {
            let is_last = left.len() == 1 && (threads > 1 || objects.len() == 1);
            // A thread costs more than a short history; a search may take long on a short one too.
            let crew = if total < CHUNK as u64 && slice == Slice::None { 1 } else { threads };
            let ended = if is_last {
                hall.last(left[0], threads)
            } else {
                hall.round(&left, slice, crew.clamp(1, left.len()))
            };
            let mut again = Vec::new();
            for (index, turned) in ended {
                match turned {
                    Ok(Turned::Ended(one)) => found.push((index, Ok(*one))),
                    Ok(Turned::Again(one)) => again.push((index, *one)),
                    Err(error) => found.push((index, Err(error))),
                }
            }
            let is_last_word = |(_, found): &(usize, Result<Found, CheckError>)| {
                !matches!(found, Ok(Found { verdict: Verdict::Holds(_) | Verdict::Unknown(_), .. }))
            };
            if found.iter().any(is_last_word) || self.budget.is_late() {
                found.extend(again.into_iter().map(|(index, one)| (index, Ok(one))));
                break;
            }
            left = again.into_iter().map(|(index, _)| index).collect();
            slice = match slice {
                Slice::None => Slice::Of(FIRST),
                Slice::Of(time) => Slice::Of(time * GROWTH),
                Slice::Whole => Slice::Whole,
            };
        }
        found.sort_by_key(|(index, _)| *index);
        let is_whole = found.len() == objects.len();
        let found = join(found)?;
        let holds = matches!(found.verdict, Verdict::Holds(_));
        assert!(is_whole || !holds, "what holds was decided object by object, without exception");
        Ok(found)
    }

    /// Decides the one object there is.
    pub(super) fn decide_alone(
        &self,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        mut sink: Option<Sink<'_>>,
    ) -> Result<Found, CheckError> {
        let mut turn = Turn::default();
        // A file that is too long to be held would be read once more for every slice.
        let is_whole = feed.in_memory().is_none() || self.threads > 1;
        let mut slice = if is_whole { Slice::Whole } else { Slice::None };
        loop {
            match self.take_turn(feed, names, reborrow(&mut sink), slice, &mut turn)? {
                Turned::Ended(found) => return Ok(*found),
                Turned::Again(found) if self.budget.is_late() => return Ok(*found),
                Turned::Again(_) => {}
            }
            slice = match slice {
                Slice::None => Slice::Of(FIRST),
                Slice::Of(time) => Slice::Of(time * GROWTH),
                Slice::Whole => Slice::Whole,
            };
        }
    }

    /// Gives one object its turn: engines that are sure to end soon one after another, those that search for
    /// a slice each, or in a race.
    fn take_turn(
        &self,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        mut sink: Option<Sink<'_>>,
        slice: Slice,
        turn: &mut Turn,
    ) -> Result<Turned, CheckError> {
        let candidates = portfolio::candidates(self.spec, self.choice);
        let shared = feed.shared().filter(|_| self.threads > 1 && slice == Slice::Whole);
        let mut cut: Vec<(Limit, u64, String)> = Vec::new();
        let (mut next, mut is_waiting) = (0, false);
        while next < candidates.len() {
            let at = next;
            let candidate = &candidates[at];
            next += 1;
            // Where others ran into limits, trying every order runs into them too.
            let is_hopeless =
                candidate.choice == Choice::Brute && !(cut.is_empty() && turn.limits.is_empty());
            if turn.out.contains(&at) || is_hopeless && self.choice == Choice::Auto {
                continue;
            }
            if candidate.may_take_long() {
                if let Some(found) = self.looked_over(feed, names, turn)? {
                    return Ok(Turned::Ended(Box::new(found)));
                }
                if slice == Slice::None {
                    is_waiting = true;
                    continue;
                }
            }
            let racing = candidates[at..].iter().take_while(|next| next.races && shared.is_some()).count();
            let mut attempts = match shared.filter(|_| racing > 1) {
                Some(shared) => {
                    next = at + racing;
                    race::race(self, &candidates[at..next], shared, names.get(), &mut sink)?
                }
                None => vec![self.attempt_slice(candidate, feed, names, &mut sink, slice)?],
            };
            if let Some(won) = attempts.iter().position(|attempt| attempt.outcome.is_answer()) {
                let won = attempts.remove(won);
                let slower = |attempt: &Attempt| match &attempt.outcome {
                    Outcome::Unfit(why) => format!("{}: {why}", attempt.engine),
                    _ => format!("{}: slower, side by side", attempt.engine),
                };
                turn.because.extend(attempts.iter().map(slower));
                turn.because.extend(cut.iter().map(|(.., engine)| format!("{engine}: slower, in turn")));
                return self.answer(won, feed, names, turn).map(|found| Turned::Ended(Box::new(found)));
            }
            for attempt in attempts {
                match attempt.outcome {
                    Outcome::Limit(Limit::Memory, decided) => {
                        turn.out.push(at);
                        turn.limits.push((Limit::Memory, decided, attempt.engine));
                    }
                    Outcome::Limit(limit, decided) => cut.push((limit, decided, attempt.engine)),
                    Outcome::Unfit(why) => {
                        turn.out.push(at);
                        turn.because.push(format!("{}: {why}", attempt.engine));
                        turn.engine = attempt.engine;
                    }
                    Outcome::Holds(_) | Outcome::Violated(..) => {}
                }
            }
            if self.budget.is_late() {
                break;
            }
        }
        let is_again = is_waiting || !cut.is_empty();
        let found = Box::new(unanswered(feed, turn, &cut));
        Ok(if is_again { Turned::Again(found) } else { Turned::Ended(found) })
    }

    /// One engine, for as long as its slice is; those that are sure to end soon are not cut short.
    fn attempt_slice(
        &self,
        candidate: &Candidate,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        sink: &mut Option<Sink<'_>>,
        slice: Slice,
    ) -> Result<Attempt, CheckError> {
        let watched = |returns| self.watch.explained(returns, feed.completed);
        let budget = match slice {
            Slice::Of(time) if candidate.may_take_long() => self.budget.within(time),
            Slice::None | Slice::Of(_) | Slice::Whole => self.budget.clone(),
        };
        let part = Part { budget: &budget, ..*self };
        // An order is given on when it is whole: one of an engine that does not come to its end is nobody's
        // business.
        if sink.is_none() || feed.in_memory().is_none() {
            return part.attempt(candidate, feed, names, reborrow(sink), &watched);
        }
        let mut order = Vec::new();
        let mut collect = |_: &Symbols, op: &Operation| order.push(*op);
        let attempt = part.attempt(candidate, feed, names, Some(&mut collect), &watched)?;
        if let (Some(sink), Outcome::Holds(_)) = (sink, &attempt.outcome) {
            order.iter().for_each(|op| sink(names.get(), op));
        }
        Ok(attempt)
    }

    /// Looks, once, for a result that nobody can have brought about.
    fn looked_over(
        &self,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        turn: &mut Turn,
    ) -> Result<Option<Found>, CheckError> {
        if std::mem::replace(&mut turn.is_looked_over, true) {
            return Ok(None);
        }
        let Some((violation, at)) = unwritten::find(self.spec, names.get(), feed) else { return Ok(None) };
        let outcome = Outcome::Violated(violation, Some(at));
        let won = Attempt { engine: "a look at who wrote what".into(), outcome };
        self.answer(won, feed, names, turn).map(Some)
    }

    /// What the user is told of an answer. Others stop while it is made ready.
    fn answer(
        &self,
        won: Attempt,
        feed: &Feed<'_>,
        names: &mut Names<'_>,
        turn: &mut Turn,
    ) -> Result<Found, CheckError> {
        if let (Outcome::Violated(..), Some(over)) = (&won.outcome, &self.budget.over) {
            over.store(true, Ordering::Relaxed);
        }
        let verdict = self.verdict(won.outcome, &won.engine, feed, names)?;
        Ok(Found { verdict, engine: won.engine, because: turn.because.join("; "), object: None })
    }
}

/// What is said where nobody has an answer (yet).
fn unanswered(feed: &Feed<'_>, turn: &Turn, cut: &[(Limit, u64, String)]) -> Found {
    // Of several that ran into limits, the one that came furthest says how far that is.
    let limits = || turn.limits.iter().chain(cut);
    if let Some(&(limit, decided, _)) = limits().max_by_key(|(_, decided, _)| *decided) {
        let mut tried: Vec<&str> = limits().map(|(_, _, engine)| engine.as_str()).collect();
        tried.dedup();
        let verdict = Verdict::Unknown(unknown(limit, decided, feed));
        let because = turn.because.join("; ");
        return Found { verdict, engine: tried.join(", "), because, object: None };
    }
    let why = if turn.because.is_empty() {
        "no engine of this kind knows this specification".into()
    } else {
        turn.because.join("; ")
    };
    let verdict = Verdict::Unknown(Unknown::Unsupported { why });
    Found { verdict, engine: turn.engine.clone(), because: String::new(), object: None }
}

/// Where all objects have their turns.
struct Hall<'a, 's> {
    part: Part<'a>,
    objects: &'a [Object],
    symbols: &'a Symbols,
    over: &'a AtomicBool,
    turns: Vec<Mutex<Turn>>,
    sink: Mutex<Option<Sink<'s>>>,
    /// Operations of objects that are decided.
    decided: AtomicUsize,
    total: u64,
}

impl Hall<'_, '_> {
    /// Gives each of these objects a turn, on so many threads. What became of those that had one.
    fn round(
        &self,
        left: &[usize],
        slice: Slice,
        threads: usize,
    ) -> Vec<(usize, Result<Turned, CheckError>)> {
        let next = AtomicUsize::new(0);
        let ended = Mutex::new(Vec::new());
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(&index) = left.get(place).filter(|_| !self.over.load(Ordering::Relaxed)) else {
                    break;
                };
                let turned = self.one(index, slice, &self.part);
                if let Ok(mut ended) = ended.lock() {
                    ended.push((index, turned));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let mut ended = ended.into_inner().unwrap_or_default();
        ended.sort_by_key(|(index, _)| *index);
        ended
    }

    /// The one object that is left has all threads.
    fn last(&self, index: usize, threads: usize) -> Vec<(usize, Result<Turned, CheckError>)> {
        let part = Part { threads, ..self.part };
        let slice = if threads > 1 { Slice::Whole } else { Slice::None };
        let mut turned = self.one(index, slice, &part);
        let mut time = FIRST;
        while slice == Slice::None && matches!(turned, Ok(Turned::Again(_))) && !self.part.budget.is_late() {
            turned = self.one(index, Slice::Of(time), &part);
            time *= GROWTH;
        }
        let ended = turned.map(|turned| match turned {
            Turned::Ended(found) | Turned::Again(found) => Turned::Ended(found),
        });
        vec![(index, ended)]
    }

    fn one(&self, index: usize, slice: Slice, part: &Part<'_>) -> Result<Turned, CheckError> {
        let rows = &self.objects[index].rows;
        let feed = Feed::over(rows);
        let mut order = Vec::new();
        let mut collect = |_: &Symbols, op: &Operation| order.push(*op);
        let is_wanted = self.sink.lock().is_ok_and(|sink| sink.is_some());
        let sink: Option<Sink<'_>> = if is_wanted { Some(&mut collect) } else { None };
        let mut spare = Turn::default();
        let mut turn = self.turns[index].lock();
        let turn = turn.as_deref_mut().unwrap_or(&mut spare);
        let turned = part.take_turn(&feed, &mut Names::Shared(self.symbols), sink, slice, turn);
        match &turned {
            Ok(Turned::Ended(found)) => {
                if matches!(found.verdict, Verdict::Holds(_))
                    && let Ok(mut sink) = self.sink.lock()
                    && let Some(sink) = sink.as_mut()
                {
                    order.iter().for_each(|op| sink(self.symbols, op));
                }
                let done = self.decided.fetch_add(rows.len(), Ordering::Relaxed) + rows.len();
                part.watch.explained(done as u64, self.total);
            }
            Ok(Turned::Again(_)) => {}
            Err(_) => self.over.store(true, Ordering::Relaxed),
        }
        turned
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

//! Several engines on the same history, each on a core of its own; the first answer wins.
//!
//! **Where it pays.** The monitors take about linear time, or say at once that a history is not for them:
//! nothing is gained by racing them. Metastates and searches may take exponential time, and which of them
//! does on a given history is not known beforehand. Metastates keep all configurations, so they are hardly
//! hurt by histories whose early choices are decided late, and badly by histories that leave very many open;
//! a depth-first search is the other way round. `docs/benchmarks.md` has figures.
//!
//! **How.** The candidates are in the order in which they would be tried one after another. The first starts
//! at once. The next one starts when a core is free and the last one to start has either left (it cannot
//! decide this history, or ran into a limit) or has had [`START`] of time and, at the pace at which it
//! explains returns, would take more than [`SOON`] longer. Where the history is a priority queue's, can be
//! cut, and a return takes long, the cores are better used for its pieces ([`super::pieces`]): the first
//! engine is stopped, before another one is started. Should a piece fail, the race is run after all.
//!
//! An answer is an order that was replayed, or a violation. Whoever has one first ends the race, and the
//! others stop at their next look at the clock, which all of them take every few milliseconds.
//!
//! **Why the verdict does not depend on who is faster.** Both kinds of answer are proofs, and a history has
//! at most one of them. `unknown` is said only when all have left. Which engine is named, which order was
//! found and which operations are shown may differ from run to run on a history on which two engines are
//! about equally fast.
//!
//! **Limits.** The time limit is one for all. So is the memory limit, as it is the process's: when it is
//! reached, the racer that holds most stops, and the others go on with what it gives back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use linpoint_history::{Operation, Symbols};

use super::{Attempt, CheckError, Outcome, Part, Split, pieces};
use crate::drive::Sink;
use crate::engine::{Budget, Racer};
use crate::feed::{Names, Shared};
use crate::portfolio::Candidate;

/// So much of a start has every engine before the next one.
const START: Duration = Duration::from_millis(300);
/// Nobody else is started where the end is as near as this.
const SOON: Duration = Duration::from_millis(700);

/// A history is cut sooner: after this time, if so much is left,
const CUT_START: Duration = Duration::from_millis(100);
const CUT_SOON: Duration = Duration::from_millis(200);
/// and a return takes so long on the average; where it takes less, cutting costs as much as a second core
/// saves.
const CUT_PACE: Duration = Duration::from_nanos(800);

/// Races the candidates on `part.threads` cores. What became of those that were started, in their order.
pub(super) fn race(
    part: &Part<'_>,
    candidates: &[Candidate],
    feed: Shared<'_>,
    symbols: &Symbols,
    sink: &mut Option<Sink<'_>>,
) -> Result<Vec<Attempt>, CheckError> {
    // The last lane is that of the pieces.
    let racers = Racer::lanes(candidates.len() + 1);
    let mut may_split = part.split != Split::Never
        && sink.is_none()
        && feed.is_complete()
        && feed.completed() >= pieces::LEAST as u64;
    let mut pieces = None;
    let progress: Vec<AtomicU64> = candidates.iter().map(|_| AtomicU64::new(0)).collect();
    let wanted = sink.is_some();
    let mut ended: Vec<(usize, Result<Attempt, CheckError>, Vec<Operation>)> = Vec::new();
    std::thread::scope(|scope| {
        let (says, heard) = mpsc::channel();
        let start = |lane: usize| {
            let (says, racer) = (says.clone(), racers[lane].clone());
            let (candidate, progress) = (&candidates[lane], &progress[lane]);
            scope.spawn(move || {
                let budget = Budget { racer: Some(racer.clone()), ..part.budget.clone() };
                let part = Part { budget: &budget, ..*part };
                let mut order = Vec::new();
                let mut collect = |_: &Symbols, op: &Operation| order.push(*op);
                let sink: Option<Sink<'_>> = if wanted { Some(&mut collect) } else { None };
                let watched = |returns| progress.store(returns, Ordering::Relaxed);
                let attempt =
                    part.attempt(candidate, &feed.feed(), &mut Names::Shared(symbols), sink, &watched);
                if ends_race(&attempt) {
                    racer.win();
                }
                racer.leave();
                // Whoever listens is there until the last has spoken.
                let _ = says.send((lane, attempt, order));
            });
        };
        let (mut started, mut is_over) = (0, false);
        let mut last_start = Instant::now();
        while started > ended.len() || started < candidates.len() && !is_over {
            let running = started - ended.len();
            let returns = progress[started.saturating_sub(1)].load(Ordering::Relaxed);
            part.watch.explained(returns, feed.completed());
            let is_free = started < candidates.len() && running < part.threads && !is_over;
            let is_time = || running == 0 || is_late(last_start.elapsed(), returns, feed.completed());
            let is_alone = (started, running) == (1, 1) && is_free;
            if may_split && is_alone && is_slow(last_start.elapsed(), returns, feed.completed()) {
                may_split = false;
                // An answer that comes meanwhile ends this too.
                let budget = Budget { racer: Some(racers[candidates.len()].clone()), ..part.budget.clone() };
                pieces = pieces::cut(&Part { budget: &budget, ..*part }, feed.rows(), symbols);
                racers[candidates.len()].leave();
                if pieces.is_some() {
                    racers[candidates.len()].win();
                    is_over = true;
                    continue;
                }
            }
            if is_free && is_time() {
                start(started);
                (started, last_start) = (started + 1, Instant::now());
            }
            match heard.recv_timeout(START / 6) {
                Ok(one) => {
                    is_over |= ends_race(&one.1);
                    ended.push(one);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    if let Some(pieces) = pieces.filter(|_| !ended.iter().any(|(_, attempt, _)| ends_race(attempt))) {
        return match pieces::explain_all(part, pieces, feed.rows().len(), symbols)? {
            Some((engine, operations)) => Ok(vec![Attempt { engine, outcome: Outcome::Holds(operations) }]),
            None => race(&Part { split: Split::Never, ..*part }, candidates, feed, symbols, sink),
        };
    }
    ended.sort_by_key(|(lane, ..)| *lane);
    let mut attempts = Vec::new();
    for (_, attempt, order) in ended {
        let attempt = attempt?;
        // Two may have answered at once: the first in order counts, as for whoever asked.
        let is_first = !attempts.iter().any(|other: &Attempt| other.outcome.is_answer());
        if let Some(sink) = sink
            && attempt.outcome.is_answer()
            && is_first
        {
            order.iter().for_each(|op| sink(symbols, op));
        }
        attempts.push(attempt);
    }
    Ok(attempts)
}

/// Is there nothing left to find out?
fn ends_race(attempt: &Result<Attempt, CheckError>) -> bool {
    attempt.as_ref().map_or(true, |attempt| attempt.outcome.is_answer())
}

/// Has an engine had its start, and is it not about to be done?
fn is_late(elapsed: Duration, returns: u64, of: u64) -> bool {
    elapsed >= START && left(elapsed, returns, of) > SOON.as_secs_f64()
}

/// Is it worth while to cut the history?
fn is_slow(elapsed: Duration, returns: u64, of: u64) -> bool {
    let pace = elapsed.as_secs_f64() / (returns as f64).max(1.0);
    elapsed >= CUT_START
        && pace >= CUT_PACE.as_secs_f64()
        && left(elapsed, returns, of) > CUT_SOON.as_secs_f64()
}

/// The seconds that an engine will still take, at its pace so far.
fn left(elapsed: Duration, returns: u64, of: u64) -> f64 {
    elapsed.as_secs_f64() * of.saturating_sub(returns) as f64 / (returns as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_waits_for_its_turn() {
        let ms = Duration::from_millis;
        assert!(!is_late(ms(100), 0, 1000));
        assert!(is_late(ms(400), 0, 1000));
        assert!(is_late(ms(400), 100, 1000), "3.6 s are left");
        assert!(!is_late(ms(400), 600, 1000), "0.3 s are left");
    }

    #[test]
    fn what_is_quick_is_not_cut() {
        let ms = Duration::from_millis;
        assert!(!is_slow(ms(90), 0, 1_000_000));
        assert!(is_slow(ms(110), 0, 1_000_000));
        assert!(!is_slow(ms(110), 200_000, 1_000_000), "half a microsecond a return");
        assert!(is_slow(ms(110), 50_000, 200_000), "two microseconds, and 0.3 s are left");
        assert!(!is_slow(ms(110), 50_000, 100_000), "0.1 s are left");
    }
}

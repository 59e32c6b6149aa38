//! Inference of invariants: start from every guess, drop what a step breaks, until nothing more is dropped.
//!
//! After C. Flanagan, K. R. M. Leino, *Houdini, an Annotation Assistant for ESC/Java* (2001). What is left is
//! the largest set of guesses that the steps keep together. All goals of a question are asked at once; the
//! model says which of them fail, and the rest is asked again. A guess that is dropped was perhaps used by
//! other questions: they are asked again. A process's own steps come first, because they drop most for least;
//! steps of others afterwards.
//!
//! Nothing here is trusted: what is left is proved again with the obligations. For each guess that was
//! dropped, which step broke it is kept, so that a failure can be blamed on the first one, not on the last.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fact::{Fact, Facts};
use crate::graph::{Graph, Point};
use crate::obligation::{CHUNK, Goal, Kind, Obligation};
use crate::worker::Worker;

/// A guess that was dropped.
#[derive(Clone, Debug)]
pub struct Dropped {
    /// The guess.
    pub fact: Fact,
    /// Where; none if it was to hold always.
    pub at: Option<Point>,
    /// What broke it.
    pub by: Obligation,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Inferred {
    /// The facts that are left.
    pub facts: Facts,
    /// Those that are not, in the order in which they were dropped.
    pub dropped: Vec<Dropped>,
    /// How many guesses there were.
    pub guesses: usize,
}

/// Infers invariants with all workers.
pub fn infer(workers: &mut [Worker<'_, '_>], facts: Facts) -> Inferred {
    let guesses = facts.count();
    let mut inferred = Inferred { facts, dropped: Vec::new(), guesses };
    let Some(first) = workers.first_mut() else { return inferred };
    let subject = first.subject;
    let steps = &subject.graph.steps;
    let mut others: Vec<Vec<Point>> = Vec::with_capacity(steps.len());
    for step in 0..steps.len() {
        if first.is_late() {
            return inferred;
        }
        others.push(subject.others(&mut first.world, step, &inferred.facts));
    }
    let question = |kind, step, other| Obligation { kind, step, other };
    let mut own: BTreeSet<Obligation> = BTreeSet::new();
    own.insert(question(Kind::Initial, 0, None));
    own.extend((0..subject.program.operations.len()).map(|op| question(Kind::Call, op, None)));
    own.extend((0..steps.len()).map(|step| question(Kind::Invariant, step, None)));
    let mut foreign: BTreeSet<Obligation> = BTreeSet::new();
    for (step, points) in others.iter().enumerate() {
        foreign.extend(points.iter().map(|point| question(Kind::Others, step, Some(*point))));
    }
    let all = own.union(&foreign).copied().collect::<Vec<_>>();
    while !own.is_empty() || !foreign.is_empty() {
        if workers.iter().any(|worker| worker.is_late()) {
            // Not all was asked: what is left may be wrong, and the obligations will say so.
            break;
        }
        let pending = if own.is_empty() { &mut foreign } else { &mut own };
        let batch: Vec<Obligation> = std::mem::take(pending).into_iter().collect();
        let dropped = falsify_all(workers, &inferred.facts, &batch);
        let (mut points, mut always): (BTreeSet<Point>, bool) = (BTreeSet::new(), false);
        let mut gone: BTreeSet<(Option<Point>, usize)> = BTreeSet::new();
        for (by, goals) in dropped {
            for goal in goals {
                let (at, number) = match goal {
                    Goal::Always(number) => (None, number),
                    Goal::At(point, number) => (Some(point), number),
                    Goal::Other | Goal::Differ(_) => continue,
                };
                if !gone.insert((at, number)) {
                    continue;
                }
                let fact = match at {
                    None => inferred.facts.always[number].clone(),
                    Some(point) => inferred.facts.of(point)[number].clone(),
                };
                always |= at.is_none();
                points.extend(at);
                inferred.dropped.push(Dropped { fact, at, by });
            }
        }
        remove(&mut inferred.facts, &gone);
        for obligation in &all {
            let from = match obligation.kind {
                Kind::Invariant | Kind::Others => Some(steps[obligation.step].from),
                Kind::Call => Some(Graph::IDLE),
                _ => None,
            };
            let used = always && obligation.kind != Kind::Initial
                || from.is_some_and(|from| points.contains(&from))
                || obligation
                    .other
                    .is_some_and(|other| points.range(other..Point(other.0 + CHUNK)).next().is_some());
            if used {
                match obligation.kind {
                    Kind::Others => foreign.insert(*obligation),
                    _ => own.insert(*obligation),
                };
            }
        }
    }
    inferred
}

fn remove(facts: &mut Facts, gone: &BTreeSet<(Option<Point>, usize)>) {
    let keep = |at: Option<Point>, list: &mut Vec<Fact>| {
        let mut number = 0;
        list.retain(|_| {
            number += 1;
            !gone.contains(&(at, number - 1))
        });
    };
    keep(None, &mut facts.always);
    for (point, list) in facts.at.iter_mut().enumerate() {
        keep(Some(Point(point as u16)), list);
    }
}

/// Asks every question, with whoever is free.
fn falsify_all(
    workers: &mut [Worker<'_, '_>],
    facts: &Facts,
    batch: &[Obligation],
) -> Vec<(Obligation, Vec<Goal>)> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Vec<Goal>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in workers.iter_mut() {
            let (next, found) = (&next, &found);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(obligation) = batch.get(number) else { break };
                    let dropped = worker.falsify(facts, *obligation);
                    if !dropped.is_empty()
                        && let Ok(mut found) = found.lock()
                    {
                        found.push((number, dropped));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(number, goals)| (batch[number], goals)).collect()
}

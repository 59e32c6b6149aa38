//! Why an obligation is open: what is missing, and which step keeps it from being known.
//!
//! A candidate is a formula about a process at a place, or about every state. It is *missing* from an open
//! obligation if with it among the hypotheses the obligation holds, and the hypotheses can still be met.
//! Candidates are guesses that inference dropped, and whatever else the caller proposes. Of a guess that was
//! dropped is known which step broke it; the state in which it does is found again here, so that none has to
//! be kept while thousands are dropped.
//!
//! Nothing here counts as a proof: it is what the user is told.

use linpoint_lang::Program;
use linpoint_lang::program::{Expr, LocalId};

use crate::fact::{Fact, Facts};
use crate::graph::{Graph, Point};
use crate::houdini::{Dropped, Inferred};
use crate::obligation::{Goal, Kind, Obligation, Precondition};
use crate::prove::{Options, draw, subject};
use crate::scene::Picture;
use crate::worker::{Decision, Worker};

/// Something that may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Where; none if always.
    pub at: Option<Point>,
    /// What.
    pub body: Expr,
}

/// What is missing from an obligation.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Which of the candidates.
    pub candidate: usize,
    /// The obligation that keeps inference from knowing it, if it was a guess, and a state in which it does.
    pub broken_by: Option<(Obligation, Option<Picture>)>,
}

/// The places that an obligation speaks of: of the process that takes the step, and of the other one.
pub fn places(graph: &Graph, obligation: Obligation) -> Vec<Point> {
    match obligation.kind {
        Kind::Initial | Kind::Ends | Kind::Same | Kind::Call => Vec::new(),
        _ => std::iter::once(graph.steps[obligation.step].from).chain(obligation.other).collect(),
    }
}

/// Guesses about these places, or about every state, that were dropped.
pub fn dropped(inferred: &Inferred, places: &[Point]) -> Vec<Candidate> {
    let here = |dropped: &&Dropped| dropped.at.is_none_or(|at| places.contains(&at));
    inferred.dropped.iter().filter(here).map(|d| Candidate { at: d.at, body: d.fact.body.clone() }).collect()
}

/// Which candidates are missing from an open obligation; at most so many, in the order of the candidates.
pub fn missing(
    program: &Program,
    graph: &Graph,
    options: &Options,
    inferred: &Inferred,
    obligation: Obligation,
    candidates: &[Candidate],
    most: usize,
) -> Vec<Missing> {
    let Ok(subject) = subject(program, graph, options) else { return Vec::new() };
    let deadline = Some(std::time::Instant::now() + options.time.unwrap_or(options.limit));
    let mut worker = Worker::new(&subject, options.solver.clone(), options.limit, deadline);
    let mut found = Vec::new();
    for (number, candidate) in candidates.iter().enumerate() {
        if found.len() == most || worker.is_late() {
            break;
        }
        // What is known already is not missing.
        if is_known(&inferred.facts, candidate) {
            continue;
        }
        let facts = with(&inferred.facts, candidate);
        if closes(&mut worker, &facts, candidate, obligation) {
            let broken_by = broken_by(&mut worker, inferred, candidate);
            found.push(Missing { candidate: number, broken_by });
        }
    }
    found
}

fn is_known(facts: &Facts, candidate: &Candidate) -> bool {
    let here = candidate.at.map_or(facts.always.as_slice(), |at| facts.of(at));
    here.iter().any(|fact| fact.body == candidate.body)
}

/// The facts, and the candidate.
fn with(facts: &Facts, candidate: &Candidate) -> Facts {
    let mut facts = facts.clone();
    let fact = Fact::guess(candidate.body.clone());
    match candidate.at {
        None => facts.always.push(fact),
        Some(at) => facts.at[usize::from(at.0)].push(fact),
    }
    facts
}

/// Does the obligation hold, and not because nothing is possible any more?
fn closes(worker: &mut Worker<'_, '_>, facts: &Facts, candidate: &Candidate, obligation: Obligation) -> bool {
    let mut question = worker.subject.question(&mut worker.world, facts, obligation, Precondition::Two);
    // What was added is not asked for here: that would be another obligation.
    question.goals.retain(|(_, goal)| match goal {
        Goal::Always(number) => candidate.at.is_some() || facts.always.len() != number + 1,
        Goal::At(point, number) => candidate.at != Some(*point) || facts.of(*point).len() != number + 1,
        Goal::Other | Goal::Differ(_) => true,
    });
    worker.decide(&question, &[], 2) == Decision::Proved && worker.is_possible(&question) == Some(true)
}

/// The step that keeps a guess from being known, and a state in which it breaks it.
fn broken_by(
    worker: &mut Worker<'_, '_>,
    inferred: &Inferred,
    candidate: &Candidate,
) -> Option<(Obligation, Option<Picture>)> {
    let same = |dropped: &&Dropped| dropped.at == candidate.at && dropped.fact.body == candidate.body;
    let by = inferred.dropped.iter().find(same)?.by;
    let facts = with(&inferred.facts, candidate);
    let mut question = worker.subject.question(&mut worker.world, &facts, by, Precondition::Two);
    question.goals.retain(|(_, goal)| match goal {
        Goal::Always(number) => candidate.at.is_none() && facts.always.len() == number + 1,
        Goal::At(point, number) => candidate.at == Some(*point) && facts.of(*point).len() == number + 1,
        Goal::Other | Goal::Differ(_) => false,
    });
    let picture = match worker.decide(&question, &[], 1) {
        Decision::Open(model) => match draw(worker, &question, &model, 1) {
            crate::Outcome::Open(picture) => Some(*picture),
            _ => None,
        },
        _ => None,
    };
    Some((by, picture))
}

/// Which pairs of locals, of the process that takes the step and of the other one at this place, would have
/// to differ for the obligation to hold.
pub fn must_differ(
    program: &Program,
    graph: &Graph,
    options: &Options,
    inferred: &Inferred,
    (obligation, other): (Obligation, Point),
    pairs: &[(LocalId, LocalId)],
) -> Vec<usize> {
    let Ok(subject) = subject(program, graph, options) else { return Vec::new() };
    let deadline = Some(std::time::Instant::now() + options.time.unwrap_or(options.limit));
    let mut worker = Worker::new(&subject, options.solver.clone(), options.limit, deadline);
    let question = subject.question(&mut worker.world, &inferred.facts, obligation, Precondition::Two);
    let Some((q, _)) = question.scene.q.iter().find(|(_, at)| *at == other) else { return Vec::new() };
    let (p, q) = (question.scene.p.0.clone(), q.clone());
    let mut found = Vec::new();
    for (number, (one, two)) in pairs.iter().enumerate() {
        let (Some(a), Some(b)) = (p.locals.get(one.index()), q.locals.get(two.index())) else { continue };
        let same = worker.world.same(*a, *b);
        let mut question = question.clone();
        question.hypotheses.push(worker.world.terms.not(same));
        question.goals.retain(|(_, goal)| goal.point().is_none_or(|point| point == other));
        if worker.decide(&question, &[], 2) == Decision::Proved && worker.is_possible(&question) == Some(true)
        {
            found.push(number);
        }
    }
    found
}

//! What stands between a proof and its being told: two looks at it by code that shares no abstract step with it.
//!
//! - The *audit* ([`mod@crate::audit`]): concrete states that the structures of the proof stand for, one step of the interpreter further, must be among these structures again.
//! - A *second opinion* ([`linpoint_model::second_opinion_of`]): small clients of the scope are explored without any reduction. No proof is told while a run refutes it.
//!
//! Both are bounded by an amount of work, so the same program is looked at the same way each time, and by a time, for machines that are busy. They run side by side.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::ErrorKind;
use linpoint_model::{Agreement, Budget, Explored, Verdict, second_opinion_of};

use crate::audit::{Amount, Inside, audit};
use crate::exec::Points;
use crate::layout::Layout;
use crate::prove::{Invariant, Proof};
use crate::refine::{self, Precision};
use crate::refute::Refutation;
use crate::samples::without_queries;
use crate::scope::Scope;

/// So many states of random runs are looked up, with all that can happen next.
const STATES: u64 = 3000;

/// So many random heaps are made, of which those count that the proof stands for.
const HEAPS: u64 = 20_000;

/// Clients whose runs are explored: threads, and calls of each.
const CLIENTS: [(usize, u32); 5] = [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2)];

/// Why a proof is not told.
#[derive(Debug)]
pub(crate) enum Objection {
    /// A run shows that the program is wrong.
    Run(Box<Refutation>),
    /// Its structures do not stand for all states.
    Structures(String),
}

/// Looks at a proof of a program a second time, for about so long.
pub(crate) fn look_again(
    layout: &Layout<'_>,
    named: &Program,
    scope: Scope,
    proof: &Proof,
    time: Duration,
) -> Result<(), Objection> {
    let until = Instant::now() + time;
    let (audited, refuted) = std::thread::scope(|threads| {
        let other = threads.spawn(|| audited(layout, scope, proof, until));
        let refuted = explored(named, layout, scope, time);
        (other.join(), refuted)
    });
    if let Some(refutation) = refuted {
        return Err(Objection::Run(Box::new(refutation)));
    }
    match audited {
        Ok(audited) => audited.map_err(Objection::Structures),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A run of a small client of the scope that is wrong.
pub(crate) fn explored(
    named: &Program,
    layout: &Layout<'_>,
    scope: Scope,
    time: Duration,
) -> Option<Refutation> {
    let start = Instant::now();
    let workloads = scope.workloads(named, Some(&layout.roles), &CLIENTS);
    // Proofs take for granted that counters do not overflow, and say so.
    let forgiven = |kind: ErrorKind| kind == ErrorKind::Arithmetic;
    let budget = Budget { time, forgiven, ..Budget::default() };
    let Agreement::Refutes(found) = second_opinion_of(named, &workloads, &budget) else { return None };
    let explored = Explored {
        verdict: Verdict::Violated(found.violation),
        states: 0,
        transitions: 0,
        depth: 0,
        memory: 0,
        digest: 0,
        distinct_data: true,
        elapsed: start.elapsed(),
        can_end: None,
        disagrees: false,
    };
    Some(Refutation { explored, workload: found.scope.workload })
}

fn audited(layout: &Layout<'_>, scope: Scope, proof: &Proof, until: Instant) -> Result<(), String> {
    match &proof.invariant {
        Invariant::Views(found) => {
            audit_views(layout, &proof.points, &proof.precision, &found.views, until).map(|_| ())
        }
        Invariant::Whole(found) => {
            let program = without_queries(layout.program);
            let plain = Layout::of(&program, layout.object, layout.roles.clone())?;
            let Some(client) = scope.client(&layout.roles) else { return Ok(()) };
            let inside = Inside::Whole(&found.store, &client);
            // Precision is a matter of views: there is none to forget.
            let amount = Amount { states: STATES, heaps: 0, until: Some(until) };
            audit(&plain, &proof.points, &inside, 1, &amount).map(|_| ())
        }
    }
}

/// The views of a proof against the interpreter's states.
pub(crate) fn audit_views(
    layout: &Layout<'_>,
    points: &Points,
    precision: &Precision,
    views: &crate::store::Store<()>,
    until: Instant,
) -> Result<crate::audit::Audit, String> {
    let program = without_queries(layout.program);
    let plain = Layout::of(&program, layout.object, layout.roles.clone())?;
    let views = refine::forget(&plain, views).map_err(|_| "a structure that is too large")?;
    // What refinement added to a proof is not in concrete states: there only runs say something.
    let heaps = if *precision == Precision::default() { HEAPS } else { 0 };
    let amount = Amount { states: STATES, heaps, until: Some(until) };
    audit(&plain, points, &Inside::Views(&views), 1, &amount)
}

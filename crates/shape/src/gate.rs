//! What stands between a proof and its being told: two looks at it by code that shares no abstract step with
//! it.
//!
//! - The *audit* ([`mod@crate::audit`]): concrete states that the structures of the proof stand for, one step
//!   of the interpreter further, must be among these structures again.
//! - A *second opinion* ([`linpoint_model::second_opinion_noting`]): small clients of the scope, and the
//!   program's own, are explored without any reduction. No proof is told while a run refutes it.
//!
//! Both are bounded by an amount of work, so the same program is looked at the same way each time, and by a
//! time, for machines that are busy. They run side by side. Where that work was not done, no proof is told,
//! so that more time never makes a refutation of what was proved; only where it takes more than ten seconds,
//! a tenth of it will do. Nor is one told of which nothing can be seen: where no operation returns in any
//! run, every answer is right.

use std::time::{Duration, Instant};

use linpoint_lang::Program;
use linpoint_lang::interp::ErrorKind;
use linpoint_model::{Agreement, Budget, Noted, Workload, second_opinion_noting};
use linpoint_verdict::Counterexample;

use crate::audit::{Amount, Inside, audit};
use crate::exec::Points;
use crate::layout::Layout;
use crate::prove::{Invariant, Proof};
use crate::refine::{self, Precision};
use crate::refute::Refutation;
use crate::samples::without_queries;
use crate::scope::Scope;
use crate::store::Store;

/// So many states of random runs are looked up, with all that can happen next.
const STATES_LOOKED_UP: u64 = 3000;

/// So many random heaps are made, of which those count that the proof stands for.
const HEAPS: u64 = 20_000;

/// What is said where a look came to an end too soon.
pub(crate) const NO_TIME: &str = "the time was over before a proof could be looked at a second time";

/// Clients whose runs are explored: threads, and calls of each.
const CLIENTS: [(usize, u32); 5] = [(2, 1), (2, 2), (3, 1), (2, 3), (3, 2)];

/// Why a proof is not told.
#[derive(Debug)]
pub(crate) enum Objection {
    /// A run shows that the program is wrong.
    Run(Counterexample<Box<Refutation>>),
    /// Its structures do not stand for all states.
    Structures(String),
    /// Too little was looked at, or there is nothing to look at.
    Unseen(String),
}

/// Looks at a proof of a program a second time, for about so long.
pub(crate) fn look_again(
    layout: &Layout<'_>,
    named: &Program,
    scope: Scope,
    proof: &Proof,
    time: Duration,
) -> Result<Noted, Objection> {
    let (audited, explored) = std::thread::scope(|threads| {
        let other = threads.spawn(|| audited(layout, scope, proof, time));
        let explored = explored(named, layout, scope, time);
        (other.join(), explored)
    });
    let noted = explored?;
    match audited {
        Ok(Ok(())) => Ok(noted),
        Ok(Err(objection)) => Err(objection),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Explores small clients of the scope, and the program's own: what was noted of their runs.
pub(crate) fn explored(
    named: &Program,
    layout: &Layout<'_>,
    scope: Scope,
    time: Duration,
) -> Result<Noted, Objection> {
    let mut workloads = scope.workloads(named, Some(&layout.roles), &CLIENTS);
    let own = named.clients.iter().map(Workload::of);
    workloads.extend(own.filter(|own| scope.contains(Some(&layout.roles), own)));
    // Proofs take for granted that counters do not overflow, and say so.
    let forgiven = |kind: ErrorKind| kind == ErrorKind::Arithmetic;
    let budget = Budget { time, forgiven, ..Budget::default() };
    let mut noted = Noted::new(named);
    let Agreement::Refutes(found) = second_opinion_noting(named, &workloads, &budget, &mut noted) else {
        return match unseen(named, &noted, &budget) {
            Some(why) => Err(Objection::Unseen(why)),
            None => Ok(noted),
        };
    };
    let (workload, states) = (found.scope.workload, noted.states);
    let shown = found.violation.map(|violation| Box::new(Refutation { violation, states, workload }));
    Err(Objection::Run(shown))
}

/// Why what was seen of runs is too little to tell a proof.
fn unseen(named: &Program, noted: &Noted, budget: &Budget) -> Option<String> {
    if !noted.is_enough(budget) {
        return Some(NO_TIME.into());
    }
    if !noted.something_returned() {
        return Some(
            "no operation returns in any run that was explored, so there is nothing to judge".into(),
        );
    }
    let op = *noted.unseen().first()?;
    Some(format!("no run that was explored returns from `{}`", named.operation(op).name))
}

fn audited(layout: &Layout<'_>, scope: Scope, proof: &Proof, time: Duration) -> Result<(), Objection> {
    let found = match &proof.invariant {
        Invariant::Views(found) => audit_views(layout, &proof.points, &proof.precision, &found.views, time),
        Invariant::Whole(found) => audit_whole(layout, scope, &proof.points, &found.store, time),
    };
    match found {
        Ok(true) => Ok(()),
        Ok(false) => Err(Objection::Unseen(NO_TIME.into())),
        Err(why) => Err(Objection::Structures(why)),
    }
}

/// All is looked at, or a tenth where that takes very long.
fn least(time: Duration) -> u64 {
    if time >= Budget::LONGEST { 10 } else { 1 }
}

fn audit_whole(
    layout: &Layout<'_>,
    scope: Scope,
    points: &Points,
    store: &Store<()>,
    time: Duration,
) -> Result<bool, String> {
    let program = without_queries(layout.program);
    let plain = Layout::of(&program, layout.object, layout.roles.clone())?;
    let Some(client) = scope.client(&layout.roles) else { return Ok(true) };
    let inside = Inside::Whole(store, &client);
    // Precision is a matter of views: there is none to forget.
    let amount = Amount { states: STATES_LOOKED_UP, heaps: 0, until: Some(Instant::now() + time) };
    Ok(amount.is_reached(&audit(&plain, points, &inside, 1, &amount)?, least(time)))
}

/// The views of a proof against the interpreter's states: was enough looked at?
pub(crate) fn audit_views(
    layout: &Layout<'_>,
    points: &Points,
    precision: &Precision,
    views: &Store<()>,
    time: Duration,
) -> Result<bool, String> {
    let program = without_queries(layout.program);
    let plain = Layout::of(&program, layout.object, layout.roles.clone())?;
    let views = refine::forget(&plain, views).map_err(|_| "a structure that is too large")?;
    // What refinement added to a proof is not in concrete states: there only runs say something.
    let heaps = if *precision == Precision::default() { HEAPS } else { 0 };
    let amount = Amount { states: STATES_LOOKED_UP, heaps, until: Some(Instant::now() + time) };
    Ok(amount.is_reached(&audit(&plain, points, &Inside::Views(&views), 1, &amount)?, least(time)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Objection, explored};
    use crate::layout::Layout;
    use crate::scope::Scope;

    /// A stack that loses what is pushed after the sixth time.
    const LOSES: &str = "object S : stack {
  struct Node { val: data, next: *Node }
  shared top: *Node = null
  shared n: int
  op push(v: data) {
    atomic {
      n = n + 1
      x = new Node { val: v, next: top }
      if n < 7 { top = x }
    }
  }
  op pop() -> data? {
    var t: *Node = null
    atomic {
      t = top
      if t != null { top = t.next }
    }
    if t == null { return none }
    return t.val
  }
";

    /// The clients of a program are explored, too: what only they come to is found.
    #[test]
    fn own_clients() {
        let of = |more: &str| {
            let program = |text: &str| linpoint_lang::compile(text).0.remove(0);
            let loses = program(&format!("{LOSES}{more}}}"));
            let right = program(
                &format!("{LOSES}}}").replace("n = n + 1", "").replace("if n < 7 { top = x }", "top = x"),
            );
            let layout = Layout::new(&right).expect("modelled");
            let found = explored(&loses, &layout, Scope::Any, Duration::from_secs(60));
            matches!(found, Err(Objection::Run(_)))
        };
        assert!(!of(""));
        assert!(of(
            "client many { thread { push(1); push(2); push(3); push(4); push(5); push(6); push(7); pop() } }"
        ));
    }
}

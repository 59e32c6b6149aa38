//! Programs under a weak memory model. Locations are called after blocks of the heap, so the test has one that knows them.

mod litmus;
mod mirror;
mod schedules;
mod sync;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Mutex;

use linpoint_sched::weak::{Explored, Model, Plan, explore};

#[global_allocator]
static HEAP: linpoint_sched::Heap = linpoint_sched::Heap::new();

/// Everything that is to be told of an exploration.
pub struct All<T> {
    /// What it met.
    pub explored: Explored,
    /// What complete executions answered.
    pub outcomes: BTreeSet<T>,
}

/// Explores a program whose complete executions each answer something.
#[track_caller]
pub fn all<T: Ord + Debug + Clone + Send>(model: Model, program: impl Fn() -> T) -> All<T> {
    let plan = Plan { stop_at_failure: false, ..Plan::of(model) };
    all_as(&plan, program)
}

/// The same, as a plan says.
#[track_caller]
pub fn all_as<T: Ord + Debug + Clone + Send>(plan: &Plan, program: impl Fn() -> T) -> All<T> {
    let last = Mutex::new(None);
    let mut outcomes = BTreeSet::new();
    let run = || {
        let outcome = program();
        *last.lock().expect("nobody panics") = Some(outcome);
    };
    let explored = explore(&run, plan, &mut |_| {
        outcomes.extend(last.lock().expect("nobody panics").take());
        ControlFlow::Continue(())
    });
    All { explored, outcomes }
}

/// The outcomes of a program in which nothing is wrong and that was explored to the end.
#[track_caller]
pub fn outcomes<T: Ord + Debug + Clone + Send>(model: Model, program: impl Fn() -> T) -> BTreeSet<T> {
    let All { explored, outcomes } = all(model, program);
    assert!(explored.found.is_none(), "{:?}", explored.found);
    assert!(explored.is_complete(), "{explored:?}");
    assert_eq!(explored.report.dead, 0, "{explored:?}");
    outcomes
}

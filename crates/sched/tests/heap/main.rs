//! Memory that is used after its free, in a binary with [`linpoint_sched::Heap`] as its allocator.

mod correct;
mod wrong;

use std::ops::ControlFlow;
use std::sync::Arc;

use linpoint_sched::atomic::{AtomicPtr, Ordering::SeqCst};
use linpoint_sched::explore::{Coverage, Covered, Plan, Search, explore};
use linpoint_sched::{Failure, Heap};

#[global_allocator]
static HEAP: Heap = Heap::new();

fn coverage(search: Search, program: impl Fn()) -> Coverage {
    let plan = Plan { search, time: None, ..Plan::default() };
    explore(&program, &plan, &mut |_| ControlFlow::Continue(()))
}

/// What is wrong with the program, however it is searched.
fn failure(program: impl Fn()) -> Failure {
    for search in [Search::RaceReversal, Search::Dpor, Search::Preemptions(3)] {
        assert!(coverage(search, &program).found.is_some(), "{search:?} finds nothing");
    }
    coverage(Search::Dfs, program).found.expect("a failure").failure
}

/// Nothing is wrong with the program, and everything was watched.
fn fine(program: impl Fn()) {
    for search in [Search::Dfs, Search::Dpor] {
        let coverage = coverage(search, &program);
        if let Some(found) = coverage.found {
            panic!("{}", found.failure);
        }
        assert_eq!((coverage.covered, coverage.unwatched), (Covered::Every, 0));
    }
}

fn reads() -> Option<bool> {
    cfg!(target_arch = "x86_64").then_some(false)
}

fn writes() -> Option<bool> {
    cfg!(target_arch = "x86_64").then_some(true)
}

struct Shared<T>(AtomicPtr<T>);

impl<T> Shared<T> {
    fn new(value: T) -> Arc<Shared<T>> {
        Arc::new(Shared(AtomicPtr::new(Box::into_raw(Box::new(value)))))
    }

    fn free(&self) {
        let pointer = self.0.swap(std::ptr::null_mut(), SeqCst);
        if !pointer.is_null() {
            // SAFETY: it came from a box, and whoever takes it out has it alone.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

fn bytes(failure: &Failure) -> (usize, u8, u8, Option<bool>) {
    match failure {
        Failure::UseAfterFree(freed) => (freed.size, freed.freed.thread.0, freed.used.thread.0, freed.writes),
        other => panic!("{other}"),
    }
}

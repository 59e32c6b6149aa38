//! Runs concurrent Rust code under a controlled scheduler.
//!
//! A program is a closure. Its threads are fibers on one OS thread; before every access to something shared a shim
//! ([`atomic`], [`sync`], [`thread`], [`cell`]) announces it to the [`Execution`], and a [`strategy`] says who goes next.
//! What happened is a [`Run`]: steps, accesses, marks. [`clocks`] says what happens before what in it, and [`explore`]
//! drives a strategy over a program and says what was covered.
//!
//! This crate knows no specification: whether a run is right is for its callers to say. Outside an exploration the
//! shims are std's.

mod arena;
pub mod atomic;
pub mod cell;
pub mod clocks;
mod cycle;
mod data_race;
mod event;
mod execution;
pub mod explore;
mod failure;
mod fair;
mod fiber;
mod heap;
pub mod helgrind;
pub mod hint;
mod hook_exit;
mod last_words;
pub mod leak;
mod ledger;
mod local;
mod local_state;
mod location;
mod overflow;
pub mod pace;
mod panic_count;
mod panics;
mod races;
pub mod random;
mod run;
pub mod semaphore;
mod spin;
mod stack;
pub mod statics;
mod stranger;
pub mod strategy;
pub mod sync;
pub mod thread;
mod trace;
mod twin;
mod watchdog;
pub mod weak;
mod whim;

pub use cycle::Cycle;
pub use event::{Access, Action, Effect, Intent, Loc, Step, ThreadId, ThreadSet};
pub use execution::{Execution, Limits};
pub use failure::{Doubt, Failure, Freed, Place, Waiting};
pub use heap::Heap;
pub use run::{Aside, AsideKind, Blocked, Ending, Mark, MarkKind, Run, ThreadRecord};
pub use trace::{Line, Trace};

/// Runs `body` as one step of an exploration: nobody else goes between its accesses. Outside an exploration it is
/// just run.
#[track_caller]
pub fn atomically<T>(body: impl FnOnce() -> T) -> T {
    match execution::current() {
        None => body(),
        Some(handle) => {
            handle.point(Intent::new(Action::Block, 0));
            let value = handle.block(body);
            handle.hold();
            value
        }
    }
}

/// An exploration is about to be started. Where the caller is inside of one that is a misuse of that one, which ends here.
pub fn must_be_outside() {
    if let Some(handle) = execution::current() {
        handle.misuse(
            "an exploration cannot be started inside an exploration: start it outside, or write one program",
        );
    }
}

/// Is the calling code part of an exploration?
#[inline]
pub fn is_exploring() -> bool {
    execution::current().is_some()
}

/// Is the running execution one of those that look for uses of freed memory? There, what a thread does after a step may come
/// when others have taken many.
#[inline]
pub fn looks_for_freed() -> bool {
    execution::current().is_some_and(execution::Handle::looks_for_freed)
}

/// Says whether the schedules from here on are to be explored. Where they are not, the running thread goes on as long as it
/// can, and then the lowest that can: one schedule stands for all. The search must be one that goes depth first (`Dfs`, `Dpor`,
/// a bound on preemptions). Outside an exploration it is nothing.
pub fn set_focus(explores: bool) {
    if let Some(handle) = execution::current() {
        handle.set_focus(explores);
    }
}

/// Marks the begin of an operation of the running thread.
pub fn mark_call(operation: u32) {
    if let Some(handle) = execution::current() {
        handle.mark_call(operation);
    }
}

/// Marks the end of an operation of the running thread.
#[track_caller]
pub fn mark_return(operation: u32) {
    if let Some(handle) = execution::current() {
        handle.mark_return(operation);
    }
}

/// Are the allocations or the local states of the running execution noted? If not, [`untracked`] has nothing to do.
#[inline]
pub fn is_tracked() -> bool {
    execution::current().is_some_and(execution::Handle::is_watching)
}

/// Runs `body`, whose allocations are not the program's: what it leaves behind may outlive the execution.
pub fn untracked<T>(body: impl FnOnce() -> T) -> T {
    let value = heap::outside(body);
    if let Some(handle) = execution::current() {
        handle.scrub();
    }
    value
}

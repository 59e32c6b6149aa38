//! Failures without a reason, where std allows them: a `compare_exchange_weak` that fails though the value is there, and a
//! wait for a condition variable that ends though nobody notified it.
//!
//! How many of them there may be in an execution is a limit ([`crate::Limits::spurious`], none unless set). A thread beside
//! those of the program, the *whim*, takes so many steps; each leaves one failure behind, and the next that can
//! fail so does. When something fails is then a matter of who goes when, and every strategy explores it as it does
//! everything else. To leave a failure and to take one are accesses to one location, so that reductions know what depends
//! on what. A whim whose steps come last does nothing: the runs without such failures are among the others.
//!
//! A wait takes its failure where it begins, and may then wake up at any moment. Were it taken where it wakes up, the
//! thread would wait for two locations, and the explorer knows of one.

use std::sync::atomic::Ordering;

use crate::event::{Action, Effect, Intent};
use crate::execution::{Handle, current};
use crate::fiber::Job;
use crate::thread;

/// Starts the whim, if there is to be one. To be called by the program's first thread, before anything else.
pub(crate) fn start(handle: Handle) {
    let failures = handle.spurious();
    // Under a weak memory model it is a choice of the thread's own.
    if failures > 0 && !handle.is_weak() {
        handle.name_next("whim");
        handle.name_end_of_next();
        handle.spawn(Job::Own(Box::new(move || thread::run_beside(|| leave(failures)))));
    }
}

/// Leaves failures, one a step.
fn leave(failures: u32) {
    for _ in 0..failures {
        let Some(handle) = current() else { return };
        let address = handle.whims_address();
        handle.point(Intent::new(Action::Whim, address));
        let left = handle.add_whim();
        handle.access(Action::Whim, address, Effect::ReadWrite, Ordering::Relaxed, u64::from(left));
        handle.detail(|| "something may fail without a reason".to_owned());
        handle.scrub_deep();
    }
}

/// Does something that may fail without a reason do so, as part of the running step? Only if it `can`, and does not
/// fail with a reason, or wake up, anyway. It looks all the same: what a step touches must not depend on what it finds (`dpor.rs`).
pub(crate) fn strikes(handle: Handle, can: bool) -> bool {
    if handle.spurious() == 0 {
        return false;
    }
    if handle.is_weak() {
        return handle.strikes_weakly(can);
    }
    let (struck, left) = handle.take_whim(can);
    let effect = if struck { Effect::ReadWrite } else { Effect::Read };
    handle.access(Action::Whim, handle.whims_address(), effect, Ordering::Relaxed, u64::from(left));
    if struck {
        handle.detail(|| "without a reason:".to_owned());
    }
    struck
}

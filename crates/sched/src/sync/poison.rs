//! Whether a lock is poisoned: a flag beside it, which is the lock's business.
//!
//! A thread that unwinds sets the flag before it releases the lock, as std does: in between, others find the lock poisoned and still held. To set it, to look at it and to
//! clear it are steps of their own, on the lock itself: whoever takes it sees the flag as well.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::event::{Action, Effect, Intent};
use crate::execution::{Handle, current};
use crate::stranger;

/// Looks at the flag of the lock at `address`.
#[track_caller]
pub(super) fn look(flag: &AtomicBool, address: usize) -> bool {
    let Some(handle) = current() else {
        stranger::uses(address);
        return flag.load(Ordering::Relaxed);
    };
    handle.point(Intent::new(Action::IsPoisoned, address));
    let poisoned = flag.load(Ordering::Relaxed);
    handle.access(Action::IsPoisoned, address, Effect::Read, Ordering::Relaxed, u64::from(poisoned));
    handle.detail(|| poisoned.to_string());
    handle.scrub_deep();
    poisoned
}

/// Sets the flag of the lock at `address`: its holder unwinds.
pub(super) fn set(handle: Handle, flag: &AtomicBool, address: usize, site: &'static Location<'static>) {
    handle.point(Intent::at(Action::Poison, address, site));
    flag.store(true, Ordering::Relaxed);
    handle.access(Action::Poison, address, Effect::ReadWrite, Ordering::Relaxed, 1);
    handle.scrub_deep();
}

/// Clears the flag of the lock at `address`.
#[track_caller]
pub(super) fn clear(flag: &AtomicBool, address: usize) {
    let Some(handle) = current() else {
        stranger::uses(address);
        return flag.store(false, Ordering::Relaxed);
    };
    handle.point(Intent::new(Action::ClearPoison, address));
    flag.store(false, Ordering::Relaxed);
    handle.access(Action::ClearPoison, address, Effect::ReadWrite, Ordering::Relaxed, 0);
    handle.scrub_deep();
}

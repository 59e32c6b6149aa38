//! OS threads that use the objects of an exploration and are not part of it.
//!
//! A thread started by std runs when the OS likes: the explorer neither sees what it does nor decides when, so nothing it
//! reports would mean anything. Where a shim is used outside an exploration while others explore, the address is
//! noted; at the end of a run the explorer looks whether it was one of the program's own. That costs the shims the
//! reading of a flag outside explorations, and nothing inside. The same flag says whether a thread has a pacer (`pace.rs`).

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;
use crate::pace;

/// How many executions there are in the process, and threads with a pacer.
static ATTENTIVE: AtomicUsize = AtomicUsize::new(0);

/// How many executions there are in the process.
static EXECUTIONS: AtomicUsize = AtomicUsize::new(0);

/// How many uses were noted.
static NOTED: AtomicU64 = AtomicU64::new(0);

/// The latest of them.
static USES: Mutex<Vec<Use>> = Mutex::new(Vec::new());

const KEPT: usize = 64;

thread_local! {
    /// How many executions this OS thread has: it may use shims between runs, and while a claim is decided.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

struct Use {
    number: u64,
    address: usize,
    thread: Option<String>,
    site: &'static Location<'static>,
}

/// An execution comes to be.
pub(crate) fn arrive() {
    ATTENTIVE.fetch_add(1, Ordering::Relaxed);
    EXECUTIONS.fetch_add(1, Ordering::Relaxed);
    OWN.set(OWN.get() + 1);
}

/// An execution goes.
pub(crate) fn leave() {
    ATTENTIVE.fetch_sub(1, Ordering::Relaxed);
    EXECUTIONS.fetch_sub(1, Ordering::Relaxed);
    OWN.set(OWN.get() - 1);
}

/// A thread has a pacer from now on, or no longer.
pub(crate) fn paced(begins: bool) {
    if begins {
        ATTENTIVE.fetch_add(1, Ordering::Relaxed);
    } else {
        ATTENTIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A shim at `address` is used outside any exploration.
#[inline]
#[track_caller]
pub(crate) fn uses(address: usize) {
    if ATTENTIVE.load(Ordering::Relaxed) > 0 {
        note(address, Location::caller());
    }
}

#[cold]
fn note(address: usize, site: &'static Location<'static>) {
    pace::tell(address, site);
    if EXECUTIONS.load(Ordering::Relaxed) == 0 || OWN.try_with(Cell::get).unwrap_or(1) > 0 {
        return;
    }
    let thread = std::thread::current().name().map(str::to_owned);
    let mut uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    let number = NOTED.fetch_add(1, Ordering::Relaxed);
    if uses.len() == KEPT {
        uses.remove(0);
    }
    uses.push(Use { number, address, thread, site });
}

/// How many uses were noted so far.
pub(crate) fn noted() -> u64 {
    NOTED.load(Ordering::Relaxed)
}

/// Was something that `is_ours` used by a stranger, since `since` uses had been noted?
pub(crate) fn found(since: u64, is_ours: impl Fn(usize) -> bool) -> Option<Failure> {
    let uses = USES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = uses.iter().find(|one| one.number >= since && is_ours(one.address))?;
    let name = found.thread.as_deref().map_or(String::new(), |name| format!(" `{name}`"));
    Some(Failure::Misuse(format!(
        "misuse: the OS thread{name} uses an object of the program at {}, and the explorer did not start it: it can neither see nor \
         decide when that happens. Start threads with `linpoint::thread`; an object whose constructor starts threads with \
         `std::thread` cannot be explored",
        found.site
    )))
}

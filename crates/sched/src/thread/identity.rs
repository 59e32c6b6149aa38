//! Who a thread is, and the token by which it waits for another: `Thread`, `ThreadId`, `park` and `unpark`.
//!
//! Inside an exploration [`park`] returns only when somebody gave the token, unless it may fail without a reason
//! ([`crate::Limits::spurious`]), as std's may. It takes such a failure in a step of its own before it begins to wait:
//! had it come later, that step might as well have come later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::event::{Action, Effect, Intent, ThreadId as FiberId, ThreadSet, Wait, anybody};
use crate::execution::{Handle, current as execution};
use crate::whim;

/// A handle to a thread.
#[derive(Clone, Debug)]
pub struct Thread(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Std(std::thread::Thread),
    Fiber { id: FiberId, name: Option<Arc<str>> },
}

/// The identity of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(IdRepr);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum IdRepr {
    Std(std::thread::ThreadId),
    Fiber(FiberId),
}

impl Thread {
    pub(super) fn of_std(thread: std::thread::Thread) -> Thread {
        Thread(Repr::Std(thread))
    }

    pub(super) fn of_fiber(id: FiberId, name: Option<Arc<str>>) -> Thread {
        Thread(Repr::Fiber { id, name })
    }

    /// Its identity.
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Repr::Std(thread) => IdRepr::Std(thread.id()),
            Repr::Fiber { id, .. } => IdRepr::Fiber(*id),
        })
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Repr::Std(thread) => thread.name(),
            Repr::Fiber { id: FiberId(0), name: None } => Some("main"),
            Repr::Fiber { name, .. } => name.as_deref(),
        }
    }

    /// Gives the token of [`park`]: the thread goes on now, or does not stop the next time.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Repr::Std(thread) => thread.unpark(),
            Repr::Fiber { id, .. } => {
                // Outside, the thread is gone: it ended with its run, or was never started.
                if let Some(handle) = execution().filter(|_| id.index() < ThreadSet::CAPACITY) {
                    let token = handle.park_token(*id);
                    handle.point(Intent::new(Action::Unpark, token.addr()));
                    // SAFETY: the token lives as long as the execution.
                    unsafe { (*token).store(true, Ordering::Relaxed) };
                    handle.access(Action::Unpark, token.addr(), Effect::ReadWrite, Ordering::Release, 1);
                    handle.detail(|| format!("thread {}", id.0));
                    handle.hold();
                }
            }
        }
    }
}

/// The running thread.
pub fn current() -> Thread {
    match execution() {
        None => Thread::of_std(std::thread::current()),
        Some(handle) => {
            let id = handle.thread();
            Thread::of_fiber(id, handle.name_of(id))
        }
    }
}

/// Until the token, which the pointer is to, is there.
static TOKEN: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the token lives as long as the execution.
        unsafe { (*object.cast::<AtomicBool>()).load(Ordering::Relaxed) }
    }
    Wait { ready, held_by: anybody }
};

/// Waits for the token, and takes it.
#[track_caller]
pub fn park() {
    let Some(handle) = execution() else { return std::thread::park() };
    let token = handle.park_token(handle.thread());
    if handle.spurious() > 0 && returns_early(handle, token) {
        return;
    }
    // SAFETY: the token lives as long as the execution.
    let intent = unsafe { Intent::waiting(Action::Park, token.addr(), &TOKEN, token.cast()) };
    if handle.wait(intent) {
        // SAFETY: as above.
        unsafe { (*token).store(false, Ordering::Relaxed) };
        handle.access(Action::Park, token.addr(), Effect::ReadWrite, Ordering::Acquire, 0);
        handle.hold();
    }
}

/// Does [`park`] return at once: because the token is there, which is taken, or without a reason?
#[track_caller]
fn returns_early(handle: Handle, token: *const AtomicBool) -> bool {
    handle.point(Intent::new(Action::Park, token.addr()));
    // SAFETY: the token lives as long as the execution.
    let there = unsafe { (*token).swap(false, Ordering::Relaxed) };
    let struck = whim::strikes(handle, !there);
    let effect = if there { Effect::ReadWrite } else { Effect::Read };
    let ordering = if there { Ordering::Acquire } else { Ordering::Relaxed };
    handle.access(Action::Park, token.addr(), effect, ordering, 0);
    handle.scrub_deep();
    there || struck
}

/// Takes the token if it comes in time. Inside an exploration that is: if it is there when the thread goes on.
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let Some(handle) = execution() else { return std::thread::park_timeout(duration) };
    let token = handle.park_token(handle.thread());
    handle.point(Intent::new(Action::Park, token.addr()));
    // SAFETY: the token lives as long as the execution.
    let there = unsafe { (*token).swap(false, Ordering::Relaxed) };
    let effect = if there { Effect::ReadWrite } else { Effect::Read };
    handle.access(Action::Park, token.addr(), effect, Ordering::Acquire, 0);
    handle.detail(|| if there { "unparked" } else { "timed out" }.to_owned());
    if !there {
        handle.yields();
    }
    handle.scrub_deep();
}

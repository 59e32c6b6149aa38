//! `std::sync::Once`.
//!
//! Inside an exploration to begin and to finish the initialisation are steps, and whoever comes in between waits. Std's
//! own `Once` stands beside: it is complete when this one is, so one that was run outside is seen to be so inside.
//! In a static it stays complete from one execution to the next, as any static keeps what is in it; what makes a
//! difference to the steps of the program then is reported as nondeterminism.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use crate::event::{Action, Effect, Intent, ThreadId, ThreadSet, Wait};
use crate::execution::{Handle, current};
use crate::stranger;

/// Something that is done once.
pub struct Once {
    real: std::sync::Once,
    /// The thread of the exploration that is at it, plus one.
    runner: AtomicU16,
    poisoned: AtomicBool,
}

/// What [`Once::call_once_force`] tells its closure.
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Did an earlier attempt panic?
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.poisoned).finish()
    }
}

/// What to do about an earlier attempt that panicked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Poison {
    Panic,
    Ignore,
}

unsafe fn once<'a>(object: *const ()) -> &'a Once {
    // SAFETY: the thread that waits borrows it.
    unsafe { &*object.cast::<Once>() }
}

unsafe fn runner(object: *const ()) -> ThreadSet {
    let mut threads = ThreadSet::EMPTY;
    // SAFETY: as for the other.
    if let Some(thread) = unsafe { once(object) }.runner.load(Ordering::Relaxed).checked_sub(1) {
        threads.insert(ThreadId(thread as u8));
    }
    threads
}

/// Until it is done, or nobody is at it.
static SETTLED: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows it.
        let once = unsafe { once(object) };
        once.real.is_completed() || once.runner.load(Ordering::Relaxed) == 0
    }
    Wait { ready, held_by: runner }
};

/// Until it is done.
static DONE: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows it.
        unsafe { once(object) }.real.is_completed()
    }
    Wait { ready, held_by: runner }
};

/// Until it is done, or has failed.
static DONE_OR_POISONED: Wait = {
    unsafe fn ready(object: *const ()) -> bool {
        // SAFETY: the thread that waits borrows it.
        let once = unsafe { once(object) };
        once.real.is_completed() || once.poisoned.load(Ordering::Relaxed)
    }
    Wait { ready, held_by: runner }
};

impl Once {
    /// Not yet done.
    pub const fn new() -> Once {
        Once { real: std::sync::Once::new(), runner: AtomicU16::new(0), poisoned: AtomicBool::new(false) }
    }

    /// Does it, unless it is done; returns when it is.
    ///
    /// # Panics
    /// If an earlier attempt panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, body: F) {
        self.call(Poison::Panic, |_| body());
    }

    /// As [`Once::call_once`], also after an attempt that panicked.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, body: F) {
        self.call(Poison::Ignore, body);
    }

    /// Is it done?
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            return self.real.is_completed();
        };
        handle.point(Intent::new(Action::Once, self.address()));
        let done = self.real.is_completed();
        handle.access(Action::Once, self.address(), Effect::Read, Ordering::Acquire, u64::from(done));
        handle.detail(|| if done { "done" } else { "not done" }.to_owned());
        handle.scrub_deep();
        done
    }

    /// Returns when it is done.
    ///
    /// # Panics
    /// If an attempt panicked.
    #[track_caller]
    pub fn wait(&self) {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            return self.real.wait();
        };
        self.wait_for(handle, &DONE_OR_POISONED);
        if !self.real.is_completed() && self.poisoned.load(Ordering::Relaxed) && !handle.doomed() {
            panic!("Once instance has previously been poisoned");
        }
    }

    /// Returns when it is done, also after attempts that panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            return self.real.wait_force();
        };
        self.wait_for(handle, &DONE);
    }

    #[track_caller]
    fn wait_for(&self, handle: Handle, wait: &'static Wait) {
        // SAFETY: it is borrowed for longer than the thread stands at the point.
        let intent = unsafe { Intent::waiting(Action::Once, self.address(), wait, self.pointer()) };
        handle.wait(intent);
        handle.access(Action::Once, self.address(), Effect::Read, Ordering::Acquire, 1);
        handle.hold();
    }

    #[track_caller]
    fn call(&self, poison: Poison, body: impl FnOnce(&OnceState)) {
        let Some(handle) = current() else {
            stranger::uses(self.address());
            return self.call_outside(poison, body);
        };
        // SAFETY: it is borrowed for longer than the thread stands at the point.
        let intent = unsafe { Intent::waiting(Action::Once, self.address(), &SETTLED, self.pointer()) };
        let granted = handle.wait(intent);
        handle.hides_state_at(self.address());
        if self.real.is_completed() {
            handle.access(Action::Once, self.address(), Effect::Read, Ordering::Acquire, 1);
            handle.detail(|| "done".to_owned());
            handle.scrub_deep();
            return;
        }
        let state = OnceState { poisoned: self.poisoned.load(Ordering::Relaxed) };
        if !granted {
            // The thread panics, and cannot wait for the one that is at it.
            return body(&state);
        }
        if state.poisoned && poison == Poison::Panic && !handle.doomed() {
            handle.access(Action::Once, self.address(), Effect::Read, Ordering::Acquire, 0);
            panic!("Once instance has previously been poisoned");
        }
        self.runner.store(u16::from(handle.thread().0) + 1, Ordering::Relaxed);
        handle.access(Action::Once, self.address(), Effect::ReadWrite, Ordering::Acquire, 2);
        let mut attempt = Attempt { once: self, handle, succeeded: false };
        handle.scrub_deep();
        body(&state);
        handle.point(Intent::new(Action::OnceDone, self.address()));
        attempt.succeeded = true;
    }

    fn call_outside(&self, poison: Poison, body: impl FnOnce(&OnceState)) {
        struct Note<'a>(&'a AtomicBool, bool);
        impl Drop for Note<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Relaxed);
            }
        }
        let run = |state: &OnceState| {
            let mut note = Note(&self.poisoned, true);
            body(state);
            note.1 = false;
        };
        match poison {
            Poison::Panic => self.real.call_once(|| {
                assert!(!self.poisoned.load(Ordering::Relaxed), "Once instance has previously been poisoned");
                run(&OnceState { poisoned: false });
            }),
            Poison::Ignore => self.real.call_once_force(|state| {
                let poisoned = state.is_poisoned() || self.poisoned.load(Ordering::Relaxed);
                run(&OnceState { poisoned });
            }),
        }
    }

    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(&self.runner).addr()
    }

    fn pointer(&self) -> *const () {
        std::ptr::from_ref(self).cast()
    }

    /// Done from the beginning: nobody sees it yet.
    pub(super) fn finish_alone(&self) {
        self.real.call_once_force(|_| ());
    }

    /// Is it done, as seen by whoever has it to himself or has just done it?
    pub(super) fn done(&self) -> bool {
        self.real.is_completed()
    }
}

/// An attempt of a thread of an exploration.
struct Attempt<'a> {
    once: &'a Once,
    handle: Handle,
    succeeded: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let once = self.once;
        if !self.succeeded && self.handle.is_weak() {
            self.handle.point(Intent::new(Action::OnceDone, once.address()));
        }
        if self.succeeded {
            once.real.call_once_force(|_| ());
        }
        once.poisoned.store(!self.succeeded && !self.handle.doomed(), Ordering::Relaxed);
        once.runner.store(0, Ordering::Relaxed);
        let bits = u64::from(self.succeeded);
        self.handle.access(Action::OnceDone, once.address(), Effect::ReadWrite, Ordering::Release, bits);
        self.handle.scrub_deep();
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

//! How code on a fiber reaches its execution: scheduling points, accesses, marks.
//!
//! Everything here runs on the program's stack, between two instructions of the program. No reference to the execution
//! is kept across a switch.

use std::any::Any;
use std::sync::atomic::Ordering;

use super::{Abandoned, CURRENT, Execution, Mode, claims, decide};
use crate::event::{Access, Action, Effect, Intent, Loc, ThreadId, ThreadSet};
use crate::failure::Failure;
use crate::fiber::{Job, Pause};
use crate::heap::{self, Blocks};
use crate::local_state;
use crate::panics;
use crate::run::{AsideKind, Mark, MarkKind};

/// The execution that the calling code is part of, if it is.
#[inline]
pub(crate) fn current() -> Option<Handle> {
    let pointer = CURRENT.get();
    (!pointer.is_null()).then_some(Handle(pointer))
}

/// How code on a fiber reaches its execution.
#[derive(Clone, Copy)]
pub(crate) struct Handle(pub(super) *mut Execution);

impl Handle {
    /// A scheduling point: returns when it is this thread's turn to do what it announces.
    #[inline]
    pub(crate) fn point(self, intent: Intent) {
        // SAFETY: this code runs on a fiber of the execution, which is therefore inside `drive`.
        unsafe { local_state::enter(self.0, &raw const intent) };
    }

    /// The rest of [`Handle::point`], once the thread's own state is noted.
    #[inline(never)]
    pub(super) fn entered(self, intent: &Intent) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `go`; nothing here switches. The frame of this function holds nothing that differs from
        // execution to execution: that is why it is a function of its own.
        unsafe {
            if (*self.0).compares && (*self.0).nesting == 0 {
                let top = (&(*self.0).threads)[(*self.0).current.index()].top;
                let mut local = 0;
                local_state::named(top, &raw mut local);
                (&mut (*self.0).threads)[(*self.0).current.index()].local = local;
            }
        }
        self.go(intent);
    }

    #[inline(never)]
    fn go(self, intent: &Intent) {
        // SAFETY: this code runs on a fiber of the execution, which is therefore inside `drive`; references end
        // before the switch.
        unsafe {
            let me = &mut *self.0;
            if me.nesting > 0 {
                return;
            }
            if me.mode == Mode::Unwinding || std::thread::panicking() {
                if me.mode == Mode::Unwinding && !std::thread::panicking() {
                    std::panic::resume_unwind(Box::new(Abandoned));
                }
                return me.shims.passed(intent, me.current);
            }
            let current = me.current;
            let intent = *intent;
            let known = intent.address != 0 && intent.action != Action::Join;
            let loc = if known { me.locations.name(intent.address) } else { Loc::UNKNOWN };
            let thread = &mut me.threads[current.index()];
            thread.intent = Some(intent);
            thread.loc = loc;
            if intent.wait.is_some() {
                me.waiting.insert(current);
            } else {
                me.standing.insert(current);
            }
            if local_state::AVAILABLE && known && self.turns(loc, std::ptr::from_ref(intent.site).addr()) {
                (*self.0).spinning.insert(current);
            }
            // Where states are compared, the strategy stays off the program's stack.
            if (&(*self.0).threads)[current.index()].started && !(*self.0).compares {
                decide(self.0);
                if (*self.0).next == Some(current) {
                    (*self.0).next = None;
                    return;
                }
            }
            self.pause(current, Pause::Suspended);
        }
    }

    /// Has the running thread gone round a loop and come back to the same state?
    #[inline]
    fn turns(self, loc: Loc, site: usize) -> bool {
        // SAFETY: as in `point`.
        unsafe {
            let me = &mut *self.0;
            let thread = &mut me.threads[me.current.index()];
            if thread.spin.is_idle() || !thread.spin.suspects(loc, site) {
                return false;
            }
            let top = thread.top;
            let mut state = local_state::raw(&me.entry, top);
            for (from, size) in thread.locals.bytes() {
                state = local_state::mix(state, from, size);
            }
            thread.spin.arrive(state)
        }
    }

    /// Gives control back to the loop until this thread is chosen.
    #[inline(never)]
    fn pause(self, current: ThreadId, why: Pause) {
        // SAFETY: the yielder belongs to the fiber this code runs on.
        unsafe {
            let yielder = (&(*self.0).fibers)[current.index()].yielder();
            (*yielder).suspend(why);
            if (*self.0).mode == Mode::Unwinding && !std::thread::panicking() {
                std::panic::resume_unwind(Box::new(Abandoned));
            }
        }
    }

    /// Notes an access that this step made to what is at `address`; `bits` is the value there now.
    #[inline(never)]
    pub(crate) fn access(
        self,
        action: Action,
        address: usize,
        effect: Effect,
        ordering: Ordering,
        bits: u64,
    ) {
        // SAFETY: as in `point`; nothing here switches or calls code of the program.
        unsafe {
            let me = &mut *self.0;
            let _outside = me.compares.then(heap::Outside::enter);
            if me.mode == Mode::Unwinding {
                return;
            }
            let thread = &mut me.threads[me.current.index()];
            let announced = thread.loc != Loc::UNKNOWN
                && thread.intent.as_ref().is_some_and(|intent| intent.address == address);
            let loc = if announced { thread.loc } else { me.locations.name(address) };
            me.locations.set_bits(loc, bits);
            if effect.writes() {
                me.locations.written(loc);
                thread.spin.clear();
            } else {
                let site = thread.intent.as_ref().map_or(0, |intent| std::ptr::from_ref(intent.site).addr());
                thread.spin.read(loc, me.locations.version(loc), site);
            }
            if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
                me.run.accesses.push(Access { loc, effect, action, ordering });
                if me.claiming.made {
                    self.claimed_access(address, effect, bits);
                    claims::clean_up();
                }
            }
        }
    }

    /// Notes what a step did, in words, when a failing schedule is run again to be shown.
    #[inline]
    pub(crate) fn detail(self, text: impl FnOnce() -> String) {
        // SAFETY: as in `access`.
        unsafe {
            if (*self.0).recorder.is_some() && (*self.0).mode == Mode::Exploring {
                let _outside = heap::Outside::enter();
                let text = text();
                let thread = (*self.0).current;
                if let Some(recorder) = (*self.0).recorder.as_mut() {
                    recorder.detail(thread, text);
                }
            }
        }
    }

    /// Marks the end of an operation. One that made no access gets a step of its own here, so that every operation
    /// has its place among the steps.
    #[track_caller]
    pub(crate) fn mark_return(self, operation: u32) {
        // SAFETY: as in `access`.
        if unsafe { (&(*self.0).threads)[(*self.0).current.index()].entered } {
            self.leave_operation(std::panic::Location::caller());
        }
        // SAFETY: as in `access`.
        let bare = unsafe {
            let thread = &(&(*self.0).threads)[(*self.0).current.index()];
            thread.called_at == thread.steps
        };
        if bare {
            self.point(Intent::new(Action::Nothing, 0));
        }
        self.mark(operation, MarkKind::Return);
    }

    /// Marks the begin or the end of an operation.
    pub(crate) fn mark(self, operation: u32, kind: MarkKind) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.mode == Mode::Exploring {
                let thread = me.current;
                let own_steps = me.threads[thread.index()].steps;
                me.threads[thread.index()].operating = kind == MarkKind::Call;
                if kind == MarkKind::Call {
                    me.threads[thread.index()].operations += 1;
                    me.threads[thread.index()].called_at = own_steps;
                }
                me.run.marks.push(Mark { thread, own_steps, operation, kind });
            }
        }
    }

    /// Runs `body` as part of one step: the scheduling points in it are none.
    pub(crate) fn block<T>(self, body: impl FnOnce() -> T) -> T {
        struct Leave(Handle);
        impl Drop for Leave {
            fn drop(&mut self) {
                // SAFETY: as in `access`.
                let told = unsafe {
                    let me = &mut *self.0.0;
                    me.nesting -= 1;
                    me.nesting == 0 && me.claiming.made
                };
                if told {
                    self.0.claimed_block(false);
                    claims::clean_up();
                }
            }
        }
        // SAFETY: as in `access`.
        let told = unsafe {
            let me = &mut *self.0;
            me.nesting += 1;
            me.nesting == 1 && me.claiming.made
        };
        if told {
            self.claimed_block(true);
            claims::clean_up();
        }
        let _leave = Leave(self);
        body()
    }

    /// Leaves nothing of the explorer's on the program's stack. Where the code of the shims is not optimised, or where
    /// states of executions are compared, that is more than a few words.
    #[inline]
    pub(crate) fn scrub(self) {
        // SAFETY: as in `access`; every stack has room for so much.
        unsafe {
            if (*self.0).compares || cfg!(debug_assertions) {
                local_state::scrub(local_state::EXPLORERS);
            } else {
                local_state::wipe();
            }
        }
    }

    /// As [`Handle::scrub`], at the end of a shim that calls functions of its own.
    pub(crate) fn scrub_deep(self) {
        // SAFETY: as in `scrub`.
        unsafe { local_state::scrub(local_state::EXPLORERS) };
    }

    /// The blocks of the heap.
    pub(crate) fn blocks(self) -> &'static Blocks {
        // SAFETY: as in `access`; the caller lets go of it before it switches or allocates.
        unsafe { &(*self.0).blocks }
    }

    /// Notes a block that the program allocated.
    pub(crate) fn note_allocated(self, block: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.compares {
                let operations = me.threads[me.current.index()].operations;
                me.blocks.add(block, layout, me.current, operations);
            }
        }
    }

    /// The program frees a block. Is it to be kept for now?
    pub(crate) fn keep_freed(self, address: usize) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).compares && (*self.0).blocks.free(address) }
    }

    /// The program of the running thread starts: its part of the stack lies below `top`.
    pub(crate) fn enter_program(self, top: usize) {
        // SAFETY: as in `access`.
        unsafe {
            let current = (*self.0).current;
            (&mut (*self.0).threads)[current.index()].top = top;
            let compares = (*self.0).compares;
            local_state::scrub(if compares { local_state::PROGRAMS } else { local_state::EXPLORERS });
        }
    }

    /// The program keeps state outside its memory: states cannot be compared.
    pub(crate) fn hides_state(self) {
        // SAFETY: as in `access`.
        unsafe { (*self.0).hidden_state = true };
    }

    /// Is the calling code inside an atomic block?
    pub(crate) fn in_block(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).nesting > 0 }
    }

    /// Who runs.
    pub(crate) fn thread(self) -> ThreadId {
        // SAFETY: as in `access`.
        unsafe { (*self.0).current }
    }

    /// Has `thread` ended?
    pub(crate) fn finished(self, thread: ThreadId) -> bool {
        // SAFETY: as in `access`.
        unsafe { !(*self.0).alive.contains(thread) }
    }

    /// Have all of `threads` ended?
    pub(crate) fn all_finished(self, threads: ThreadSet) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).alive.0 & threads.0 == 0 }
    }

    /// Notes that the running thread saw the end of `thread`.
    pub(crate) fn joined(self, thread: ThreadId) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            me.threads[me.current.index()].spin.clear();
            if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
                let (effect, ordering) = (Effect::Read, Ordering::Acquire);
                let access = Access { loc: Loc::end_of(thread), effect, action: Action::Join, ordering };
                me.run.accesses.push(access);
            }
        }
    }

    /// Creates a thread and runs it up to its first announcement.
    pub(crate) fn spawn(self, job: Job) -> ThreadId {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `point`.
        unsafe {
            let parent = (*self.0).current;
            match (*self.0).add_thread(Some(parent), job) {
                Ok(child) => {
                    self.aside(AsideKind::Spawn(child));
                    (*self.0).next = Some(child);
                    let nesting = std::mem::take(&mut (*self.0).nesting);
                    self.pause(parent, Pause::Spawned);
                    (*self.0).nesting = nesting;
                    child
                }
                Err(failure) => {
                    self.fail(failure);
                    std::panic::resume_unwind(Box::new(Abandoned));
                }
            }
        }
    }

    /// The run failed; it ends at the next scheduling point.
    pub(crate) fn fail(self, failure: Failure) {
        // SAFETY: as in `access`.
        unsafe {
            if (*self.0).failure.is_none() && (*self.0).mode == Mode::Exploring {
                (*self.0).failure = Some(failure);
            }
        }
    }

    /// A panic left a thread. Returns whether that fails the run.
    pub(crate) fn panicked(self, payload: &(dyn Any + Send)) {
        if payload.is::<Abandoned>() {
            return;
        }
        // SAFETY: as in `access`.
        let fails = unsafe { (*self.0).limits.panics_fail };
        if fails {
            let (message, site) = panics::take(payload);
            self.fail(Failure::Panic { thread: self.thread(), message, site });
        }
    }
}

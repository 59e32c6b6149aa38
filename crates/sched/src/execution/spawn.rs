//! How a thread of the program creates another.

use super::{Handle, start};
use crate::event::{Intent, Loc, ThreadId, ThreadSet};
use crate::fiber::Job;
use crate::heap;
use crate::panic_count;
use crate::run::AsideKind;
use crate::spin::Spin;

impl Handle {
    /// Creates a thread and runs it up to its first announcement.
    #[inline]
    #[track_caller]
    pub(crate) fn spawn(self, job: Job) -> ThreadId {
        self.spawn_with_stack(job, 0)
    }

    /// The same, with a stack of at least so many bytes.
    #[track_caller]
    pub(crate) fn spawn_with_stack(self, job: Job, stack_size: usize) -> ThreadId {
        if self.is_weak() {
            return self.spawn_weakly(job, stack_size);
        }
        let _outside = heap::Outside::enter();
        // SAFETY: as in `point`.
        unsafe {
            let parent = (*self.0).current;
            if (*self.0).has_lent() {
                (*self.0).take_back_lent(parent);
            }
            match (*self.0).add_thread(Some(parent), job, stack_size) {
                Ok(child) => {
                    self.aside(AsideKind::Spawn(child));
                    let nesting = std::mem::take(&mut (*self.0).nesting);
                    let panics = panic_count::put_aside();
                    if self.is_guarding() {
                        self.created_in_guard(child, nesting > 0);
                    } else {
                        start(self.0, child);
                    }
                    if panics > 0 {
                        panic_count::bring_back(panics);
                    }
                    if nesting > 0 {
                        (*self.0).nesting = nesting;
                        (*self.0).disturb();
                    }
                    child
                }
                Err(failure) => {
                    self.fail(failure);
                    self.unwind();
                }
            }
        }
    }

    /// The number of the next thread, if [`Handle::spawn_and_wait`] may create it: the running thread has made its first
    /// announcement, and all is as usual, with nobody looking at the stacks.
    pub(crate) fn next_to_wait_for(self) -> Option<ThreadId> {
        // SAFETY: as in `access`.
        unsafe {
            let me = &*self.0;
            let usual = me.quiet && me.run.steps.len() < me.short_until && !std::thread::panicking();
            let may = usual && me.threads[me.current.index()].started;
            (may && me.run.threads.len() < ThreadSet::CAPACITY)
                .then_some(ThreadId(me.run.threads.len() as u8))
        }
    }

    /// Creates a thread, as [`Handle::spawn`] does, and then announces `intent`, to wait for the end of threads, this one
    /// among them, and does so. The announcement is made first, which the new thread cannot tell: so that, when it comes to
    /// its own, everybody stands, and it can decide who goes next, and perhaps go on, where it would otherwise go back
    /// to its creator first ([`Handle::stand`]).
    pub(crate) fn spawn_and_wait(self, job: Job, intent: Intent) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `point`; references end before the switches.
        unsafe {
            let me = &mut *self.0;
            let parent = me.current;
            let child = match me.add_thread(Some(parent), job, 0) {
                Ok(child) => child,
                Err(failure) => {
                    self.fail(failure);
                    self.unwind();
                }
            };
            self.aside(AsideKind::Spawn(child));
            let me = &mut *self.0;
            let thread = &mut me.threads[parent.index()];
            thread.intent = Some(intent);
            thread.action = intent.action;
            thread.waits = true;
            thread.loc = Loc::UNKNOWN;
            thread.address = 0;
            thread.site = Intent::site_number(intent.action, intent.site);
            thread.place = Spin::bit(Loc::UNKNOWN, thread.site);
            me.joining.insert(parent);
            me.decider = Some(child);
            if !self.run_above(parent, child) {
                self.pause(parent);
            }
        }
    }
}

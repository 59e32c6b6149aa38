//! How code on a fiber reaches its execution: scheduling points, accesses, marks.
//!
//! Everything here runs on the program's stack, between two instructions of the program. No reference to the execution
//! is kept across a switch.

use std::any::Any;
use std::panic::Location;
use std::sync::atomic::Ordering;

use super::decide::push_within;
use super::probe::goes_on;
use super::{Abandoned, CURRENT, Execution, MANY, Mode, claims, decide, resume};
use crate::event::{Access, Action, Effect, Intent, Loc, ThreadId, ThreadSet, Wait};
use crate::failure::Failure;
use crate::fiber::Pause;
use crate::heap;
use crate::local_state;
use crate::panic_count;
use crate::panics;
use crate::run::{Mark, MarkKind};
use crate::spin::{Arrival, Spin};
use crate::thread::ENDED;

/// So often may a thread catch that it is unwound, as a worker does that catches the panics of its jobs.
const CAUGHT: u32 = 8;

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
        unsafe {
            let Intent { action, address, site, wait } = intent;
            if (*self.0).quiet && wait.is_none() && !std::thread::panicking() {
                self.go_on(action, address, site);
            } else if (*self.0).watching {
                let (wait, object) =
                    wait.map_or((None, std::ptr::null()), |(wait, object)| (Some(wait), object));
                local_state::enter(self.0, action, address, site, wait, object);
            } else {
                self.go(action, address, site, wait);
            }
        }
    }

    /// The rest of [`Handle::point`], once the thread's own state is noted.
    #[inline(never)]
    pub(super) fn entered(self, intent: Intent) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `go`; nothing here switches.
        unsafe {
            let me = &mut *self.0;
            if me.compares && me.nesting == 0 {
                let thread = &mut me.threads[me.current.index()];
                thread.local = local_state::named(&me.entry, thread.top, &me.blocks);
            }
        }
        self.go(intent.action, intent.address, intent.site, intent.wait);
    }

    /// An announcement, in pieces: they stay in registers, where a whole [`Intent`] would be written to the stack and
    /// read back before it is there.
    #[inline(never)]
    pub(super) fn go(
        self,
        action: Action,
        address: usize,
        site: &'static Location<'static>,
        wait: Option<(&'static Wait, *const ())>,
    ) {
        let _outside = heap::Outside::enter();
        // SAFETY: this code runs on a fiber of the execution, which is therefore inside `drive`; references end
        // before the switch.
        unsafe {
            let me = &mut *self.0;
            if me.has_lent() {
                me.take_back_lent(me.current);
            }
            if me.nesting > 0 {
                return;
            }
            if me.weak.is_some() {
                return self.announce_weakly(action, address, site, wait);
            }
            if me.mode == Mode::Unwinding {
                return self.pass();
            }
            if me.is_twin() {
                return self.turn(action, address, site, wait);
            }
            let current = me.current;
            let known = address != 0 && action != Action::Join;
            let loc = if known { me.locations.name(address) } else { Loc::UNKNOWN };
            let thread = &mut me.threads[current.index()];
            thread.intent = Some(Intent { action, address, site, wait });
            let site = Intent::site_number(action, site);
            let place = Spin::bit(loc, site);
            thread.action = action;
            thread.waits = wait.is_some();
            thread.loc = loc;
            let short =
                known && me.mode == Mode::Exploring && !me.compares && !me.claiming.made && !me.valuing;
            thread.address = if short { address } else { 0 };
            thread.site = site;
            thread.place = place;
            let started = thread.started;
            if thread.steps >= MANY && thread.steps.is_multiple_of(MANY / 2) {
                me.yields_in_long_runs();
            }
            let thread = &mut me.threads[current.index()];
            thread.turns.at_head = std::mem::take(&mut thread.turns.yielded);
            me.settle();
            match wait {
                None => me.standing.insert(current),
                Some((wait, _)) if std::ptr::eq(wait, &ENDED) => {
                    me.joining.insert(current);
                    me.find_joinable();
                }
                Some(_) => {
                    me.waiting.insert(current);
                    me.disturb();
                }
            }
            if local_state::AVAILABLE && known && me.threads[current.index()].spin.suspects(loc, site, place)
            {
                self.come_again(loc, site);
                if (*self.0).is_twin() {
                    // Its first turn begins here.
                    return;
                }
            }
            // Where states are compared, the strategy stays off the program's stack.
            if self.is_guarding() {
                self.announce_in_guard();
            } else if started && !(*self.0).compares {
                let next = decide(self.0);
                if next == Some(current) {
                    return;
                }
                (*self.0).next = next;
            }
            self.pause(current);
        }
    }

    /// A scheduling point in a run that is taken down: no other thread goes, and this one is unwound.
    #[cold]
    #[inline(never)]
    pub(super) fn pass(self) {
        if !std::thread::panicking() {
            self.unwind();
        }
        // SAFETY: as in `access`.
        let for_ever = unsafe { (*self.0).shims.passed() };
        if for_ever {
            self.lose();
        }
    }

    /// Unwinds the running thread, whose run is over. A program may catch that, and go round in a loop that does so again and
    /// again: one that caught it [`CAUGHT`] times is never gone back to.
    #[cold]
    #[inline(never)]
    pub(super) fn unwind(self) -> ! {
        // SAFETY: as in `access`.
        let unwound = unsafe {
            let me = &mut *self.0;
            let unwound = &mut me.threads[me.current.index()].unwound;
            *unwound += 1;
            *unwound
        };
        if unwound > CAUGHT {
            self.lose();
        }
        std::panic::resume_unwind(Box::new(Abandoned));
    }

    /// The running thread can neither go on nor be unwound. Its stack is left as it is, and what is on it is forgotten.
    #[cold]
    pub(crate) fn lose(self) -> ! {
        // SAFETY: the yielder belongs to the fiber this code runs on; no reference lives across the switch.
        unsafe {
            let yielder = (&(*self.0).fibers)[(*self.0).current.index()].yielder();
            (*yielder).suspend(Pause::Lost);
        }
        unreachable!("a stack that is lost is never resumed")
    }

    /// A destructor panicked while its thread unwound, which would end the process. It fails the run, unless that is over
    /// and the stack was only being taken down.
    #[cold]
    pub(crate) fn double_panic(self, message: String) {
        self.fail(Failure::Panic { thread: self.thread(), message, site: None });
    }

    /// The running thread has been here before. Has it gone round a loop and come back to the same state?
    #[inline(never)]
    pub(super) fn come_again(self, loc: Loc, site: usize) {
        // SAFETY: as in `point`.
        unsafe {
            let me = &mut *self.0;
            let current = me.current;
            let thread = &mut me.threads[current.index()];
            if !me.watching {
                let might_turn = thread.spin.might_turn(loc, site);
                if might_turn && me.mode == Mode::Exploring && me.failure.is_none() {
                    me.suspicious = true;
                    me.suspected = true;
                    me.disturb();
                }
                return;
            }
            let mut state = local_state::raw(&me.entry, thread.top);
            for (from, size) in thread.locals.bytes() {
                state = local_state::mix(state, from, size);
            }
            let arrival = match thread.spin.arrive(loc, site, state) {
                Arrival::New => Arrival::New,
                waits @ Arrival::Waits { .. } => goes_on(waits, me.believe(loc, site)),
            };
            if me.is_twin() {
                return;
            }
            let thread = &mut me.threads[current.index()];
            match arrival {
                Arrival::New => thread.spin.go_on(),
                Arrival::Waits { visits } => {
                    thread.turns.at_head = visits;
                    me.spinning.insert(current);
                    me.disturb();
                    if visits {
                        me.be_fair();
                    }
                }
            }
        }
    }

    /// The running thread says that it goes round a loop, or waited for some time in vain. If it did that before at the same
    /// place, with steps in between, its next step is the head of a turn ([`crate::fair`]).
    #[inline]
    #[track_caller]
    pub(crate) fn yields(self) {
        self.yields_at(Location::caller());
        self.scrub();
    }

    #[inline(never)]
    fn yields_at(self, site: &'static Location<'static>) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.mode != Mode::Exploring || me.nesting > 0 || std::thread::panicking() {
                return;
            }
            if me.weak.is_some() {
                return self.yields_weakly();
            }
            let thread = &mut me.threads[me.current.index()];
            if thread.turns.yields(std::ptr::from_ref(site).addr(), thread.steps) {
                thread.turns.yielded = true;
                me.be_fair();
            }
        }
    }

    /// Lets others go until this thread is chosen.
    ///
    /// Whoever comes next is resumed from here, on top of this thread, if it is not one of those that this thread is on
    /// top of: that is one switch, where going back to the loop first would be two. Where local states are noted, the
    /// explorer stays off the program's stack, and everybody goes back to the loop.
    ///
    /// A thread that panics takes its panics with it, and brings them back.
    #[inline(never)]
    pub(super) fn pause(self, current: ThreadId) {
        let _outside = heap::Outside::enter();
        let panics = panic_count::put_aside();
        let above = self.pause_until_chosen(current);
        if panics > 0 {
            panic_count::bring_back(panics);
        }
        if above {
            return;
        }
        // SAFETY: as in `access`.
        unsafe {
            if (*self.0).mode == Mode::Exploring && !(*self.0).claiming.made {
                return;
            }
            (&mut (*self.0).threads)[current.index()].address = 0;
            if (*self.0).mode == Mode::Unwinding && !std::thread::panicking() {
                self.unwind();
            }
        }
    }

    /// Lets others go. Returns whether this thread was chosen by one that ran on top of it.
    #[inline(always)]
    fn pause_until_chosen(self, current: ThreadId) -> bool {
        // SAFETY: the yielder belongs to the fiber this code runs on; references end before the switches.
        unsafe {
            loop {
                let me = &mut *self.0;
                let above = me.next.filter(|&next| !me.watching && !me.beneath.contains(next));
                let Some(above) = above else { break };
                if self.run_above(current, above) {
                    return true;
                }
            }
            let yielder = (&(*self.0).fibers)[current.index()].yielder();
            (*yielder).suspend(Pause::Suspended);
            false
        }
    }

    /// Lets `above` run on top of the running thread, which has announced what it does next. Returns whether it is this
    /// thread's turn then.
    ///
    /// # Safety
    /// As for [`super::drive`]; called from the fiber of `current`.
    #[inline]
    pub(super) unsafe fn run_above(self, current: ThreadId, above: ThreadId) -> bool {
        // SAFETY: as the caller promises; references end before the switch.
        unsafe {
            let me = &mut *self.0;
            me.next = None;
            me.beneath.insert(current);
            resume(self.0, above);
            let me = &mut *self.0;
            me.beneath.remove(current);
            if me.next != Some(current) {
                return false;
            }
            me.next = None;
            me.current = current;
            if me.mode != Mode::Exploring || me.claiming.made {
                me.threads[current.index()].address = 0;
            }
            true
        }
    }

    /// Notes an access that this step made to what is at `address`; `bits` is the value there now.
    ///
    /// As in [`Handle::go_on`], nothing is called here but what is called last. In the short way the run is explored, no
    /// states are compared, no claim was made, and it is the access that was announced.
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
            let index = me.current.index();
            let accesses = &mut me.run.accesses;
            let Some(thread) = me.threads.get_mut(index) else {
                return self.access_fully(action, address, effect, ordering, bits);
            };
            let usual =
                thread.address == address && accesses.len() < accesses.capacity() && thread.spin.has_room();
            if !usual {
                return self.access_fully(action, address, effect, ordering, bits);
            }
            let loc = thread.loc;
            if effect.writes() {
                me.locations.written(loc);
                thread.spin.clear();
            } else {
                // SAFETY: there is room, as was seen above.
                thread.spin.read_within(loc, me.locations.version(loc), thread.site, thread.place);
            }
            // SAFETY: as above.
            push_within(accesses, Access { loc, effect, action, ordering });
        }
    }

    /// The same, when more than the usual is to be done.
    #[inline(never)]
    fn access_fully(self, action: Action, address: usize, effect: Effect, ordering: Ordering, bits: u64) {
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.mode == Mode::Unwinding || me.is_twin() {
                return;
            }
            if me.weak.is_some() {
                if effect.writes() {
                    self.has_effect();
                }
                return;
            }
            let _outside = heap::Outside::enter();
            let loc = me.touch(address, effect);
            me.locations.set_bits(loc, bits);
            if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
                me.run.accesses.push(Access { loc, effect, action, ordering });
                if me.claiming.made {
                    self.claimed_access(address, effect, bits);
                    claims::clean_up();
                }
            }
        }
    }

    /// Is there nothing to do when a shim returns: no words to note ([`Handle::detail`]), no stack to wipe
    /// ([`Handle::scrub`])?
    #[inline]
    pub(crate) fn is_quiet(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).quiet }
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

    /// Are local states noted, so that the explorer must leave nothing on the program's stack?
    #[inline]
    pub(crate) fn is_watching(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).watching }
    }

    /// Marks the begin of an operation.
    #[inline]
    pub(crate) fn mark_call(self, operation: u32) {
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            let index = me.current.index();
            let Some(thread) = me.threads.get_mut(index) else { return };
            if me.watching || me.mode != Mode::Exploring || me.run.marks.len() == me.run.marks.capacity() {
                return self.mark_apart(operation, MarkKind::Call, None);
            }
            thread.begin_operation(me.run.marks.len());
            // No loop that waits goes on from one operation to the next: there are only so many.
            thread.spin.clear();
            push_within(&mut me.run.marks, Mark::call(me.current, thread.steps, operation));
        }
    }

    /// Marks the end of an operation. One that made no access gets a step of its own here, so that every operation
    /// has its place among the steps.
    #[inline]
    #[track_caller]
    pub(crate) fn mark_return(self, operation: u32) {
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            let Some(thread) = me.threads.get_mut(me.current.index()) else { return };
            let usual = !me.watching
                && me.mode == Mode::Exploring
                && me.run.marks.len() < me.run.marks.capacity()
                && !thread.entered
                && thread.called_at != thread.steps;
            if !usual {
                return self.mark_apart(operation, MarkKind::Return, Some(Location::caller()));
            }
            thread.operating = false;
            me.returned |= 1u64.checked_shl(operation).unwrap_or(0);
            // Nobody else has made a step since its last.
            let at = me.run.steps.len().saturating_sub(1) as u32;
            push_within(
                &mut me.run.marks,
                Mark::of_return(me.current, thread.steps, operation, at, me.begun),
            );
        }
    }

    /// A mark, when more than the usual is to be done. In a frame of its own, which [`Handle::scrub`] wipes.
    #[cold]
    #[inline(never)]
    fn mark_apart(self, operation: u32, kind: MarkKind, site: Option<&'static Location<'static>>) {
        self.mark_fully(operation, kind, site);
        self.scrub();
    }

    #[inline(never)]
    fn mark_fully(self, operation: u32, kind: MarkKind, site: Option<&'static Location<'static>>) {
        if let Some(site) = site {
            self.before_return(site);
        }
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.mode != Mode::Exploring {
                if self.is_guarding() && kind == MarkKind::Call {
                    me.threads[me.current.index()].begin_operation(0);
                }
                me.leave_loop();
                return;
            }
            let _outside = heap::Outside::enter();
            let current = me.current;
            let thread = &mut me.threads[current.index()];
            let mark = match kind {
                MarkKind::Call => {
                    thread.begin_operation(me.run.marks.len());
                    thread.spin.clear();
                    Mark::call(current, thread.steps, operation)
                }
                MarkKind::Return => {
                    thread.operating = false;
                    me.returned |= 1u64.checked_shl(operation).unwrap_or(0);
                    let at = me.run.steps.len().saturating_sub(1) as u32;
                    Mark::of_return(current, thread.steps, operation, at, me.begun)
                }
            };
            me.run.marks.push(mark);
        }
    }

    /// What an operation does before it returns, if anything.
    fn before_return(self, site: &'static Location<'static>) {
        // SAFETY: as in `access`.
        let thread = || unsafe { &(&(*self.0).threads)[(*self.0).current.index()] };
        if thread().entered {
            self.leave_operation(site);
        }
        if thread().called_at == thread().steps {
            self.point(Intent::at(Action::Nothing, 0, site));
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
                    me.settle();
                    me.nesting == 0 && me.claiming.made
                };
                if told {
                    self.0.claimed_block(false);
                    claims::clean_up();
                }
            }
        }
        if self.is_weak() {
            self.misuse("several accesses as one step have no meaning under a weak memory model");
        }
        // SAFETY: as in `access`.
        let told = unsafe {
            let me = &mut *self.0;
            me.nesting += 1;
            me.disturb();
            me.nesting == 1 && me.claiming.made
        };
        if told {
            self.claimed_block(true);
            claims::clean_up();
        }
        let _leave = Leave(self);
        body()
    }

    /// Leaves nothing of the explorer's on the program's stack, if local states are noted. Where the code of the shims is not optimised, or where
    /// states of executions are compared, that is more than a few words.
    #[inline]
    pub(crate) fn scrub(self) {
        self.scrub_alone();
        self.hold();
    }

    /// As [`Handle::scrub`], not at the end of a shim.
    #[inline]
    pub(crate) fn scrub_alone(self) {
        // SAFETY: as in `access`; every stack has room for so much.
        unsafe {
            if !(*self.0).watching {
                return;
            }
            if (*self.0).compares || cfg!(debug_assertions) {
                local_state::scrub(local_state::EXPLORERS);
            } else {
                local_state::wipe();
            }
        }
    }

    /// As [`Handle::scrub`], at the end of a shim that calls functions of its own.
    pub(crate) fn scrub_deep(self) {
        self.scrub_deep_alone();
        self.hold();
    }

    /// The same, where what the step does is not done yet: [`Handle::hold`] is to be called when it is.
    pub(crate) fn scrub_deep_alone(self) {
        // SAFETY: as in `scrub`.
        unsafe {
            if (*self.0).watching {
                local_state::scrub(local_state::EXPLORERS);
            }
        }
    }

    /// The program of the running thread starts: its part of the stack lies below `top`.
    pub(crate) fn enter_program(self, top: usize) {
        // SAFETY: as in `access`.
        unsafe {
            let current = (*self.0).current;
            (&mut (*self.0).threads)[current.index()].top = top;
            if (*self.0).watching {
                let compares = (*self.0).compares;
                local_state::scrub(if compares { local_state::PROGRAMS } else { local_state::EXPLORERS });
            }
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

    /// Those of `threads` that have not ended.
    pub(crate) fn unfinished(self, threads: ThreadSet) -> ThreadSet {
        // SAFETY: as in `access`.
        ThreadSet(unsafe { (*self.0).alive.0 } & threads.0)
    }

    /// Notes that the running thread saw the end of `thread`.
    pub(crate) fn joined(self, thread: ThreadId) {
        if self.is_weak() {
            return self.join_weakly(thread);
        }
        let _outside = heap::Outside::enter();
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            me.must_turn();
            me.threads[me.current.index()].spin.clear();
            if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
                let (effect, ordering) = (Effect::Read, Ordering::Acquire);
                let access = Access { loc: Loc::end_of(thread), effect, action: Action::Join, ordering };
                me.run.accesses.push(access);
            }
        }
    }

    /// The run failed; it ends at the next scheduling point.
    pub(crate) fn fail(self, failure: Failure) {
        // SAFETY: as in `access`.
        unsafe {
            if (*self.0).weak.is_some() {
                if (*self.0).mode == Mode::Exploring {
                    (*self.0).fail_weakly(Some((*self.0).current), failure);
                }
                return;
            }
            if (*self.0).failure.is_none() && (*self.0).mode == Mode::Exploring {
                (*self.0).failure = Some(failure);
                (*self.0).disturb();
            } else {
                (*self.0).fail_in_guard(failure);
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

impl Execution {
    /// The running thread has taken many steps.
    #[cold]
    fn yields_in_long_runs(&mut self) {
        let thread = &mut self.threads[self.current.index()];
        // No place in the source has this address.
        if self.mode == Mode::Exploring && thread.turns.yields(0, thread.steps) {
            thread.turns.yielded = true;
            self.be_fair();
        }
    }

    /// The running thread touches what is at `address`: its name, and what that means for a loop the thread may be in.
    #[inline(always)]
    fn touch(&mut self, address: usize, effect: Effect) -> Loc {
        let thread = &mut self.threads[self.current.index()];
        let announced = thread.address == address;
        let loc = if announced { thread.loc } else { self.locations.name(address) };
        if effect.writes() {
            self.locations.written(loc);
            thread.spin.clear();
        } else if announced {
            thread.spin.read_at(loc, self.locations.version(loc), thread.site, thread.place);
        } else {
            thread.spin.read(loc, self.locations.version(loc), thread.site);
        }
        loc
    }
}

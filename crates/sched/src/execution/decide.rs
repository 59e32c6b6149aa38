//! Who goes next: who can, whom the schedule or the strategy wants, and the record of the step.
//!
//! This runs at every scheduling point, tens of millions of times a minute. What happens in every step is in
//! [`decide`] and [`Execution::begin_step`]; what does not is kept out of them.

use super::repeat::Turning;
use super::{Ending, Execution, Failure, Handle, Mode, Waiting};
use crate::cycle::{Cycle, cycle};
use crate::event::{Access, Action, Effect, Intent, Loc, Step, ThreadId, ThreadSet};
use crate::failure::Doubt;
use crate::heap;
use crate::run::{Blocked, Mark};
use crate::spin::Spin;
use crate::twin::Answer;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// Steps granted to a run that is of no more use, to end by itself.
const DRAIN: usize = 2_000;

/// As [`decide`], where it is not part of every step.
///
/// # Safety
/// As for [`super::drive`].
#[inline(never)]
pub(super) unsafe fn decide_apart(this: *mut Execution) -> Option<ThreadId> {
    // SAFETY: as the caller promises.
    unsafe { decide(this) }
}

/// Chooses who goes next, and begins its step; nobody if the execution is over.
///
/// # Safety
/// As for [`super::drive`].
#[inline(always)]
pub(super) unsafe fn decide(this: *mut Execution) -> Option<ThreadId> {
    // SAFETY: as the caller promises; the strategy sees a shared reference, and nothing is changed meanwhile.
    unsafe {
        let me = &mut *this;
        if me.mode != Mode::Exploring || me.failure.is_some() || me.suspected {
            return me.choose_in_vain();
        }
        me.compute_enabled();
        let step = me.run.steps.len();
        if me.enabled.is_empty() || step >= me.limits.steps {
            return me.end();
        }
        let chosen = if let Some(&wanted) = (&*me.prefix).get(step) {
            if !me.enabled.contains(wanted) && !me.stutter(wanted) {
                me.failure = Some(me.cannot_follow(step, wanted));
                return None;
            }
            wanted
        } else if let Some(chosen) = me.default_choice().filter(|_| me.keeps_going) {
            chosen
        } else {
            let mut strategy = me.strategy?;
            match strategy.as_mut().next(&*this) {
                Some(chosen) => chosen,
                None => return (*this).abandon(),
            }
        };
        step_by(this, chosen)
    }
}

impl Handle {
    /// A scheduling point as nearly all of them are: the running thread, which does not panic, announces an access for
    /// which it need not wait, nobody waits for anything but the end of threads, nothing is watched, and the schedule says
    /// that this thread goes on. Whatever else there is to be done is left to others, which do it from the beginning.
    ///
    /// Nothing is called here but what is called last, so that no registers are saved: this is the better part of what an
    /// execution costs.
    #[inline(never)]
    pub(super) fn go_on(self, action: Action, address: usize, site: &'static Location<'static>) {
        // SAFETY: as in `go`.
        unsafe {
            let me = &mut *self.0;
            let (Some(thread), true) =
                (me.threads.get_mut(me.current.index()), me.run.steps.len() < me.short_until)
            else {
                return self.go(action, address, site, None);
            };
            let Some(loc) = me.locations.named(address) else {
                return self.go_first(action, address, site);
            };
            let number = Intent::site_number(action, site);
            let place = Spin::bit(loc, number);
            thread.loc = loc;
            thread.address = address;
            thread.site = number;
            thread.place = place;
            if thread.spin.suspects(loc, number, place) {
                return self.come_again_on(action, address, site);
            }
        }
        self.proceed(action, address, site);
    }

    /// The second half of [`Handle::go_on`]: what is announced is known.
    #[inline(always)]
    fn proceed(self, action: Action, address: usize, site: &'static Location<'static>) {
        // SAFETY: as in `go`.
        unsafe {
            let me = &mut *self.0;
            debug_assert!(me.is_usual(), "what is not usual was said");
            let current = me.current;
            let Some(thread) = me.threads.get_mut(current.index()) else { return };
            let step = me.run.steps.len();
            let enabled = ThreadSet(me.standing.0 | me.joinable.0 | 1 << current.0);
            let wanted = (&*me.prefix).get(step);
            let along = wanted.map_or(me.keeps_going, |&wanted| wanted == current)
                && thread.started
                && me.shims.goes_along(step, current, action, enabled);
            if !along {
                return self.stand(action, address, site);
            }
            if thread.called_at == thread.steps
                && let Some(call) = me.run.marks.get_mut(thread.call as usize)
            {
                thread.called_at = Mark::NEVER;
                me.begun |= call.begin(step, me.returned);
            }
            let first = me.run.accesses.len() as u32;
            // SAFETY: there is room, as was seen in the first half.
            push_within(&mut me.run.steps, Step { thread: current, action, may_wait: false, first, enabled });
            thread.steps += 1;
            me.last = Some(current);
        }
    }

    /// Nobody has touched what is at `address` yet: it gets a name, and the rest is as in [`Handle::go_on`].
    #[inline(never)]
    fn go_first(self, action: Action, address: usize, site: &'static Location<'static>) {
        if address == 0 {
            return self.go(action, address, site, None);
        }
        let outside = heap::Outside::enter();
        // SAFETY: as in `go`.
        unsafe { (*self.0).locations.name(address) };
        drop(outside);
        self.go_on(action, address, site);
    }

    /// The thread has been at this place before: it may go round in a loop.
    #[inline(never)]
    fn come_again_on(self, action: Action, address: usize, site: &'static Location<'static>) {
        // SAFETY: as in `go`.
        let doubtful = unsafe {
            let me = &mut *self.0;
            let thread = &mut me.threads[me.current.index()];
            thread.spin.might_turn(thread.loc, thread.site)
        };
        if doubtful {
            // It does the same again, and more.
            return self.go(action, address, site, None);
        }
        self.proceed(action, address, site);
    }

    /// The running thread does not simply go on with what it announces: it has not started yet, or somebody else goes, or
    /// the strategy is to be asked, or the program does not do what it did before. The rest is as in [`Handle::go_on`].
    #[inline(never)]
    fn stand(self, action: Action, address: usize, site: &'static Location<'static>) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `go`.
        unsafe {
            let me = &mut *self.0;
            let current = me.current;
            me.standing.insert(current);
            me.enabled = ThreadSet(me.standing.0 | me.joinable.0);
            me.stuttering = ThreadSet::EMPTY;
            let thread = &mut me.threads[current.index()];
            thread.intent = Some(Intent { action, address, site, wait: None });
            thread.action = action;
            thread.waits = false;
            let mut goes_on = current;
            if !thread.started {
                if me.decider != Some(current) {
                    return self.pause(current);
                }
                // Its creator waits already, and nobody else is to be started: the next step is chosen here.
                thread.started = true;
                goes_on = me.default_choice().unwrap_or(current);
            }
            match (&*me.prefix).get(me.run.steps.len()) {
                Some(&wanted) => self.let_go(current, wanted),
                None if me.keeps_going => self.let_go(current, goes_on),
                None => self.ask(current),
            }
        }
    }

    /// The schedule says that somebody else goes. The rest is as in [`Handle::go_on`].
    #[inline(never)]
    fn let_go(self, current: ThreadId, wanted: ThreadId) {
        // SAFETY: as in `go`.
        unsafe {
            let me = &mut *self.0;
            let next = if me.enabled.contains(wanted) {
                step_by(self.0, wanted)
            } else {
                me.failure = Some(me.cannot_follow(me.run.steps.len(), wanted));
                None
            };
            if next != Some(current) {
                (*self.0).next = next;
                self.pause(current);
            }
        }
    }

    /// The schedule ends here: the strategy is asked who goes next. The rest is as in [`Handle::go_on`].
    #[inline(never)]
    fn ask(self, current: ThreadId) {
        // SAFETY: as in `go`.
        unsafe {
            let me = self.0;
            let Some(mut strategy) = (*me).strategy else { return };
            let next = match strategy.as_mut().next(&*me) {
                Some(chosen) => step_by(me, chosen),
                None => (*me).abandon(),
            };
            if next != Some(current) {
                (*me).next = next;
                self.pause(current);
            }
        }
    }
}

/// Appends to a list in which there is room.
///
/// # Safety
/// Its length must be below its capacity.
#[inline(always)]
pub(super) unsafe fn push_within<T>(list: &mut Vec<T>, value: T) {
    let length = list.len();
    debug_assert!(length < list.capacity(), "there is room");
    // SAFETY: as the caller promises.
    unsafe {
        list.as_mut_ptr().add(length).write(value);
        list.set_len(length + 1);
    }
}

/// `chosen` goes next: begins its step, unless the program does not do what it did before.
///
/// # Safety
/// As for [`super::drive`].
#[inline(always)]
unsafe fn step_by(this: *mut Execution, chosen: ThreadId) -> Option<ThreadId> {
    // SAFETY: as the caller promises.
    let me = unsafe { &mut *this };
    debug_assert!(me.enabled.contains(chosen), "a strategy chose a thread that cannot go");
    let step = me.run.steps.len();
    let action = me.threads[chosen.index()].action;
    if let Err(explanation) = me.shims.same(step, chosen, action, me.enabled, me.stuttering) {
        me.failure = Some(Failure::Nondeterminism { step, explanation });
        return None;
    }
    me.begin_step(chosen);
    Some(chosen)
}

impl Execution {
    /// Computes who can go.
    #[inline]
    fn compute_enabled(&mut self) {
        if self.valuing {
            self.note_values();
        }
        self.enabled = ThreadSet(self.standing.0 | self.joinable.0);
        self.stuttering = ThreadSet::EMPTY;
        if !self.waiting.is_empty() {
            self.put_in_ready();
        }
        if !self.spinning.is_empty() {
            self.take_out_stuttering();
        }
        if self.fair {
            self.hold_back();
        }
        if !self.focused
            && self.mode == Mode::Exploring
            && let Some(only) = self.default_choice()
        {
            self.enabled = ThreadSet(1 << only.0);
        }
    }

    /// Notes what the latest step found or left. Not while it is made: what is kept for that on the program's stack would make states differ.
    #[cold]
    #[inline(never)]
    fn note_values(&mut self) {
        let Some(last) = self.run.steps.len().checked_sub(1) else { return };
        if self.mode == Mode::Exploring && self.values.len() <= last {
            // The progress and the ends of threads have names of locations, and no values.
            let touched = self.run.accesses_of(last).iter().filter(|access| self.is_real(access.loc));
            let value = touched.fold(0u64, |hash, access| {
                let bits = self.locations.bits(access.loc);
                (hash.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95)
            });
            self.values.resize(last, 0);
            self.values.push(value);
        }
    }

    /// The running thread is at the head of a turn. If progress is not yet noted, the run is made again.
    #[cold]
    pub(super) fn be_fair(&mut self) {
        if !self.fair && self.mode == Mode::Exploring && self.failure.is_none() {
            self.fair = true;
            self.newly_fair = true;
            self.suspected = true;
            self.disturb();
        }
    }

    /// Takes those out who have to let others go first ([`crate::fair`]).
    fn hold_back(&mut self) {
        self.able = self.enabled;
        if self.mode != Mode::Exploring {
            return;
        }
        for thread in self.turning.iter() {
            let others = ThreadSet(self.able.0 & !(1 << thread.0));
            if self.threads[thread.index()].turns.waits(others) && self.able.contains(thread) {
                self.enabled.remove(thread);
                self.stuttering.insert(thread);
                self.held_back = true;
            }
        }
    }

    /// Notes the progress of `thread`, which takes a step, and whom it found able to go, if that is the head of a turn.
    fn note_progress(&mut self, thread: ThreadId) {
        let ordering = Ordering::Relaxed;
        let mut touch = |of: ThreadId, effect: Effect| {
            let (loc, action) = (Loc::progress_of(of), Action::Yield);
            self.run.accesses.push(Access { loc, effect, action, ordering });
        };
        touch(thread, Effect::Write);
        for other in self.turning.iter().filter(|&other| other != thread) {
            self.threads[other.index()].turns.goes(thread);
        }
        if self.threads[thread.index()].turns.step(thread, self.alive) {
            self.turning.insert(thread);
            self.hidden_state = true;
            for other in (0..self.run.threads.len()).filter(|&other| other != thread.index()) {
                touch(ThreadId(other as u8), Effect::Read);
            }
        }
    }

    /// Puts those in who need not wait any more.
    #[inline(never)]
    fn put_in_ready(&mut self) {
        for thread in self.waiting.iter() {
            if let Some((wait, object)) =
                self.threads[thread.index()].intent.as_ref().and_then(|intent| intent.wait)
            {
                // SAFETY: promised by whoever made the announcement; the thread still stands at it.
                if unsafe { (wait.ready)(object) } {
                    self.enabled.insert(thread);
                }
            }
        }
    }

    /// Finds out who waits for threads that have all ended. To be called when somebody begins to wait, or ends.
    #[inline(never)]
    pub(super) fn find_joinable(&mut self) {
        for thread in self.joining.iter() {
            let wait = self.threads[thread.index()].intent.as_ref().and_then(|intent| intent.wait);
            if wait.is_some_and(|(_, object)| self.alive.0 & object.addr() as u64 == 0) {
                self.joinable.insert(thread);
            }
        }
    }

    /// Takes those out who would only go round a loop once more.
    fn take_out_stuttering(&mut self) {
        for thread in self.spinning.iter() {
            let locations = &self.locations;
            if self.enabled.contains(thread) && !self.threads[thread.index()].spin.ready(locations) {
                self.enabled.remove(thread);
                self.stuttering.insert(thread);
            }
        }
    }

    /// Gives the step to `thread`.
    #[inline(always)]
    pub(super) fn begin_step(&mut self, thread: ThreadId) {
        let turns = self.spinning.contains(thread);
        let state = &mut self.threads[thread.index()];
        if self.mode == Mode::Exploring {
            if state.called_at == state.steps {
                state.called_at = Mark::NEVER;
                let call = &mut self.run.marks[state.call as usize];
                self.begun |= call.begin(self.run.steps.len(), self.returned);
            }
            let first = self.run.accesses.len() as u32;
            let may_wait = turns || state.waits || state.turns.depends();
            let enabled = self.enabled;
            self.run.steps.push(Step { thread, action: state.action, may_wait, first, enabled });
            if self.fair {
                self.note_progress(thread);
            }
        }
        let state = &mut self.threads[thread.index()];
        state.steps += 1;
        self.last = Some(thread);
        let others = !(1 << thread.0);
        // One at a time, for they were written so: to read several at once would have to wait for that.
        if state.waits {
            self.waiting.0 &= others;
            self.joining.0 &= others;
            self.joinable.0 &= others;
            self.settle();
        } else {
            self.standing.0 &= others;
        }
        if turns || self.recorder.is_some() {
            self.note_step(thread, turns);
        }
    }

    /// Notes what is not noted of every step.
    #[cold]
    #[inline(never)]
    fn note_step(&mut self, thread: ThreadId, turns: bool) {
        let state = &mut self.threads[thread.index()];
        if self.mode == Mode::Exploring {
            if turns {
                // That it goes on tells that something it read has changed: it has looked at all of that.
                let accesses = &mut self.run.accesses;
                state.spin.turn(|loc| {
                    let (effect, ordering) = (Effect::Read, Ordering::Relaxed);
                    accesses.push(Access { loc, effect, action: Action::Look, ordering });
                });
            }
            if let Some(recorder) = self.recorder.as_mut()
                && let Some(intent) = state.intent
            {
                recorder.step(thread, &intent);
            }
        }
        if turns {
            self.spinning.remove(thread);
            if state.spin.resume() {
                state.turns.begin_again();
            }
        }
    }

    /// Lets `thread` go although it would only go round a loop once more, if that is all that keeps it: the loop was not
    /// recognised when the schedule was made, for what lies dead on a stack may hide it. To go round is no mistake.
    #[cold]
    fn stutter(&mut self, thread: ThreadId) -> bool {
        if self.stuttering.contains(thread) {
            self.enabled.insert(thread);
        }
        self.enabled.contains(thread)
    }

    /// Why the schedule cannot be followed at `step`.
    #[cold]
    fn cannot_follow(&self, step: usize, wanted: ThreadId) -> Failure {
        let explanation =
            match self.threads[..self.run.threads.len()].get(wanted.index()).map(|thread| thread.intent) {
                None => format!("thread {} does not exist", wanted.0),
                Some(None) => format!("thread {} has ended", wanted.0),
                Some(Some(Intent { action, site, .. })) => {
                    format!("thread {} cannot {} now, at {site}", wanted.0, action.name())
                }
            };
        Failure::Nondeterminism { step, explanation }
    }

    /// Nobody can go, or the run has become too long: it is over.
    /// Nobody goes on, but in a twin that looks whether threads come back to where they are.
    #[cold]
    fn end(&mut self) -> Option<ThreadId> {
        if self.enabled.is_empty() {
            if self.alive.is_empty() || self.stuck() {
                return None;
            }
        } else {
            self.run.enabled_at_end = self.enabled;
            if let Some(failure) = self.goes_on() {
                if self.nobody_comes(&failure) {
                    self.note_blocked();
                    self.run.ending = Ending::Stuck(failure);
                } else {
                    self.failure = Some(failure);
                }
                return None;
            }
        }
        self.first_of_twin()
    }

    /// Does a run that is made again to be shown end in a livelock in which nobody else can go? Then it is the stuck run that was
    /// found: what is kept to be shown makes local states differ, so that a loop that waits is not always recognised, and turned
    /// until the run was too long.
    fn nobody_comes(&self, failure: &Failure) -> bool {
        let (Failure::Livelock { .. }, Some(cycle), false, true) =
            (failure, self.run.cycle, self.suspected, self.recorder.is_some())
        else {
            return false;
        };
        let turn = &self.run.steps[cycle.from..cycle.from + cycle.length];
        let goes = turn.iter().fold(0, |sum, step| sum | 1_u64 << step.thread.0);
        let only_waits = turn.iter().enumerate().all(|(at, _)| {
            let accesses = self.run.accesses_of(cycle.from + at);
            accesses.iter().all(|access| !access.effect.writes() || !self.is_real(access.loc))
        });
        only_waits && turn.iter().all(|step| step.enabled.0 & !goes == 0)
    }

    /// Is it a location of the program's, and not one that stands for the progress or the end of a thread?
    fn is_real(&self, loc: Loc) -> bool {
        (loc.0 as usize) < self.locations.len()
    }

    /// The run has become too long: a livelock, if it only goes round, and nobody could break that. Nothing in a twin.
    fn goes_on(&mut self) -> Option<Failure> {
        let too_long = Failure::TooLong { steps: self.limits.steps };
        let Some(Cycle { from, length }) = cycle(&self.run, &self.values) else {
            return Some(too_long);
        };
        let mut doubt = None;
        if !self.valuing {
            // It is one if the values are the same in every turn: the run is made again to see them.
            self.valuing = true;
            self.suspected = true;
            self.disturb();
        } else {
            let last = Cycle { from: self.run.steps.len() - length, length };
            match self.repeats(Turning::Cycle(last))? {
                Answer::Repeats => {}
                Answer::Changes => return Some(too_long),
                Answer::Clock => doubt = Some(Doubt::Clock),
                Answer::Unseen => doubt = Some(Doubt::Unseen),
            }
        }
        let goes =
            self.run.steps[from..from + length].iter().fold(0u64, |sum, step| sum | 1u64 << step.thread.0);
        let turns = |waiting: &Waiting| goes >> waiting.thread.0 & 1 == 1;
        let waiting = self.waiters().into_iter().filter(turns).collect();
        if let Some(doubt) = doubt {
            return Some(Failure::Unclear { waiting, doubt });
        }
        self.run.cycle = Some(Cycle { from, length });
        Some(Failure::Livelock { waiting })
    }

    /// Who goes next in a run that nobody needs any more; nobody if it is to be taken down.
    #[cold]
    fn choose_in_vain(&mut self) -> Option<ThreadId> {
        if self.failure.is_some() {
            self.mode = Mode::Unwinding;
            self.disturb();
        }
        if self.mode == Mode::Unwinding {
            return None;
        }
        if self.mode == Mode::Exploring {
            // The run is made again. The program need not know: some end the process where a thread is unwound.
            self.mode = Mode::Draining;
            self.disturb();
        }
        self.compute_enabled();
        if let Some(chosen) = self.try_on() {
            self.begin_step(chosen);
            return Some(chosen);
        }
        self.drain()
    }

    /// The strategy has no use for the rest of the run.
    #[cold]
    fn abandon(&mut self) -> Option<ThreadId> {
        self.note_blocked();
        self.run.ending = Ending::Abandoned;
        self.mode = Mode::Draining;
        self.disturb();
        self.threads[self.current.index()].address = 0;
        self.drain()
    }

    /// Lets the program end by itself, unless it takes too long.
    #[cold]
    fn drain(&mut self) -> Option<ThreadId> {
        self.drained += 1;
        if self.drained > DRAIN {
            return None;
        }
        // Fair, so that a loop that waits for another thread ends.
        let after = self.last.map_or(0, |last| u32::from(last.0) + 1);
        let rotated = ThreadSet(self.enabled.0 & u64::MAX.checked_shl(after).unwrap_or(0));
        let chosen = rotated.first().or_else(|| self.enabled.first())?;
        self.begin_step(chosen);
        Some(chosen)
    }

    /// Who waits for what.
    pub(super) fn waiters(&self) -> Vec<Waiting> {
        self.alive
            .iter()
            .filter_map(|thread| {
                let intent = self.threads[thread.index()].intent?;
                // SAFETY: as for `ready`.
                let on =
                    intent.wait.map_or(ThreadSet::EMPTY, |(wait, object)| unsafe { (wait.held_by)(object) });
                Some(Waiting { thread, action: intent.action, site: intent.site, on })
            })
            .collect()
    }

    /// The record ends here: notes who waits.
    fn note_blocked(&mut self) {
        self.run.enabled_at_end = self.enabled;
        for thread in self.turning.iter().filter(|&thread| !self.enabled.contains(thread)) {
            let state = &self.threads[thread.index()];
            if state.turns.depends() {
                self.run.blocked.push(Blocked { thread, loc: state.loc, action: Action::Yield });
            }
        }
        for thread in self.waiting.iter().filter(|&thread| !self.enabled.contains(thread)) {
            let state = &self.threads[thread.index()];
            if let Some(intent) = state.intent.filter(|_| state.loc != Loc::UNKNOWN) {
                self.run.blocked.push(Blocked { thread, loc: state.loc, action: intent.action });
            }
        }
    }

    /// What is wrong with the run, for when the program ends the process before it is told otherwise.
    pub(super) fn failure_in_words(&self) -> Option<String> {
        let failure = match (&self.failure, &self.run.ending) {
            (Some(failure), _) | (None, Ending::Failed(failure) | Ending::Stuck(failure)) => failure,
            (None, Ending::Complete | Ending::Abandoned) => return None,
        };
        let steps: Vec<String> = self.run.steps.iter().map(|step| step.thread.0.to_string()).collect();
        Some(format!(
            "\nlinpoint: {failure}\n  the program ended the process while its threads were unwound after that, so it cannot be \
             drawn; the schedule, by thread: {}\n",
            steps.join(" ")
        ))
    }

    /// Nobody can go: names the reason. Returns whether that is all, as it is but in a twin.
    fn stuck(&mut self) -> bool {
        for thread in self.spinning.iter() {
            match self.comes_back(thread) {
                None => return false,
                Some(Ok(())) => {}
                Some(Err(None)) => return true,
                Some(Err(Some(doubt))) => {
                    let waiting = self.waiters().into_iter().filter(|one| one.thread == thread).collect();
                    self.failure = Some(Failure::Unclear { waiting, doubt });
                    return true;
                }
            }
        }
        self.note_blocked();
        let waiting = self.waiters();
        self.run.ending = Ending::Stuck(if !self.spinning.is_empty() {
            Failure::Livelock { waiting }
        } else if !self.alive.contains(ThreadId(0)) {
            Failure::LeakedThreads { waiting }
        } else {
            Failure::Deadlock { waiting }
        });
        true
    }
}

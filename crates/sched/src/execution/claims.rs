//! Claims in an execution: the host through which `tressa!` finds its monitor.
//!
//! **Steps.** Making a claim is a step of its own, in which its plain terms are read. So is the return of a procedure
//! for which an `Exit` term of a shared variable waits, and a write to a local variable that a condition watches: it
//! matters what others do just before them. What the monitor is told otherwise belongs to the step in which it happens.
//!
//! **Dependence.** A claim that waits for the first write of x does not commute with such a write, though it touches
//! nothing. [`linpoint_claim::Monitor::footprint`] says what a step touches because of claims; that is added to
//! the accesses of the step as [`Action::Claim`]. So the happens-before order of a run, and with it all that the strategies
//! know, includes what claims depend on: runs of one trace agree in what becomes of every claim. Such an access lets nobody
//! go on, and is none to a data race.
//!
//! **Cost.** The monitor is told of accesses only in runs in which a claim was made. An operation of the
//! harness is a procedure, but the monitor hears of it only if a claim is made in it.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::Ordering;

use linpoint_claim as claim;
use linpoint_claim::{ClaimId, Kind, Made, Monitor, ProcedureId};

use super::{CURRENT, Execution, Handle, Mode, current};
use crate::event::{Access, Action, Effect, Intent, ThreadId};
use crate::failure::Failure;
use crate::run::ClaimStep;
use crate::{heap, local_state};

/// The host of claims.
pub(super) struct Claims {
    pub(super) monitor: RefCell<Monitor>,
}

/// What an execution knows of its claims.
#[derive(Default)]
pub(super) struct State {
    /// Was a claim made in this run? Then accesses are reported.
    pub(super) made: bool,
    /// Was the monitor told of anything in this run?
    told: bool,
    /// Is the running thread making one? What it reads is no access of the program.
    making: bool,
    /// Does the monitor know that an atomic block is open?
    in_block: bool,
    /// Do claims that are false leave the run alone?
    pub(super) tolerated: bool,
    /// The claims of the run's claim steps.
    made_in_steps: Vec<Option<ClaimId>>,
}

/// The name of an operation of the harness, as a procedure.
const OPERATION: ProcedureId = ProcedureId(u64::MAX);

impl Claims {
    pub(super) fn new() -> Claims {
        let mut monitor = Monitor::new();
        monitor.keep_footprint();
        Claims { monitor: RefCell::new(monitor) }
    }
}

impl claim::Host for Claims {
    fn thread(&self) -> claim::ThreadId {
        current().map_or(claim::ThreadId::default(), |handle| handle.thread().into())
    }

    fn monitor(&self) -> &RefCell<Monitor> {
        &self.monitor
    }

    fn is_listening(&self) -> bool {
        current().is_some_and(Handle::is_exploring)
    }

    fn tell(&self, event: &mut dyn FnMut(&mut Monitor, claim::ThreadId)) {
        if let Some(handle) = current() {
            handle.tell(self, event);
            clean_up();
        }
    }

    fn atomically(&self, site: &'static Location<'static>, step: &mut dyn FnMut()) {
        match current() {
            None => step(),
            Some(handle) => {
                handle.claim(self, site, step);
                clean_up();
            }
        }
    }
}

impl From<ThreadId> for claim::ThreadId {
    fn from(thread: ThreadId) -> claim::ThreadId {
        claim::ThreadId(u32::from(thread.0))
    }
}

impl claim::Threads for ThreadId {
    fn add_to(&self, set: &mut claim::ThreadSet) {
        claim::ThreadId::from(*self).add_to(set);
    }
}

impl Execution {
    /// The claims of the latest run: how they ended, and which failed or stayed undecided.
    pub fn claims(&self) -> std::cell::Ref<'_, Monitor> {
        self.claims.monitor.borrow()
    }

    /// Lets runs go on in which a claim is false: [`Execution::claims`] tells.
    pub fn tolerate_false_claims(&mut self, tolerate: bool) {
        self.claiming.tolerated = tolerate;
    }

    /// A new run begins.
    #[inline]
    pub(super) fn reset_claims(&mut self) {
        if self.claiming.made || self.claiming.told {
            self.forget_claims();
        }
    }

    #[cold]
    fn forget_claims(&mut self) {
        self.claims.monitor.borrow_mut().reset();
        let mut made_in_steps = std::mem::take(&mut self.claiming.made_in_steps);
        made_in_steps.clear();
        self.claiming = State { tolerated: self.claiming.tolerated, made_in_steps, ..State::default() };
    }

    /// The run is over: notes when claims were decided.
    pub(super) fn note_decisions(&mut self) {
        let monitor = self.claims.monitor.borrow();
        for (step, made) in self.run.claim_steps.iter_mut().zip(&self.claiming.made_in_steps) {
            let decision = monitor.decisions().iter().find(|decision| Some(decision.0) == *made);
            step.decided = decision.map(|decision| decision.1 as u32);
        }
    }

    /// The run is over, by itself: claims that wait are undecided.
    pub(super) fn conclude_claims(&mut self) -> Option<Failure> {
        let mut monitor = self.claims.monitor.borrow_mut();
        monitor.end();
        monitor.failures().first().filter(|_| !self.claiming.tolerated).map(failed)
    }
}

fn failed(failure: &claim::Failure) -> Failure {
    Failure::Claim(Box::new(failure.clone()))
}

/// Wipes what the monitor left on the program's stack, such as numbers of steps: a thread that goes round in a loop would
/// otherwise never come back to the same local state.
pub(super) fn clean_up() {
    // SAFETY: it wipes less than the monitor has used.
    unsafe { local_state::scrub(local_state::EXPLORERS) };
}

/// While it lives, the shims behave as outside an exploration: the monitor may run code of the user's.
struct Alone(*mut Execution);

impl Alone {
    fn begin() -> Alone {
        Alone(CURRENT.replace(std::ptr::null_mut()))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Handle {
    fn is_exploring(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).mode == Mode::Exploring }
    }

    /// Tells the monitor of an event, and takes in what comes of it.
    #[inline(never)]
    fn tell(self, claims: &Claims, event: &mut dyn FnMut(&mut Monitor, claim::ThreadId)) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `access`.
        let (thread, step) = unsafe {
            (*self.0).claiming.told = true;
            ((*self.0).current, (*self.0).run.steps.len() as u64)
        };
        let mut monitor = claims.monitor.borrow_mut();
        {
            let _alone = Alone::begin();
            monitor.at(step);
            event(&mut monitor, thread.into());
        }
        // SAFETY: as in `access`; nothing here runs code of the program.
        unsafe { (*self.0).absorb(&mut monitor) };
    }

    /// Runs `step` as a step of the running thread that makes a claim, or does what claims wait for.
    #[inline(never)]
    fn claim(self, claims: &Claims, site: &'static Location<'static>, step: &mut dyn FnMut()) {
        self.point(Intent::at(Action::Claim, 0, site));
        self.hides_state();
        // SAFETY: as in `access`.
        let (thread, opens, enters) = unsafe {
            let me = &mut *self.0;
            me.claiming.made = true;
            me.disturb();
            me.run.claims = true;
            let opens = me.nesting > 0 && !std::mem::replace(&mut me.claiming.in_block, me.nesting > 0);
            let thread = &me.threads[me.current.index()];
            (me.current, opens, thread.operating && !thread.entered)
        };
        if opens {
            self.tell(claims, &mut |monitor, _| monitor.begin_block());
        }
        if enters && !claims.monitor.borrow().is_inside(thread.into()) {
            self.tell(claims, &mut |monitor, thread| monitor.enter(thread, OPERATION));
            // SAFETY: as in `access`.
            unsafe { (&mut (*self.0).threads)[thread.index()].entered = true };
        }
        struct Made(Handle, bool);
        impl Drop for Made {
            fn drop(&mut self) {
                // SAFETY: as in `access`.
                unsafe { (*self.0.0).claiming.making = self.1 };
            }
        }
        // SAFETY: as in `access`.
        let _made = Made(self, unsafe { std::mem::replace(&mut (*self.0).claiming.making, true) });
        claims.monitor.borrow_mut().take_made();
        // SAFETY: as in `access`.
        let looked = unsafe { (*self.0).run.looks.len() };
        self.block(step);
        let made = claims.monitor.borrow_mut().take_made();
        // SAFETY: as in `access`.
        unsafe { (*self.0).note_claim_step(made, looked) };
    }

    /// Notes an access in a run in which a claim was made.
    #[cold]
    #[inline(never)]
    pub(super) fn claimed_access(self, address: usize, effect: Effect, bits: u64) {
        // SAFETY: as in `access`.
        let claims = unsafe {
            let me = &mut *self.0;
            if me.claiming.making {
                // Without the claim, nothing would be synchronized by this.
                if let Some(access) = me.run.accesses.last_mut().filter(|_| effect == Effect::Read) {
                    access.action = Action::Claim;
                    me.run.looks.push(access.loc);
                }
                return;
            }
            std::rc::Rc::clone(&me.claims)
        };
        let kind = match effect {
            Effect::Read => Kind::Rd,
            Effect::Write => Kind::Wr,
            Effect::ReadWrite => Kind::RW,
        };
        let variable = claim::VarId::of_address(address);
        self.tell(&claims, &mut |monitor, thread| {
            monitor.access(thread, variable, kind, u128::from(bits));
        });
    }

    /// The outermost atomic block was entered, or left.
    #[cold]
    #[inline(never)]
    pub(super) fn claimed_block(self, entered: bool) {
        // SAFETY: as in `access`.
        let (claims, known) = unsafe {
            let me = &mut *self.0;
            if me.mode != Mode::Exploring {
                return;
            }
            (std::rc::Rc::clone(&me.claims), std::mem::replace(&mut me.claiming.in_block, entered))
        };
        if entered != known {
            self.tell(&claims, &mut |monitor, _| {
                if entered { monitor.begin_block() } else { monitor.end_block() }
            });
        }
    }

    /// An operation of the harness in which a claim was made returns.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_operation(self, site: &'static Location<'static>) {
        // SAFETY: as in `access`.
        let (claims, thread) = unsafe {
            let me = &mut *self.0;
            let thread = me.current;
            me.threads[thread.index()].entered = false;
            (std::rc::Rc::clone(&me.claims), thread)
        };
        if !self.is_exploring() {
            return;
        }
        let looks = claims.monitor.borrow().return_looks(thread.into(), OPERATION);
        let mut leave = || self.tell(&claims, &mut |monitor, thread| monitor.exit(thread, OPERATION));
        if looks { self.claim(&claims, site, &mut leave) } else { leave() }
    }
}

impl Execution {
    /// A claim was made, if one was, in the present step; what it looked at begins at `looked`.
    fn note_claim_step(&mut self, made: Option<Made>, looked: usize) {
        let (Some(made), Some(step), Mode::Exploring, 0) =
            (made, self.run.steps.last(), self.mode, self.nesting)
        else {
            return;
        };
        let accesses = &self.run.accesses[step.first as usize..];
        let looks = |access: &Access| access.action == Action::Claim && access.effect == Effect::Read;
        self.run.claim_steps.push(ClaimStep {
            step: self.run.steps.len() as u32 - 1,
            looks: (looked as u32, self.run.looks.len() as u32),
            accesses: accesses.len() as u32,
            looks_only: made.looks_only && accesses.iter().all(looks),
            held: made.id.is_none(),
            decided: None,
        });
        self.claiming.made_in_steps.push(made.id);
    }

    /// Adds what the latest event touches because of claims to the step; a claim that is false fails the run.
    fn absorb(&mut self, monitor: &mut Monitor) {
        if self.mode == Mode::Exploring
            && let Some(step) = self.run.steps.last()
        {
            let first = step.first as usize;
            let mut touched = false;
            for &(variable, kind) in monitor.footprint() {
                touched = true;
                let loc = self.locations.name(variable.word() as usize);
                let effect = match kind {
                    Kind::Rd => Effect::Read,
                    Kind::Wr => Effect::Write,
                    Kind::RW => Effect::ReadWrite,
                };
                let mut known = self.run.accesses[first..].iter_mut().filter(|access| access.loc == loc);
                if known.any(|access| {
                    // One access a location, the strongest: the order in which they come does not matter then.
                    if access.action == Action::Claim && effect.writes() {
                        access.effect = effect;
                    }
                    access.effect.writes() || !effect.writes()
                }) {
                    continue;
                }
                let ordering = Ordering::Relaxed;
                self.run.accesses.push(Access { loc, effect, action: Action::Claim, ordering });
            }
            if touched {
                // A turn that waits for others in a claim is not the same again.
                self.threads[self.current.index()].spin.clear();
            }
            if self.failure.is_none()
                && !self.claiming.tolerated
                && let Some(failure) = monitor.failures().first()
            {
                self.failure = Some(failed(failure));
                self.disturb();
            }
        }
        monitor.clear_footprint();
    }
}

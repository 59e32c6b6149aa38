//! One execution of a program at a time: who runs, who waits, and what they do.
//!
//! Every thread of the program is a fiber on the OS thread that explores. Before each access to something shared the
//! shim announces it ([`Intent`]) and the strategy chooses who goes next. If that is the announcing thread, it simply
//! goes on, without a switch. A new thread runs up to its first announcement when it is created: what it does before
//! that is local, and nobody can tell when it happened.
//!
//! The memory is sequentially consistent: one access after the other, each seeing the latest write.
//!
//! # Who may touch this
//! The execution is reached through a pointer in a thread-local. Code on fibers and the loop in [`Execution::run`]
//! take turns on one OS thread (a fiber may also resume another where it pauses); no reference to the execution is kept
//! across a switch or a call of the strategy, so that no two of them ever hold one at the same time.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::event::{Action, Intent, Loc, ThreadId, ThreadSet, Wait};
use crate::failure::{Failure, Waiting};
use crate::fiber::{Fiber, Job, Pause};
use crate::heap::{self, Blocks, Fingerprint};
use crate::last_words::Ready;
use crate::ledger::Ledger;
use crate::local_state;
use crate::location::Locations;
use crate::panic_count;
use crate::panics;
use crate::run::{Ending, Run, ThreadRecord};
use crate::stranger;
use crate::strategy::Strategy;
use crate::trace::{Recorder, Trace};
use crate::watchdog::{self, Beat};

mod claims;
mod decide;
mod guard;
mod handle;
mod probe;
mod repeat;
mod shim;
mod spare;
mod spawn;
mod state;
pub(crate) mod weak;

use decide::{decide, decide_apart};
pub(crate) use guard::used_freed;
pub(crate) use handle::{Handle, current};
use spare::Spare;
use state::Thread;

/// A thread that has taken so many steps, and every so often after that, is taken to go round a loop: it yields.
const MANY: u32 = 512;

thread_local! {
    static CURRENT: Cell<*mut Execution> = const { Cell::new(std::ptr::null_mut()) };
}

/// What bounds a single execution.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of stack for a thread of the program, unless [`crate::thread::Builder::stack_size`] asks for more: as many as std's
    /// threads have. What is not used costs nothing, but on the first execution.
    pub stack_size: usize,
    /// Steps after which an execution is taken to go on for ever.
    pub steps: usize,
    /// Is a panic that leaves a thread a failure? If not, `join` hands it over, as std's does.
    pub panics_fail: bool,
    /// Is memory that an execution leaks given back after it? Only with [`crate::Heap`], and only where states are
    /// compared. Wrong for programs that keep what they allocate beyond the execution, in a static for instance.
    pub free_leaks: bool,
    /// How many times in an execution something may fail without a reason, where std allows that: a
    /// `compare_exchange_weak`, `park`, or a wait for a condition variable, which then ends without a notification.
    pub spurious: u32,
    /// Is it a failure if something is left at the end of an execution that was to be given back ([`crate::leak`])?
    pub leaks_fail: bool,
    /// Are runs followed by others that look for uses of memory after its free? Only with [`crate::Heap`].
    pub watches_freed: bool,
    /// Are schedules explored from the beginning? If not, from where the program says so ([`crate::set_focus`]).
    pub starts_in_focus: bool,
    /// How long an execution may stand still in a lock that is not the explorer's, before the process is ended with the reason.
    pub patience: Duration,
}

/// Long enough for whatever a program may wait for that another OS thread does.
const PATIENCE: Duration = Duration::from_secs(20);

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            stack_size: 2 << 20,
            steps: 20_000,
            panics_fail: true,
            free_leaks: false,
            spurious: 0,
            leaks_fail: false,
            watches_freed: true,
            starts_in_focus: true,
            patience: PATIENCE,
        }
    }
}

/// An execution under control.
pub struct Execution {
    run: Run,
    /// By number; kept from run to run, so that there may be more than there are in this one.
    threads: Vec<Thread>,
    /// As many as `threads`. In boxes: a thread that creates another is in the middle of [`Fiber::resume`]
    /// when this grows.
    #[allow(clippy::vec_box)]
    fibers: Vec<Box<Fiber>>,
    current: ThreadId,
    /// Who is resumed next.
    next: Option<ThreadId>,
    /// Who decides at its first announcement who goes next: the last of threads whose creator waits for them.
    decider: Option<ThreadId>,
    /// Those who have resumed others, and go on when these pause.
    beneath: ThreadSet,
    /// At an announcement, not waiting.
    standing: ThreadSet,
    /// At an announcement that may have to wait, for something other than the end of threads.
    waiting: ThreadSet,
    /// At an announcement that waits for the end of threads.
    joining: ThreadSet,
    /// Those of them that need not wait any more.
    joinable: ThreadSet,
    /// Going round a loop until something changes.
    spinning: ThreadSet,
    /// Not yet ended.
    alive: ThreadSet,
    /// Who can go; computed before the strategy is asked.
    enabled: ThreadSet,
    /// Who could go, but would only go round a loop once more, or has to let others go first.
    stuttering: ThreadSet,
    /// Who could go if nobody had to let others go first.
    able: ThreadSet,
    /// Who came to the head of a turn (`fair.rs`).
    turning: ThreadSet,
    last: Option<ThreadId>,
    mode: Mode,
    /// The operations that have made a step, a bit for each below 64.
    begun: u64,
    /// Those that have returned.
    returned: u64,
    /// How deep in atomic blocks the running thread is.
    nesting: u32,
    /// Up to this number of steps the short ways may be taken ([`Handle::go_on`]): 0 where something is not as usual
    /// ([`Execution::settle`]).
    short_until: usize,
    drained: usize,
    /// Dropped by hand, as the shims' part is: both are left to the next execution ([`Spare`]).
    locations: ManuallyDrop<Locations>,
    failure: Option<Failure>,
    prefix: *const [ThreadId],
    strategy: Option<NonNull<dyn Strategy>>,
    /// Past the prefix, does the running thread go on without a question ([`Strategy::keeps_going`])?
    keeps_going: bool,
    claims: Rc<claims::Claims>,
    claiming: claims::State,
    recorder: Option<Recorder>,
    shims: ManuallyDrop<shim::State>,
    /// How many uses by strangers there had been when the run began.
    strangers: u64,
    /// What the running thread had in its registers, and where its stack ended, when it called the explorer.
    entry: local_state::Entry,
    limits: Limits,
    /// Are schedules to be explored at this point of the run ([`crate::set_focus`])?
    focused: bool,
    /// Did any run come to where they are not?
    was_unfocused: bool,
    /// Are local states noted in this run?
    watching: bool,
    /// Are neither local states noted nor words?
    quiet: bool,
    /// Did a run come to what may be a spin? From then on local states are noted.
    suspicious: bool,
    /// Did this run come to what may be a spin, without local states to tell?
    suspected: bool,
    /// Is the progress of threads noted, because a run came to the head of a turn?
    fair: bool,
    /// Did the latest run begin to note it?
    newly_fair: bool,
    /// Did anybody ever have to let others go first?
    held_back: bool,
    /// A loop that is being tried.
    probing: Option<probe::Probe>,
    /// What is known of loops.
    beliefs: probe::Beliefs,
    /// Are the values noted that steps find or leave, because a run took too many steps ([`crate::cycle`])?
    valuing: bool,
    /// A hash of them for each step, if they are.
    values: Vec<u64>,
    /// The schedule of a run that is made again.
    again: Vec<ThreadId>,
    /// Are states compared?
    compares: bool,
    /// Does the program keep state outside its memory?
    hidden_state: bool,
    blocks: Blocks,
    /// The same where states are not compared.
    ledger: Ledger,
    guard: guard::Guard,
    /// What is known of the graph that the execution is made against, if it is made against one.
    weak: Option<Box<weak::State>>,
    /// In a twin of the process: what it knows ([`crate::twin`]).
    twin: *mut repeat::Twin,
    /// Above this address the stack of the OS thread is not the explorer's.
    native: usize,
    beat: Arc<Beat>,
}

/// What the steps of the execution are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// They are recorded.
    Exploring,
    /// The run is of no more use; let the program end in peace.
    Draining,
    /// The program cannot end in peace: unwind every stack.
    Unwinding,
}

/// The payload that unwinds the stack of a thread nobody needs any more.
struct Abandoned;

impl Execution {
    /// An execution, ready to run programs within `limits`.
    pub fn new(limits: Limits) -> Box<Execution> {
        panics::install();
        stranger::arrive();
        let Spare { run, threads, fibers, locations, shims, .. } = Spare::take(limits.stack_size);
        Box::new(Execution {
            run,
            threads,
            fibers,
            current: ThreadId(0),
            next: None,
            decider: None,
            beneath: ThreadSet::EMPTY,
            standing: ThreadSet::EMPTY,
            waiting: ThreadSet::EMPTY,
            joining: ThreadSet::EMPTY,
            joinable: ThreadSet::EMPTY,
            spinning: ThreadSet::EMPTY,
            alive: ThreadSet::EMPTY,
            enabled: ThreadSet::EMPTY,
            stuttering: ThreadSet::EMPTY,
            able: ThreadSet::EMPTY,
            turning: ThreadSet::EMPTY,
            last: None,
            mode: Mode::Exploring,
            begun: 0,
            returned: 0,
            nesting: 0,
            short_until: 0,
            drained: 0,
            locations: ManuallyDrop::new(locations),
            failure: None,
            prefix: &[],
            strategy: None,
            keeps_going: false,
            claims: Rc::new(claims::Claims::new()),
            claiming: claims::State::default(),
            recorder: None,
            shims: ManuallyDrop::new(shims),
            strangers: 0,
            entry: local_state::Entry::default(),
            limits,
            focused: true,
            was_unfocused: false,
            watching: false,
            quiet: false,
            suspicious: false,
            suspected: false,
            fair: false,
            newly_fair: false,
            held_back: false,
            probing: None,
            beliefs: probe::Beliefs::default(),
            valuing: false,
            values: Vec::new(),
            again: Vec::new(),
            compares: false,
            hidden_state: false,
            blocks: Blocks::default(),
            ledger: Ledger::default(),
            guard: guard::Guard::default(),
            weak: None,
            twin: std::ptr::null_mut(),
            native: 0,
            beat: watchdog::beat(),
        })
    }

    /// Runs `program` once, as `strategy` says. The first time it comes to what may be a spin, it is run once more
    /// along the same schedule, and the strategy does not notice ([`crate::spin`]).
    /// Inside an exploration that is a misuse of the one it is inside of, which ends there.
    pub fn run(&mut self, program: &dyn Fn(), strategy: &mut dyn Strategy) -> &Run {
        crate::must_be_outside();
        let here = 0_u8;
        self.native = std::hint::black_box(&raw const here).addr();
        let follows = strategy.follows();
        self.shims.next_run(&mut self.run);
        self.newly_fair = false;
        self.beliefs.next_run();
        self.valuing = false;
        self.reset(follows);
        self.prefix = strategy.prefix();
        self.keeps_going = strategy.keeps_going();
        // SAFETY: the lifetime is forgotten, and remembered: the pointer is taken back before this function returns.
        self.strategy = Some(unsafe {
            std::mem::transmute::<NonNull<dyn Strategy + '_>, NonNull<dyn Strategy>>(NonNull::from(strategy))
        });
        let host = linpoint_claim::install(self.claims.clone());
        let this: *mut Execution = self;
        self.beat.begin(this, self.limits.patience);
        CURRENT.set(this);
        // SAFETY: `this` is this execution, and `self` is not used until the loop is done.
        unsafe {
            drive(this, program);
            (*this).learn();
            while (*this).suspected {
                (*this).begin_again(follows);
                drive(this, program);
                (*this).learn();
            }
        }
        CURRENT.set(std::ptr::null_mut());
        self.blocks.release(self.limits.free_leaks);
        self.conclude();
        if self.watch_freed(program) {
            self.begin_again(follows);
            CURRENT.set(this);
            // SAFETY: as above.
            unsafe {
                drive(this, program);
                (*this).learn();
            }
            CURRENT.set(std::ptr::null_mut());
            self.conclude();
        }
        self.ledger.release();
        self.beat.end();
        drop(host);
        self.strategy = None;
        self.prefix = &[];
        &self.run
    }

    /// Runs `program` once along `schedule` and records every step with its values and its place in the source.
    pub fn trace(&mut self, program: &dyn Fn(), strategy: &mut dyn Strategy) -> (&Run, Trace) {
        self.recorder = Some(Recorder::default());
        self.run(program, strategy);
        let mut trace = self.recorder.take().map(Recorder::finish).unwrap_or_default();
        trace.cycle = self.run.cycle;
        (&self.run, trace)
    }

    /// The record of the run so far.
    pub fn record(&self) -> &Run {
        &self.run
    }

    /// Who can go now.
    pub fn enabled(&self) -> ThreadSet {
        self.enabled
    }

    /// Who took the last step.
    pub fn last_thread(&self) -> Option<ThreadId> {
        self.last
    }

    /// What `thread` is about to do, if it has not ended.
    pub fn intent(&self, thread: ThreadId) -> Option<&Intent> {
        self.threads[thread.index()].intent.as_ref()
    }

    /// The running thread, and after which step of the run it runs.
    pub(crate) fn stands_at(&self) -> (ThreadId, usize) {
        (self.current, self.run.steps.len())
    }

    /// The location that `thread` is about to touch, where that is known. It keeps its name whoever goes next.
    pub fn intended_loc(&self, thread: ThreadId) -> Option<Loc> {
        let state = &self.threads[thread.index()];
        (state.intent.is_some() && state.loc != Loc::UNKNOWN).then_some(state.loc)
    }

    /// How many locations have a name; those named later have greater numbers.
    pub fn locations(&self) -> usize {
        self.locations.len()
    }

    /// Where a location is.
    pub fn address(&self, loc: Loc) -> usize {
        self.locations.address(loc)
    }

    /// The running thread if it can go on, otherwise the lowest that can.
    pub fn default_choice(&self) -> Option<ThreadId> {
        self.last.filter(|&thread| self.enabled.contains(thread)).or_else(|| self.enabled.first())
    }

    /// Compares states from now on: [`Execution::state`] then says something. Returns whether it can.
    pub fn compare_states(&mut self, compare: bool) -> bool {
        self.compares = compare && local_state::AVAILABLE && heap::Heap::is_installed();
        self.compares
    }

    /// A fingerprint of the whole state of the program: its heap, what it shares elsewhere, and the stacks of its
    /// threads. Two executions with the same fingerprint go on in the same ways. `None` where that cannot be said: the
    /// program keeps state that is not in its memory (a condition variable's queue, a channel), or states are not
    /// compared.
    pub fn state(&self) -> Option<u128> {
        if !self.compares || self.hidden_state || self.blocks.too_many() {
            return None;
        }
        let mut sum = self.blocks.fingerprint();
        for (index, thread) in self.threads.iter().take(self.run.threads.len()).enumerate() {
            let mut one = Fingerprint::new(index as u64);
            if let Some(intent) = &thread.intent {
                one.add(intent.action as u64 + 1);
                one.add(self.blocks.canonical(intent.address as u64));
                one.add(thread.local as u64);
                one.add((thread.local >> 64) as u64);
            }
            sum = sum.wrapping_add(one.value());
        }
        for index in 0..self.locations.len() {
            let loc = Loc(index as u32);
            let address = self.locations.address(loc);
            if !self.blocks.contains(address) {
                let mut one = Fingerprint::new(address as u64);
                one.add(self.blocks.canonical(self.locations.bits(loc)));
                sum = sum.wrapping_add(one.value());
            }
        }
        Some(sum)
    }

    /// Do steps touch more since the latest run than in those before it, or are there more of them? Then the strategy must begin anew
    /// ([`Strategy::restart`]).
    pub fn newly_fair(&self) -> bool {
        self.newly_fair
    }

    /// Did a thread ever have to let others go first (`fair.rs`)? Then what was covered are fair schedules.
    pub fn held_back(&self) -> bool {
        self.held_back
    }

    /// Was there a point at which schedules were not to be explored ([`crate::set_focus`])? Then what was covered is the rest.
    pub fn was_unfocused(&self) -> bool {
        self.was_unfocused
    }

    /// The run is made again along what was made of it so far, watching for spins or noting progress.
    #[cold]
    fn begin_again(&mut self, follows: bool) {
        self.again.clear();
        self.again.extend(self.run.steps.iter().map(|step| step.thread));
        // SAFETY: it is the strategy's own, and the strategy changes nothing of it during a run.
        let prefix = unsafe { &*self.prefix };
        if self.again.len() > prefix.len() {
            self.prefix = &raw const *self.again;
        }
        if self.recorder.is_some() {
            self.recorder = Some(Recorder::default());
        }
        self.reset(follows);
    }

    fn reset(&mut self, follows: bool) {
        self.shims.reset(self.run.threads.len(), follows);
        self.ledger.release();
        self.watching = self.suspicious || self.compares || self.valuing && local_state::AVAILABLE;
        self.quiet = !self.watching && self.recorder.is_none() && !self.valuing;
        self.values.clear();
        self.suspected = false;
        self.run.clear();
        self.reset_threads();
        self.run.fair = self.fair;
        self.hidden_state = false;
        self.strangers = stranger::noted();
        self.reset_claims();
        self.settle();
    }

    /// There is no thread yet.
    fn reset_threads(&mut self) {
        self.current = ThreadId(0);
        self.next = None;
        self.decider = None;
        self.beneath = ThreadSet::EMPTY;
        self.standing = ThreadSet::EMPTY;
        self.waiting = ThreadSet::EMPTY;
        self.joining = ThreadSet::EMPTY;
        self.joinable = ThreadSet::EMPTY;
        self.spinning = ThreadSet::EMPTY;
        self.turning = ThreadSet::EMPTY;
        self.alive = ThreadSet::EMPTY;
        self.last = None;
        self.mode = Mode::Exploring;
        self.focused = self.limits.starts_in_focus;
        self.was_unfocused |= !self.focused;
        self.begun = 0;
        self.returned = 0;
        self.nesting = 0;
        self.drained = 0;
        self.locations.clear();
        self.failure = None;
    }

    /// Finds out whether everything is as it usually is, so that the short ways may be taken. Whatever disturbs that says so
    /// at once ([`Execution::disturb`]); that it is over is seen here, at the latest when a thread goes the long way.
    #[inline]
    fn settle(&mut self) {
        let most = self.limits.steps.min(self.run.steps.capacity()).min(MANY as usize);
        self.short_until = if self.is_usual() { most } else { 0 };
    }

    /// Is the run explored, outside any atomic block, with nobody waiting for anything but the end of threads, nobody
    /// going round a loop, no progress to note, and without a claim?
    #[inline]
    fn is_usual(&self) -> bool {
        self.mode == Mode::Exploring
            && self.nesting == 0
            && self.failure.is_none()
            && !self.suspected
            && !self.fair
            && self.waiting.0 | self.spinning.0 == 0
            && !self.claiming.made
            && self.focused
            && !self.has_lent()
    }

    /// Something is not as it usually is.
    #[inline]
    fn disturb(&mut self) {
        self.short_until = 0;
    }

    /// Fills in what is known only at the end.
    fn conclude(&mut self) {
        self.run.answered = self.begun & self.returned;
        for (record, thread) in self.run.threads.iter_mut().zip(&self.threads) {
            record.steps = thread.steps;
        }
        if self.claiming.made {
            self.note_decisions();
        }
        let ended = matches!(self.run.ending, Ending::Complete | Ending::Stuck(_));
        if self.claiming.made && ended && self.failure.is_none() {
            self.failure = self.conclude_claims();
        }
        if self.failure.is_none() {
            self.failure = self.shims.judge(&self.run);
        }
        if self.failure.is_none() && matches!(self.run.ending, Ending::Complete) {
            self.failure = self.shims.left();
        }
        if stranger::noted() != self.strangers {
            let locations = &self.locations;
            let is_ours =
                |address| (0..locations.len()).any(|loc| locations.address(Loc(loc as u32)) == address);
            self.failure = stranger::found(self.strangers, is_ours).or(self.failure.take());
        }
        if let Some(failure) = self.failure.take() {
            self.run.ending = Ending::Failed(failure);
        }
    }

    /// The stack of `thread` is lost: another takes its place, and its panics are forgotten.
    #[cold]
    fn replace_fiber(&mut self, thread: ThreadId) {
        panic_count::put_aside();
        match Fiber::take(self.limits.stack_size) {
            Ok(fiber) => std::mem::replace(&mut *self.fibers[thread.index()], fiber).forget(),
            Err(error) => panics::abort(&format!("no stack for another thread: {error}")),
        }
    }

    /// A new thread, standing before its start, with a stack of at least so many bytes.
    fn add_thread(
        &mut self,
        parent: Option<ThreadId>,
        job: Job,
        stack_size: usize,
    ) -> Result<ThreadId, Failure> {
        self.must_turn();
        let (index, known) = self.next_thread();
        if index >= ThreadSet::CAPACITY {
            let text = format!("the program created more than {} threads", ThreadSet::CAPACITY);
            return Err(Failure::Misuse(text));
        }
        if index == self.fibers.len() {
            let fiber = Fiber::take(self.limits.stack_size.max(stack_size)).map_err(no_stack)?;
            self.fibers.push(Box::new(fiber));
            self.threads.push(Thread::default());
        } else if stack_size > self.fibers[index].stack_size() {
            let fiber = Fiber::take(stack_size).map_err(no_stack)?;
            std::mem::replace(&mut *self.fibers[index], fiber).give_back();
        }
        let born_at = parent.map_or(0, |parent| self.threads[parent.index()].steps);
        self.threads[index].begin();
        self.fibers[index].assign(job);
        let thread = ThreadId(index as u8);
        if !known {
            self.run.threads.push(ThreadRecord { parent, born_at, steps: 0, finished: false });
        }
        self.note_creation(thread, known);
        self.alive.insert(thread);
        Ok(thread)
    }
}

#[cold]
fn no_stack(error: std::io::Error) -> Failure {
    Failure::Misuse(format!("no stack for another thread: {error}"))
}

/// The running thread, and the size of its stack, if that is where this address says that a stack overflowed. It is asked by
/// the handler of a signal.
pub(crate) fn overflowed(address: usize) -> Option<(ThreadId, usize)> {
    let this = CURRENT.get();
    if this.is_null() {
        return None;
    }
    // SAFETY: the execution lives while this is set, and what is read here does not change while the program runs.
    let (current, fibers) = unsafe { ((*this).current, &(*this).fibers) };
    let fiber = fibers.get(current.index())?;
    fiber.guards(address).then_some((current, fiber.stack_size()))
}

impl Drop for Execution {
    fn drop(&mut self) {
        stranger::leave();
        self.guard.give_back();
        debug_assert!(self.alive.is_empty(), "every stack is unwound when a run ends");
        // SAFETY: nobody uses them after this.
        let (locations, shims) =
            unsafe { (ManuallyDrop::take(&mut self.locations), ManuallyDrop::take(&mut self.shims)) };
        let (run, threads, fibers) = (
            std::mem::take(&mut self.run),
            std::mem::take(&mut self.threads),
            std::mem::take(&mut self.fibers),
        );
        Spare { run, threads, fibers, locations, shims, stack_size: self.limits.stack_size }.keep();
    }
}

/// The loop: resumes whoever was chosen until the execution is over.
///
/// # Safety
/// `this` must be the execution that [`CURRENT`] names, with nobody else holding a reference to it.
unsafe fn drive(this: *mut Execution, program: &dyn Fn()) {
    let root = |_: usize| crate::thread::run_root(program);
    let root: &dyn Fn(usize) = &root;
    // SAFETY: the job is run to its end, or unwound, before this function returns.
    let root = unsafe { std::mem::transmute::<&dyn Fn(usize), &'static dyn Fn(usize)>(root) };
    // SAFETY: as the caller promises; each reference ends with its statement.
    unsafe {
        match (*this).add_thread(None, Job::Numbered(root, 0), 0) {
            Ok(thread) => {
                // Its first announcement is the first decision: nobody else is there to start it.
                (&mut (*this).threads)[thread.index()].started = true;
                (*this).next = Some(thread);
            }
            Err(failure) => (*this).failure = Some(failure),
        }
        while let Some(thread) = (*this).next.take() {
            resume(this, thread);
        }
        unwind_all(this);
    }
}

/// Lets `thread` run until it pauses, and sees to what comes of it.
///
/// # Safety
/// As for [`drive`].
unsafe fn resume(this: *mut Execution, thread: ThreadId) {
    // SAFETY: as the caller promises.
    unsafe {
        let ended = run_fiber(this, thread) != Pause::Suspended;
        let me = &mut *this;
        if ended {
            me.must_turn();
        }
        let started = std::mem::replace(&mut me.threads[thread.index()].started, true);
        if ended && me.alive.is_empty() && me.mode == Mode::Exploring {
            // That was the last: nobody is left to choose.
            me.enabled = ThreadSet::EMPTY;
            return;
        }
        // Whoever is in the middle of its program has decided before it paused.
        if ended || !started || (me.compares && me.next.is_none()) {
            (*this).next = decide_apart(this);
        }
    }
}

/// Starts `thread`, which the running thread has just created: it runs up to its first announcement, or its end.
///
/// # Safety
/// As for [`drive`]; called from a fiber of the execution.
unsafe fn start(this: *mut Execution, thread: ThreadId) {
    // SAFETY: as the caller promises.
    unsafe {
        let parent = (*this).current;
        run_fiber(this, thread);
        (&mut (*this).threads)[thread.index()].started = true;
        (*this).current = parent;
    }
}

/// Lets `thread` run until it pauses.
///
/// # Safety
/// As for [`drive`].
#[inline]
unsafe fn run_fiber(this: *mut Execution, thread: ThreadId) -> Pause {
    // SAFETY: as the caller promises. The fiber's code reaches the execution through its own pointer while it runs;
    // no reference of ours is alive then but the one to the fiber itself, which that code does not touch.
    unsafe {
        (*this).current = thread;
        let fiber: *mut Fiber = &raw mut *(&mut (*this).fibers)[thread.index()];
        let pause = (*fiber).resume();
        if pause == Pause::Lost {
            (*this).replace_fiber(thread);
        }
        if pause != Pause::Suspended {
            let me = &mut *this;
            if me.has_lent() {
                me.take_back_lent(thread);
            }
            me.alive.remove(thread);
            me.standing.remove(thread);
            me.waiting.remove(thread);
            me.joining.remove(thread);
            me.spinning.remove(thread);
            if !me.joining.is_empty() {
                me.find_joinable();
            }
            me.threads[thread.index()].intent = None;
            me.run.threads[thread.index()].finished = me.mode != Mode::Unwinding;
        }
        pause
    }
}

/// Lets `thread` run until it pauses, in an execution against a graph. Returns whether it has come to its end.
///
/// # Safety
/// As for [`drive`].
unsafe fn run_fiber_weakly(this: *mut Execution, thread: ThreadId) -> bool {
    // SAFETY: as in `run_fiber`.
    unsafe {
        (*this).current = thread;
        let fiber: *mut Fiber = &raw mut *(&mut (*this).fibers)[thread.index()];
        let pause = (*fiber).resume();
        if pause == Pause::Suspended {
            return false;
        }
        if pause == Pause::Lost {
            (*this).replace_fiber(thread);
        }
        let me = &mut *this;
        if me.has_lent() {
            me.take_back_lent(thread);
        }
        me.alive.remove(thread);
        true
    }
}

/// Unwinds every stack that is still in use, the youngest thread first: what a thread lends to those it created
/// must outlive them.
///
/// # Safety
/// As for [`drive`].
unsafe fn unwind_all(this: *mut Execution) {
    // SAFETY: as the caller promises.
    unsafe {
        if (*this).alive.is_empty() {
            return;
        }
        (*this).mode = Mode::Unwinding;
        (*this).disturb();
        let _ready = (*this).failure_in_words().map(Ready::new);
        for index in (0..(*this).run.threads.len()).rev() {
            let thread = ThreadId(index as u8);
            while (*this).alive.contains(thread) {
                resume(this, thread);
            }
        }
    }
}

/// Where the registers go when the explorer is called.
pub(crate) const ENTRY: usize = std::mem::offset_of!(Execution, entry);

/// The explorer was called: its entry is noted. The pieces of an [`Intent`] come in registers: in memory its padding would keep parts of what
/// lay there before, such as half a pointer, which has no name.
///
/// # Safety
/// `this` must be the execution that the caller is part of.
pub(crate) unsafe extern "C-unwind" fn entered(
    this: *mut Execution,
    action: Action,
    address: usize,
    site: &'static Location<'static>,
    wait: Option<&'static Wait>,
    object: *const (),
) {
    Handle(this).entered(Intent { action, address, site, wait: wait.map(|wait| (wait, object)) });
}

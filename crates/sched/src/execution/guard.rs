//! Is memory used after its free?
//!
//! Plain reads and writes are no steps: what a thread does between two of its steps (a *segment*) is made at
//! once, right after the first of the two, and nobody looks at it. So a run in which blocks are freed
//! ([`crate::Heap`] says which) is followed by others, in which the blocks that it freed lie on pages of
//! their own ([`crate::arena`]), and nobody may touch these once the block is freed. A signal says who does
//! it all the same; it is noted, and the program goes on.
//!
//! # Which runs
//! A segment that nothing orders before a free may come after it, though it came before it in the run. For
//! each segment that frees a block, the steps of the trace are taken in another order, and the segments are
//! delayed:
//!
//! - first the steps that happen before the free, then that segment at once, then all other steps in the
//!   order they had;
//! - every other segment is made as late as can be: when its thread is to take its next step, or has to have
//!   ended, or has to have created another that goes next. So a thread is stopped after its step, and not
//!   before the next.
//!
//! That is an order of the same trace, so all steps are the same and see the same; and an execution of the
//! program, in which threads stand still at places where they may, so nothing is reported that cannot happen:
//! what the explorer does not see as order, such as std's own reference counts, works there as everywhere. A
//! segment came before the free in it only if the next step of its thread happens before the free, or the
//! thread was joined before it: then it does so in every execution of the trace. All others come after it,
//! and any use they make of the block is seen. One trace has as many such runs as segments that free
//! something of which another thread may know, and at least one, for uses that are ordered after the free.
//! Nobody else can know of a block that was neither allocated by it nor before one of its steps.
//!
//! # What is not watched
//! Runs with claims, and runs in which states are compared: there only what is freed twice is seen. Runs that
//! could not be made again so, because the program did something else, or there is no room left for its
//! blocks. They are counted ([`Execution::unwatched`]), and what says that everything was explored says so of
//! them.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::{CURRENT, Execution, Handle, Mode, run_fiber, unwind_all};
use crate::arena::{self, Arena};
use crate::clocks::Clocks;
use crate::event::{Action, Loc, ThreadId, ThreadSet};
use crate::failure::{Failure, Freed, Place};
use crate::fiber::Job;
use crate::heap;
use crate::ledger::{Entry, Free, Numbers};
use crate::run::{Ending, Run};
use crate::thread::ENDED;

/// What an execution has for runs in which freed blocks are watched.
#[derive(Default)]
pub(super) struct Guard {
    /// Is such a run being made?
    runs: bool,
    /// Are blocks made inaccessible that are freed now?
    watches: bool,
    /// Did such a run not go as the one before?
    strays: bool,
    arena: Option<Arena>,
    watched: Vec<Watched>,
    /// By thread, its steps, and number ([`Entry`]).
    by_moment: FxHashMap<(ThreadId, u32, u32), usize>,
    numbers: Numbers,
    /// Those that have been created.
    created: ThreadSet,
    /// The segments that are made at once.
    at_once: Vec<(ThreadId, u32)>,
    /// Stand before a step.
    announced: ThreadSet,
    /// Took a step and have not stopped after it yet.
    stepped: ThreadSet,
    /// Was something freed in a run in which states are compared?
    freed: bool,
    /// What else went wrong in such a run.
    failure: Option<Failure>,
    /// The first use of a freed block.
    used: Cell<Option<Use>>,
    clocks: Option<Clocks>,
    /// Runs that freed memory and could not be watched.
    unwatched: u64,
}

impl Guard {
    /// The execution goes: its pages are left to others.
    pub(super) fn give_back(&mut self) {
        if let Some(arena) = self.arena.take() {
            arena.give_back();
        }
    }
}

/// A block that is watched.
#[derive(Debug)]
struct Watched {
    entry: Entry,
    freed: Place,
    /// Only then is it made inaccessible.
    asked: bool,
    start: usize,
    pages: std::ops::Range<usize>,
    state: State,
}

/// What became of a watched block.
#[derive(Clone, Copy, Debug)]
enum State {
    Expected,
    Allocated(Place),
    Freed(Place, Place),
}

/// A use of a freed block.
#[derive(Clone, Copy)]
struct Use {
    block: usize,
    by: Place,
    writes: Option<bool>,
}

/// A run to be made: the steps of the record in this order.
struct Order {
    steps: Vec<usize>,
    at_once: Vec<(ThreadId, u32)>,
}

impl Execution {
    /// How many runs freed memory and could not be watched for uses of it.
    pub fn unwatched(&self) -> u64 {
        self.guard.unwatched
    }

    /// Looks, after a run that was fine so far, whether blocks that it freed are used. Returns whether the run must be
    /// made again, for what the program left behind is not what it left in that run.
    pub(super) fn watch_freed(&mut self, program: &dyn Fn()) -> bool {
        let fine = matches!(self.run.ending, Ending::Complete | Ending::Stuck(_));
        let freed = std::mem::take(&mut self.guard.freed) || self.ledger.has_frees();
        if !fine || !freed || !self.limits.watches_freed {
            return false;
        }
        if self.compares || self.claiming.made || !cfg!(target_os = "linux") {
            self.guard.unwatched += 1;
            return false;
        }
        self.guard.arena = self.guard.arena.take().or_else(Arena::take);
        let mut clocks = self.guard.clocks.take().unwrap_or_else(Clocks::without_claims);
        clocks.update(&self.run, 0);
        let whole = self.expect_blocks();
        let orders = self.orders(&clocks);
        self.guard.clocks = Some(clocks);
        self.ledger.release();
        if !whole {
            self.guard.unwatched += 1;
            return false;
        }
        let stuttered = self.shims.put_stuttered_aside();
        let base = std::mem::take(&mut self.run);
        let mut failure = None;
        for (index, order) in orders.into_iter().enumerate() {
            failure = self.watch_in(program, &base, order, index == 0);
            if failure.is_some() || self.guard.strays {
                break;
            }
        }
        self.run = base;
        self.shims.bring_stuttered_back(stuttered);
        let strays = self.guard.strays && failure.is_none();
        self.guard.unwatched += u64::from(strays);
        if let Some(failure) = failure {
            self.run.ending = Ending::Failed(failure);
        }
        strays
    }

    /// Makes room for the blocks that are to be watched. Returns whether there is enough.
    fn expect_blocks(&mut self) -> bool {
        let Guard { arena, watched, by_moment, .. } = &mut self.guard;
        watched.clear();
        by_moment.clear();
        let Some(arena) = arena else { return false };
        arena.clear(false);
        for (entry, freed) in self.ledger.freed() {
            let Some((start, pages)) = arena.place(entry.layout) else { return false };
            by_moment.insert((entry.made.thread, entry.made.steps, entry.number), watched.len());
            watched.push(Watched {
                entry: *entry,
                freed,
                asked: false,
                start,
                pages,
                state: State::Expected,
            });
        }
        true
    }

    /// Makes the run once more in this order. Returns the first use of a freed block, if there is one.
    fn watch_in(&mut self, program: &dyn Fn(), base: &Run, order: Order, all: bool) -> Option<Failure> {
        let guard = &mut self.guard;
        for watched in &mut guard.watched {
            watched.state = State::Expected;
            let segment = (watched.freed.thread, watched.freed.steps);
            watched.asked = all || order.at_once.first() == Some(&segment);
        }
        guard.numbers.clear();
        guard.announced = ThreadSet::EMPTY;
        guard.stepped = ThreadSet::EMPTY;
        guard.at_once = order.at_once;
        guard.strays = false;
        guard.used.set(None);
        guard.failure = None;
        self.run.clear();
        // Threads have the numbers they had.
        self.run.threads.clone_from(&base.threads);
        self.guard.created = ThreadSet::EMPTY;
        self.reset_threads();
        self.shims.reset(base.threads.len(), false);
        self.mode = Mode::Draining;
        self.short_until = 0;
        self.quiet = false;
        self.watching = false;
        self.guard.runs = true;
        self.guard.watches = true;
        let this: *mut Execution = self;
        CURRENT.set(this);
        // SAFETY: `this` is this execution, and `self` is not used until the run is over.
        unsafe {
            run_in_order(this, program, base, &order.steps);
        }
        CURRENT.set(std::ptr::null_mut());
        let guard = &mut self.guard;
        guard.runs = false;
        let lost = guard.watched.iter().any(|watched| matches!(watched.state, State::Allocated(_)));
        guard.strays |= guard.watched.iter().any(|watched| !matches!(watched.state, State::Freed(..)));
        if let Some(arena) = guard.arena.as_mut().filter(|_| lost) {
            // Somebody may still use what is there.
            arena.clear(true);
        }
        self.ledger.release();
        let Some(found) = self.guard.used.get() else { return self.guard.failure.take() };
        let watched = &self.guard.watched[found.block];
        let State::Freed(allocated, freed) = watched.state else { return None };
        let size = watched.entry.layout.size();
        let (used, writes) = (found.by, found.writes);
        Some(Failure::UseAfterFree(Box::new(Freed { size, allocated, freed, used, writes })))
    }

    /// From here on nobody looks: everything may be touched again.
    fn open_all(&mut self) {
        self.guard.watches = false;
        if let Some(arena) = &mut self.guard.arena {
            arena::allow(&arena.used());
        }
    }

    /// The orders in which the run is to be made again.
    fn orders(&self, clocks: &Clocks) -> Vec<Order> {
        let run = &self.run;
        let mut orders: Vec<Order> = Vec::new();
        for watched in &self.guard.watched {
            let freed = &watched.freed;
            let segment = (freed.thread, freed.steps);
            if orders.iter().any(|order| order.at_once.first() == Some(&segment)) {
                continue;
            }
            let past = Past::of(run, clocks, segment);
            if !past.leaves_anyone(run, clocks, segment, &watched.entry.made) {
                continue;
            }
            let mut at_once = vec![segment];
            let (mut thread, mut steps) = segment;
            while let (0, Some(parent)) = (steps, run.threads[thread.index()].parent) {
                (steps, thread) = (run.threads[thread.index()].born_at, parent);
                at_once.push((thread, steps));
            }
            let before = |&index: &usize| past.has(clocks, run, index);
            let (mut steps, rest): (Vec<usize>, Vec<usize>) = (0..run.steps.len()).partition(before);
            steps.extend(rest);
            orders.push(Order { steps, at_once });
        }
        if orders.is_empty() {
            orders.push(Order { steps: (0..run.steps.len()).collect(), at_once: Vec::new() });
        }
        orders
    }
}

/// What happens before a segment: so many steps of each thread.
struct Past(Vec<u32>);

impl Past {
    fn of(run: &Run, clocks: &Clocks, (thread, steps): (ThreadId, u32)) -> Past {
        let (mut thread, mut steps) = (thread, steps);
        loop {
            if let Some(own) = (steps as usize).checked_sub(1) {
                let at = clocks.steps_of(thread).get(own).map(|&at| at as usize);
                return Past(at.map_or_else(Vec::new, |at| clocks.past(at).to_vec()));
            }
            let record = &run.threads[thread.index()];
            let Some(parent) = record.parent else { return Past(Vec::new()) };
            (thread, steps) = (parent, record.born_at);
        }
    }

    fn steps_of(&self, thread: ThreadId) -> u32 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    fn has(&self, clocks: &Clocks, run: &Run, step: usize) -> bool {
        clocks.own(step) <= self.steps_of(run.steps[step].thread)
    }

    /// Was `thread` joined in it?
    fn joined(&self, run: &Run, clocks: &Clocks, thread: ThreadId) -> bool {
        let end = Loc::end_of(thread);
        let joins = |index: usize| {
            run.steps[index].action == Action::Join
                && run.accesses_of(index).iter().any(|access| access.loc == end)
        };
        (0..run.steps.len()).any(|index| joins(index) && self.has(clocks, run, index))
    }

    /// Is there a segment of another thread, not ordered with `segment`, that may know of a block made at `made`?
    fn leaves_anyone(&self, run: &Run, clocks: &Clocks, segment: (ThreadId, u32), made: &Place) -> bool {
        let others = (0..run.threads.len()).map(|index| ThreadId(index as u8));
        others.filter(|&other| other != segment.0).any(|other| {
            !self.joined(run, clocks, other)
                && !comes_after(run, clocks, other, segment)
                && may_know(run, clocks, other, made)
        })
    }
}

/// Was `thread` created after that segment?
fn comes_after(run: &Run, clocks: &Clocks, thread: ThreadId, segment: (ThreadId, u32)) -> bool {
    let record = &run.threads[thread.index()];
    let Some(parent) = record.parent else { return false };
    if parent == segment.0 {
        return record.born_at > segment.1;
    }
    let seen = Past::of(run, clocks, (parent, record.born_at)).steps_of(segment.0);
    seen > segment.1 || comes_after(run, clocks, parent, segment)
}

/// May `thread` have heard of what was made in that moment?
fn may_know(run: &Run, clocks: &Clocks, thread: ThreadId, made: &Place) -> bool {
    let maker = made.thread;
    if thread == maker {
        return true;
    }
    let last = clocks.steps_of(thread).last().map(|&at| clocks.past(at as usize));
    if last.is_some_and(|past| past[maker.index()] > made.steps) {
        return true;
    }
    let record = &run.threads[thread.index()];
    record.parent.is_some_and(|parent| {
        if parent == maker { record.born_at >= made.steps } else { may_know(run, clocks, parent, made) }
    })
}

/// Runs the program with the steps of `base` in this order, and notes if that is not possible.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn run_in_order(this: *mut Execution, program: &dyn Fn(), base: &Run, order: &[usize]) {
    let root = |_: usize| crate::thread::run_root(program);
    let root: &dyn Fn(usize) = &root;
    // SAFETY: the job is run to its end, or unwound, before this function returns.
    let root = unsafe { std::mem::transmute::<&dyn Fn(usize), &'static dyn Fn(usize)>(root) };
    // SAFETY: as the caller promises; each reference ends with its statement.
    unsafe {
        let followed =
            (*this).add_thread(None, Job::Numbered(root, 0), 0).is_ok() && follow(this, base, order);
        let complete = matches!(base.ending, Ending::Complete);
        (*this).guard.strays |= !followed || complete && !(*this).alive.is_empty();
        (*this).open_all();
        unwind_all(this);
    }
}

/// Makes the steps of `base` in this order, each segment as late as can be. Returns whether that was possible.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn follow(this: *mut Execution, base: &Run, order: &[usize]) -> bool {
    // SAFETY: as the caller promises; each reference ends with its statement.
    unsafe {
        hurry(this, ThreadId(0));
        for &index in order {
            let step = &base.steps[index];
            if (*this).guard.strays || !take_step(this, step.thread, step.action) {
                return false;
            }
            hurry(this, step.thread);
        }
        let mut left = ThreadSet::EMPTY;
        // Somebody may be created meanwhile.
        while left.0 != (*this).guard.created.0 {
            left = (*this).guard.created;
            for thread in left.iter() {
                flush(this, thread);
            }
        }
        !(*this).guard.strays
    }
}

/// Lets `thread` make its segment now, if it is one of those.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn hurry(this: *mut Execution, thread: ThreadId) {
    // SAFETY: as the caller promises.
    unsafe {
        let steps = (&(*this).threads)[thread.index()].steps;
        let guard = &(*this).guard;
        if guard.at_once.contains(&(thread, steps)) {
            flush(this, thread);
        }
    }
}

/// Lets `thread` go on until it stands before a step or has ended.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn flush(this: *mut Execution, thread: ThreadId) {
    // SAFETY: as the caller promises.
    unsafe {
        while (*this).alive.contains(thread) && !(*this).guard.announced.contains(thread) {
            run_fiber(this, thread);
        }
    }
}

/// Lets `thread` take its next step, and stop after it. Returns whether it can.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn take_step(this: *mut Execution, thread: ThreadId, action: Action) -> bool {
    // SAFETY: as the caller promises; each reference ends before the program runs.
    unsafe {
        if !create(this, thread) {
            return false;
        }
        flush(this, thread);
        if !(*this).guard.announced.contains(thread) {
            return false;
        }
        let state = &(&(*this).threads)[thread.index()];
        let (announced, wait) = (state.action, state.intent.as_ref().and_then(|intent| intent.wait));
        if let Some((wait, object)) = wait {
            if std::ptr::eq(wait, &ENDED) {
                for other in ThreadSet(object.addr() as u64).iter() {
                    flush(this, other);
                }
            }
            // The end of a scope waits for threads, but not until they have dropped all they have.
            for other in if (wait.ready)(object) { ThreadSet::EMPTY } else { (wait.held_by)(object) }.iter() {
                while !(wait.ready)(object) && go_on(this, other) {}
            }
            if !(wait.ready)(object) {
                return false;
            }
        }
        if announced != action || (*this).guard.strays {
            return false;
        }
        let me = &mut *this;
        me.guard.announced.remove(thread);
        me.guard.stepped.insert(thread);
        me.begin_step(thread);
        run_fiber(this, thread);
        true
    }
}

/// Lets `thread` go on to where it stops next, unless it stands before a step or has ended.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn go_on(this: *mut Execution, thread: ThreadId) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let goes = (*this).alive.contains(thread) && !(*this).guard.announced.contains(thread);
        if goes {
            run_fiber(this, thread);
        }
        goes
    }
}

/// Sees to it that `thread` is created, if only somebody has to go on for that. Returns whether it is.
///
/// # Safety
/// As for [`super::drive`].
unsafe fn create(this: *mut Execution, thread: ThreadId) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        if (*this).guard.created.contains(thread) {
            return true;
        }
        let threads = &(*this).run.threads;
        let Some(parent) = threads.get(thread.index()).and_then(|record| record.parent) else {
            return false;
        };
        if !create(this, parent) {
            return false;
        }
        while !(*this).guard.created.contains(thread) && go_on(this, parent) {}
        (*this).guard.created.contains(thread)
    }
}

impl Execution {
    /// The number of the thread that the running one creates next, and whether it had that in the run before.
    pub(super) fn next_thread(&self) -> (usize, bool) {
        let threads = &self.run.threads;
        if !self.guard.runs {
            return (threads.len(), false);
        }
        let parent = (!self.guard.created.is_empty()).then_some(self.current);
        let created = |index: &usize| self.guard.created.contains(ThreadId(*index as u8));
        let mut children = (0..threads.len()).filter(|&index| threads[index].parent == parent);
        // What is not as it was leads nowhere.
        children.find(|index| !created(index)).map_or((threads.len(), false), |index| (index, true))
    }

    /// A thread was created.
    pub(super) fn note_creation(&mut self, thread: ThreadId, known: bool) {
        if self.guard.runs {
            self.guard.strays |= !known;
            self.guard.created.insert(thread);
        }
    }
}

impl Handle {
    /// Is this a run that looks for uses of freed memory?
    pub(crate) fn looks_for_freed(self) -> bool {
        // SAFETY: this code runs on a fiber of the execution, which is therefore inside `drive`.
        unsafe { (*self.0).guard.runs }
    }

    /// Is this a run in which freed blocks are watched?
    #[inline]
    pub(crate) fn is_guarding(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).guard.runs }
    }

    /// The running thread has created another, in such a run: it stops here, too, for the other may go first. That one
    /// runs up to its first announcement now only if it is to.
    pub(super) fn created_in_guard(self, child: ThreadId, in_block: bool) {
        // SAFETY: as in `access`; references end before the switches.
        unsafe {
            let current = (*self.0).current;
            let guard = &(*self.0).guard;
            if guard.at_once.contains(&(child, 0)) {
                flush(self.0, child);
                (*self.0).current = current;
            }
            if !in_block {
                self.hold_once_more();
            }
        }
    }

    /// Stops the running thread, in a run in which segments are delayed, though it has stopped since its step.
    pub(crate) fn hold_once_more(self) {
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.guard.runs {
                me.guard.stepped.insert(me.current);
                self.hold_in_guard();
            }
        }
    }

    /// Stops the running thread after its step, in a run in which segments are delayed.
    #[inline]
    pub(crate) fn hold(self) {
        if self.is_guarding() {
            self.hold_in_guard();
        }
    }

    #[cold]
    #[inline(never)]
    fn hold_in_guard(self) {
        // SAFETY: as in `access`; references end before the switch.
        unsafe {
            let me = &mut *self.0;
            let current = me.current;
            if me.nesting > 0 || me.mode == Mode::Unwinding || !me.guard.stepped.contains(current) {
                return;
            }
            me.guard.stepped.remove(current);
            let _outside = heap::Outside::enter();
            self.pause(current);
        }
    }

    /// The running thread stands before a step, in a run in which segments are delayed.
    #[inline]
    pub(super) fn announce_in_guard(self) {
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.guard.runs {
                me.guard.stepped.remove(me.current);
                me.guard.announced.insert(me.current);
            }
        }
    }

    /// Where the program's next block lies, if it is one that is watched.
    #[cold]
    #[inline(never)]
    pub(crate) fn place_watched(self, layout: std::alloc::Layout) -> Option<*mut u8> {
        let _outside = heap::Outside::enter();
        let place = self.place();
        // SAFETY: as in `access`.
        let me = unsafe { &mut *self.0 };
        let steps = me.threads[me.current.index()].steps;
        let number = me.guard.numbers.next(me.current, steps);
        let index = *me.guard.by_moment.get(&(me.current, steps, number))?;
        let watched = &mut me.guard.watched[index];
        if !matches!(watched.state, State::Expected) || watched.entry.layout != layout {
            me.guard.strays = true;
            return None;
        }
        watched.state = State::Allocated(place);
        Some(std::ptr::with_exposed_provenance_mut(watched.start))
    }

    /// A block of the arena is freed.
    #[cold]
    fn free_watched(self, address: usize) {
        let place = self.place();
        // SAFETY: as in `access`.
        let guard = unsafe { &mut (*self.0).guard };
        let Some(watched) = guard.watched.iter_mut().find(|watched| watched.start == address) else { return };
        if let State::Allocated(made) = watched.state {
            watched.state = State::Freed(made, place);
            if guard.watches && watched.asked && !arena::forbid(&watched.pages) {
                guard.strays = true;
            }
        }
    }

    /// Who runs, and where it is.
    fn place(self) -> Place {
        // SAFETY: as in `access`.
        unsafe { (*self.0).place() }
    }

    /// Notes a block that the program allocated. In a frame of its own, which [`Handle::scrub`] wipes.
    #[inline(never)]
    pub(crate) fn note_allocated(self, block: *mut u8, layout: std::alloc::Layout) {
        let _outside = heap::Outside::enter();
        if self.in_twin() {
            return;
        }
        if self.is_weak() {
            return self.allocated_weakly(block, layout);
        }
        let place = self.place();
        // SAFETY: as in `access`.
        unsafe {
            let me = &mut *self.0;
            if me.compares {
                let operations = me.threads[me.current.index()].operations;
                me.blocks.add(block, layout, place, operations);
            } else {
                me.ledger.add(block, layout, place);
            }
        }
    }

    /// The program frees a block. Is it to be kept for now? In a frame of its own, which [`Handle::scrub`] wipes.
    #[inline(never)]
    pub(crate) fn keep_freed(self, address: usize, layout: std::alloc::Layout) -> bool {
        let _outside = heap::Outside::enter();
        if self.in_twin() {
            // What a turn allocates and frees comes to lie at the same place in the next.
            return false;
        }
        if self.is_weak() {
            return self.freed_weakly(address);
        }
        let place = self.place();
        // SAFETY: as in `access`.
        let me = unsafe { &mut *self.0 };
        if me.compares {
            let free = me.blocks.free(address, place);
            me.guard.freed |= me.mode != Mode::Unwinding && matches!(free, Free::Kept);
            return self.kept(free, place);
        }
        if me.guard.runs && arena::holds(address) {
            self.free_watched(address);
            return true;
        }
        let when = (me.mode != Mode::Unwinding).then_some(place);
        let free = me.ledger.free(address, layout, when);
        self.kept(free, place)
    }

    /// What came of a free: is the block kept? One that is freed twice fails the run.
    fn kept(self, free: Free, used: Place) -> bool {
        match free {
            Free::Unknown => false,
            Free::Kept => true,
            Free::Again(size, allocated, freed) => {
                self.fail(Failure::DoubleFree(Box::new(Freed {
                    size,
                    allocated,
                    freed,
                    used,
                    writes: None,
                })));
                true
            }
        }
    }
}

impl Execution {
    /// Something went wrong in such a run that did not in the one before. It is an execution of the program all the same.
    #[cold]
    pub(super) fn fail_in_guard(&mut self, failure: Failure) {
        let told = matches!(failure, Failure::Panic { .. } | Failure::DoubleFree(_));
        if told && self.guard.runs && self.mode == Mode::Draining {
            self.guard.failure.get_or_insert(failure);
        }
    }

    /// Where the running thread is.
    fn place(&self) -> Place {
        let thread = self.current;
        let Some(state) = self.threads.get(thread.index()) else {
            return Place { thread, steps: 0, within: false, site: None };
        };
        // In the short way an announcement is not kept.
        let site = state.intent.as_ref().filter(|_| !self.quiet).map(|intent| intent.site);
        Place {
            thread,
            steps: state.steps,
            within: self.guard.runs && self.guard.stepped.contains(thread),
            site,
        }
    }
}

/// The program touched what may not be touched, at this address: was it a freed block? Then that is noted, and it may be
/// touched. It is asked by the handler of a signal.
pub(crate) fn used_freed(address: usize, writes: Option<bool>) -> bool {
    let this = CURRENT.get();
    if this.is_null() || !arena::holds(address) {
        return false;
    }
    // SAFETY: the execution lives while this is set. What is read here does not change while code runs that touches blocks.
    let me = unsafe { &*this };
    let Some(block) = me.guard.watched.iter().position(|watched| watched.pages.contains(&address)) else {
        return false;
    };
    let watched = &me.guard.watched[block];
    if !matches!(watched.state, State::Freed(..)) || !arena::allow(&watched.pages) {
        return false;
    }
    if me.guard.used.get().is_none() {
        me.guard.used.set(Some(Use { block, by: me.place(), writes }));
    }
    true
}

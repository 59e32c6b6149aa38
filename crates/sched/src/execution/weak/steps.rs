//! What code on a fiber does in an execution against a graph: it posts steps.

use std::panic::Location as Site;
use std::sync::Arc;
use std::sync::atomic as std_atomic;
use std::sync::atomic::Ordering as StdOrdering;

use linpoint_memory::{Access, Operator, Ordering, Step, Update, Value, Width};

use super::beliefs::{Belief, Trial};
use super::blocks::Freeing;
use super::judge;
use super::places::Refused;
use super::{Line, Stop, Suspicion, Visit, Word};
use crate::event::{Action, Intent, ThreadId, Wait};
use crate::execution::{Abandoned, Handle, Mode};
use crate::failure::Failure;
use crate::fiber::{Job, Pause};
use crate::heap;
use crate::local_state;
use crate::panic_count;
use crate::thread::ENDED;

/// A read-modify-write, in bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Writes this.
    Swap(u64),
    /// Writes the second, if the first is there.
    Exchange(u64, u64),
    /// Applies this operator with this operand.
    Operate(Operator, Width, u64),
}

/// Turns of a loop without an event, after which a thread is taken to go round for ever.
const MOST_YIELDS: u32 = 100_000;

/// The most places that a thread may have been at since it last wrote.
const MOST_VISITS: usize = 4_096;

/// Writes memory.
pub(super) fn write(address: usize, size: usize, value: Value) {
    macro_rules! store {
        ($atomic:ident, $type:ty) => {{
            let pointer = std::ptr::with_exposed_provenance_mut::<$type>(address);
            // SAFETY: a thread of the program has announced an access to an atomic of this size at this address, and
            // memory that was freed since is kept until the execution is over.
            unsafe { std_atomic::$atomic::from_ptr(pointer) }.store(value as $type, StdOrdering::Relaxed);
        }};
    }
    match size {
        1 => store!(AtomicU8, u8),
        2 => store!(AtomicU16, u16),
        4 => store!(AtomicU32, u32),
        8 => store!(AtomicU64, u64),
        _ => {}
    }
}

/// The ordering in the words of the memory model.
fn ordering(order: StdOrdering) -> Ordering {
    match order {
        StdOrdering::Relaxed => Ordering::Relaxed,
        StdOrdering::Acquire => Ordering::Acquire,
        StdOrdering::Release => Ordering::Release,
        StdOrdering::AcqRel => Ordering::AcqRel,
        // Whatever else there may be is no weaker than anything we know.
        _ => Ordering::SeqCst,
    }
}

/// How an operation on an object of the shims orders what is around it: what std promises of it, or does. Nothing
/// for what is none.
fn ordering_of(action: Action) -> Option<Ordering> {
    Some(match action {
        Action::Lock
        | Action::TryLock
        | Action::ReadLock
        | Action::TryReadLock
        | Action::WriteLock
        | Action::AwaitReaders
        | Action::Once
        | Action::Receive
        | Action::TryReceive
        | Action::Park
        | Action::Acquire
        | Action::TryAcquire
        | Action::ArcUpgrade
        | Action::ArcUnique => Ordering::Acquire,
        Action::Unlock
        | Action::ReadUnlock
        | Action::OnceDone
        | Action::Send
        | Action::TrySend
        | Action::Disconnect
        | Action::Unpark
        | Action::Release
        | Action::ArcDrop => Ordering::Release,
        Action::BarrierArrive | Action::BarrierLeave | Action::Exit | Action::Detach => Ordering::AcqRel,
        Action::Wait
        | Action::Wake
        | Action::NotifyOne
        | Action::NotifyAll
        | Action::IsFinished
        | Action::IsPoisoned
        | Action::ClearPoison
        | Action::Poison
        | Action::ArcClone
        | Action::ArcCount
        | Action::Drop => Ordering::Relaxed,
        Action::Load
        | Action::Look
        | Action::Store
        | Action::Swap
        | Action::CompareExchange
        | Action::FetchAdd
        | Action::FetchSub
        | Action::FetchAnd
        | Action::FetchNand
        | Action::FetchOr
        | Action::FetchXor
        | Action::FetchMax
        | Action::FetchMin
        | Action::FetchUpdate
        | Action::Fence
        | Action::Block
        | Action::Join
        | Action::Nothing
        | Action::Whim
        | Action::Yield
        | Action::Claim => return None,
    })
}

/// Did a turn read the same whenever it read the same location? If not, the next turn reads something else without
/// anybody else.
fn is_stable(turn: &[(Step, Value)]) -> bool {
    let read = |&(step, value): &(Step, Value)| match step {
        Step::Read { location, .. } => Some((location, value)),
        _ => None,
    };
    let mut reads = turn.iter().filter_map(read);
    reads.all(|(location, value)| {
        let last = turn.iter().rev().filter_map(read).find(|other| other.0 == location);
        last.is_none_or(|last| last.1 == value)
    })
}

impl Handle {
    /// Is the execution made against a graph?
    #[inline]
    pub(crate) fn is_weak(self) -> bool {
        // SAFETY: as in `access`.
        unsafe { (*self.0).weak.is_some() }
    }

    /// Posts a step and waits until it is taken. Nothing if the execution is taken down and the thread cannot be
    /// unwound.
    fn post_step(self, step: Step) -> Option<Value> {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `go`: this code runs on a fiber of the execution, and references end before the switch.
        unsafe {
            let current = (*self.0).current;
            if (*self.0).has_lent() {
                (*self.0).take_back_lent(current);
            }
            if (*self.0).mode == Mode::Unwinding {
                self.pass();
                return None;
            }
            let state = (*self.0).weak.as_mut()?.thread(current);
            let failed = matches!(state.stops, Some(Stop::Failed));
            state.posted = Some(if failed { Step::Failed(0) } else { step });
            let panics = panic_count::put_aside();
            let yielder = (&(*self.0).fibers)[current.index()].yielder();
            (*yielder).suspend(Pause::Suspended);
            if panics > 0 {
                panic_count::bring_back(panics);
            }
            if (*self.0).mode == Mode::Unwinding {
                if !std::thread::panicking() {
                    std::panic::resume_unwind(Box::new(Abandoned));
                }
                return None;
            }
            Some((*self.0).weak.as_mut()?.thread(current).answer)
        }
    }

    /// The running thread is about to take the step that this says.
    fn stand_at(self, line: Line) {
        // SAFETY: as in `post_step`.
        unsafe {
            let current = (*self.0).current;
            if let Some(weak) = (*self.0).weak.as_mut() {
                weak.thread(current).line = Some(line);
            }
        }
    }

    /// Posts a step that has no answer.
    fn take_step(self, step: Step) {
        let _ = self.post_step(step);
    }

    /// An announcement in an execution against a graph. What is no operation on an atomic is made here.
    pub(in crate::execution) fn announce_weakly(
        self,
        action: Action,
        address: usize,
        site: &'static Site<'static>,
        wait: Option<(&'static Wait, *const ())>,
    ) {
        // SAFETY: as in `post_step`.
        unsafe {
            let me = &mut *self.0;
            if me.mode == Mode::Unwinding {
                return self.pass();
            }
            let current = me.current;
            let Some(weak) = me.weak.as_mut() else { return };
            weak.thread(current).line = Some(Line { site, action });
            if wait.is_some_and(|(wait, _)| std::ptr::eq(wait, &ENDED)) || action == Action::Join {
                return;
            }
            if address != 0 {
                self.look_for_turn(action, address, site);
            }
            if let Some(ordering) = ordering_of(action) {
                let word = Word::object(address);
                // It writes what is there: only the order counts, and a loop that looks at it sees no change.
                let update = Update::Add(0);
                self.access_weakly(word, Access::Update { update, success: ordering, failure: ordering });
            } else if !(action.is_atomic() || matches!(action, Action::Fence | Action::Nothing)) {
                self.misuse(&format!("{} has no meaning under a weak memory model", action.name()));
            }
        }
    }

    /// The running thread is about to access `address`. Has it made a turn without effect since it was here before?
    fn look_for_turn(self, action: Action, address: usize, site: &'static Site<'static>) {
        // SAFETY: as in `post_step`; nothing here switches but `post_step` at the end.
        unsafe {
            let me = &mut *self.0;
            let current = me.current;
            let own = &me.threads[current.index()];
            let Some(weak) = me.weak.as_mut() else { return };
            let watched = weak.suspicion == Suspicion::Watched;
            let mut state = 0;
            if watched {
                state = local_state::raw(&me.entry, own.top);
                for (from, size) in own.locals.bytes() {
                    state = local_state::mix(state, from, size);
                }
            }
            let beliefs = Arc::clone(&weak.beliefs);
            let thread = weak.thread(current);
            thread.yields = 0;
            if thread.trial.is_some() {
                return;
            }
            let visit = Visit {
                address,
                site: Intent::site_number(action, site),
                state: u128::from(state),
                events: thread.events,
                asked: thread.turn.len(),
            };
            let same = |other: &&Visit| {
                (other.address, other.site, other.state) == (visit.address, visit.site, visit.state)
                    && other.events < visit.events
            };
            let Some(at) = thread.visits.iter().position(|before| same(&before)) else {
                if thread.visits.len() < MOST_VISITS {
                    thread.visits.push(visit);
                }
                return;
            };
            let before = std::mem::replace(&mut thread.visits[at], visit);
            let turn = &thread.turn[before.asked..];
            if !is_stable(turn) {
                return;
            }
            if !watched {
                if local_state::AVAILABLE {
                    weak.suspicion = Suspicion::Raised;
                    self.take_step(Step::Endless);
                }
                return;
            }
            match beliefs.of(visit.site) {
                Belief::Counts => {}
                Belief::Waits => {
                    thread.stops = Some(Stop::Turn(before.events));
                    self.take_step(Step::Blocked);
                }
                // What it does from here on is apart from the graph.
                Belief::Unknown => {
                    thread.trial = Some(Trial::new(visit.site, before.events, turn));
                }
            }
        }
    }

    /// The running thread did something that others may see, or begins anew.
    pub(crate) fn has_effect(self) {
        // SAFETY: as in `post_step`.
        unsafe {
            let current = (*self.0).current;
            if let Some(weak) = (*self.0).weak.as_mut() {
                let thread = weak.thread(current);
                thread.visits.clear();
                thread.turn.clear();
            }
        }
    }

    /// An access to a word: what was there.
    fn access_weakly(self, word: Word, access: Access) -> Option<Value> {
        let location = self.name_weakly(word)?;
        let old = self.post_step(Step::Read { location, access })?;
        if word.size > 0 && access.written(old).is_some_and(|new| new != old) {
            self.has_effect();
        }
        Some(old)
    }

    /// The location of a word; the program stops where that cannot be said.
    fn name_weakly(self, word: Word) -> Option<linpoint_memory::Location> {
        let outside = heap::Outside::enter();
        // SAFETY: as in `post_step`.
        unsafe {
            let me = &mut *self.0;
            if me.mode == Mode::Unwinding {
                self.pass();
                return None;
            }
            let current = me.current;
            let mut weak = me.weak.take()?;
            let named = weak.places.name(word, &weak.blocks, |address| me.region(address));
            let freed = word.address;
            let freed = weak.blocks.containing(freed).is_some_and(|(_, block)| block.freed.is_some());
            let moment = weak.moment(current);
            let is_reset = named.is_ok_and(|(location, _)| weak.begins_the_same(location));
            let named = named.map(|(location, before)| {
                weak.overwritten.extend(before.map(|before| (before, moment)));
                location
            });
            me.weak = Some(weak);
            drop(outside);
            if freed {
                self.use_after_free(word.address);
            }
            if named.is_ok() && !is_reset {
                self.misuse(
                    "a static does not begin with the same value in every execution: the program has to reset it",
                );
            }
            match named {
                Ok(location) => Some(location),
                Err(refused) => {
                    self.misuse(match refused {
                        Refused::Mixed => {
                            "atomics of different sizes, or that overlap, are at one place in memory, and what that \
                             means is not said by the memory model"
                        }
                        Refused::TooLarge => {
                            "a block of memory is too large for its locations to be named under a weak memory \
                             model, or there are too many blocks"
                        }
                        Refused::TooOften => {
                            "an atomic is overwritten too often without an atomic access to be explored under a weak \
                             memory model"
                        }
                    });
                    None
                }
            }
        }
    }

    /// Reads an atomic.
    #[inline(never)]
    pub(crate) fn load_weakly(self, word: Word, order: StdOrdering) -> Option<u64> {
        self.access_weakly(word, Access::Load(ordering(order))).map(|value| value as u64)
    }

    /// Writes an atomic. Nothing if the execution is being taken down.
    #[inline(never)]
    pub(crate) fn store_weakly(self, word: Word, bits: u64, order: StdOrdering) -> Option<()> {
        let location = self.name_weakly(word)?;
        self.post_step(Step::Write { location, ordering: ordering(order), value: bits as Value })?;
        self.has_effect();
        Some(())
    }

    /// Reads and writes an atomic as one; gives what was there.
    #[inline(never)]
    pub(crate) fn change_weakly(
        self,
        word: Word,
        change: Change,
        success: StdOrdering,
        failure: StdOrdering,
    ) -> Option<u64> {
        let update = match change {
            Change::Swap(bits) => Update::Swap(bits as Value),
            Change::Exchange(current, new) => Update::CompareExchange(current as Value, new as Value),
            Change::Operate(operator, width, operand) => Update::Typed(operator, width, operand as Value),
        };
        let access = Access::Update { update, success: ordering(success), failure: ordering(failure) };
        self.access_weakly(word, access).map(|value| value as u64)
    }

    /// Does something that may fail without a reason do so? Each thread may be asked so often as the limits say.
    pub(crate) fn strikes_weakly(self, can: bool) -> bool {
        // SAFETY: as in `post_step`.
        let left = unsafe {
            let (current, limit) = ((*self.0).current, (*self.0).limits.spurious);
            let Some(weak) = (*self.0).weak.as_mut() else { return false };
            weak.thread(current).spurious < limit
        };
        if !can || !left || self.post_step(Step::Choose(2)) != Some(1) {
            return false;
        }
        // SAFETY: as in `post_step`.
        unsafe {
            let current = (*self.0).current;
            if let Some(weak) = (*self.0).weak.as_mut() {
                weak.thread(current).spurious += 1;
            }
        }
        self.has_effect();
        true
    }

    /// A number below this, which the program does not determine.
    pub(crate) fn choose_weakly(self, of: u32) -> Option<u32> {
        let chosen = self.post_step(Step::Choose(of))?;
        self.has_effect();
        u32::try_from(chosen).ok()
    }

    /// What the running thread does here leads nowhere: another execution has it otherwise.
    pub(crate) fn stop_weakly(self) {
        self.take_step(Step::Blocked);
    }

    /// A fence.
    pub(crate) fn fence_weakly(self, order: StdOrdering, site: &'static Site<'static>) {
        self.stand_at(Line { site, action: Action::Fence });
        self.take_step(Step::Fence(ordering(order)));
    }

    /// Waits for the end of a thread.
    pub(in crate::execution) fn join_weakly(self, thread: ThreadId) {
        self.take_step(Step::Join(thread.index()));
        self.has_effect();
    }

    /// Cannot go on with what it announced: waits for an object, for good.
    pub(in crate::execution) fn wait_weakly(self, wait: &'static Wait, object: *const ()) {
        // SAFETY: as in `post_step`.
        unsafe {
            let current = (*self.0).current;
            if let Some(weak) = (*self.0).weak.as_mut() {
                weak.thread(current).stops = Some(Stop::Wait(wait, object));
            }
        }
        self.take_step(Step::Blocked);
    }

    /// The program allocates a block.
    pub(in crate::execution) fn allocated_weakly(self, block: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: as in `post_step`.
        unsafe {
            let current = (*self.0).current;
            let Some(weak) = (*self.0).weak.as_mut() else { return };
            let made = weak.moment(current);
            let thread = weak.thread(current);
            thread.allocations += 1;
            let number = thread.allocations;
            // What this allocates and frees itself comes here, too, and finds nothing.
            let mut blocks = std::mem::take(&mut weak.blocks);
            blocks.add(block.expose_provenance(), layout, number, made);
            if let Some(weak) = (*self.0).weak.as_mut() {
                weak.blocks = blocks;
            }
        }
    }

    /// The program frees a block. Is it kept for now?
    pub(in crate::execution) fn freed_weakly(self, address: usize) -> bool {
        // SAFETY: as in `post_step`.
        let again = unsafe {
            let (current, mode) = ((*self.0).current, (*self.0).mode);
            let Some(weak) = (*self.0).weak.as_mut() else { return false };
            let moment = weak.moment(current);
            let when = (mode == Mode::Exploring).then_some(moment);
            match weak.blocks.free(address, when) {
                Freeing::Unknown => return false,
                Freeing::Kept => return true,
                Freeing::Again(block, freed) => judge::freed_again(weak.blocks.get(block), moment, freed),
            }
        };
        self.fail(again);
        true
    }

    /// The running thread accesses memory that was freed.
    fn use_after_free(self, address: usize) {
        // SAFETY: as in `post_step`.
        let failure = unsafe {
            let current = (*self.0).current;
            let Some(weak) = (*self.0).weak.as_mut() else { return };
            let moment = weak.moment(current);
            let Some((_, block)) = weak.blocks.containing(address) else { return };
            block.freed.map(|freed| judge::used(block, moment, freed))
        };
        if let Some(failure) = failure {
            self.fail(failure);
        }
    }

    /// The last counted reference to what is at `address` goes: for others it is gone already.
    pub(in crate::execution) fn dies(self, address: usize) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `post_step`.
        unsafe {
            if let Some(weak) = (*self.0).weak.as_mut() {
                weak.dying.push(address);
            }
        }
    }

    /// Is the last counted reference to what is at `address` gone, or about to go?
    pub(crate) fn is_dying(self, address: usize) -> bool {
        // SAFETY: as in `post_step`.
        unsafe { (*self.0).weak.as_ref().is_some_and(|weak| weak.dying.contains(&address)) }
    }

    /// The cell that was noted last is at this address.
    pub(crate) fn cell_at(self, address: usize) {
        let _outside = heap::Outside::enter();
        // SAFETY: as in `post_step`.
        unsafe {
            let noted = (*self.0).run.asides.len();
            let Some(weak) = (*self.0).weak.as_mut() else { return };
            let block = weak.blocks.containing(address);
            let freed = block.is_some_and(|(_, block)| block.freed.is_some());
            weak.cells.resize(noted.saturating_sub(1), None);
            weak.cells.push(block.map(|(index, _)| index));
            if freed && (*self.0).mode == Mode::Exploring {
                self.use_after_free(address);
            }
        }
    }

    /// The number of the next child of the running thread.
    pub(in crate::execution) fn child_weakly(self) -> Option<usize> {
        // SAFETY: as in `post_step`.
        unsafe {
            let current = (*self.0).current;
            let weak = (*self.0).weak.as_mut()?;
            let child = weak.thread(current).children;
            weak.numbers.of(current.index(), child)
        }
    }

    /// Creates a thread.
    #[track_caller]
    pub(in crate::execution) fn spawn_weakly(self, job: Job, stack_size: usize) -> ThreadId {
        let number = self.child_weakly();
        // SAFETY: as in `post_step`.
        let placed = unsafe {
            let me = &mut *self.0;
            let current = me.current;
            match number {
                Some(number) => {
                    if let Some(weak) = me.weak.as_mut() {
                        let parent = weak.thread(current);
                        parent.children += 1;
                        parent.line = Some(Line { site: Site::caller(), action: Action::Nothing });
                    }
                    me.place_thread(number, job, stack_size).map(|()| number)
                }
                None => Err(Failure::Misuse(format!(
                    "the program has more than {} threads, which is the most under a weak memory model",
                    linpoint_memory::MAX_THREADS
                ))),
            }
        };
        match placed {
            Ok(number) => {
                self.take_step(Step::Create(number));
                self.has_effect();
                ThreadId(number as u8)
            }
            Err(failure) => {
                self.fail(failure);
                std::panic::resume_unwind(Box::new(Abandoned));
            }
        }
    }

    /// An operation of the object under test begins or ends.
    pub(crate) fn mark_weakly(self, step: Step, site: &'static Site<'static>) {
        self.stand_at(Line { site, action: Action::Nothing });
        self.take_step(step);
        self.has_effect();
    }

    /// A thread that goes round a loop says so. One that does nothing else goes round for ever.
    pub(in crate::execution) fn yields_weakly(self) {
        // SAFETY: as in `post_step`.
        let endless = unsafe {
            let current = (*self.0).current;
            let Some(weak) = (*self.0).weak.as_mut() else { return };
            let thread = weak.thread(current);
            thread.yields += 1;
            thread.yields > MOST_YIELDS
        };
        if endless {
            self.take_step(Step::Endless);
        }
    }
}

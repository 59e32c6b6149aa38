//! What the shims need of an execution beside scheduling points: to wait, to look up the state of a thread, and to
//! note what counts for races on cells.
//!
//! # When a thread cannot wait
//! Inside an atomic block nobody else can go: to wait there is a misuse. When a run is taken down, threads are unwound one
//! after the other, and nobody else goes meanwhile: a destructor that would wait then goes on without what it waited
//! for, and what it does is seen by nobody.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Execution, Handle, Mode};
use crate::data_race::DataRaces;
use crate::event::{Access, Action, Effect, Intent, Step, ThreadId, ThreadSet};
use crate::failure::Failure;
use crate::heap;
use crate::leak::Given;
use crate::local::Locals;
use crate::run::{Aside, AsideKind, Run};
use crate::sync::CountChange;
use crate::thread::ENDED;

/// The part of an execution that serves the shims.
pub(super) struct State {
    /// The number of the run, different from that of every other run in the process.
    stamp: u64,
    /// How many numbers are left of those this execution may use without asking.
    stamps_left: u64,
    /// The tokens of [`crate::thread::park`], by thread. Their addresses stand for them.
    tokens: Box<[AtomicBool; ThreadSet::CAPACITY]>,
    /// How many failures without a reason are left to be taken. In a box: its address stands for it.
    whims: Box<u32>,
    /// The ends of the threads, as locations.
    ends: Box<[u8; ThreadSet::CAPACITY]>,
    /// Those whose end others can see, though they may still have values of their own to drop.
    exited: ThreadSet,
    /// Those of them that had, with what they had done by then ([`Handle::post`]).
    lingering: Vec<(ThreadId, u32)>,
    names: Vec<(ThreadId, Arc<str>)>,
    /// Cells touched so far.
    cells: u32,
    /// Clocks sent along with something so far.
    posts: u32,
    /// Pointers into cells that were handed out since a thread's latest step.
    lent: Vec<Lent>,
    /// Scheduling points passed without a stop, because the run is taken down.
    passed: u64,
    /// A thread could not wait, though it had to. It fails the run unless something worse does.
    could_not_wait: Option<Failure>,
    races: DataRaces,
    /// Was an atomic accessed without atomicity?
    plain: bool,
    /// What is to be given back.
    given: Given,
    /// The steps of the run before.
    previous: Vec<Step>,
    /// At which of them somebody only went round a loop.
    stuttered_before: Vec<(u32, ThreadSet)>,
    /// The same of this run.
    stuttered: Vec<(u32, ThreadSet)>,
    /// Did this run take the same steps so far?
    follows: bool,
}

/// A pointer into a cell, handed out by a thread that has not come to its next step yet.
struct Lent {
    thread: ThreadId,
    /// Where the cell is.
    cell: usize,
    /// The access to the cell, as an index into the run's asides: a read, so far.
    aside: usize,
    address: usize,
    size: usize,
    /// A hash of what was there.
    before: u64,
}

/// Larger cells are not compared.
const LARGEST_LENT: usize = 1 << 12;

/// A hash of `size` bytes at `address`, at most [`LARGEST_LENT`]; none if they are no longer there.
#[inline(never)]
fn hash_bytes(address: usize, size: usize) -> Option<u64> {
    let mut bytes = [0; LARGEST_LENT];
    let bytes = &mut bytes[..size];
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    copy_memory(address, bytes).then(|| bytes.iter().fold(0xcbf2_9ce4_8422_2325, add))
}

/// Copies what is at `address`, and says whether anything is there. A cell may have been moved since, and its memory be gone: so the kernel is
/// asked to copy, which finds that out instead of failing.
#[cfg(target_os = "linux")]
fn copy_memory(address: usize, into: &mut [u8]) -> bool {
    let to = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let from = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: into.len() };
    // SAFETY: the kernel writes into `into` and nowhere else; whether `from` can be read it checks itself.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &to, 1, &from, 1, 0) };
    usize::try_from(copied).is_ok_and(|copied| copied == into.len())
}

/// Elsewhere a pointer that was handed out counts as a read.
#[cfg(not(target_os = "linux"))]
fn copy_memory(_address: usize, _into: &mut [u8]) -> bool {
    false
}

/// Scheduling points that may be passed while a run is taken down, before a thread is taken to go round for ever.
const PASSED: u64 = 1 << 16;

/// Numbers of runs handed out at a time.
const STAMPS: u64 = 1 << 20;

static NEXT_STAMP: AtomicU64 = AtomicU64::new(1);

impl State {
    pub(super) fn new() -> State {
        State {
            stamp: 0,
            stamps_left: 0,
            tokens: Box::new([const { AtomicBool::new(false) }; ThreadSet::CAPACITY]),
            whims: Box::new(0),
            ends: Box::new([0; ThreadSet::CAPACITY]),
            exited: ThreadSet::EMPTY,
            lingering: Vec::new(),
            names: Vec::new(),
            cells: 0,
            posts: 0,
            lent: Vec::new(),
            passed: 0,
            could_not_wait: None,
            races: DataRaces::default(),
            plain: false,
            given: Given::default(),
            previous: Run::with_room().steps,
            stuttered_before: Vec::new(),
            stuttered: Vec::new(),
            follows: false,
        }
    }

    /// A new run comes; `run` is still the record of the one before.
    pub(super) fn next_run(&mut self, run: &mut Run) {
        std::mem::swap(&mut self.previous, &mut run.steps);
        std::mem::swap(&mut self.stuttered_before, &mut self.stuttered);
    }

    /// A run begins, after one with so many threads. Does it follow the one before for a while?
    pub(super) fn reset(&mut self, threads: usize, follows: bool) {
        self.follows = follows;
        self.stuttered.clear();
        if self.stamps_left == 0 {
            self.stamp = NEXT_STAMP.fetch_add(STAMPS, Ordering::Relaxed);
            self.stamps_left = STAMPS;
        } else {
            self.stamp += 1;
        }
        self.stamps_left -= 1;
        for token in &self.tokens[..threads] {
            token.store(false, Ordering::Relaxed);
        }
        self.exited = ThreadSet::EMPTY;
        self.lingering.clear();
        self.names.clear();
        *self.whims = 0;
        self.cells = 0;
        self.plain = false;
        self.given.forget();
        self.posts = 0;
        self.lent.clear();
        self.passed = 0;
        self.could_not_wait = None;
    }

    /// Another run is made meanwhile, which is not to be noted: keeps what was noted of the latest.
    pub(super) fn put_stuttered_aside(&mut self) -> Vec<(u32, ThreadSet)> {
        std::mem::take(&mut self.stuttered)
    }

    /// After it, as it was.
    pub(super) fn bring_stuttered_back(&mut self, stuttered: Vec<(u32, ThreadSet)>) {
        self.stuttered = stuttered;
        self.could_not_wait = None;
    }

    /// Forgets all runs there were, the latest of which had so many threads. The numbers of runs go on.
    pub(super) fn forget(&mut self, threads: usize) {
        self.reset(threads, false);
        self.previous.clear();
        self.stuttered_before.clear();
    }

    /// What the shims found wrong in a run that nothing else did.
    pub(super) fn judge(&mut self, run: &Run) -> Option<Failure> {
        let races = self.cells > 0 || self.plain;
        self.could_not_wait.take().or_else(|| if races { self.races.check(run) } else { None })
    }

    /// A thread could not wait though it had to.
    pub(super) fn could_not_wait(&mut self) -> Option<Failure> {
        self.could_not_wait.take()
    }

    /// The number of something that is kept for a thread, if that is what is at this address.
    pub(super) fn own_number(&self, address: usize) -> Option<usize> {
        let tokens = self.tokens.as_ptr().addr();
        let ends = self.ends.as_ptr().addr();
        let token = address.checked_sub(tokens).filter(|&at| at < self.tokens.len());
        let end = || address.checked_sub(ends).filter(|&at| at < self.ends.len());
        token.or_else(|| end().map(|end| end + self.tokens.len()))
    }

    /// What a run that came to its end should have given back.
    pub(super) fn left(&self) -> Option<Failure> {
        self.given.judge()
    }

    /// A thread that is unwound passed a scheduling point. Does it go round for ever, waiting for another?
    pub(super) fn passed(&mut self) -> bool {
        self.passed += 1;
        self.passed > PASSED
    }

    /// A step is about to be taken. While the run follows the one before, the program must do what it did then. Who
    /// only goes round a loop does not count: that is not recognised every time.
    #[inline]
    pub(super) fn same(
        &mut self,
        index: usize,
        thread: ThreadId,
        action: Action,
        enabled: ThreadSet,
        stuttering: ThreadSet,
    ) -> Result<(), String> {
        if !self.follows && stuttering.is_empty() {
            return Ok(());
        }
        match self.previous.get(index) {
            Some(before)
                if before.enabled == enabled
                    && before.thread == thread
                    && before.action == action
                    && stuttering.is_empty() =>
            {
                Ok(())
            }
            before => self.differs(index, before.copied(), thread, action, enabled, stuttering),
        }
    }

    /// Is a step, at which nobody goes round a loop, the one of the run before, or has this run left that one?
    #[inline]
    pub(super) fn goes_along(
        &self,
        index: usize,
        thread: ThreadId,
        action: Action,
        enabled: ThreadSet,
    ) -> bool {
        !self.follows
            || self.previous.get(index).is_some_and(|before| {
                before.enabled == enabled && before.thread == thread && before.action == action
            })
    }

    #[cold]
    fn differs(
        &mut self,
        index: usize,
        before: Option<Step>,
        thread: ThreadId,
        action: Action,
        enabled: ThreadSet,
        stuttering: ThreadSet,
    ) -> Result<(), String> {
        if !stuttering.is_empty() {
            heap::outside(|| self.stuttered.push((index as u32, stuttering)));
        }
        if !self.follows {
            return Ok(());
        }
        let Some(before) = before else {
            self.follows = false;
            return Ok(());
        };
        let mut differ = ThreadSet(before.enabled.0 ^ enabled.0);
        if !differ.is_empty() {
            let then = self.stuttered_before.iter().find(|stuttered| stuttered.0 == index as u32);
            differ.0 &= !(stuttering.0 | then.map_or(0, |stuttered| stuttered.1.0));
        }
        if let Some(other) = differ.first() {
            let (now, then) =
                if enabled.contains(other) { ("can", "could not") } else { ("cannot", "could") };
            return Err(format!("thread {} {now} go, and {then} before", other.0));
        }
        if before.thread != thread {
            self.follows = false;
        } else if before.action != action {
            let (now, then) = (action.name(), before.action.name());
            return Err(format!("thread {} is about to {now}, and was about to {then} before", thread.0));
        }
        Ok(())
    }
}

impl Execution {
    /// Was a pointer into a cell handed out and not looked at again?
    #[inline]
    pub(super) fn has_lent(&self) -> bool {
        !self.shims.lent.is_empty()
    }

    /// `thread` comes to its next step. Where it was handed a pointer to a cell and that has another value now, it wrote.
    #[cold]
    #[inline(never)]
    pub(super) fn take_back_lent(&mut self, thread: ThreadId) {
        self.take_back(|lent| lent.thread == thread);
    }

    fn take_back(&mut self, which: impl Fn(&Lent) -> bool) {
        let asides = &mut self.run.asides;
        self.shims.lent.retain(|lent| {
            if !which(lent) {
                return true;
            }
            if hash_bytes(lent.address, lent.size).is_some_and(|now| now != lent.before)
                && let Some(Aside { kind: AsideKind::Cell { effect, .. }, .. }) = asides.get_mut(lent.aside)
            {
                *effect = Effect::Write;
            }
            false
        });
    }
}

impl Handle {
    // What notes something is not inlined: what it leaves in the frame of its caller, such as the length of the record,
    // would be different in every turn of a loop, and count as the state of the loop.

    fn execution<'a>(self) -> &'a mut Execution {
        // SAFETY: code on a fiber is the only code that runs, and no other reference to the execution lives while it
        // does; the callers let go of this one before they switch or call anything of the program's.
        unsafe { &mut *self.0 }
    }

    /// A scheduling point at which the thread may have to wait. Returns whether what it waits for is there: not if
    /// the thread panics, for then it cannot wait.
    #[track_caller]
    pub(crate) fn wait(self, intent: Intent) -> bool {
        self.point(intent);
        let Some((wait, object)) = intent.wait else { return true };
        // SAFETY: promised by whoever made the announcement.
        if self.is_weak() && (std::ptr::eq(wait, &ENDED) || intent.action == Action::Join) {
            return true;
        }
        // SAFETY: as above.
        if unsafe { (wait.ready)(object) } {
            return true;
        }
        if self.is_weak() && !self.in_block() {
            self.wait_weakly(wait, object);
            return false;
        }
        self.cannot_wait(&intent);
        false
    }

    #[cold]
    fn cannot_wait(self, intent: &Intent) {
        let outside = heap::Outside::enter();
        let thread = self.thread().0;
        let (action, site) = (intent.action.name(), intent.site);
        if std::thread::panicking() {
            if !self.doomed() {
                let text = format!(
                    "misuse: thread {thread} waits to {action} at {site} while it panics, and no other thread can \
                     go while one panics"
                );
                self.execution().shims.could_not_wait.get_or_insert(Failure::Misuse(text));
            }
            return;
        }
        let text = format!(
            "thread {thread} waits to {action} at {site} inside an atomic block, where no other thread can go"
        );
        drop(outside);
        self.misuse(&text);
    }

    /// Fails the run and leaves the thread.
    #[cold]
    pub(crate) fn misuse(self, text: &str) {
        let failure = heap::outside(|| Failure::Misuse(format!("misuse: {text}")));
        if std::thread::panicking() {
            self.execution().shims.could_not_wait.get_or_insert(failure);
            return;
        }
        self.fail(failure);
        self.unwind();
    }

    /// Is the run over in all but name? What the program does from here on is seen by nobody.
    pub(crate) fn doomed(self) -> bool {
        let me = self.execution();
        me.mode == Mode::Unwinding || me.failure.is_some()
    }

    /// The program keeps something behind `address`. Unless that is in the heap, no fingerprint of a state sees it.
    pub(crate) fn hides_state_at(self, address: usize) {
        let me = self.execution();
        me.hidden_state |= !me.blocks.contains(address);
    }

    /// The number of the run, different from that of every other run in the process. It fits into 40 bits.
    pub(crate) fn stamp(self) -> u64 {
        self.execution().shims.stamp
    }

    /// Notes something that counts for races on cells.
    #[inline(never)]
    pub(crate) fn aside(self, kind: AsideKind) {
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if me.mode == Mode::Exploring {
            let at = match &me.weak {
                None => me.run.accesses.len() as u32,
                Some(weak) => weak.events(me.current),
            };
            me.run.asides.push(Aside { thread: me.current, at, kind });
        }
    }

    /// Notes a plain access to the atomic at `address`.
    #[inline(never)]
    pub(crate) fn plain(self, address: usize, effect: Effect, site: &'static Location<'static>) {
        self.hides_state();
        let loc = heap::outside(|| {
            let me = self.execution();
            me.shims.plain = true;
            me.locations.name(address)
        });
        self.aside(AsideKind::Plain { loc, effect, site });
    }

    /// The atomic at `address` had plain accesses, and goes.
    #[inline(never)]
    pub(crate) fn plain_gone(self, address: usize) {
        let loc = heap::outside(|| self.execution().locations.name(address));
        self.aside(AsideKind::Gone(loc));
    }

    /// What is to be given back, if that matters.
    pub(crate) fn given<'a>(self) -> Option<&'a mut Given> {
        let me = self.execution();
        me.limits.leaks_fail.then_some(&mut me.shims.given)
    }

    /// Are schedules to be explored from here on?
    pub(crate) fn set_focus(self, explores: bool) {
        let me = self.execution();
        me.focused = explores;
        me.was_unfocused |= !explores;
        me.disturb();
    }

    /// Notes a fence.
    #[track_caller]
    pub(crate) fn fence(self, order: Ordering) {
        if self.is_weak() {
            return self.fence_weakly(order, Location::caller());
        }
        self.aside(AsideKind::Fence(order));
    }

    /// A number for a cell that has none in this run.
    #[inline(never)]
    pub(crate) fn name_cell(self) -> u32 {
        let me = self.execution();
        me.shims.cells += 1;
        me.shims.cells
    }

    /// How many steps the running thread has taken.
    pub(crate) fn own_steps(self) -> u32 {
        let me = self.execution();
        me.threads[me.current.index()].steps
    }

    /// The latest aside is that of a cell to which a pointer was handed out.
    #[inline(never)]
    pub(crate) fn lend(self, cell: usize, address: usize, size: usize) {
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if me.mode == Mode::Exploring && (1..=LARGEST_LENT).contains(&size) {
            let (thread, aside) = (me.current, me.run.asides.len() - 1);
            let Some(before) = hash_bytes(address, size) else { return };
            me.shims.lent.push(Lent { thread, cell, aside, address, size, before });
            // The next step has to look.
            me.disturb();
        }
    }

    /// A cell goes: pointers to it that were handed out are looked at while it is still there.
    #[inline]
    pub(crate) fn forget_lent(self, cell: usize) {
        let me = self.execution();
        if me.has_lent() {
            me.take_back(|lent| lent.cell == cell);
        }
    }

    /// What the thread did so far goes along with something; [`Handle::take`] with this number is where it arrives.
    pub(crate) fn post(self) -> u32 {
        let me = self.execution();
        me.shims.posts += u32::from(!me.is_twin());
        let number = me.shims.posts;
        self.aside(AsideKind::Post(number));
        number
    }

    /// What was posted under this number arrives.
    pub(crate) fn take(self, number: u32) {
        self.aside(AsideKind::Take(number));
    }

    /// Notes that the thread takes a lock (`changed` is nothing) or releases it (`changed` says whether it may have
    /// changed what is behind it). To the explorer both are reads and writes. Going round a loop is another matter: a
    /// turn that locks, looks and unlocks again leaves everything as it was.
    #[inline(never)]
    pub(crate) fn lock_access(
        self,
        action: Action,
        address: usize,
        ordering: Ordering,
        changed: Option<bool>,
    ) {
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if me.mode == Mode::Unwinding || self.only_has_effect(true) {
            return;
        }
        let held = me.locations.name(held_address(address));
        me.locations.written(held);
        self.visit(action, address, ordering, changed);
    }

    /// Notes an access that reads and writes, one of several that together change nothing: the first (`changed` is
    /// nothing), or a later one (`changed` says whether they do change something after all).
    #[inline(never)]
    pub(crate) fn visit(self, action: Action, address: usize, ordering: Ordering, changed: Option<bool>) {
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if me.mode == Mode::Unwinding || self.only_has_effect(true) {
            return;
        }
        let loc = me.locations.name(address);
        let bits = if changed.is_none() { u64::from(me.current.0) + 1 } else { 0 };
        me.locations.set_bits(loc, bits);
        me.hidden_state |= !me.blocks.contains(address);
        me.locations.visited(loc);
        let thread = &mut me.threads[me.current.index()];
        let spin = &mut thread.spin;
        spin.visit(loc, me.locations.visits(loc));
        match changed {
            None => {
                spin.open(loc, me.locations.version(loc), thread.site, me.locations.visits(loc));
            }
            Some(true) => {
                me.locations.written(loc);
                spin.clear();
            }
            Some(false) => _ = spin.close(loc),
        }
        if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
            let effect = Effect::ReadWrite;
            me.run.accesses.push(Access { loc, effect, action, ordering });
        }
    }

    /// Notes that a thread found a lock held and goes on without it. A loop around that waits for the lock to be
    /// released, whatever was done under it.
    #[inline(never)]
    pub(crate) fn lock_refused(self, action: Action, address: usize) {
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if me.mode == Mode::Unwinding || self.only_has_effect(false) {
            return;
        }
        let loc = me.locations.name(address);
        let held = me.locations.name(held_address(address));
        let version = me.locations.version(held);
        me.locations.visited(loc);
        let thread = &mut me.threads[me.current.index()];
        let (site, spin) = (thread.site, &mut thread.spin);
        // The first is what the announcement of the next try is compared with.
        spin.read(loc, me.locations.version(loc), site);
        spin.read(held, version, site);
        if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
            let (effect, ordering) = (Effect::Read, Ordering::Relaxed);
            me.run.accesses.push(Access { loc, effect, action, ordering });
        }
    }

    /// Notes what a step did to the count of references at `address`. To others it is a read or a write as
    /// [`CountChange::effect`] says. In a loop, a turn that adds a reference and drops it leaves everything as it was.
    #[inline(never)]
    pub(crate) fn count_changed(self, action: Action, address: usize, change: CountChange) {
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if me.mode == Mode::Unwinding || self.only_has_effect(!matches!(change, CountChange::Seen(_))) {
            if self.is_weak() && matches!(change, CountChange::Last) {
                // Std's acquires in a fence of its own, which only the last one makes. The count is taken back after it.
                self.dies(address);
                self.acquires_weakly();
            }
            return;
        }
        let loc = me.locations.name(address);
        // The number itself, as a location of its own, for loops that wait until it changes.
        let number = me.locations.name(address - 1);
        me.hidden_state |= !me.blocks.contains(address);
        if !matches!(change, CountChange::Seen(_)) {
            me.locations.written(number);
        }
        me.locations.visited(loc);
        let visits = me.locations.visits(loc);
        let (version, number_version) = (me.locations.version(loc), me.locations.version(number));
        let thread = &mut me.threads[me.current.index()];
        let (site, spin) = (thread.site, &mut thread.spin);
        spin.visit(loc, visits);
        match change {
            CountChange::Added | CountChange::Upgraded => spin.open(loc, version, site, visits),
            // Others can see that a reference is gone which the turn did not take itself.
            CountChange::Dropped { .. } if spin.close(loc) => {}
            CountChange::Dropped { .. } => spin.clear(),
            CountChange::Last => spin.clear(),
            CountChange::Seen(_) => {
                // The first is what the announcement of the next look is compared with.
                spin.read(loc, version, site);
                spin.read(number, number_version, site);
            }
        }
        if me.mode == Mode::Exploring && !me.run.steps.is_empty() {
            let (effect, ordering) = (change.effect(), change.ordering());
            me.run.accesses.push(Access { loc, effect, action, ordering });
        }
    }

    /// How many times something may fail without a reason.
    pub(crate) fn spurious(self) -> u32 {
        self.execution().limits.spurious
    }

    /// What stands for the failures that are left to be taken.
    pub(crate) fn whims_address(self) -> usize {
        std::ptr::from_ref(&*self.execution().shims.whims).addr()
    }

    /// Leaves one more; returns how many there are.
    pub(crate) fn add_whim(self) -> u32 {
        let whims = &mut self.execution().shims.whims;
        **whims += 1;
        **whims
    }

    /// Takes one, if it `can` and there is one; returns that, and how many are left.
    pub(crate) fn take_whim(self, can: bool) -> (bool, u32) {
        let whims = &mut self.execution().shims.whims;
        let struck = can && **whims > 0;
        **whims -= u32::from(struck);
        (struck, **whims)
    }

    /// The token of [`crate::thread::park`]; it stays where it is.
    pub(crate) fn park_token(self, thread: ThreadId) -> *const AtomicBool {
        &self.execution().shims.tokens[thread.index()]
    }

    /// The end of a thread, as an address.
    pub(crate) fn end_address(self, thread: ThreadId) -> usize {
        std::ptr::from_ref(&self.execution().shims.ends[thread.index()]).addr()
    }

    /// The end of the running thread is there for others to see. It may have values of its own to drop yet: whoever joins it waits
    /// for that, and nobody else does.
    #[inline(never)]
    pub(crate) fn exits(self) {
        let thread = self.thread();
        let lingers = !self.locals().is_empty();
        let post = if lingers { self.post() } else { 0 };
        self.access(Action::Exit, self.end_address(thread), Effect::Write, Ordering::Relaxed, 1);
        let _outside = heap::Outside::enter();
        let shims = &mut self.execution().shims;
        shims.exited.insert(thread);
        shims.lingering.retain(|one| one.0 != thread);
        if lingers {
            shims.lingering.push((thread, post));
        }
    }

    /// Is the end of `thread` there for others to see?
    pub(crate) fn exited(self, thread: ThreadId) -> bool {
        self.finished(thread) || self.execution().shims.exited.contains(thread)
    }

    /// Notes that the running thread saw the end of `thread`, and did not wait for what that one dropped after it.
    pub(crate) fn saw_exit(self, thread: ThreadId) {
        if self.is_weak() {
            return self.joined(thread);
        }
        let lingering = self.execution().shims.lingering.iter().find(|one| one.0 == thread).map(|one| one.1);
        match lingering {
            None => self.joined(thread),
            Some(post) => {
                self.take(post);
                self.access(Action::Join, self.end_address(thread), Effect::Read, Ordering::Relaxed, 1);
            }
        }
    }

    /// In an execution against a graph an operation on an object is a step already: what is left is to say whether it
    /// has an effect.
    fn only_has_effect(self, has_effect: bool) -> bool {
        if has_effect && self.is_weak() {
            self.has_effect();
        }
        self.is_weak() || self.execution().is_twin()
    }

    /// The name of `thread`, if it was given one.
    pub(crate) fn name_of(self, thread: ThreadId) -> Option<Arc<str>> {
        self.execution().shims.names.iter().find(|named| named.0 == thread).map(|named| Arc::clone(&named.1))
    }

    /// Names the end of the thread that will be created next, now, while it is clear that it is no other location.
    pub(crate) fn name_end_of_next(self) {
        if self.is_weak() {
            return;
        }
        let _outside = heap::Outside::enter();
        let me = self.execution();
        if let Some(end) = me.shims.ends.get(me.next_thread().0) {
            me.locations.name(std::ptr::from_ref(end).addr());
        }
    }

    /// Names the thread that will be created next.
    pub(crate) fn name_next(self, name: &str) {
        let _outside = heap::Outside::enter();
        let child = self.child_weakly();
        let me = self.execution();
        let next = child.unwrap_or_else(|| me.next_thread().0);
        let next = ThreadId(next.min(ThreadSet::CAPACITY) as u8);
        // A copy that is not the program's, for it stays until the next run.
        me.shims.names.push((next, Arc::from(name)));
    }

    /// The thread-local values of the running thread.
    pub(crate) fn locals<'a>(self) -> &'a mut Locals {
        let me = self.execution();
        &mut me.threads[me.current.index()].locals
    }

    /// The steps taken so far, to be shown when the process is about to go down.
    pub(crate) fn schedule(self) -> Vec<ThreadId> {
        self.execution().run.schedule()
    }
}

/// Where a lock's being held is, as a location of its own: next to the lock's address, which is that of something
/// at least two bytes long.
fn held_address(address: usize) -> usize {
    address + 1
}

//! What an execution is made of: steps of threads, and the accesses each step makes.
//!
//! A *step* is what a thread does between two scheduling points: the access it announced (or several, in an atomic
//! block), and the local code up to its next announcement. Two accesses *depend* on each other when they touch the
//! same location and one of them writes; everything the strategies know about reordering rests on that.

use std::panic::Location;
use std::sync::atomic::Ordering;

/// A thread of the explored program, numbered in the order of creation; the program itself is thread 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u8);

impl ThreadId {
    /// As an index.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A shared location, numbered by first access within one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loc(pub u32);

impl Loc {
    const END: u32 = 1 << 31;
    const PROGRESS: u32 = 1 << 30;

    /// Where it is not known beforehand what will be touched.
    pub const UNKNOWN: Loc = Loc(u32::MAX);

    /// The end of a thread, as a location that only [`Action::Join`] touches.
    pub fn end_of(thread: ThreadId) -> Loc {
        Loc(Loc::END | u32::from(thread.0))
    }

    /// That a thread takes steps, as a location: each of its steps writes it, and a head of a turn reads those of all
    /// others (`fair.rs`).
    pub fn progress_of(thread: ThreadId) -> Loc {
        Loc(Loc::PROGRESS | u32::from(thread.0))
    }

    /// The thread whose progress this is, if it is one.
    pub fn progressing_thread(self) -> Option<ThreadId> {
        (self.0 & (Loc::END | Loc::PROGRESS) == Loc::PROGRESS).then_some(ThreadId(self.0 as u8))
    }

    /// Is it a place in memory, named by first access?
    pub fn is_memory(self) -> bool {
        self.0 & (Loc::END | Loc::PROGRESS) == 0
    }

    /// The thread whose end this is, if it is one.
    pub fn ended_thread(self) -> Option<ThreadId> {
        (self != Loc::UNKNOWN && self.0 & Loc::END != 0).then_some(ThreadId(self.0 as u8))
    }
}

/// A set of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ThreadSet(pub u64);

impl ThreadSet {
    /// The most threads an execution can have.
    pub const CAPACITY: usize = 64;

    /// Nobody.
    pub const EMPTY: ThreadSet = ThreadSet(0);

    /// Is it in?
    pub fn contains(self, thread: ThreadId) -> bool {
        self.0 >> thread.0 & 1 == 1
    }

    /// Adds a thread.
    pub fn insert(&mut self, thread: ThreadId) {
        self.0 |= 1 << thread.0;
    }

    /// Takes a thread out.
    pub fn remove(&mut self, thread: ThreadId) {
        self.0 &= !(1 << thread.0);
    }

    /// Nobody in it?
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The lowest of them.
    pub fn first(self) -> Option<ThreadId> {
        (self.0 != 0).then(|| ThreadId(self.0.trailing_zeros() as u8))
    }

    /// All of them, lowest first.
    pub fn iter(self) -> impl Iterator<Item = ThreadId> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let first = rest.first()?;
            rest.remove(first);
            Some(first)
        })
    }
}

/// Does an access read, write, or both? A compare-and-swap that failed is a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Effect {
    /// It looks.
    Read = 1,
    /// It overwrites.
    Write = 2,
    /// It looks and overwrites, as one.
    ReadWrite = 3,
}

impl Effect {
    /// Does it change the location?
    pub fn writes(self) -> bool {
        self as u8 & 2 != 0
    }

    /// Does it look at the location?
    pub fn reads(self) -> bool {
        self as u8 & 1 != 0
    }
}

/// What kind of step a thread announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Action {
    Load,
    /// A thread that spins looks again at what it read in its last turn.
    Look,
    Store,
    Swap,
    CompareExchange,
    FetchAdd,
    FetchSub,
    FetchAnd,
    FetchNand,
    FetchOr,
    FetchXor,
    FetchMax,
    FetchMin,
    FetchUpdate,
    Fence,
    Block,
    Lock,
    TryLock,
    Unlock,
    ReadLock,
    TryReadLock,
    ReadUnlock,
    Wait,
    Wake,
    NotifyOne,
    NotifyAll,
    BarrierArrive,
    BarrierLeave,
    Once,
    OnceDone,
    Send,
    TrySend,
    Receive,
    TryReceive,
    Disconnect,
    Join,
    Park,
    Unpark,
    Acquire,
    TryAcquire,
    Release,
    Nothing,
    /// Something may fail without a reason from here on, or does.
    Whim,
    /// A thread that goes round a loop lets others go first.
    Yield,
    /// A claim is made, or something happens that claims wait for. As an access: what a step touches because of claims.
    Claim,
    Exit,
    IsFinished,
    IsPoisoned,
    ClearPoison,
    /// A thread that unwinds notes so at the lock it is about to give back.
    Poison,
    ArcClone,
    ArcDrop,
    ArcUpgrade,
    ArcUnique,
    ArcCount,
    /// The handle of a thread goes, and perhaps the thread's result with it.
    Detach,
    /// A writer takes a read-write lock, or begins to wait for its readers.
    WriteLock,
    /// A writer waits for readers from here on.
    AwaitReaders,
    /// Something that threads shared is dropped.
    Drop,
}

impl Action {
    /// Is it an operation on an atomic?
    pub fn is_atomic(self) -> bool {
        matches!(
            self,
            Action::Load
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
        )
    }

    /// As a person reads it in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Action::Load => "load",
            Action::Look => "look again",
            Action::Store => "store",
            Action::Swap => "swap",
            Action::CompareExchange => "compare_exchange",
            Action::FetchAdd => "fetch_add",
            Action::FetchSub => "fetch_sub",
            Action::FetchAnd => "fetch_and",
            Action::FetchNand => "fetch_nand",
            Action::FetchOr => "fetch_or",
            Action::FetchXor => "fetch_xor",
            Action::FetchMax => "fetch_max",
            Action::FetchMin => "fetch_min",
            Action::FetchUpdate => "fetch_update",
            Action::Fence => "fence",
            Action::Block => "atomic block",
            Action::Lock => "lock",
            Action::TryLock => "try_lock",
            Action::Unlock => "unlock",
            Action::ReadLock => "read lock",
            Action::TryReadLock => "try read lock",
            Action::ReadUnlock => "read unlock",
            Action::Wait => "wait",
            Action::Wake => "wake up",
            Action::NotifyOne => "notify_one",
            Action::NotifyAll => "notify_all",
            Action::BarrierArrive => "arrive at barrier",
            Action::BarrierLeave => "leave barrier",
            Action::Once => "call_once",
            Action::OnceDone => "finish call_once",
            Action::Send => "send",
            Action::TrySend => "try_send",
            Action::Receive => "recv",
            Action::TryReceive => "try_recv",
            Action::Disconnect => "disconnect",
            Action::Join => "join",
            Action::Park => "park",
            Action::Unpark => "unpark",
            Action::Acquire => "acquire",
            Action::TryAcquire => "try_acquire",
            Action::Release => "release",
            Action::Nothing => "no access",
            Action::Whim => "whim",
            Action::Drop => "drop",
            Action::Yield => "yield",
            Action::Claim => "claim",
            Action::Exit => "end",
            Action::IsFinished => "is_finished",
            Action::IsPoisoned => "is_poisoned",
            Action::ClearPoison => "clear_poison",
            Action::Poison => "poison",
            Action::ArcClone => "clone a reference",
            Action::ArcDrop => "drop a reference",
            Action::ArcUpgrade => "upgrade",
            Action::ArcUnique => "look for other references",
            Action::ArcCount => "count references",
            Action::Detach => "let go of the thread",
            Action::WriteLock => "write lock",
            Action::AwaitReaders => "wait for readers",
        }
    }
}

/// What a thread waits for, by kind of object. The pointer is the one given with it.
#[derive(Debug)]
pub(crate) struct Wait {
    /// Could the thread go on now?
    pub(crate) ready: unsafe fn(*const ()) -> bool,
    /// Who could let it go on, as far as that is known.
    pub(crate) held_by: unsafe fn(*const ()) -> ThreadSet,
}

/// Nobody in particular can let a thread go on.
pub(crate) unsafe fn anybody(_object: *const ()) -> ThreadSet {
    ThreadSet::EMPTY
}

/// What a thread is about to do. It was announced and has not happened.
#[derive(Clone, Copy, Debug)]
pub struct Intent {
    /// What kind of step.
    pub action: Action,
    /// On what; 0 where it is not known beforehand.
    pub address: usize,
    /// Where in the source.
    pub site: &'static Location<'static>,
    /// Where the step may have to wait: whether it can go now.
    pub(crate) wait: Option<(&'static Wait, *const ())>,
}

impl Intent {
    /// A step that never waits.
    #[track_caller]
    pub(crate) fn new(action: Action, address: usize) -> Intent {
        Intent { action, address, site: Location::caller(), wait: None }
    }

    /// A step that never waits, at a place that is known from elsewhere: what a destructor does is shown where the
    /// thing was made.
    pub(crate) fn at(action: Action, address: usize, site: &'static Location<'static>) -> Intent {
        Intent { action, address, site, wait: None }
    }

    /// A step that waits until `wait.ready(object)` says yes.
    ///
    /// # Safety
    /// The functions of `wait` must be sound to call on `object`, without running code of the program, for as long as
    /// the thread stands at this point.
    #[track_caller]
    pub(crate) unsafe fn waiting(
        action: Action,
        address: usize,
        wait: &'static Wait,
        object: *const (),
    ) -> Intent {
        Intent { action, address, site: Location::caller(), wait: Some((wait, object)) }
    }

    /// Where in the source a step is announced, as a number. What a macro expands to has one place for all its lines, so
    /// the action tells a little more.
    #[inline]
    pub(crate) fn site_number(action: Action, site: &'static Location<'static>) -> usize {
        std::ptr::from_ref(site).addr() ^ (action as usize).rotate_right(8)
    }

    /// May it have to wait?
    pub fn may_wait(&self) -> bool {
        self.wait.is_some()
    }
}

/// One access to one location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What was touched; for [`Action::Join`], the end of a thread ([`Loc::end_of`]).
    pub loc: Loc,
    /// What it did to it.
    pub effect: Effect,
    /// The kind of operation.
    pub action: Action,
    /// The ordering the program asked for. Steps are sequentially consistent whatever it says; races on cells are
    /// judged by it.
    pub ordering: Ordering,
}

impl Access {
    /// Do two accesses of different threads depend on each other?
    pub fn depends(self, other: Access) -> bool {
        self.loc == other.loc && (self.effect.writes() || other.effect.writes())
    }
}

/// One step of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Who.
    pub thread: ThreadId,
    /// What it announced.
    pub action: Action,
    /// Might it have had to wait: for what it announced, or at the head of a loop it had gone round?
    pub may_wait: bool,
    /// Its first access, as an index into the run's accesses.
    pub first: u32,
    /// Who could have gone instead (itself included).
    pub enabled: ThreadSet,
}

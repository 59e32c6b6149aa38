//! What the log says: one event a record, in the order in which its thread did things.
//!
//! # Stamps
//!
//! Every monitored object has one counter. An event that must be placed among the others *takes a number*: a
//! `fetch_add` on the counter (acquire and release). Commits, writes, blocks, acquires, releases, internal
//! commits and returns take numbers; so the numbers of an object are dense, each is in exactly one record,
//! and a record that is lost is a number that is missing. A call only *looks* at the counter (an acquire
//! load): its stamp says how many numbers were taken when it began, at least.
//!
//! **A precedes B in real time iff `number(return of A) < look(call of B)`.** If A's return happens before
//! B's call, coherence makes the look see A's number taken. If the look saw it, B synchronised with A. A
//! stale look only widens an interval: it may hide an order, it cannot invent one.
//!
//! # Order of commits
//!
//! - [`What::Commit`] takes its number at the moment of commit, inside the lock that makes it exclusive. Two
//!   commits that exclude each other have numbers in the order of their happening; any two others commute or
//!   are misannotated.
//! - [`What::Window`] looks before the atomic step and takes a number after it. The commit lies between.
//!   Windows that do not overlap are ordered; windows that do may be permuted, as operations of a history
//!   may.
//! - [`What::CommitAt`] is placed by a number of the object's own (a ticket, an index, a version),
//!   [`What::CommitAfter`] reads what that version left.
//! - An operation with none of these, on an object that was registered without commit points, has its whole
//!   interval as its window.
//!
//! # Writes
//!
//! The writes behind a view go to a shadow. A block takes effect at its number, all of it. Single writes take
//! effect at their numbers too, unless their thread is between an acquire and its release: then at the
//! thread's next commit, or at the release of the last lock, whichever comes first. (Nobody else can see them
//! before: that is what the lock is for.) Writes to one place take effect in the order of their numbers: one
//! that waits while a later one to the same place takes effect is dropped. The view must equal the
//! specification's after each commit, and after each internal commit of the object's own threads. A number is
//! taken when a write is logged: so it must be logged while nobody else can change the place. Where
//! operations commit with windows, their writes lie inside the windows, and the views are compared where no
//! window is open.

use linpoint_history::Value;

/// The number of a thread in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// No thread has this number.
    pub const NONE: ThreadId = ThreadId(u32::MAX);
}

/// The number of a monitored object in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u16);

/// A place in the implementation that supports the view: a slot, a node, a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location(pub u64);

/// A location and what it holds from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Where.
    pub location: Location,
    /// What; null for nothing.
    pub value: Value,
}

/// One record of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// On which object.
    pub object: ObjectId,
    /// The number it took; for a call, what it saw of the counter.
    pub stamp: u64,
    /// What happened.
    pub what: What,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An operation begins. `stamp` is a look, not a number.
    Call {
        /// Which operation of the object's specification.
        op: u8,
        /// Its argument.
        arg: Value,
    },
    /// The open operation of this thread takes effect here.
    Commit,
    /// The open operation took effect between `from` (a look) and here.
    Window {
        /// The look before the step.
        from: u64,
    },
    /// The open operation took effect as number `version` of the object's own count.
    CommitAt {
        /// The object's number.
        version: u64,
    },
    /// The open operation read what `version` left, and changed nothing.
    CommitAfter {
        /// The object's number.
        version: u64,
    },
    /// The open operation answers.
    Return(Value),
    /// The open operation was dropped before it answered: it is pending from here on.
    Abandon,
    /// Writes that nobody could see in part.
    Block(Vec<Write>),
    /// A block, and the commit of the open operation, at one number.
    CommitBlock(Vec<Write>),
    /// One write.
    Write(Write),
    /// The thread has exclusive access to what this lock protects.
    Acquire(u64),
    /// And no longer.
    Release(u64),
    /// A thread of the object's own finished a piece of work that must not change the view.
    Internal,
}

impl What {
    /// Does the record take a number?
    pub fn takes_number(&self) -> bool {
        !matches!(self, What::Call { .. })
    }
}

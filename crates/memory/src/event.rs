//! What an execution graph consists of.

use crate::integer::{Operator, Width};
use crate::ordering::Ordering;

/// What locations hold. Addresses are values, too: those that the program gave to its locations.
pub type Value = i64;

/// A location, by a name that is the same in every execution of the program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location(pub u64);

/// An event of a graph: its number in the order in which events were added.
///
/// The order of the numbers is what the exploration calls the stamps of events; see
/// [`explore`](mod@crate::explore).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(pub(crate) u32);

impl EventId {
    #[inline]
    pub(crate) fn at(index: usize) -> EventId {
        EventId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Its number.
    #[inline]
    #[must_use]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Reads a location. The first half of a read-modify-write is one, too, and so is all of one that failed.
    Read,
    /// Writes a location.
    Write,
    /// A fence.
    Fence,
    /// Starts a thread.
    Create(u32),
    /// Waits for the end of a thread.
    Join(u32),
    /// One of so many possibilities, which the program does not determine.
    Choice(u32),
    /// An operation of the object under test begins: which one. Its argument is the event's value.
    Call(u32),
    /// An operation ends. Its result is the event's value.
    Return,
}

/// What a read-modify-write makes of the old value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Update {
    /// Adds, wrapping around.
    Add(Value),
    /// Subtracts, wrapping around.
    Sub(Value),
    /// Writes this.
    Swap(Value),
    /// Bitwise and.
    And(Value),
    /// Bitwise or.
    Or(Value),
    /// Bitwise exclusive or.
    Xor(Value),
    /// The greater one.
    Max(Value),
    /// The lesser one.
    Min(Value),
    /// Writes the second, if the old value is the first.
    CompareExchange(Value, Value),
    /// Applies an operator to an integer of this width and the operand.
    Typed(Operator, Width, Value),
}

impl Update {
    /// What is written over `old`; `None` where it fails and writes nothing.
    #[inline]
    #[must_use]
    pub fn apply(self, old: Value) -> Option<Value> {
        Some(match self {
            Update::Add(value) => old.wrapping_add(value),
            Update::Sub(value) => old.wrapping_sub(value),
            Update::Swap(value) => value,
            Update::And(value) => old & value,
            Update::Or(value) => old | value,
            Update::Xor(value) => old ^ value,
            Update::Max(value) => old.max(value),
            Update::Min(value) => old.min(value),
            Update::CompareExchange(expected, new) => return (old == expected).then_some(new),
            Update::Typed(operator, width, operand) => width.apply(operator, old, operand),
        })
    }
}

/// How a read reads: which orderings it has depends on whether something is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Access {
    /// It only reads.
    Load(Ordering),
    /// It is a read-modify-write.
    Update {
        /// What is written.
        update: Update,
        /// The ordering where it writes.
        success: Ordering,
        /// The ordering where it does not.
        failure: Ordering,
    },
}

impl Access {
    /// The ordering of a read of `value`, and whether a write follows.
    #[inline]
    #[must_use]
    pub fn label(self, value: Value) -> (Ordering, bool) {
        match self {
            Access::Load(ordering) => (ordering, false),
            Access::Update { update, success, failure } => match update.apply(value) {
                Some(_) => (success, true),
                None => (failure, false),
            },
        }
    }

    /// What is written by a read of `value`, if anything is.
    #[inline]
    #[must_use]
    pub fn written(self, value: Value) -> Option<Value> {
        match self {
            Access::Load(_) => None,
            Access::Update { update, .. } => update.apply(value),
        }
    }
}

/// An event of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What it does.
    pub kind: Kind,
    /// Its ordering.
    pub ordering: Ordering,
    /// Is it one half of a read-modify-write that wrote?
    pub exclusive: bool,
    /// Its thread.
    pub thread: usize,
    /// How many events of its thread are before it.
    pub index: usize,
    /// Of a read or write: the value. Of a choice, a call, a return: what was chosen, the argument, the
    /// result.
    pub value: Value,
    /// Of a read: the write it takes its value from; `None` is the initial value.
    pub source: Option<EventId>,
    /// Of a read or write: which of the graph's places it accesses.
    pub(crate) place: usize,
    /// Of a read: how it reads.
    pub(crate) access: Access,
}

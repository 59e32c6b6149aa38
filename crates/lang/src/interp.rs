//! The interpreter: what a step does to a state. Every engine that runs programs runs them here.
//!
//! A [`State`] is one row of words: shared variables, then a frame a thread (where it is, and its locals),
//! then the heap, cell after cell. A [`Machine`] knows the layout for one program, one number of threads and
//! one choice of sizes. Equal rows are equal states; [`Machine::canonical`] renumbers the heap, so that
//! states which differ only in where records lie become equal rows.
//!
//! [`Machine::step`] takes one edge of one thread. Where the edge leaves a choice open (`choose`; `new` that
//! may reuse a freed cell), a [`Choices`] decides; going on until [`Choices::next`] says there is no more
//! visits every way.
//!
//! # Memory
//!
//! `new` takes a cell that was freed and that somebody still points to, or a fresh one: each is a way of its
//! own. A freed cell to which nobody points cannot be told from a fresh one, and is dropped. So a program
//! without `free` never reuses a cell, and one with `free` meets every reuse that an allocator could come up
//! with: that is how ABA shows. Reading or writing a freed cell is an error, unless its kind is `pooled`.

mod canon;
mod choices;
mod compiled;
mod eval;
mod layout;
mod rounds;
mod step;
mod watch;

use std::fmt;

use crate::program::{MarkKind, Word};
use crate::span::Span;

pub use choices::Choices;
pub use compiled::{Compiled, Edge as CompiledEdge, Effects, Taken};
pub use eval::operate;
pub use layout::Machine;
pub use step::{Event, Outcome};

/// A state of all threads and of the memory; see the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// The words.
    pub words: Vec<Word>,
}

/// A linearization point that was passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which kind.
    pub kind: MarkKind,
    /// The thread whose operation it is.
    pub thread: usize,
    /// The result that is claimed.
    pub result: Option<Vec<Word>>,
}

/// What went wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// What.
    pub kind: ErrorKind,
    /// The thread it happened to.
    pub thread: usize,
    /// The step it happened in.
    pub span: Span,
}

/// The ways a run can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A field of `null`.
    NullDereference,
    /// A field of a record that was freed.
    UseAfterFree,
    /// A record that was freed is freed again.
    DoubleFree,
    /// An index that the array does not have.
    OutOfBounds {
        /// The index.
        index: Word,
        /// How many elements there are.
        length: Word,
    },
    /// A value that a bounded variable cannot hold.
    OutOfRange {
        /// The value.
        value: Word,
        /// The least that fits.
        least: Word,
        /// The greatest that fits.
        greatest: Word,
    },
    /// `unlock` of a lock that the thread does not hold.
    NotHeld,
    /// An `assert` that does not hold.
    AssertFailed,
    /// `unwrap(none)`.
    UnwrapNone,
    /// A number beyond 31 bits, or a remainder by zero.
    Arithmetic,
    /// A local that has no value.
    Unset,
    /// The initial code blocks, has a choice, or does not end.
    BadInit,
    /// More records than a run may have.
    HeapFull,
    /// A `choose` with more ways to go on than are tried.
    TooManyWays,
    /// Quantifiers that look at more values in one step than are looked at.
    TooManyRounds,
    /// An element of a ghost array that this run has no room for. No run goes wrong by it: the ghost is then
    /// not known.
    Beyond,
}

impl ErrorKind {
    /// Is it a limit of the interpreter, and nothing that the program does wrong?
    #[must_use]
    pub fn is_limit(self) -> bool {
        match self {
            ErrorKind::HeapFull | ErrorKind::TooManyWays | ErrorKind::TooManyRounds | ErrorKind::Beyond => {
                true
            }
            ErrorKind::NullDereference
            | ErrorKind::UseAfterFree
            | ErrorKind::DoubleFree
            | ErrorKind::OutOfBounds { .. }
            | ErrorKind::OutOfRange { .. }
            | ErrorKind::NotHeld
            | ErrorKind::AssertFailed
            | ErrorKind::UnwrapNone
            | ErrorKind::Arithmetic
            | ErrorKind::Unset
            | ErrorKind::BadInit => false,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::NullDereference => f.write_str("null dereference"),
            ErrorKind::UseAfterFree => f.write_str("use after free"),
            ErrorKind::DoubleFree => f.write_str("double free"),
            ErrorKind::OutOfBounds { index, length } => {
                write!(f, "index {index} out of bounds: the array has {length} elements")
            }
            ErrorKind::OutOfRange { value, least, greatest } => {
                write!(f, "{value} out of range: the variable holds {least} to {greatest}")
            }
            ErrorKind::NotHeld => f.write_str("unlock of a lock that is not held by this thread"),
            ErrorKind::AssertFailed => f.write_str("assertion failed"),
            ErrorKind::UnwrapNone => f.write_str("unwrap of none"),
            ErrorKind::Arithmetic => f.write_str("a number too large, or a remainder by zero"),
            ErrorKind::Unset => f.write_str("a variable without a value"),
            ErrorKind::BadInit => f.write_str("the initial code blocks, has a choice, or does not end"),
            ErrorKind::HeapFull => f.write_str("too many records"),
            ErrorKind::TooManyRounds => write!(f, "quantifiers over more than {} values", rounds::MOST),
            ErrorKind::TooManyWays => write!(f, "a choice of more than {} values", choices::MOST_WAYS),
            ErrorKind::Beyond => f.write_str("a ghost that this run has no room for"),
        }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: {}", self.thread, self.kind)
    }
}

impl std::error::Error for RunError {}

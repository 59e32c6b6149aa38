//! What functions and constants of formulas stand for.
//!
//! A symbol is found by what it stands for, never by text. Names of the program may be anything, and two
//! things that were given the same text would be one thing to the solver: a local called `result` once was
//! the result that a linearization point said. So a key is a value with a case for each kind of thing, and
//! the solver is given numbers. The text that a symbol also has is for people only.

use linpoint_lang::program::{GlobalId, LocalId, OpId, RecordId, SizeId};

use crate::term::Term;

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A process.
    Process(Role),
    /// Where a process is.
    Place,
    /// A symbolic size.
    Size(SizeId),
    /// A slot of a shared variable.
    Shared(Space, GlobalId, u16),
    /// A field of a kind of record.
    Field(Space, RecordId, u16),
    /// Is a record of this kind in use?
    InUse(Space, RecordId),
    /// A local of an operation, a function of the process.
    Local(Owner, OpId, LocalId),
    /// What a parameter was when the operation was called.
    Input(Owner, OpId, LocalId),
    /// A part of the result that a linearization point said.
    Said(Owner, OpId, u16),
    /// A choice that a step makes.
    Choice(u32),
    /// A record that a step makes.
    Made(u32),
    /// Does an index count in the memory of this number? A condition that is not looked into.
    Counts(usize),
    /// The counts, or the array, of a `spec` that the memory of this number stands for.
    Counted(usize),
    /// Something that is claimed to exist, one after another.
    Witness(u32),
    /// What this formula claims to exist.
    WitnessOf(Term),
    /// Something of a lemma or of a test, which have no program.
    Named(&'static str, u32),
}

/// The processes that an obligation speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The one that takes the step.
    Actor,
    /// Another one.
    Other,
    /// A third, where two that do not act are compared.
    Third,
}

/// Whose variables they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The program's.
    Program,
    /// The `spec`'s, in the state that the memory of this number stands for.
    Spec(usize),
}

/// Whose operations they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// The program's.
    Program,
    /// The `spec`'s.
    Spec,
}

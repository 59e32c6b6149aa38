//! What an object is compared with: a sequential type of the user's own.
//!
//! `#[linpoint::spec]` on an `impl` block writes [`Specification`] for the type; by hand it is a dozen lines.

use std::fmt::Debug;
use std::hash::Hash;

use crate::argument::Domain;

/// A sequential object, which says what a concurrent one should do.
pub trait Specification: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// An operation with its arguments.
    type Op: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// What an operation answers.
    type Ret: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// Where it starts.
    fn initial() -> Self;

    /// Adds everything `op` may answer here, with the state after it. Nothing: the operation has to wait. More than
    /// one: the specification leaves a choice.
    fn outcomes(&self, op: &Self::Op, into: &mut Vec<(Self::Ret, Self)>);

    /// The operations it has, by name.
    fn names() -> &'static [&'static str];

    /// Which of [`Specification::names`] an operation is.
    fn index(op: &Self::Op) -> usize;

    /// Every operation of that name with arguments from `domain`.
    fn candidates(index: usize, domain: &Domain) -> Vec<Self::Op>;

    /// Adds the numbers among an operation's arguments that stand for nothing but themselves.
    fn values(op: &Self::Op, into: &mut Vec<usize>) {
        let _ = (op, into);
    }

    /// The operation as a person reads it.
    fn show_op(op: &Self::Op) -> String {
        format!("{op:?}")
    }

    /// An answer as a person reads it.
    fn show_ret(ret: &Self::Ret) -> String {
        format!("{ret:?}")
    }
}

/// A concurrent object that claims to do what its specification says.
pub trait Object: Send + Sync + 'static {
    /// What it should do.
    type Spec: Specification;

    /// A new one.
    fn create() -> Self;

    /// Which of the specification's operations it has.
    fn operations() -> &'static [&'static str];

    /// Operations that only one thread at a time may perform, with the name of its role, as `("push", "owner")`.
    /// Scenarios never have two threads with operations of the same role: a queue for a single producer is not judged with
    /// two.
    fn roles() -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Performs an operation.
    fn perform(&self, op: &<Self::Spec as Specification>::Op) -> <Self::Spec as Specification>::Ret;
}

//! The verdict about a history: what it rests on, what shows a violation, why there is none.

use crate::operation::Operation;
use crate::specs::State;

/// The answer about one history.
pub type Verdict = linpoint_verdict::Verdict<Basis, Unexplained, Unknown>;

/// What shows that a history cannot be explained.
///
/// It is rechecked if independent code came to the same end: brute force about the core; where the core has a
/// start, also the plain frontier about all operations up to it. Not where both take too long.
pub type Counterexample = linpoint_verdict::Counterexample<Unexplained>;

/// What a `holds` rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A sequential order of the operations that was replayed through the specification.
    Witness {
        /// Operations in the order, pending ones that took effect included.
        operations: u64,
    },
}

/// Operations that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// A few operations that already cannot be explained, in order of call.
    pub core: Vec<Operation>,
    /// Where the core starts from, if not from the initial state.
    pub start: Option<Start>,
    /// A few operations that lead from the initial state to the start, one after another (the formal
    /// specification's prefix). Empty where the core starts from the initial state, or where no short way is
    /// known.
    pub prefix: Vec<Operation>,
    /// Index in `core` of the operation that finds no place.
    pub impossible: Option<usize>,
    /// The longest explanation found for the rest of the core: indices in order of taking effect.
    pub explained: Vec<usize>,
    /// One sentence.
    pub reason: String,
}

/// A state that every explanation of a history passes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The state itself; `None` where the counterexample came from another machine, which has other numbers
    /// for values.
    pub state: Option<State>,
    /// The state, as a person reads it.
    pub shown: String,
    /// How many operations took effect before.
    pub operations: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The time limit came first.
    Time {
        /// Operations decided by then.
        decided: u64,
        /// The most operations open at one moment.
        widest: usize,
    },
    /// The memory limit came first.
    Memory {
        /// Operations decided by then.
        decided: u64,
        /// The most operations open at one moment.
        widest: usize,
    },
    /// There is nothing to check: no operation ever returned.
    Nothing {
        /// Operations that were called.
        pending: u64,
    },
    /// The chosen engine cannot decide this history.
    Unsupported {
        /// What it would need.
        why: String,
    },
}

impl Unknown {
    /// The sentence for a history in which no operation ever returned.
    pub fn nothing_to_check(pending: u64) -> String {
        match pending {
            0 => "there is nothing to check: the history has no operation".to_owned(),
            1 => "there is nothing to check: the one operation never returned".to_owned(),
            many => format!("there is nothing to check: none of the {many} operations ever returned"),
        }
    }
}

//! The method of Dragicevic 2011 as its text has it: event functions over metastates, with every optimisation
//! a switch.
//!
//! A metastate is a sequence of operations that took effect and a set of operations that have not yet. The
//! start of an operation adds all metastates that letting it take effect, and then others that wait, can lead
//! to (section 4.5); its end discards those in which it still waits. The history is linearizable iff some
//! metastate is left. Effects are *eager* here, which is why [`super::generic`] does better; this engine is
//! kept to measure what each idea is worth.
//!
//! - `permutable` (4.6.1): the order of operations that commute is not kept.
//! - `equivalent` (4.6.2): one metastate for each state and set of waiting operations.
//! - `implied` (4.6.3): what a waiting operation that can always take effect leads to is not kept, but
//!   derived when needed.
//! - `redundant` (4.7.2): a removal and the insertion it undoes are both taken out of the sequence; so is
//!   what changed nothing.
//! - `semi_redundant` (4.7.4): a change of key and the insertion it changes become one insertion of the new
//!   key.
//! - `definite` (5.1.3): what all metastates begin with is kept once.
//! - `hashing` (5.3): duplicates are found by a hash that each step updates by exclusive or; without it, by
//!   comparing all pairs.

mod knowledge;
mod universe;

use linpoint_history::{Basis, Counterexample, History, Operation, Spec, Unexplained, Unknown, Verdict};

pub use knowledge::{Knowledge, Pair};
use universe::{Full, Universe};

/// Which optimisations are on, and how far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Section 4.6.1.
    pub permutable: bool,
    /// Section 4.6.2.
    pub equivalent: bool,
    /// Section 4.6.3.
    pub implied: bool,
    /// Section 4.7.2.
    pub redundant: bool,
    /// Section 4.7.4.
    pub semi_redundant: bool,
    /// Section 5.1.3.
    pub definite: bool,
    /// Section 5.3.
    pub hashing: bool,
    /// Give up beyond this many metastates.
    pub most: usize,
}

impl Switches {
    /// Everything on.
    pub fn all() -> Switches {
        Switches {
            permutable: true,
            equivalent: true,
            implied: true,
            redundant: true,
            semi_redundant: true,
            definite: true,
            hashing: true,
            most: 1_000_000,
        }
    }

    /// Everything off.
    pub fn none() -> Switches {
        Switches {
            permutable: false,
            equivalent: false,
            implied: false,
            redundant: false,
            semi_redundant: false,
            definite: false,
            hashing: false,
            most: 1_000_000,
        }
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The most metastates kept after an event.
    pub most: usize,
    /// The most metastates held while an event was handled, before any were dropped.
    pub most_held: usize,
    /// Metastates kept, summed over events.
    pub sum: u64,
    /// Events handled.
    pub events: u64,
    /// The most operations held in sequences of metastates, the definite part counted once.
    pub most_entries: usize,
    /// Metastates compared operation by operation.
    pub comparisons: u64,
}

impl Statistics {
    /// The mean number of metastates after an event.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.events.max(1) as f64
    }
}

/// Decides a history of one object. Pending operations may take effect and need not.
pub fn verify<S: Spec + Knowledge>(
    history: &History,
    spec: &S,
    switches: &Switches,
) -> (Verdict, Statistics) {
    let rows = &history.operations;
    let mut events: Vec<(i64, bool, usize)> = Vec::with_capacity(2 * rows.len());
    for (index, row) in rows.iter().enumerate() {
        events.push((row.call, false, index));
        if !row.is_pending() {
            events.push((row.ret, true, index));
        }
    }
    events.sort_unstable();
    let mut universe = Universe::new(spec, history, *switches);
    let mut widest = 0;
    for &(_, ends, index) in &events {
        let outcome = if ends { universe.end(index) } else { universe.start(index) };
        widest = widest.max(universe.open());
        if let Err(Full) = outcome {
            let decided = universe.statistics.events / 2;
            return (Verdict::Unknown(Unknown::Memory { decided, widest }), universe.statistics);
        }
        if universe.is_empty() {
            return (violated(rows, index), universe.statistics);
        }
    }
    let basis = Basis::Witness { operations: rows.iter().filter(|row| !row.is_pending()).count() as u64 };
    (Verdict::Holds(basis), universe.statistics)
}

/// Everything that was called by the end of the row that finds no place.
fn violated(rows: &[Operation], index: usize) -> Verdict {
    let mut core: Vec<Operation> = rows.iter().filter(|row| row.call <= rows[index].ret).copied().collect();
    core.sort_by_key(|row| (row.call, row.ret));
    let found = Unexplained {
        impossible: core.iter().position(|row| *row == rows[index]),
        core,
        start: None,
        prefix: Vec::new(),
        explained: Vec::new(),
        reason: "no metastate in which the operation took effect is left at its end".to_owned(),
    };
    Verdict::Violated(Counterexample::new(found, false))
}

//! Orderings other than those in the source: what a program does with them is found out without compiling it anew, because an
//! ordering is an argument, and the shim knows who calls it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Line;

/// Which ordering of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The only one, or that of a compare-and-exchange that writes.
    Whole,
    /// That of a compare-and-exchange that does not write.
    Failure,
}

/// An ordering in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The file.
    pub file: &'static str,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The operation.
    pub operation: &'static str,
    /// Which of its orderings.
    pub part: Part,
}

/// Orderings to be taken instead of those in the source.
pub type Instead = BTreeMap<Spot, Ordering>;

/// What is taken, and what is there.
#[derive(Debug)]
pub(super) struct Spots {
    pub(super) instead: Arc<Instead>,
    /// The orderings in the source that an execution came to.
    pub(super) seen: BTreeMap<Spot, Ordering>,
}

impl Spots {
    /// The ordering to be taken of the operation at this line.
    pub(super) fn take(&mut self, line: Line, part: Part, written: Ordering) -> Ordering {
        let Line { site, action } = line;
        let (file, line, column) = (site.file(), site.line(), site.column());
        let spot = Spot { file, line, column, operation: action.name(), part };
        self.seen.entry(spot).or_insert(written);
        self.instead.get(&spot).copied().unwrap_or(written)
    }
}

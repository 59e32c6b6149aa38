//! Which executions exist: the memory model.

use std::fmt;

use linpoint_sched::weak::Model;

/// What memory may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Sequential consistency: one access after another, and each read gives the latest write, whatever the orderings
    /// say.
    #[default]
    Sc,
    /// RC11, with the release sequences and the order of `SeqCst` accesses of C++20, which Rust follows: a read may give
    /// an older write, unless the orderings forbid it. Executions with load buffering are left out. Needs
    /// [`crate::Heap`] as the global allocator.
    Rc11,
}

impl Memory {
    pub(crate) fn model(self) -> Model {
        match self {
            Memory::Sc => Model::Sc,
            Memory::Rc11 => Model::Rc11,
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Memory::Sc => "memory sequentially consistent",
            Memory::Rc11 => "memory as in RC11, load buffering excluded",
        })
    }
}

/// What is said of every `holds` under a weak memory model.
pub(crate) const PLAIN_MEMORY: &str =
    "\nplain memory that is in no cell of linpoint's is taken to be free of data races";

//! Memory orderings, and the memory models that give them a meaning.

/// The memory ordering of an access or a fence.
///
/// Any ordering may stand anywhere; what makes no sense has no effect. A read is an acquire if its ordering
/// says acquire, whatever else it says, and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ordering {
    /// A plain access: it may race, and synchronises with nothing.
    NonAtomic,
    /// Atomic, and nothing else.
    Relaxed,
    /// Takes over what a release before it published.
    Acquire,
    /// Publishes what happened before.
    Release,
    /// Both.
    AcqRel,
    /// Both, and part of one order of all such accesses and fences.
    SeqCst,
}

impl Ordering {
    /// Is it an acquire, or stronger?
    #[must_use]
    pub fn is_acquire(self) -> bool {
        matches!(self, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// Is it a release, or stronger?
    #[must_use]
    pub fn is_release(self) -> bool {
        matches!(self, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// Is it relaxed, or stronger?
    #[must_use]
    pub fn is_atomic(self) -> bool {
        self != Ordering::NonAtomic
    }
}

/// Which executions exist.
///
/// RC11 is the model of Lahav, Vafeiadis, Kang, Hur, Dreyer, *Repairing Sequential Consistency in C/C++11*
/// (PLDI 2017), with the release sequences of C++20: only read-modify-writes continue one. It has no load
/// buffering: `po ∪ rf` is acyclic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// RC11 with the "strongly happens before" of C++20 in the order of `SeqCst` accesses: `po ; hb ; po`.
    Rc11,
    /// RC11 as in the text of 2017, where the two program-order steps lead from one location to another.
    Rc11Text2017,
    /// Sequential consistency: all accesses are in one order, whatever their orderings say.
    Sc,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 3] = [Model::Rc11, Model::Rc11Text2017, Model::Sc];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Model::Rc11 => "RC11",
            Model::Rc11Text2017 => "RC11 (2017)",
            Model::Sc => "SC",
        }
    }
}

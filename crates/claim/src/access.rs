//! Accesses to variables, as the monitor is told of them, and the kinds of access that a term waits for.

/// The kind of access that a `First` or `Last` term waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Accesses that read.
    Rd,
    /// Accesses that write.
    Wr,
    /// Both.
    RW,
}

/// One access of a variable: what it read and wrote, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load, or a compare-and-swap that failed.
    Read(u128),
    /// A store.
    Write(u128),
    /// One step that read and wrote: a compare-and-swap that succeeded, an exchange, an addition.
    Update {
        /// What it found.
        old: u128,
        /// What it left.
        new: u128,
    },
}

impl Access {
    /// The value that the access shows to a term of this kind, if it is of that kind: what it read for [`Kind::Rd`], what it wrote for
    /// [`Kind::Wr`], and what the variable holds after it for [`Kind::RW`].
    pub fn shown_to(self, kind: Kind) -> Option<u128> {
        match (self, kind) {
            (Access::Read(bits), Kind::Rd | Kind::RW) => Some(bits),
            (Access::Write(bits), Kind::Wr | Kind::RW) => Some(bits),
            (Access::Update { old, .. }, Kind::Rd) => Some(old),
            (Access::Update { new, .. }, Kind::Wr | Kind::RW) => Some(new),
            (Access::Read(_), Kind::Wr) | (Access::Write(_), Kind::Rd) => None,
        }
    }

    /// What it wrote, if it did.
    pub fn written(self) -> Option<u128> {
        self.shown_to(Kind::Wr)
    }
}

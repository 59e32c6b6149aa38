//! Kinds of access: of those that happen, and of those that a term waits for.

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Of an access: it read, as does a compare-and-swap that fails. Of a term: it waits for accesses that
    /// read.
    Rd,
    /// Of an access: it wrote. Of a term: it waits for accesses that write.
    Wr,
    /// Of an access: it did both in one step, as does a compare-and-swap that succeeds. Of a term: it waits
    /// for any access.
    RW,
}

impl Kind {
    /// Does an access of this kind change the variable?
    #[inline]
    pub fn writes(self) -> bool {
        self != Kind::Rd
    }

    /// Does an access of this kind look at the variable?
    #[inline]
    pub fn reads(self) -> bool {
        self != Kind::Wr
    }

    /// Does a term of this kind wait for such an access?
    #[inline]
    pub fn is_matched_by(self, access: Kind) -> bool {
        match self {
            Kind::Rd => access.reads(),
            Kind::Wr => access.writes(),
            Kind::RW => true,
        }
    }
}

//! Sets of operations by number; up to 64 of them take no room of their own.

/// The operations that were placed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placed {
    first: u64,
    rest: Box<[u64]>,
}

impl Placed {
    /// None of so many operations.
    #[must_use]
    pub fn none(count: usize) -> Placed {
        Placed { first: 0, rest: vec![0; count.saturating_sub(64).div_ceil(64)].into() }
    }

    /// Is it one of them?
    #[must_use]
    pub fn contains(&self, op: usize) -> bool {
        let word = if op < 64 { self.first } else { self.rest[op / 64 - 1] };
        word >> (op % 64) & 1 != 0
    }

    /// Are all of the others among them? Both are sets of as many operations.
    #[must_use]
    pub fn contains_all(&self, others: &Placed) -> bool {
        let missing = |(mine, theirs): (&u64, &u64)| theirs & !mine != 0;
        others.first & !self.first == 0 && !self.rest.iter().zip(&others.rest).any(missing)
    }

    /// Puts an operation in, or takes it out.
    pub fn set(&mut self, op: usize, is_placed: bool) {
        let word = if op < 64 { &mut self.first } else { &mut self.rest[op / 64 - 1] };
        let bit = 1 << (op % 64);
        *word = if is_placed { *word | bit } else { *word & !bit };
    }
}

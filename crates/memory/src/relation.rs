//! Relations over a few dozen events, as rows of bits.

/// A relation over the numbers below `size`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Relation {
    size: usize,
    /// Words a row.
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    /// The empty relation.
    pub(crate) fn empty(size: usize) -> Relation {
        let words = size.div_ceil(64);
        Relation { size, words, bits: vec![0; size * words] }
    }

    /// The pairs of which `holds` is true.
    pub(crate) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut relation = Relation::empty(size);
        for from in 0..size {
            for to in 0..size {
                if holds(from, to) {
                    relation.add(from, to);
                }
            }
        }
        relation
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    #[inline]
    pub(crate) fn add(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    #[inline]
    pub(crate) fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..(from + 1) * self.words]
    }

    /// What `from` leads to.
    pub(crate) fn from(&self, from: usize) -> impl Iterator<Item = usize> {
        self.row(from).iter().enumerate().flat_map(|(word, &bits)| Ones(bits).map(move |bit| 64 * word + bit))
    }

    /// Adds all pairs of `other`.
    pub(crate) fn unite(&mut self, other: &Relation) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// This one and then `next`.
    pub(crate) fn then(&self, next: &Relation) -> Relation {
        let mut result = Relation::empty(self.size);
        for from in 0..self.size {
            for middle in self.from(from) {
                result.add_row(from, next.row(middle));
            }
        }
        result
    }

    fn add_row(&mut self, from: usize, row: &[u64]) {
        let mine = &mut self.bits[from * self.words..(from + 1) * self.words];
        mine.iter_mut().zip(row).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// With every element leading to itself.
    pub(crate) fn reflexive(mut self) -> Relation {
        for element in 0..self.size {
            self.add(element, element);
        }
        self
    }

    /// Only pairs of which `holds` is true.
    pub(crate) fn only(&self, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let mut result = Relation::empty(self.size);
        for from in 0..self.size {
            for to in self.from(from) {
                if holds(from, to) {
                    result.add(from, to);
                }
            }
        }
        result
    }

    /// Transitively closed.
    pub(crate) fn closed(mut self) -> Relation {
        for middle in 0..self.size {
            let row = self.row(middle).to_vec();
            for from in 0..self.size {
                if self.has(from, middle) {
                    self.add_row(from, &row);
                }
            }
        }
        self
    }

    /// Adds a pair to a transitive relation, and what follows.
    pub(crate) fn add_closed(&mut self, from: usize, to: usize) {
        let mut row = self.row(to).to_vec();
        row[to / 64] |= 1 << (to % 64);
        for before in 0..self.size {
            if before == from || self.has(before, from) {
                self.add_row(before, &row);
            }
        }
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|element| !self.has(element, element))
    }

    /// Has it no cycle? Takes away what leads to nothing that is left, again and again.
    pub(crate) fn is_acyclic(&self) -> bool {
        let mut left = vec![true; self.size];
        let mut count = self.size;
        loop {
            let before = count;
            for element in 0..self.size {
                if left[element] && self.from(element).all(|to| !left[to]) {
                    left[element] = false;
                    count -= 1;
                }
            }
            if count == 0 {
                return true;
            }
            if count == before {
                return false;
            }
        }
    }
}

/// The numbers of the bits that are set.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

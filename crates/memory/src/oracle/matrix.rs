//! Relations as matrices of booleans: as plain as can be.

/// A relation between so many events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Matrix {
    size: usize,
    cells: Vec<bool>,
}

impl Matrix {
    pub(super) fn of(size: usize, holds: impl Fn(usize, usize) -> bool) -> Matrix {
        let cells = (0..size * size).map(|cell| holds(cell / size, cell % size)).collect();
        Matrix { size, cells }
    }

    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.cells[from * self.size + to]
    }

    pub(super) fn or(&self, other: &Matrix) -> Matrix {
        let cells = self.cells.iter().zip(&other.cells).map(|(a, b)| *a || *b).collect();
        Matrix { size: self.size, cells }
    }

    /// This one and then the other.
    pub(super) fn then(&self, other: &Matrix) -> Matrix {
        let mut result = Matrix { size: self.size, cells: vec![false; self.cells.len()] };
        for from in 0..self.size {
            for middle in 0..self.size {
                if self.has(from, middle) {
                    for to in 0..self.size {
                        result.cells[from * self.size + to] |= other.has(middle, to);
                    }
                }
            }
        }
        result
    }

    /// With the identity.
    pub(super) fn maybe(&self) -> Matrix {
        self.only(|_, _| true, |from, to| from == to)
    }

    /// The pairs of which `keeps` holds, and those of which `adds` holds.
    fn only(&self, keeps: impl Fn(usize, usize) -> bool, adds: impl Fn(usize, usize) -> bool) -> Matrix {
        Matrix::of(self.size, |from, to| (self.has(from, to) && keeps(from, to)) || adds(from, to))
    }

    /// The pairs of which `keeps` holds.
    pub(super) fn where_both(&self, keeps: impl Fn(usize, usize) -> bool) -> Matrix {
        self.only(keeps, |_, _| false)
    }

    /// The pairs that begin with such an event.
    pub(super) fn starting_with(&self, keeps: impl Fn(usize) -> bool) -> Matrix {
        self.where_both(|from, _| keeps(from))
    }

    /// The pairs that end with such an event.
    pub(super) fn ending_with(&self, keeps: impl Fn(usize) -> bool) -> Matrix {
        self.where_both(|_, to| keeps(to))
    }

    /// Transitive closure.
    pub(super) fn plus(&self) -> Matrix {
        let mut result = self.clone();
        for middle in 0..self.size {
            for from in 0..self.size {
                if result.has(from, middle) {
                    for to in 0..self.size {
                        result.cells[from * self.size + to] |= result.has(middle, to);
                    }
                }
            }
        }
        result
    }

    pub(super) fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|element| !self.has(element, element))
    }
}

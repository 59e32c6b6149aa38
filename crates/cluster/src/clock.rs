//! What stamps of several hosts say about real time.
//!
//! Stamps of one source are exact among themselves: they come from one counter or one clock. Between sources
//! they are not: the clock of source s is off by at most its error bound ε(s). So of two operations a of s
//! and b of t ≠ s, a *surely* precedes b iff `a.return + ε(s) < b.call − ε(t)`; within one source iff
//! `a.return < b.call`. Operations of one process follow one another even where stamps touch. This is a
//! partial order but not always an interval order, so it is enclosed by two that are (`docs/cluster.md`): the
//! stamps as they are ask for too much, the stamps widened by ε for too little.
//!
//! The source of a row stands in its field `key`: here every row is of one object.

use linpoint_history::{KeyId, Operation};

/// The error bounds, by the number of the source.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    epsilon: Vec<i64>,
    /// Is any of them not zero?
    inexact: bool,
}

impl Clocks {
    /// Source `source` is off by at most `epsilon`.
    pub fn set(&mut self, source: u32, epsilon: i64) {
        let source = source as usize;
        if source >= self.epsilon.len() {
            self.epsilon.resize(source + 1, 0);
        }
        self.epsilon[source] = epsilon.max(0);
        self.inexact = self.epsilon.iter().any(|&bound| bound > 0);
    }

    /// Are all stamps exact?
    #[inline]
    pub fn are_exact(&self) -> bool {
        !self.inexact
    }

    /// The error bound of a row's source.
    #[inline]
    pub fn epsilon(&self, source: KeyId) -> i64 {
        if self.inexact { self.epsilon.get(source.0 as usize).copied().unwrap_or(0) } else { 0 }
    }

    /// It was not called before this, in real time.
    #[inline]
    pub fn earliest(&self, row: &Operation) -> i64 {
        row.call.saturating_sub(self.epsilon(row.key))
    }

    /// It had returned by this, in real time; never, if it is pending.
    #[inline]
    pub fn latest(&self, row: &Operation) -> i64 {
        row.ret.saturating_add(self.epsilon(row.key))
    }

    /// Does row number `i` surely precede row number `j`?
    pub fn precedes(&self, rows: &[Operation], i: usize, j: usize) -> bool {
        let (a, b) = (&rows[i], &rows[j]);
        let touching = a.process() == b.process() && a.ret == b.call && (a.call, i) < (b.call, j);
        if touching {
            return true;
        }
        if a.key == b.key || self.are_exact() { a.ret < b.call } else { self.latest(a) < self.earliest(b) }
    }

    /// The row with its interval widened.
    pub fn widened(&self, row: &Operation) -> Operation {
        self.widened_by(row, self.epsilon(row.key))
    }

    /// The row as the clock of `exact` sees it: rows of that source as they are, others widened by both
    /// bounds. Of two rows that part then, one surely precedes the other: two of that source by their stamps,
    /// one of it and another by both bounds, two others by more than theirs.
    pub fn widened_beside(&self, row: &Operation, exact: KeyId) -> Operation {
        let both = self.epsilon(row.key).saturating_add(self.epsilon(exact));
        self.widened_by(row, if row.key == exact { 0 } else { both })
    }

    fn widened_by(&self, row: &Operation, epsilon: i64) -> Operation {
        let (call, ret) = (row.call.saturating_sub(epsilon), row.ret.saturating_add(epsilon));
        let ret = if row.is_pending() { Operation::NEVER } else { ret.min(Operation::NEVER - 1) };
        let mut row = *row;
        (row.call, row.ret) = (call, ret);
        row
    }
}

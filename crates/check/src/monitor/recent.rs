//! The last rows explained, kept for the sake of counterexamples.
//!
//! The driver releases rows once they are explained, and a violation is usually found a few operations after what it
//! contradicts. A monitor that keeps the last few hundred rows can then still show them.

use std::collections::VecDeque;

use linpoint_history::Operation;

use crate::timeline::{OpId, Timeline};

/// The last rows explained.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    rows: VecDeque<Row>,
}

/// An operation and its place in the timeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub id: OpId,
    pub earliest: u32,
    pub op: Operation,
}

impl Recent {
    const KEPT: u32 = 2048;

    /// Keeps what is worth keeping of the rows `from..upto`, which were just explained.
    pub fn keep(&mut self, timeline: &Timeline, from: u32, upto: u32) {
        for id in from.max(upto.saturating_sub(Self::KEPT))..upto {
            if self.rows.len() == Self::KEPT as usize {
                self.rows.pop_front();
            }
            self.rows.push_back(row(timeline, OpId(id)));
        }
    }

    /// All rows that are known here or loaded, in order of return, then the pending ones.
    pub fn all<'a>(&'a self, timeline: &'a Timeline) -> impl Iterator<Item = Row> + 'a {
        let base = timeline.base();
        let gone = self.rows.iter().copied().filter(move |row| row.id.0 < base);
        let held = (base..timeline.end()).map(|id| row(timeline, OpId(id)));
        let pending = (0..timeline.pending().len()).map(|index| row(timeline, OpId::pending(index as u32)));
        gone.chain(held).chain(pending)
    }

    /// From which return on all rows are known here or loaded.
    pub fn known_from(&self, timeline: &Timeline) -> u32 {
        self.rows.front().map_or(timeline.base(), |row| row.id.0.min(timeline.base()))
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
    }
}

fn row(timeline: &Timeline, id: OpId) -> Row {
    Row { id, earliest: timeline.earliest(id), op: *timeline.op(id) }
}

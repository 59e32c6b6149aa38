//! An order that is still open in places, kept for whoever asked to see it.
//!
//! Without anybody who asks nothing is kept: the recheck works on pieces.

use linpoint_history::Operation;
use rustc_hash::FxHashMap;

use super::Sink;
use crate::engine::Context;

/// An order with holes, kept only for a sink.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) pieces: Vec<Piece>,
    /// What was put behind each hole, last first.
    pub(super) behind: FxHashMap<u32, Vec<Operation>>,
    pub(super) has_holes: bool,
}

pub(super) enum Piece {
    Op(Operation),
    Hole(u32),
}

impl Draft {
    pub(super) fn give(&mut self, cx: &Context<'_>, sink: &mut Option<Sink<'_>>) {
        let Some(sink) = sink else { return };
        for piece in self.pieces.drain(..) {
            match piece {
                Piece::Op(row) => sink(cx.symbols, &row),
                Piece::Hole(name) => {
                    let rows = self.behind.remove(&name).unwrap_or_default();
                    rows.iter().rev().for_each(|row| sink(cx.symbols, row));
                }
            }
        }
    }
}

//! Operations that were dropped before they committed: a panic, an early `?`. They may have taken effect or
//! not, at any time since they were called.
//!
//! Where commits are exact the order of commits is followed without them, as long as it fits: that they did
//! nothing is an explanation. When something does not fit, the checker goes back to a remembered state before
//! the oldest of them was called, and lets what committed since take effect once more among operations that
//! may or may not come in between: windows of one number, beside spans that stay open for ever
//! ([`crate::order::frontier`]). From there on it stays so.

use super::{Checker, Order, Trouble};
use crate::blame;
use crate::finding::{Found, Unknown};
use crate::merge::{OpIndex, Open};
use crate::order::search::Task;

/// More of them than this are not remembered.
const MOST_REMEMBERED: usize = 1 << 12;

impl Checker {
    /// An operation was dropped.
    #[cold]
    pub(super) fn abandon(&mut self, op: OpIndex) {
        let open: &Open = &self.merge.ops[op as usize];
        if open.commits > 0 {
            return;
        }
        let task = Task { result: None, ret: u64::MAX, must: false, ..open.task(0) };
        if blame::is_neutral(self.refine.model(), &task) {
            return;
        }
        if self.pending.len() == MOST_REMEMBERED {
            self.pending.remove(0);
            self.forgotten = true;
        }
        self.pending.push(task);
    }

    /// Is there one that was forgotten where it may matter for what happened by `number`?
    pub(super) fn may_be_pending(&self, number: u64, concerns: &dyn Fn(&Task) -> bool) -> bool {
        matches!(self.order, Order::Exact)
            && (self.forgotten || self.pending.iter().any(|task| task.call <= number && concerns(task)))
    }

    /// Is no state remembered before one of them that may matter?
    pub(super) fn is_too_old(&self, concerns: &dyn Fn(&Task) -> bool) -> bool {
        let from = self.trail.stretches().next().map(|stretch| stretch.from);
        let old = |task: &Task| concerns(task) && from.is_none_or(|from| task.call < from);
        self.forgotten || self.pending.iter().any(old)
    }

    /// Is every operation known, with its answer, that was called by `number`?
    pub(super) fn knows(&self, number: u64) -> bool {
        self.merge.oldest_awaited() > number && (self.ended || self.sealed > number)
    }

    /// Where the oldest of them was called, of those that a remembered state comes before.
    pub(super) fn oldest_pending(&self) -> Option<u64> {
        let from = self.trail.stretches().next()?.from;
        self.pending.iter().map(|task| task.call).filter(|call| *call >= from).min()
    }

    /// Lets those take part that were called by `number`, and not before `from`.
    pub(super) fn open_pending(&mut self, from: u64, number: u64, opened: &mut usize) -> Result<(), Trouble> {
        let Order::Spans(spans) = &mut self.order else { return Ok(()) };
        let Some(frontier) = spans.frontier() else { return Ok(()) };
        while let Some(task) = self.pending.get(*opened)
            && task.call <= number
        {
            *opened += 1;
            if task.call >= from
                && let Err(stuck) = frontier.open(task.clone(), true)
            {
                let task = task.clone();
                return Err(self.halted(stuck.into(), number, task));
            }
        }
        Ok(())
    }

    /// One was dropped so long ago that no state before it is remembered.
    pub(super) fn too_long_ago(&mut self) {
        let why =
            "an operation that was dropped before it committed may have taken effect, and it is too long ago"
                .to_owned();
        self.decide(Found::Unknown(Unknown::Engine { why }));
    }
}

//! What an explorer that reorders steps must know: with which accesses an event does not commute, which
//! claims only look, and when they were decided.

use super::{ClaimId, Monitor};
use crate::{Kind, ThreadSet, VarId};

/// A claim as it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name; nothing if it was true whatever happens.
    pub id: Option<ClaimId>,
    /// Is it decided by what its own thread does, but for what it read when it was made? All its terms are
    /// then `Exit` terms of variables of the thread, or `First` terms of the thread alone. Nothing that
    /// others do determines a term, and no later event of any thread touches anything because of the claim.
    pub looks_only: bool,
}

/// What an explorer that reorders steps must know.
impl Monitor {
    /// From now on notes the [`Monitor::footprint`] of events.
    pub fn keep_footprint(&mut self) {
        self.footprint.get_or_insert_default();
    }

    /// The accesses that the events since [`Monitor::clear_footprint`] amount to, beside those that were
    /// reported. A pair `(x, Rd)` says that the present step does not commute with writes of `x`; `(x, Wr)`,
    /// not with any access of `x`.
    ///
    /// - A claim does not commute with the accesses by others that its `First` and `Last` terms wait for, nor
    ///   with writes to the variables of conditions.
    /// - A write to a variable of the condition of a live `Last` term asks for the others of that condition.
    ///   If the condition holds then, it does not commute with the accesses that the term waits for.
    /// - The return of a procedure does not commute with writes to the variables of the `Exit` terms that
    ///   wait for it.
    ///
    /// If two events that follow each other, of different threads, do not conflict in this nor in their
    /// accesses, they can change places, and every claim ends in the same way. What an event touches follows
    /// from the events it does not commute with, directly or through others: so it is the same in every order
    /// that keeps these.
    pub fn footprint(&self) -> &[(VarId, Kind)] {
        self.footprint.as_deref().unwrap_or_default()
    }

    /// The claim made since this was last asked.
    pub fn take_made(&mut self) -> Option<Made> {
        self.made.take()
    }

    /// The claims that were decided, each with the number of the event that did it. Only where footprints are
    /// kept.
    pub fn decisions(&self) -> &[(ClaimId, u64)] {
        &self.decisions
    }

    /// Begins the footprint of the next step.
    pub fn clear_footprint(&mut self) {
        self.footprint.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn touch_awaited(&mut self, id: ClaimId, variable: VarId, kind: Kind, threads: &ThreadSet) {
        if threads.has_others(self.claims[id.claim as usize].thread) {
            self.touch(variable, conflicting(kind));
        }
    }

    /// A term of the claim that is being made depends on what other threads do.
    pub(super) fn depends_on_others(&mut self) {
        if let Some(made) = &mut self.made {
            made.looks_only = false;
        }
    }

    pub(crate) fn touch(&mut self, variable: VarId, kind: Kind) {
        if let Some(footprint) = &mut self.footprint {
            footprint.push((variable, kind));
        }
    }
}

/// The access that conflicts with every access of a kind.
pub(crate) fn conflicting(kind: Kind) -> Kind {
    match kind {
        Kind::Wr => Kind::Rd,
        Kind::Rd | Kind::RW => Kind::Wr,
    }
}

//! A copy of a timeline that forgets nothing, for decisions that need what comes at the end.

use crate::timeline::{OpId, Timeline};

/// Copies what `kept` does not have yet.
pub(super) fn keep(kept: &mut Timeline, timeline: &Timeline) {
    for id in kept.end()..timeline.end() {
        kept.push(*timeline.op(OpId(id)));
    }
    for index in kept.pending().len()..timeline.pending().len() {
        let id = OpId::pending(index as u32);
        kept.push_pending_at(*timeline.op(id), timeline.earliest(id));
    }
}

//! Pending operations in order of call, so that each becomes open in its gap.

use crate::timeline::{OpId, Timeline};

/// Pending operations that were not called yet, the next one last.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    seen: usize,
    ahead: Vec<(u32, u32)>,
}

impl Ahead {
    /// Takes in pending operations that are new in the timeline.
    pub fn load(&mut self, timeline: &Timeline) {
        let count = timeline.pending().len();
        if self.seen == count {
            return;
        }
        for j in self.seen as u32..count as u32 {
            self.ahead.push((timeline.earliest(OpId::pending(j)), j));
        }
        self.seen = count;
        self.ahead.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The next one that was called by `gap`.
    #[inline]
    pub fn next(&mut self, gap: u32) -> Option<OpId> {
        self.ahead.pop_if(|(earliest, _)| *earliest <= gap).map(|(_, j)| OpId::pending(j))
    }
}

//! Preemptions, where they are counted.

use crate::explore::Bounds;
use crate::fast::Names;

/// Whose step led to a state, and how many preemptions it took: the last bytes of a name, where preemptions
/// are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub thread: u8,
    pub preemptions: u8,
}

impl Turn {
    /// Before any step.
    pub const NOBODY: Turn = Turn { thread: u8::MAX, preemptions: 0 };

    pub fn bytes(self) -> [u8; 2] {
        [self.thread, self.preemptions]
    }

    /// A name without its turn, and its turn.
    pub fn split<'n>(name: &'n [u8], bounds: &Bounds) -> (&'n [u8], Turn) {
        match name {
            [packed @ .., thread, preemptions] if bounds.preemptions.is_some() => {
                (packed, Turn { thread: *thread, preemptions: *preemptions })
            }
            _ => (name, Turn::NOBODY),
        }
    }

    /// Keeps the names that at most so many preemptions lead to, and adds the turn to each. Switching away
    /// from a thread that has a step is a preemption.
    pub fn limit(self, names: &mut Names, most: u8) {
        let could_go_on = names.threads.contains(&self.thread);
        let mut kept = Names::default();
        for (name, &thread) in names.iter().zip(&names.threads) {
            let preempted = could_go_on && thread != self.thread;
            let turn = Turn { thread, preemptions: self.preemptions + u8::from(preempted) };
            if turn.preemptions <= most {
                kept.bytes.extend_from_slice(name);
                kept.bytes.extend_from_slice(&turn.bytes());
                kept.ends.push(kept.bytes.len());
                kept.threads.push(thread);
            }
        }
        *names = kept;
    }
}

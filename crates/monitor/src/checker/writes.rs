//! Writes: which of them show at an event.

use super::{Checker, Trouble, mistake};
use crate::event::{ThreadId, Write};
use crate::merge::Slot;

impl Checker {
    /// Everything but commits and returns.
    pub(super) fn take_other(&mut self, number: u64, slot: Slot) -> Result<Option<ThreadId>, Trouble> {
        match slot {
            Slot::Block(thread, writes) => self.writes(number, thread, writes),
            Slot::Write(thread, write) => {
                if let Some(write) = self.sections.write(number, thread, write) {
                    self.show(number, thread, write);
                }
            }
            Slot::Acquire(thread, lock) => self.sections.acquire(thread, lock).map_err(mistake)?,
            Slot::Release(thread, lock) => {
                let writes = self.sections.release(thread, lock).map_err(mistake)?;
                self.show_all(thread, writes);
            }
            Slot::Internal(thread) => {
                let writes = self.sections.commit(thread);
                self.show_all(thread, writes);
                self.internal += 1;
                return Ok(Some(thread));
            }
            Slot::Stray(stray) => return Err(mistake(*stray)),
            _ => {}
        }
        Ok(None)
    }

    /// The writes that a commit makes visible.
    #[inline]
    pub(super) fn commit_writes(&mut self, number: u64, thread: ThreadId, writes: Vec<Write>) {
        if self.refine.has_view() {
            let waiting = self.sections.commit(thread);
            self.show_all(thread, waiting);
            self.writes(number, thread, writes);
        }
    }

    pub(super) fn writes(&mut self, number: u64, thread: ThreadId, writes: Vec<Write>) {
        writes.into_iter().for_each(|write| self.show(number, thread, write));
    }

    fn show_all(&mut self, thread: ThreadId, writes: Vec<(u64, Write)>) {
        writes.into_iter().for_each(|(number, write)| self.show(number, thread, write));
    }

    /// A write takes effect: older ones to the same place that still wait do not.
    #[inline]
    fn show(&mut self, number: u64, thread: ThreadId, write: Write) {
        self.sections.shows(number, write.location);
        self.refine.write(number, thread, write);
    }
}

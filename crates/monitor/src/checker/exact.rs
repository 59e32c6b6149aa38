//! Exact commits: an operation takes effect at its number.

use super::{Checker, Failure, Order, Trouble, found};
use crate::event::Write;
use crate::finding::{Found, Unknown};
use crate::merge::{Answer, OpIndex, Slot};
use crate::order::versions::Versions;
use crate::trail::Past;

impl Checker {
    /// Takes the next event out.
    #[inline]
    pub(super) fn take_exact(&mut self, number: u64) -> Result<(), Trouble> {
        let Some(slot) = self.merge.pop() else { return Ok(()) };
        match slot {
            Slot::Commit(op) => self.commit(number, op, Vec::new()),
            Slot::CommitBlock(op, writes) => self.commit(number, op, writes),
            Slot::Return(op) | Slot::Abandon(op) => {
                if matches!(slot, Slot::Abandon(_)) {
                    self.abandon(op);
                }
                self.merge.release(op);
                self.calls += 1;
                Ok(())
            }
            Slot::At(op, version) | Slot::After(op, version) => {
                if self.committed > 0 {
                    return Err(self.mixed(op, "exact commits"));
                }
                // Those that were dropped before will never say their version.
                let unplaced = self.pending.len() + usize::from(self.forgotten);
                let mut versions = Versions::default();
                versions.unplaced = unplaced;
                self.order = Order::Versions(Box::new(versions));
                self.merge.ops[op as usize].version = Some(version);
                self.merge.ops[op as usize].reads = matches!(slot, Slot::After(..));
                Ok(())
            }
            other => match self.take_other(number, other)? {
                Some(thread) => {
                    let at = (number, self.committed);
                    self.refine.compare().map_err(|differs| self.differs(*differs, at, thread, None))
                }
                None => Ok(()),
            },
        }
    }

    /// An operation takes effect.
    #[inline]
    fn commit(&mut self, number: u64, op: OpIndex, writes: Vec<Write>) -> Result<(), Trouble> {
        let thread = self.merge.ops[op as usize].thread;
        self.commit_writes(number, thread, writes);
        let open = &self.merge.ops[op as usize];
        let applied = match open.state {
            Answer::Known => self.refine.apply(thread, open.op, &open.arg, &open.result),
            _ => {
                if !self.refine.apply_pending(thread, open.op, &open.arg) {
                    let unknown = Unknown::Orders { open: 0, configurations: self.refine.worlds().len() };
                    return Err(found(Found::Unknown(unknown)));
                }
                Ok(())
            }
        };
        if let Err(expected) = applied {
            let state = self.refine.model().show();
            let operation = open.task(u64::MAX);
            return Err(Trouble::Refused(Box::new(Failure {
                operation,
                number,
                expected,
                state,
                taken_back: Vec::new(),
            })));
        }
        self.operations += 1;
        self.returned += u64::from(open.state == Answer::Known);
        let since = std::mem::replace(&mut self.committed, number + 1);
        if let Err(differs) = self.refine.compare() {
            return Err(self.differs(*differs, (number, since), thread, Some(op)));
        }
        self.trail.note(Past::of(&mut self.merge.ops[op as usize]));
        if self.trail.is_full() {
            self.trail.turn(self.refine.worlds().iter().map(|world| &**world), number + 1);
        }
        Ok(())
    }
}

//! Commits by versions: an operation takes effect when it is its version's turn.

use super::{Checker, Failure, Order, Stage, Trouble, found, mistake};
use crate::finding::{Found, Mistake, Unknown};
use crate::merge::{Answer, OpIndex, Slot};
use crate::order::versions::{Placed, Turn};
use crate::trail::Past;

impl Checker {
    /// Takes the next event out.
    pub(super) fn take_version(&mut self, number: u64) -> Result<(), Trouble> {
        let Some(slot) = self.merge.pop() else { return Ok(()) };
        match slot {
            Slot::At(op, version) | Slot::After(op, version) => {
                let open = &mut self.merge.ops[op as usize];
                open.version = Some(version);
                open.reads = matches!(slot, Slot::After(..));
            }
            Slot::Commit(op) | Slot::CommitBlock(op, _) | Slot::Window(op) => {
                return Err(self.mixed(op, "versions"));
            }
            Slot::Return(op) | Slot::Abandon(op) => {
                self.wait_for_turn(op);
                self.merge.release(op);
                self.calls += 1;
            }
            // Writes are in the order of numbers, and the operations are not: the views are compared when
            // nothing is open.
            other => drop(self.take_other(number, other)?),
        }
        Ok(())
    }

    fn wait_for_turn(&mut self, op: OpIndex) {
        let Order::Versions(versions) = &mut self.order else { return };
        let open = &mut self.merge.ops[op as usize];
        match open.version {
            Some(version) => {
                let reads = open.reads;
                versions.push(Placed { version, reads, past: Past::of(open) });
            }
            None => versions.unplaced += 1,
        }
    }

    /// Places what can be placed.
    pub(super) fn place_versions(&mut self) {
        if !matches!(self.order, Order::Versions(_)) || !matches!(self.stage, Stage::Following) {
            return;
        }
        let oldest = self.merge.oldest_live().min(self.sealed);
        self.place_before(oldest);
        let Order::Versions(versions) = &self.order else { return };
        if matches!(self.stage, Stage::Following) && versions.len() > self.limits.waiting {
            let events = versions.len() as u64;
            self.decide(Found::Unknown(Unknown::Waiting { events, operation: None }));
        }
    }

    fn place_before(&mut self, oldest: u64) {
        loop {
            let Order::Versions(versions) = &mut self.order else { return };
            let turn = match versions.next(oldest) {
                Some(turn) => turn,
                None => break,
            };
            if let Err(trouble) = self.place(turn) {
                let number = self.merge.base();
                return self.stop(number, trouble);
            }
        }
        let Order::Versions(versions) = &self.order else { return };
        if versions.is_empty()
            && versions.unplaced == 0
            && self.merge.oldest_live() == u64::MAX
            && std::mem::replace(&mut self.viewed, self.operations) < self.operations
            && let Err(differs) = self.refine.compare()
        {
            let thread = crate::event::ThreadId::NONE;
            let number = self.merge.base();
            let trouble = self.differs(*differs, (number.saturating_sub(1), 0), thread, None);
            self.stop(number, trouble);
        }
    }

    fn place(&mut self, turn: Turn) -> Result<(), Trouble> {
        let Order::Versions(versions) = &mut self.order else { return Ok(()) };
        let uncertain = versions.unplaced;
        let (Turn::Next(placed) | Turn::Early(placed)) = &turn;
        let number = placed.past.commit;
        let refuse = |expected: String, state: String| {
            if uncertain > 0 {
                let why =
                    format!("{uncertain} operations never said their version, and {expected} was expected");
                return found(Found::Unknown(Unknown::Engine { why }));
            }
            let operation = placed.past.task(u64::MAX);
            Trouble::Refused(Box::new(Failure { operation, number, expected, state, taken_back: Vec::new() }))
        };
        if let Turn::Early(_) = turn {
            let expected = "a version that agrees with real time".to_owned();
            return Err(refuse(expected, self.refine.model().show()));
        }
        versions.place(placed, &self.signature).map_err(mistake)?;
        let past = &placed.past;
        let before = placed.reads.then(|| self.refine.model().digest());
        if past.known {
            let applied = self.refine.apply(past.thread, past.op, &past.arg, &past.result);
            if let Err(expected) = applied {
                let state = self.refine.model().show();
                return Err(refuse(expected, state));
            }
        } else if !self.refine.apply_pending(past.thread, past.op, &past.arg) {
            let unknown = Unknown::Orders { open: 0, configurations: self.refine.worlds().len() };
            return Err(found(Found::Unknown(unknown)));
        }
        if before.is_some_and(|before| before != self.refine.model().digest()) {
            if uncertain > 0 {
                // It may change nothing in the state that one of those left.
                let why =
                    format!("{uncertain} operations never said their version, and may have taken effect");
                return Err(found(Found::Unknown(Unknown::Engine { why })));
            }
            let operation = Box::new(past.seen(&self.signature));
            return Err(mistake(Mistake::Changed { operation }));
        }
        self.operations += 1;
        self.returned += u64::from(past.known);
        let (Turn::Next(placed) | Turn::Early(placed)) = turn;
        self.trail.note(placed.past);
        if self.trail.is_full() {
            self.trail.turn(self.refine.worlds().iter().map(|world| &**world), number + 1);
        }
        Ok(())
    }

    /// No more events: everything may be placed.
    pub(super) fn end_versions(&mut self) {
        if !matches!(self.order, Order::Versions(_)) || !matches!(self.stage, Stage::Following) {
            return;
        }
        let live = |index: &usize| self.merge.ops[*index].state == Answer::Never;
        let pending: Vec<usize> = (0..self.merge.ops.len()).filter(live).collect();
        pending.into_iter().for_each(|index| self.wait_for_turn(index as OpIndex));
        self.place_before(u64::MAX);
    }
}

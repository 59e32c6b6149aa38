//! What takes effect in a sweep, and how it is taken back; fingerprints of both.

use linpoint_history::rng::mix;

use super::super::plan::NONE;
use super::{Done, Frame, Through};

impl Through<'_> {
    pub(super) fn apply(&mut self, done: Done) {
        match done {
            Done::Push(value) => {
                self.take(value);
                self.print ^= link(self.queue.back().copied(), value);
                self.queue.push_back(value);
            }
            Done::Pop(value) => {
                self.queue.pop_front();
                self.behead(value);
            }
            Done::Pass(value) => self.take(value),
            Done::Empty(op) => {
                self.print ^= mix(u64::from(op) << 1 | 1);
                self.empty_called.remove(op);
                self.empty_due.remove(op);
            }
            Done::Never(value) => {
                self.print ^= mix(u64::from(value) << 1);
                self.never_called.remove(value);
                self.never_due.remove(value);
            }
        }
        self.log.push((self.gap, done));
    }

    fn take(&mut self, value: u32) {
        self.print ^= mix(u64::from(value) << 1);
        self.called.remove(value);
        let kind = &mut self.kinds[self.elements[value as usize].kind as usize];
        kind.due.remove(value);
        kind.out.remove(value);
    }

    fn give_back(&mut self, value: u32) {
        self.print ^= mix(u64::from(value) << 1);
        self.called.put_back(value);
        let kind = &mut self.kinds[self.elements[value as usize].kind as usize];
        kind.due.put_back(value);
        kind.out.put_back(value);
    }

    /// The fingerprint of the queue with `head` in front becomes that of the queue without, or the other way
    /// round.
    fn behead(&mut self, head: u32) {
        self.print ^= link(None, head);
        if let Some(&next) = self.queue.front() {
            self.print ^= link(Some(head), next) ^ link(None, next);
        }
    }

    pub(super) fn back_to(&mut self, frame: &Frame) {
        while self.log.len() > frame.log as usize {
            let Some((_, done)) = self.log.pop() else { return };
            match done {
                Done::Push(value) => {
                    self.queue.pop_back();
                    self.print ^= link(self.queue.back().copied(), value);
                    self.give_back(value);
                }
                Done::Pop(value) => {
                    self.behead(value);
                    self.queue.push_front(value);
                    self.kind = self.elements[value as usize].kind;
                }
                Done::Pass(value) => self.give_back(value),
                Done::Empty(op) => {
                    self.print ^= mix(u64::from(op) << 1 | 1);
                    self.empty_called.put_back(op);
                    self.empty_due.put_back(op);
                }
                Done::Never(value) => {
                    self.print ^= mix(u64::from(value) << 1);
                    self.never_called.put_back(value);
                    self.never_due.put_back(value);
                }
            }
        }
        self.top = frame.top;
        if let Some(&value) = self.queue.front() {
            self.kind = self.elements[value as usize].kind;
        }
    }
}

/// The fingerprint of an element behind another.
fn link(before: Option<u32>, value: u32) -> u64 {
    mix(u64::from(before.unwrap_or(NONE)) << 32 | u64::from(value)).rotate_left(17)
}

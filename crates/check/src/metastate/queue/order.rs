//! From "who consumed whom, and when" to an order of all operations of a queue.
//!
//! A configuration never says when an enqueue took effect: the order of enqueues is the order in which they
//! are consumed, left-overs last by return. Each takes effect as late as it can: right before its own
//! dequeue, or at its return, together with those enqueues before it in that order that have not taken effect
//! yet. So when an enqueue returns, what follows has to wait until it is known who is consumed before it.
//! What waits is bounded by what is in the queue: while an element x is in it, dequeues take what was there
//! before x, and what is enqueued stays behind x.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::timeline::OpId;

/// A removal takes effect: of an element, or finding the queue empty.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The return that forced it: it takes effect before that one, and after the one before.
    pub gap: u32,
    /// The dequeue.
    pub op: OpId,
    /// The enqueue it consumes, by time; [`Step::NOTHING`] if it finds the queue empty.
    pub element: u32,
}

impl Step {
    /// No element.
    pub const NOTHING: u32 = u32::MAX;
}

/// Puts operations in order, as far as it is determined.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// Elements the queue started with; they are no operations.
    initial: u32,
    /// Returned enqueues whose place among the steps is not known yet, by return.
    returns: VecDeque<u32>,
    /// Steps and returns in order of time, waiting.
    waiting: VecDeque<Waiting>,
    /// Elements in order of consumption that have not taken effect yet.
    consumed: VecDeque<u32>,
    /// What is known of elements that were consumed or took effect, until their return is passed.
    status: FxHashMap<u32, Status>,
}

#[derive(Clone, Copy, Debug)]
enum Waiting {
    Step(OpId, u32),
    Return(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Its turn is known.
    Consumed,
    /// It took effect.
    Placed,
}

const PENDING: u32 = 1 << 31;

impl Order {
    /// The order for a queue that starts with `initial` elements.
    pub fn starting_with(initial: u32) -> Order {
        Order { initial, returns: (0..initial).collect(), ..Order::default() }
    }

    /// The enqueue with time `id` returns.
    pub fn returns(&mut self, id: u32) {
        self.returns.push_back(id);
    }

    /// A step is final.
    pub fn step(&mut self, step: Step) {
        self.settle_before(step.gap);
        self.waiting.push_back(Waiting::Step(step.op, step.element));
        if step.element != Step::NOTHING {
            self.consumed.push_back(step.element);
            self.status.insert(step.element, Status::Consumed);
        }
    }

    /// All steps before the return `gap` are final.
    pub fn settle_before(&mut self, gap: u32) {
        while self.returns.front().is_some_and(|&id| id < gap) {
            self.waiting.extend(self.returns.pop_front().map(Waiting::Return));
        }
    }

    /// No more steps come: what is left in the queue follows by return.
    pub fn finish(&mut self) {
        self.settle_before(PENDING);
        for item in &self.waiting {
            if let Waiting::Return(id) = *item
                && !self.status.contains_key(&id)
            {
                self.consumed.push_back(id);
                self.status.insert(id, Status::Consumed);
            }
        }
    }

    /// Writes what is determined to `out`.
    pub fn drain(&mut self, out: &mut Vec<OpId>) {
        while let Some(&next) = self.waiting.front() {
            match next {
                Waiting::Return(id) => match self.status.get(&id) {
                    None => return,
                    Some(status) => {
                        if *status == Status::Consumed {
                            self.place_up_to(id, out);
                        }
                        self.status.remove(&id);
                    }
                },
                Waiting::Step(op, element) => {
                    if element != Step::NOTHING {
                        if self.status.get(&element) == Some(&Status::Consumed) {
                            self.place_up_to(element, out);
                        }
                        if element & PENDING != 0 {
                            self.status.remove(&element);
                        }
                    }
                    out.push(op);
                }
            }
            self.waiting.pop_front();
        }
    }

    fn place_up_to(&mut self, id: u32, out: &mut Vec<OpId>) {
        while let Some(next) = self.consumed.pop_front() {
            if next & PENDING != 0 {
                out.push(OpId(next));
            } else if next >= self.initial {
                out.push(OpId(next - self.initial));
            }
            self.status.insert(next, Status::Placed);
            if next == id {
                return;
            }
        }
    }

    /// Bytes held, roughly.
    pub fn memory(&self) -> usize {
        (self.returns.capacity() + self.consumed.capacity()) * 4
            + self.waiting.capacity() * size_of::<Waiting>()
            + self.status.capacity() * 10
    }
}

//! An order of a deque from its narrowed windows ([`super::windows`]), in one go.
//!
//! Elements that go through are put into an order of their queue, pushed as late and popped as early as that allows, so that they are inside no longer than they must. Elements that leave where they came from
//! are peeled like a stack ([`crate::monitor::stack::peel`]), which leaves every gap free that is not covered. Inside one gap come pops first, then what needs emptiness, then pushes.
//!
//! The result is tried on a deque right here, and given away only if it fits; the recheck judges it once more.

use std::collections::VecDeque;

use super::plan::{End, Part, Plan, What};
use super::windows::{Class, NoGap, Windows};
use crate::engine::{Budget, Stop};
use crate::monitor::stack::peel;

/// What came of it.
#[derive(Debug)]
pub(super) enum Placed {
    /// An order that fits.
    Order(Vec<u32>),
    /// There is probably none: this operation finds no gap.
    Stuck(u32),
    /// This way did not find one.
    None,
}

/// What comes when inside a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    PopOfStack,
    PopOfQueue,
    Empty,
    Through,
    PushOfQueue,
    PushForEver,
    PushOfStack,
    Instant,
    Between,
}

/// Finds an order of a history that starts with an empty deque and has nothing pending.
pub(super) fn place(plan: &Plan, budget: &Budget) -> Result<Placed, Stop> {
    if !plan.initial.is_empty() || plan.ops.len() != plan.completed as usize {
        return Ok(Placed::None);
    }
    let windows = match Windows::new(plan, budget)? {
        Ok(windows) => windows,
        Err(NoGap(op)) => return Ok(Placed::Stuck(op)),
    };
    let mut placer = Placer { plan, windows, entries: Vec::with_capacity(plan.ops.len()) };
    for class in [Class::BackFront, Class::FrontBack] {
        placer.queue(class);
    }
    for class in [Class::FrontFront, Class::BackBack] {
        if let Err(op) = placer.stack(class) {
            return Ok(Placed::Stuck(op));
        }
    }
    placer.others();
    let Placer { mut entries, .. } = placer;
    entries.sort_by_key(|&(gap, rank, turn, _)| (gap, rank, turn));
    let order: Vec<u32> = entries.into_iter().map(|(.., op)| op).collect();
    Ok(if fits(plan, &order) { Placed::Order(order) } else { Placed::None })
}

struct Placer<'a> {
    plan: &'a Plan,
    windows: Windows<'a>,
    /// Gap, rank, turn, operation; those of one turn stay as they are.
    entries: Vec<(u32, Rank, u32, u32)>,
}

impl Placer<'_> {
    /// The push and the pop of each element of a class; of what never leaves, the push twice.
    fn pairs(&self, class: Class) -> Vec<(u32, u32)> {
        let items = self.plan.items.iter().filter(|item| Class::of(item) == class);
        items.map(|item| (item.push, item.pop)).collect()
    }

    fn window(&self, op: u32) -> (u32, u32) {
        (self.windows.first[op as usize], self.windows.last[op as usize])
    }

    /// Places the elements of a queue.
    fn queue(&mut self, class: Class) {
        let order = self.queue_order(self.pairs(class));
        let mut pushed = vec![0; order.len()];
        let mut limit = u32::MAX;
        for (at, &(push, _)) in order.iter().enumerate().rev() {
            let (first, last) = self.window(push);
            let gap = last.min(limit);
            limit = self.windows.before(push, gap, first.min(gap)).unwrap_or(gap);
            pushed[at] = limit;
        }
        let mut limit = 0;
        for (turn, (&(push, pop), &pushed)) in (0..).zip(order.iter().zip(&pushed)) {
            let (first, last) = self.window(pop);
            let gap = first.max(limit).max(pushed);
            limit = self.windows.next(pop, gap, last.max(gap)).min(last.max(gap));
            if limit == pushed {
                self.entries.push((pushed, Rank::Through, turn, push));
                self.entries.push((pushed, Rank::Through, turn, pop));
            } else {
                self.entries.push((pushed, Rank::PushOfQueue, turn, push));
                self.entries.push((limit, Rank::PopOfQueue, turn, pop));
            }
        }
    }

    /// An order of a queue: whoever must leave first, and before it all that were surely pushed before it.
    fn queue_order(&self, pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
        let last = |op: u32| self.windows.last[op as usize];
        let (mut by_push, mut by_pop): (Vec<usize>, Vec<usize>) = (0..pairs.len()).map(|at| (at, at)).unzip();
        by_push.sort_by_key(|&at| last(pairs[at].0));
        by_pop.sort_by_key(|&at| last(pairs[at].1));
        let mut taken = vec![false; pairs.len()];
        let mut order = Vec::with_capacity(pairs.len());
        let mut front = 0;
        for at in by_pop {
            while let Some(&next) = by_push.get(front)
                && (taken[next] || last(pairs[next].0) < self.windows.first[pairs[at].0 as usize])
            {
                front += 1;
                if !std::mem::replace(&mut taken[next], true) {
                    order.push(pairs[next]);
                }
            }
            if !std::mem::replace(&mut taken[at], true) {
                order.push(pairs[at]);
            }
        }
        order
    }

    /// Places the elements of a stack; an operation that finds no place, if one does not.
    fn stack(&mut self, class: Class) -> Result<(), u32> {
        let pairs = self.pairs(class);
        let mut items = Vec::new();
        for (tag, &(push, pop)) in (0..).zip(&pairs) {
            let ((first, left), (right, last)) = (self.window(push), self.window(pop));
            if right > left + 1 {
                items.push(peel::Item { first, left, right, last, tag });
                continue;
            }
            let (gap, rank) =
                if right > left { (left, Rank::Between) } else { (left.min(last), Rank::Instant) };
            self.entries.push((gap, rank, push, push));
            self.entries.push((gap, rank, push, pop));
        }
        items.sort_unstable_by_key(|item| item.left);
        let mut order = Vec::new();
        if let Err(stuck) = peel::peel(&mut items, &mut order, &mut Vec::new()) {
            return Err(pairs[stuck.items[0].tag as usize].1);
        }
        for (turn, peeled) in (0..).zip(&order) {
            let (push, pop) = pairs[peeled.tag as usize];
            self.entries.push((peeled.right, Rank::PopOfStack, u32::MAX - turn, pop));
            self.entries.push((peeled.left, Rank::PushOfStack, turn, push));
        }
        Ok(())
    }

    /// Places what finds nothing, and what never leaves: as late as it may.
    fn others(&mut self) {
        for (op, what) in (0..).zip(self.plan.ops.iter().map(|op| op.what)) {
            let rank = match what {
                What::Empty => Rank::Empty,
                What::Push(value) if self.plan.items[value as usize].part == Part::Never => Rank::PushForEver,
                _ => continue,
            };
            self.entries.push((self.windows.last[op as usize], rank, op, op));
        }
    }
}

/// Does a deque allow this order, and time?
fn fits(plan: &Plan, order: &[u32]) -> bool {
    let mut inside: VecDeque<u32> = VecDeque::new();
    let mut called = 0;
    let in_time = order.iter().all(|&op| {
        let op = &plan.ops[op as usize];
        called = op.earliest.max(called);
        op.latest >= called
    });
    let allowed = |&op: &u32| match plan.ops[op as usize].what {
        What::Empty => inside.is_empty(),
        What::Push(value) => {
            match plan.items[value as usize].at {
                End::Front => inside.push_front(value),
                End::Back => inside.push_back(value),
            }
            true
        }
        What::Pop(value) => match plan.items[value as usize].part {
            Part::Front => inside.pop_front() == Some(value),
            _ => inside.pop_back() == Some(value),
        },
    };
    in_time && order.len() == plan.ops.len() && order.iter().all(allowed)
}

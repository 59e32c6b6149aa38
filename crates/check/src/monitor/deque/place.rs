//! An order of a deque from its narrowed windows ([`super::windows`]).
//!
//! What goes through, what never leaves, and what needs emptiness is placed by a sweep ([`super::through`]).
//! Elements that leave where they came from are peeled like a stack ([`crate::monitor::stack::peel`]), which
//! leaves every gap free that is not covered. Inside one gap come pops of these first, then all that the
//! sweep put there, then pushes of these.
//!
//! The result is tried on a deque right here, and given away only if it fits; the recheck judges it once
//! more.

use std::collections::VecDeque;

use super::build::Stuck;
use super::plan::{End, Part, Plan, What};
use super::through::{Swept, Through};
use super::windows::{Class, NoGap, Windows};
use crate::engine::{Budget, Stop};
use crate::monitor::stack::peel;

/// What came of it.
#[derive(Debug)]
pub(super) enum Placed {
    /// An order that fits.
    Order(Vec<u32>),
    /// There is none, as far as this goes.
    Stuck(Stuck),
    /// It does not know; how far it came, if anywhere.
    Unknown(Option<Stuck>),
}

/// What comes when inside a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    PopOfStack,
    Through,
    PushOfStack,
    Instant,
    Between,
}

/// Finds an order of a history that starts with an empty deque; `steps` is counted up by every gap that was
/// gone through.
pub(super) fn place(plan: &Plan, budget: &Budget, steps: &mut u64) -> Result<Placed, Stop> {
    if !plan.initial.is_empty() {
        return Ok(Placed::Unknown(None));
    }
    let at = |op: u32| Stuck { gap: plan.ops[op as usize].latest.min(plan.completed), ends: Vec::new() };
    let windows = match Windows::new(plan, budget)? {
        Ok(windows) => windows,
        Err(NoGap(op)) => return Ok(Placed::Stuck(at(op))),
    };
    let swept = match Through::new(plan, &windows).run(budget, steps)? {
        Swept::Order(swept) => swept,
        Swept::None(stuck) => return Ok(Placed::Stuck(stuck)),
        Swept::GaveUp(stuck) => return Ok(Placed::Unknown(Some(stuck))),
    };
    let mut placer = Placer { plan, windows, entries: Vec::with_capacity(plan.ops.len()) };
    placer.entries.extend((0..).zip(swept).map(|(turn, (gap, op))| (gap, Rank::Through, turn, op)));
    for class in [Class::FrontFront, Class::BackBack] {
        if let Err(op) = placer.stack(class) {
            return Ok(Placed::Stuck(at(op)));
        }
    }
    let Placer { mut entries, .. } = placer;
    entries.sort_by_key(|&(gap, rank, turn, _)| (gap, rank, turn));
    let order: Vec<u32> = entries.into_iter().map(|(.., op)| op).collect();
    Ok(if fits(plan, &order) { Placed::Order(order) } else { Placed::Unknown(None) })
}

struct Placer<'a> {
    plan: &'a Plan,
    windows: Windows<'a>,
    /// Gap, rank, turn, operation; those of one turn stay as they are.
    entries: Vec<(u32, Rank, u32, u32)>,
}

impl Placer<'_> {
    /// The push and the pop of each element of a class.
    fn pairs(&self, class: Class) -> Vec<(u32, u32)> {
        let items = self.plan.items.iter().filter(|item| Class::of(item) == class);
        items.map(|item| (item.push, item.pop)).collect()
    }

    fn window(&self, op: u32) -> (u32, u32) {
        (self.windows.first[op as usize], self.windows.last[op as usize])
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
    let wanted = (0..plan.ops.len() as u32).filter(|&op| !plan.is_left_out(op)).count();
    in_time && order.len() == wanted && order.iter().all(allowed)
}

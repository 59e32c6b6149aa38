//! In which gaps each operation of a deque can take effect, as far as the others leave room.
//!
//! An element is of one of six classes: where it is pushed (front, back), and where it leaves (front, back,
//! never). With the parts of [`super`], a run is legal iff
//!
//! 1. elements that are pushed and leave at one end (FF, BB) are a stack among themselves;
//! 2. elements that go through (BF, FB) are a queue among themselves;
//! 3. BF is pushed while nothing is inside that leaves by the back or never, and popped while no FF is
//!    inside; FB the other way round;
//! 4. what never leaves is pushed at the front while nothing is inside that leaves by the front; at the back
//!    the other way round;
//! 5. a pop finds nothing while nothing is inside.
//!
//! An element is surely inside after the last gap of its push and before the first gap of its pop. So 3, 4
//! and 5 take gaps away from windows, which makes more elements surely inside; a pop comes no earlier than
//! its push; and of two that go through, one surely pushed (popped) before the other, the same holds of their
//! pops (pushes). This is repeated until nothing changes. Every step follows from the rules, so a window that
//! becomes empty means that there is no order; but nobody is asked to believe that.

use super::plan::{End, Item, NONE, Part, Plan, What};
use crate::engine::{Budget, Stop};

/// Where an element comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    FrontFront,
    BackFront,
    BackBack,
    FrontBack,
    FrontNever,
    BackNever,
}

use Class::{BackBack, BackFront, BackNever, FrontBack, FrontFront, FrontNever};

impl Class {
    pub(super) fn of(item: &Item) -> Class {
        match (item.at, item.part) {
            (End::Front, Part::Front) => FrontFront,
            (End::Back, Part::Front) => BackFront,
            (End::Back, Part::Back) => BackBack,
            (End::Front, Part::Back) => FrontBack,
            (End::Front, Part::Never) => FrontNever,
            (End::Back, Part::Never) => BackNever,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

const NEVER: u8 = 1 << FrontNever as u8 | 1 << BackNever as u8;
const LEAVES_FRONT: u8 = 1 << FrontFront as u8 | 1 << BackFront as u8;
const LEAVES_BACK: u8 = 1 << BackBack as u8 | 1 << FrontBack as u8;

/// A window became empty: no gap is left for this operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoGap(pub(super) u32);

/// The windows of all operations: first and last gap.
#[derive(Debug)]
pub(super) struct Windows<'a> {
    plan: &'a Plan,
    pub(super) first: Vec<u32>,
    pub(super) last: Vec<u32>,
    /// For each gap, the classes of which something is surely inside.
    inside: Vec<u8>,
}

impl<'a> Windows<'a> {
    /// Makes the windows as narrow as it can.
    pub(super) fn new(plan: &'a Plan, budget: &Budget) -> Result<Result<Windows<'a>, NoGap>, Stop> {
        let mut windows = Windows {
            plan,
            first: plan.ops.iter().map(|op| op.earliest).collect(),
            last: plan.ops.iter().map(|op| op.latest.min(plan.completed)).collect(),
            inside: vec![0; plan.completed as usize + 1],
        };
        for _ in 0..ROUNDS {
            budget.check(windows.first.len() * 64)?;
            let mut changed = windows.pair();
            changed |= windows.keep_queue(BackFront) | windows.keep_queue(FrontBack);
            windows.cover();
            match windows.leave_room() {
                Ok(more) => changed |= more,
                Err(none) => return Ok(Err(none)),
            }
            if !changed {
                break;
            }
        }
        Ok(Ok(windows))
    }

    /// The classes of which nothing may surely be inside where `op` takes effect.
    fn needs_empty(&self, what: What) -> u8 {
        let class = |value: u32| Class::of(&self.plan.items[value as usize]);
        match what {
            What::Empty => u8::MAX,
            What::Push(value) => match class(value) {
                BackFront => LEAVES_BACK | NEVER,
                FrontBack => LEAVES_FRONT | NEVER,
                FrontNever => LEAVES_FRONT,
                BackNever => LEAVES_BACK,
                FrontFront | BackBack => 0,
            },
            What::Pop(value) => match class(value) {
                BackFront => FrontFront.bit(),
                FrontBack => BackBack.bit(),
                _ => 0,
            },
        }
    }

    /// May `op` take effect in this gap, as far as is known?
    pub(super) fn allows(&self, op: u32, gap: u32) -> bool {
        self.inside[gap as usize] & self.needs_empty(self.plan.ops[op as usize].what) == 0
    }

    /// Can be nothing inside, in this gap, that was pushed at the front and leaves there (0), or at the back
    /// (1)?
    pub(super) fn is_open(&self, gap: u32, kind: usize) -> bool {
        let class = [FrontFront, BackBack][kind];
        self.inside[gap as usize] & class.bit() == 0
    }

    /// The first gap from `gap` on, up to `last`, in which `op` may take effect; the one after `last` if
    /// there is none.
    fn next(&self, op: u32, gap: u32, last: u32) -> u32 {
        let needs = self.needs_empty(self.plan.ops[op as usize].what);
        (gap..=last).find(|&gap| self.inside[gap as usize] & needs == 0).unwrap_or(last + 1)
    }

    /// The last gap up to `gap`, from `first` on, in which `op` may take effect.
    fn before(&self, op: u32, gap: u32, first: u32) -> Option<u32> {
        let needs = self.needs_empty(self.plan.ops[op as usize].what);
        (first..=gap).rev().find(|&gap| self.inside[gap as usize] & needs == 0)
    }

    fn pair(&mut self) -> bool {
        let mut changed = false;
        for item in self.plan.items.iter().filter(|item| item.pop != NONE) {
            let (push, pop) = (item.push as usize, item.pop as usize);
            let (first, last) = (self.first[push], self.last[pop]);
            changed |= raise(&mut self.first[pop], first) | lower(&mut self.last[push], last);
        }
        changed
    }

    /// Pushes and pops of a queue are in the same order, as far as one of the two is sure.
    fn keep_queue(&mut self, class: Class) -> bool {
        let of_class = |item: &&Item| Class::of(item) == class;
        let pairs: Vec<(usize, usize)> = self
            .plan
            .items
            .iter()
            .filter(of_class)
            .map(|item| (item.push as usize, item.pop as usize))
            .collect();
        let turned: Vec<(usize, usize)> = pairs.iter().map(|&(push, pop)| (pop, push)).collect();
        self.carry_over(&pairs) | self.carry_over(&turned)
    }

    /// Where the first operation of one pair is surely before that of another, so is the second.
    fn carry_over(&mut self, pairs: &[(usize, usize)]) -> bool {
        let mut changed = false;
        let (mut by_last, mut by_first) = (pairs.to_vec(), pairs.to_vec());
        by_last.sort_unstable_by_key(|pair| self.last[pair.0]);
        by_first.sort_unstable_by_key(|pair| self.first[pair.0]);
        let (mut before, mut bound) = (0, 0);
        for &(one, other) in &by_first {
            while before < by_last.len() && self.last[by_last[before].0] < self.first[one] {
                bound = bound.max(self.first[by_last[before].1]);
                before += 1;
            }
            changed |= raise(&mut self.first[other], bound);
        }
        let (mut behind, mut bound) = (by_first.len(), u32::MAX);
        for &(one, other) in by_last.iter().rev() {
            while behind > 0 && self.first[by_first[behind - 1].0] > self.last[one] {
                bound = bound.min(self.last[by_first[behind - 1].1]);
                behind -= 1;
            }
            changed |= lower(&mut self.last[other], bound);
        }
        changed
    }

    /// Finds what is surely inside.
    fn cover(&mut self) {
        let gaps = self.inside.len();
        let mut changes = vec![[0i32; 6]; gaps + 1];
        for item in &self.plan.items {
            let from = self.last[item.push as usize] as usize + 1;
            let to = if item.pop == NONE { gaps } else { self.first[item.pop as usize] as usize };
            if from < to.min(gaps) {
                let class = Class::of(item) as usize;
                changes[from][class] += 1;
                changes[to.min(gaps)][class] -= 1;
            }
        }
        let mut counts = [0i32; 6];
        for (inside, change) in self.inside.iter_mut().zip(&changes) {
            *inside = 0;
            for (class, (count, change)) in counts.iter_mut().zip(change).enumerate() {
                *count += change;
                *inside |= u8::from(*count > 0) << class;
            }
        }
    }

    /// Takes gaps from the ends of windows in which an operation cannot take effect.
    fn leave_room(&mut self) -> Result<bool, NoGap> {
        let mut changed = false;
        for op in 0..self.first.len() as u32 {
            if self.plan.is_left_out(op) {
                continue;
            }
            let (first, last) = (self.first[op as usize], self.last[op as usize]);
            if first > last {
                return Err(NoGap(op));
            }
            if self.needs_empty(self.plan.ops[op as usize].what) == 0 {
                continue;
            }
            let after = self.next(op, first, last);
            if after > last {
                return Err(NoGap(op));
            }
            let before = self.before(op, last, after).unwrap_or(after);
            changed |= after != first || before != last;
            (self.first[op as usize], self.last[op as usize]) = (after, before);
        }
        Ok(changed)
    }
}

/// More rounds than this are never needed in practice.
const ROUNDS: u32 = 100;

fn raise(number: &mut u32, to: u32) -> bool {
    let changed = *number < to;
    *number = (*number).max(to);
    changed
}

fn lower(number: &mut u32, to: u32) -> bool {
    let changed = *number > to;
    *number = (*number).min(to);
    changed
}

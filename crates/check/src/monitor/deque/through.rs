//! When elements go through a deque, and when it is empty: a sweep over the gaps, depth first.
//!
//! Elements that leave where they came from (FF, BB) ask nothing of the sweep: they can be arranged so that
//! there are none in any gap that no cover of theirs has ("Stack" in `docs/soundness.md`), so in each gap an
//! end is *closed*, or it is open. What goes through, BF or FB, is pushed where its first end is open, popped
//! where its second end is, first in, first out, and both kinds are never inside together. So all there is to
//! know at a gap is which elements were pushed, and which of them, all of one kind, are in the queue. What
//! costs nothing is done at once:
//!
//! - a pop at the head of the queue, with its end open;
//! - with nothing in the queue and both ends open: every element that can be pushed and popped, and every pop
//!   that finds nothing;
//! - pushes of what never leaves, once nothing else is missing that they could block;
//! - a push of what will be able to leave by the time at which the queue can be empty again. This time is the
//!   *level*.
//!
//! Moved to here, these leave all else as it is. So the one choice at a gap is to raise the level, by the
//! push of an element that leaves only later, and how far: then whatever needs another level comes along.
//! Last chances come first, to raise it no further than they ask is tried first. A level is too high if
//! something that needs the queue to be empty has its last gap before it, or an element of the same kind that
//! is not in the queue has to leave before it. Places that led nowhere are remembered by fingerprints.

mod undo;

use linpoint_history::rng::mix;

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::build::Stuck;
use super::plan::{NONE, Plan, What};
use super::windows::{Class, Windows};
use crate::depth_first::links::Calls;
use crate::engine::{Budget, Stop};

/// What came of it.
#[derive(Debug)]
pub(super) enum Swept {
    /// Operations with their gaps, in order.
    Order(Vec<(u32, u32)>),
    /// There is none; how far it came.
    None(Stuck),
    /// Not everything was tried; how far it came.
    GaveUp(Stuck),
}

/// So many gaps may be gone back.
const KEPT: usize = 1 << 16;
/// So many steps may be made in vain, for the whole history and for each gap.
const STEPS_IN_VAIN: u64 = 1 << 20;
/// So many elements at each end of the queue are shown to whom asks why there is no order.
const NEAR: usize = 12;
/// So many dead ends are remembered.
const DEAD: usize = 1 << 20;

/// Elements of one kind, BF or FB.
#[derive(Debug)]
struct Kind {
    /// Not pushed yet, by the last gap of the push, and by the last gap of the pop.
    due: Calls,
    out: Calls,
    /// From each gap on the first one in which the end is open where they leave.
    open: Vec<u32>,
}

/// An element's windows: of its push, of its pop.
#[derive(Clone, Copy, Debug, Default)]
struct Element {
    first: u32,
    last: u32,
    from: u32,
    by: u32,
    kind: u8,
}

/// What took effect, to be taken back.
#[derive(Clone, Copy, Debug)]
enum Done {
    Push(u32),
    Pop(u32),
    Pass(u32),
    Empty(u32),
    Never(u32),
}

/// A gap that was gone through.
#[derive(Clone, Copy, Debug)]
struct Frame {
    before: u64,
    log: u32,
    top: u32,
    choice: u32,
    choices: u32,
}

pub(super) struct Through<'a> {
    plan: &'a Plan,
    windows: &'a Windows<'a>,
    /// By value.
    elements: Vec<Element>,
    /// Elements not pushed yet, by call.
    called: Calls,
    kinds: [Kind; 2],
    /// Pops that found nothing, by first and by last gap.
    empty_called: Calls,
    empty_due: Calls,
    /// What never leaves, by value: by first and by last gap.
    never_called: Calls,
    never_due: Calls,
    queue: VecDeque<u32>,
    /// The kind of what is in the queue, and the latest first gap of their pops.
    kind: u8,
    top: u32,
    log: Vec<(u32, Done)>,
    frames: VecDeque<Frame>,
    dead: FxHashSet<u64>,
    /// The fingerprint of all that took effect, and of the order of the queue.
    print: u64,
    gap: u32,
    furthest: u32,
    stuck: Stuck,
    /// Candidates at a gap: level, kind, the last gap of their pops, element.
    candidates: Vec<(u32, u8, u32, u32)>,
}

impl<'a> Through<'a> {
    pub(super) fn new(plan: &'a Plan, windows: &'a Windows<'a>) -> Through<'a> {
        let (first, last) = (&windows.first, &windows.last);
        let items = || (0u32..).zip(&plan.items);
        let mut elements = vec![Element::default(); plan.items.len()];
        let mut of_kind = [Vec::new(), Vec::new()];
        let mut never = Vec::new();
        for (value, item) in items() {
            let kind = match Class::of(item) {
                Class::BackFront => 0,
                Class::FrontBack => 1,
                Class::FrontNever | Class::BackNever if item.push < plan.completed => {
                    never.push(value);
                    continue;
                }
                _ => continue,
            };
            let (push, pop) = (item.push as usize, item.pop as usize);
            let (first, last, from, by) = (first[push], last[push], first[pop], last[pop]);
            elements[value as usize] = Element { first, last, from, by, kind };
            of_kind[kind as usize].push(value);
        }
        let empties: Vec<u32> =
            (0..plan.completed).filter(|&op| plan.ops[op as usize].what == What::Empty).collect();
        let sorted = |of: &[u32], end: usize, key: &dyn Fn(u32) -> u32| {
            let mut order = of.to_vec();
            order.sort_by_key(|&one| key(one));
            Calls::in_order(end as u32, &order)
        };
        let (values, ops) = (plan.items.len(), plan.ops.len());
        let push = |value: u32| plan.items[value as usize].push as usize;
        let element = |value: u32| &elements[value as usize];
        let kind = |kind: usize| Kind {
            due: sorted(&of_kind[kind], values, &|value| element(value).last),
            out: sorted(&of_kind[kind], values, &|value| element(value).by),
            open: next_open(plan.completed, |gap| windows.is_open(gap, kind)),
        };
        let all = of_kind.concat();
        Through {
            called: sorted(&all, values, &|value| element(value).first),
            kinds: [kind(0), kind(1)],
            empty_called: sorted(&empties, ops, &|op| first[op as usize]),
            empty_due: sorted(&empties, ops, &|op| last[op as usize]),
            never_called: sorted(&never, values, &|value| first[push(value)]),
            never_due: sorted(&never, values, &|value| last[push(value)]),
            queue: VecDeque::new(),
            kind: 0,
            top: 0,
            log: Vec::with_capacity(2 * all.len()),
            frames: VecDeque::new(),
            dead: FxHashSet::default(),
            print: 0,
            gap: 0,
            furthest: 0,
            stuck: Stuck { gap: NONE, ends: Vec::new() },
            candidates: Vec::new(),
            plan,
            windows,
            elements,
        }
    }

    /// Sweeps over all gaps.
    pub(super) fn run(mut self, budget: &Budget, steps: &mut u64) -> Result<Swept, Stop> {
        let mut patience = STEPS_IN_VAIN + 8 * u64::from(self.plan.completed);
        let mut choice = 0;
        let mut is_final = false;
        while self.gap <= self.plan.completed {
            patience -= 1;
            *steps += 1;
            if patience.is_multiple_of(1024) {
                budget.check(self.memory())?;
            }
            if patience == 0 {
                return Ok(Swept::GaveUp(self.stuck));
            }
            let before = self.print ^ mix(u64::from(self.gap) << 32);
            let mut frame =
                Frame { before, log: self.log.len() as u32, top: self.top, choice, choices: choice };
            let is_dead = choice == 0 && !self.dead.is_empty() && self.dead.contains(&before);
            if !is_dead && self.step(choice, &mut frame.choices) {
                if self.frames.len() == KEPT {
                    self.frames.pop_front();
                    is_final = true;
                }
                self.frames.push_back(frame);
                self.gap += 1;
                self.furthest = self.furthest.max(self.gap);
                choice = 0;
                continue;
            }
            if !is_dead {
                if self.stuck.gap != self.gap && self.gap == self.furthest {
                    self.note();
                }
                self.back_to(&frame);
                if choice < frame.choices {
                    choice += 1;
                    continue;
                }
                self.bury(before);
            }
            // The last gap with a choice left.
            choice = loop {
                let Some(frame) = self.frames.pop_back() else {
                    return Ok(if is_final { Swept::GaveUp(self.stuck) } else { Swept::None(self.stuck) });
                };
                self.back_to(&frame);
                self.gap -= 1;
                if frame.choice < frame.choices {
                    break frame.choice + 1;
                }
                self.bury(frame.before);
            };
        }
        let plan = self.plan;
        let order = self.log.into_iter().flat_map(|(gap, done)| {
            let (one, other) = match done {
                Done::Push(value) | Done::Never(value) => (plan.items[value as usize].push, NONE),
                Done::Pop(value) => (plan.items[value as usize].pop, NONE),
                Done::Pass(value) => (plan.items[value as usize].push, plan.items[value as usize].pop),
                Done::Empty(op) => (op, NONE),
            };
            [(gap, one), (gap, other)].into_iter().filter(|(_, op)| *op != NONE)
        });
        Ok(Swept::Order(order.collect()))
    }

    /// Notes that this is as far as it came, and what is at both ends of the queue.
    fn note(&mut self) {
        let ends = self.queue.iter().take(NEAR).chain(self.queue.iter().rev().take(NEAR));
        self.stuck = Stuck { gap: self.gap, ends: ends.copied().collect() };
    }

    fn bury(&mut self, before: u64) {
        if self.dead.len() == DEAD {
            self.dead.clear();
        }
        self.dead.insert(before);
    }

    /// Goes through one gap. False: it cannot be, this way. `choices` becomes the number of ways there are
    /// beside the first.
    fn step(&mut self, choice: u32, choices: &mut u32) -> bool {
        self.settle();
        if !self.extend(choice, choices) {
            return false;
        }
        self.stay();
        let gap = self.gap;
        let element = |value: u32| &self.elements[value as usize];
        let push = |value: u32| self.plan.items[value as usize].push as usize;
        self.kinds.iter().all(|kind| kind.due.first().is_none_or(|value| element(value).last > gap))
            && self.empty_due.first().is_none_or(|op| self.windows.last[op as usize] > gap)
            && self.never_due.first().is_none_or(|value| self.windows.last[push(value)] > gap)
            && self.queue.front().is_none_or(|&value| element(value).by > gap)
    }

    /// What leaves or goes through at once.
    fn settle(&mut self) {
        let gap = self.gap;
        while let Some(&head) = self.queue.front()
            && self.elements[head as usize].from <= gap
            && self.is_open(self.kind)
        {
            self.apply(Done::Pop(head));
        }
        if !self.queue.is_empty() || !self.is_open(0) || !self.is_open(1) {
            return;
        }
        let mut next = self.called.first();
        while let Some(value) = next
            && self.elements[value as usize].first <= gap
        {
            next = self.called.after(value);
            if self.elements[value as usize].from <= gap && self.may_push(value) {
                self.apply(Done::Pass(value));
            }
        }
        while let Some(op) = self.empty_called.first()
            && self.windows.first[op as usize] <= gap
        {
            self.apply(Done::Empty(op));
        }
    }

    /// What never leaves comes when all else is done that it could block.
    fn stay(&mut self) {
        if self.called.first().is_some() || self.empty_called.first().is_some() {
            return;
        }
        let mut next = self.never_called.first();
        while let Some(value) = next
            && let push = self.plan.items[value as usize].push
            && self.windows.first[push as usize] <= self.gap
        {
            next = self.never_called.after(value);
            let kind = u8::from(Class::of(&self.plan.items[value as usize]) == Class::BackNever);
            if self.is_open(kind) && (self.queue.is_empty() || self.kind != kind) {
                self.apply(Done::Never(value));
            }
        }
    }

    /// Pushes what has to be pushed here, raised to the level that is chosen.
    fn extend(&mut self, choice: u32, choices: &mut u32) -> bool {
        let gap = self.gap;
        let is_empty = self.queue.is_empty();
        let mut least = if is_empty { 0 } else { self.level(self.kind, self.top.max(gap)) };
        let mut kind = (!is_empty).then_some(self.kind);
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        let mut fits = true;
        let mut next = self.called.first();
        while let Some(value) = next
            && let element = self.elements[value as usize]
            && element.first <= gap
        {
            next = self.called.after(value);
            if !is_empty && element.kind != self.kind || !self.may_push(value) {
                continue;
            }
            let top = if is_empty { gap } else { self.top.max(gap) };
            let level = self.level(element.kind, element.from.max(top));
            if level > element.by {
                continue;
            }
            candidates.push((level, element.kind, element.by, value));
            if element.last == gap {
                least = least.max(level);
                fits &= kind.is_none_or(|kind| kind == element.kind);
                kind = Some(element.kind);
            }
        }
        if let Some(kind) = kind {
            candidates.retain(|candidate| candidate.1 == kind);
        }
        candidates.sort_unstable();
        // Each other level is a choice.
        let mut chosen = (least, kind);
        let mut last = None;
        let mut count = 0;
        for &(level, kind, ..) in &candidates {
            if level > least && last != Some((level, kind)) {
                last = Some((level, kind));
                count += 1;
                if count == choice {
                    chosen = (level, Some(kind));
                }
            }
        }
        *choices = count;
        if fits && let (level, Some(kind)) = chosen {
            candidates.retain(|candidate| candidate.1 == kind && candidate.0 <= level);
            fits = self.raise(&mut candidates, kind, level);
        }
        self.candidates = candidates;
        fits
    }

    /// Pushes these. False: the level is too high.
    fn raise(&mut self, candidates: &mut [(u32, u8, u32, u32)], kind: u8, level: u32) -> bool {
        candidates.sort_unstable_by_key(|&(_, _, by, value)| (by, value));
        let mut top = if self.queue.is_empty() { self.gap } else { self.top.max(self.gap) };
        self.kind = kind;
        for &(_, _, by, value) in candidates.iter() {
            top = top.max(self.elements[value as usize].from);
            if self.level(kind, top) > by {
                return false;
            }
            self.apply(Done::Push(value));
        }
        self.top = top;
        let (same, other) = (&self.kinds[kind as usize], &self.kinds[1 - kind as usize]);
        let last = |op: u32| self.windows.last[op as usize];
        other.due.first().is_none_or(|value| self.elements[value as usize].last >= level)
            && same.out.first().is_none_or(|value| self.elements[value as usize].by >= level)
            && self.empty_due.first().is_none_or(|op| last(op) >= level)
    }

    /// The first gap from this one on in which elements of the kind can leave.
    fn level(&self, kind: u8, gap: u32) -> u32 {
        self.kinds[kind as usize].open.get(gap as usize).copied().unwrap_or(NONE)
    }

    /// Is the end open where elements of this kind leave?
    fn is_open(&self, kind: u8) -> bool {
        self.level(kind, self.gap) == self.gap
    }

    fn may_push(&self, value: u32) -> bool {
        self.windows.allows(self.plan.items[value as usize].push, self.gap)
    }

    fn memory(&self) -> usize {
        let values = self.elements.len() * (size_of::<Element>() + 7 * 8) + self.plan.ops.len() * 16;
        let gaps = self.plan.completed as usize * 8;
        let search = self.frames.len() * size_of::<Frame>() + self.dead.capacity() * 9;
        values + gaps + self.log.capacity() * size_of::<(u32, Done)>() + search
    }
}

/// From each gap on, the first one that is open.
fn next_open(completed: u32, is_open: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut open = vec![NONE; completed as usize + 1];
    let mut next = NONE;
    for gap in (0..=completed).rev() {
        if is_open(gap) {
            next = gap;
        }
        open[gap as usize] = next;
    }
    open
}

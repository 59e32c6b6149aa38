//! The recheck of an order with holes, for stacks: what lies between two holes is folded into a few numbers.
//!
//! A stack monitor knows the place of a push only when its value leaves, so its order has *holes* into which operations are put later
//! ([`crate::engine::Edit`]). The stretch between two holes is final but for its two ends. It is remembered as
//!
//! 1. its latest call and its earliest return: two stretches that come to stand side by side respect real time iff nothing on the
//!    right returned before the latest call on the left (and, where the two stamps are equal, by the order of the process);
//! 2. its effect on a stack, reduced: the values it takes from below, whether it needs to find nothing more below them, and the values
//!    it leaves. Stretches side by side multiply, a pop against the push it meets, as in the polycyclic monoid (Nivat & Perrot 1970).
//!
//! When a hole closes, its neighbours are joined, the smaller effect into the larger. Every two operations are compared by the
//! join that brings them into one stretch, so at the end, with one stretch left, this was the same check as replaying the
//! order from left to right. Memory: a stretch a hole, and a number an element inside.

use std::collections::VecDeque;

use linpoint_history::specs::codes::stack::PUSH;
use linpoint_history::{Builtin, Operation, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

use super::{BadWitness, Seen};
use crate::timeline::OpId;

/// The recheck of one order with holes.
#[derive(Clone, Debug)]
pub struct Segments {
    segments: Vec<Segment>,
    free: Vec<u32>,
    last: u32,
    /// The segment right behind each open hole.
    behind: FxHashMap<u32, u32>,
    seen: Seen,
    pending_seen: Vec<bool>,
    operations: u64,
}

/// A stretch between two holes.
#[derive(Clone, Debug)]
struct Segment {
    latest_call: i64,
    earliest_return: i64,
    /// Whose these are; if of several, one of them, and the others are in `effect`.
    latest: Whose,
    earliest: Whose,
    /// The segments to the left and to the right.
    left: u32,
    right: u32,
    effect: Option<Box<Effect>>,
}

/// A process and the number of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Whose {
    process: u32,
    id: u32,
}

/// What a stretch does to a stack.
#[derive(Clone, Debug, Default)]
struct Effect {
    /// Values it takes from below, in order; `None`: any.
    pops: VecDeque<Option<ValueId>>,
    /// Must nothing be left below after that?
    bottom: bool,
    /// Values it leaves, lowest first.
    pushes: VecDeque<ValueId>,
    /// Further operations with the latest call, and with the earliest return.
    also_latest: Vec<Whose>,
    also_earliest: Vec<Whose>,
}

const NONE: u32 = u32::MAX;
const NOBODY: Whose = Whose { process: u32::MAX, id: u32::MAX };
const STAMPS: &str = "an operation comes after one that was called when it had already returned";
const PROCESS: &str = "an operation stands before an earlier one of its process";
const RESULT: &str = "the specification does not allow this result here";
const TWICE: &str = "an operation stands in it twice";

impl Segments {
    /// Begins with a stack in its initial state.
    pub fn new(spec: &Builtin, symbols: &Symbols) -> Segments {
        // An element without an id is popped by nobody, which `null` never is.
        let name = |item: &Value| symbols.find(item).unwrap_or(ValueId::NULL);
        let pushes = match &spec.initial {
            Value::List(items) => items.iter().map(name).collect(),
            _ => VecDeque::new(),
        };
        let mut first = Segment::empty(NONE);
        first.effect = Some(Box::new(Effect { bottom: true, pushes, ..Effect::default() }));
        Segments {
            segments: vec![first],
            free: Vec::new(),
            last: 0,
            behind: FxHashMap::default(),
            seen: Seen::default(),
            pending_seen: Vec::new(),
            operations: 0,
        }
    }

    /// The next operation at the end of the order.
    #[inline]
    pub fn push(&mut self, id: OpId, op: &Operation) -> Result<(), BadWitness> {
        self.note(id)?;
        let segment = &mut self.segments[self.last as usize];
        let joined = segment.append(id, op);
        joined.map_err(|why| self.bad(why))
    }

    /// A hole at the end of the order.
    pub fn hole(&mut self, name: u32) -> Result<(), BadWitness> {
        let before = self.last;
        let segment = Segment::empty(before);
        self.last = match self.free.pop() {
            Some(index) => {
                self.segments[index as usize] = segment;
                index
            }
            None => {
                self.segments.push(segment);
                self.segments.len() as u32 - 1
            }
        };
        self.segments[before as usize].right = self.last;
        self.segments[before as usize].trim();
        match self.behind.insert(name, self.last) {
            None => Ok(()),
            Some(_) => Err(self.bad("two holes have one name")),
        }
    }

    /// Puts an operation right behind a hole.
    pub fn fill(&mut self, name: u32, id: OpId, op: &Operation) -> Result<(), BadWitness> {
        self.note(id)?;
        let Some(&at) = self.behind.get(&name) else {
            return Err(self.bad("a hole is filled that is not open"));
        };
        let old = &mut self.segments[at as usize];
        let mut segment = Segment::empty(old.left);
        segment.right = old.right;
        let joined = segment.append(id, op).and_then(|()| {
            std::mem::swap(&mut segment, old);
            old.join(segment)
        });
        joined.map_err(|why| self.bad(why))
    }

    /// Nothing more comes into a hole: its neighbours become one.
    pub fn close(&mut self, name: u32) -> Result<(), BadWitness> {
        let Some(at) = self.behind.remove(&name) else {
            return Err(self.bad("a hole is closed that is not open"));
        };
        let right = std::mem::replace(&mut self.segments[at as usize], Segment::empty(NONE));
        let (before, after) = (right.left, right.right);
        let joined = self.segments[before as usize].join(right);
        self.free.push(at);
        self.segments[before as usize].right = after;
        if after != NONE {
            self.segments[before as usize].trim();
        }
        match self.segments.get_mut(after as usize) {
            Some(after) => after.left = before,
            None => self.last = before,
        }
        joined.map_err(|why| self.bad(why))
    }

    /// The order is complete: is it one stretch, with all `completed` operations in it? How many operations it has.
    pub fn finish(&self, completed: u32) -> Result<u64, BadWitness> {
        if !self.behind.is_empty() {
            return Err(self.bad("a hole is still open"));
        }
        if self.seen.first_missing() != completed || self.seen.count != u64::from(completed) {
            return Err(self.bad("an operation is missing from it"));
        }
        Ok(self.operations)
    }

    /// How many operations the order has so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The first completed operation that was not seen yet.
    pub fn first_missing(&self) -> u32 {
        self.seen.first_missing()
    }

    /// Was this completed operation seen?
    pub fn has(&self, id: u32) -> bool {
        self.seen.contains(id)
    }

    fn note(&mut self, id: OpId) -> Result<(), BadWitness> {
        let new = match id.as_pending() {
            Some(index) => {
                if index >= self.pending_seen.len() {
                    self.pending_seen.resize(index + 1, false);
                }
                !std::mem::replace(&mut self.pending_seen[index], true)
            }
            None => self.seen.insert(id.0),
        };
        self.operations += 1;
        if new { Ok(()) } else { Err(self.bad(TWICE)) }
    }

    #[cold]
    fn bad(&self, why: &'static str) -> BadWitness {
        BadWitness { position: self.operations.saturating_sub(1), why }
    }
}

impl Segment {
    /// Nothing, to the right of `left`.
    fn empty(left: u32) -> Segment {
        Segment {
            latest_call: i64::MIN,
            earliest_return: i64::MAX,
            latest: NOBODY,
            earliest: NOBODY,
            left,
            right: NONE,
            effect: None,
        }
    }

    /// One more operation at the right end.
    #[inline]
    fn append(&mut self, id: OpId, op: &Operation) -> Result<(), &'static str> {
        let whose = Whose { process: op.process().0, id: id.0 };
        if op.ret <= self.latest_call {
            if op.ret < self.latest_call {
                return Err(STAMPS);
            }
            self.check_processes(std::iter::once(whose))?;
        }
        if op.call >= self.latest_call {
            self.note_call(op.call, whose);
        }
        if op.ret <= self.earliest_return {
            self.note_return(op.ret, whose);
        }
        let effect = self.effect.get_or_insert_default();
        let done = match (op.op(), op.result) {
            (PUSH, _) => {
                effect.pushes.push_back(op.arg);
                true
            }
            (_, ValueId::NULL) if !op.is_pending() => effect.find_empty(),
            (_, value) => effect.pop((!op.is_pending()).then_some(value)),
        };
        if done { Ok(()) } else { Err(RESULT) }
    }

    /// Puts another stretch at the right end.
    fn join(&mut self, right: Segment) -> Result<(), &'static str> {
        if right.earliest_return <= self.latest_call {
            if right.earliest_return < self.latest_call {
                return Err(STAMPS);
            }
            self.check_processes(right.earliests())?;
        }
        // The call of an operation that returned later is noted even where the stamps are equal.
        if right.latest_call >= self.latest_call {
            right.latests().for_each(|whose| self.note_call(right.latest_call, whose));
        }
        if right.earliest_return <= self.earliest_return {
            right.earliests().for_each(|whose| self.note_return(right.earliest_return, whose));
        }
        let Some(theirs) = right.effect else { return Ok(()) };
        let ours = self.effect.take().unwrap_or_default();
        self.effect = ours.times(*theirs);
        if self.effect.is_some() { Ok(()) } else { Err(RESULT) }
    }

    /// Drops an effect that is none.
    fn trim(&mut self) {
        self.effect.take_if(|effect| effect.is_nothing());
    }

    /// Operations to come, all of which return at the very stamp of the latest call here, must not be earlier ones of the
    /// process that called then.
    fn check_processes(&self, mut coming: impl Iterator<Item = Whose>) -> Result<(), &'static str> {
        let follows = |whose: Whose| {
            self.latests().all(|latest| latest.process != whose.process || latest.id < whose.id)
        };
        if coming.all(follows) { Ok(()) } else { Err(PROCESS) }
    }

    #[inline]
    fn note_call(&mut self, stamp: i64, whose: Whose) {
        if stamp > self.latest_call || self.latest == NOBODY {
            (self.latest_call, self.latest) = (stamp, whose);
            if let Some(effect) = &mut self.effect {
                effect.also_latest.clear();
            }
        } else {
            self.effect.get_or_insert_default().also_latest.push(whose);
        }
    }

    #[inline]
    fn note_return(&mut self, stamp: i64, whose: Whose) {
        if stamp < self.earliest_return || self.earliest == NOBODY {
            (self.earliest_return, self.earliest) = (stamp, whose);
            if let Some(effect) = &mut self.effect {
                effect.also_earliest.clear();
            }
        } else if stamp != Operation::NEVER {
            self.effect.get_or_insert_default().also_earliest.push(whose);
        }
    }

    fn latests(&self) -> impl Iterator<Item = Whose> {
        let also = self.effect.iter().flat_map(|effect| effect.also_latest.iter().copied());
        std::iter::once(self.latest).filter(|whose| *whose != NOBODY).chain(also)
    }

    fn earliests(&self) -> impl Iterator<Item = Whose> {
        let also = self.effect.iter().flat_map(|effect| effect.also_earliest.iter().copied());
        std::iter::once(self.earliest).filter(|whose| *whose != NOBODY).chain(also)
    }
}

impl Effect {
    fn is_nothing(&self) -> bool {
        let stack = self.pops.is_empty() && self.pushes.is_empty() && !self.bottom;
        stack && self.also_latest.is_empty() && self.also_earliest.is_empty()
    }

    /// Takes a value, or any; `false` where that cannot be.
    #[inline]
    fn pop(&mut self, value: Option<ValueId>) -> bool {
        match (self.pushes.pop_back(), value) {
            (Some(top), Some(value)) => return top == value,
            (Some(_), None) => {}
            // A pop that never answered may have found nothing.
            (None, None) if self.bottom => {}
            (None, Some(_)) if self.bottom => return false,
            (None, value) => self.pops.push_back(value),
        }
        true
    }

    /// Finds nothing; `false` where something is.
    fn find_empty(&mut self) -> bool {
        self.bottom = true;
        self.pushes.is_empty()
    }

    /// This effect and then `right`: the smaller is worked into the larger. `None` where they do not fit.
    fn times(mut self: Box<Effect>, mut right: Effect) -> Option<Box<Effect>> {
        while let (Some(top), Some(want)) = (self.pushes.back(), right.pops.front()) {
            if want.is_some_and(|want| want != *top) {
                return None;
            }
            self.pushes.pop_back();
            right.pops.pop_front();
        }
        let bottom_left = self.bottom && right.pops.iter().any(Option::is_some);
        if bottom_left || right.bottom && !self.pushes.is_empty() {
            return None;
        }
        if self.bottom {
            right.pops.clear();
        }
        let bottom = self.bottom || right.bottom;
        self.pops = join(std::mem::take(&mut self.pops), std::mem::take(&mut right.pops));
        self.pushes = join(std::mem::take(&mut self.pushes), std::mem::take(&mut right.pushes));
        self.bottom = bottom;
        Some(self)
    }
}

/// `left` and then `right`, moving the shorter.
fn join<T>(mut left: VecDeque<T>, mut right: VecDeque<T>) -> VecDeque<T> {
    if left.len() >= right.len() {
        left.append(&mut right);
        return left;
    }
    while let Some(item) = left.pop_back() {
        right.push_front(item);
    }
    right
}

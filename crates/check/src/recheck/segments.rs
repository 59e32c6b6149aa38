//! The recheck of an order with holes, for stacks: what lies between two holes is folded into a few numbers.
//!
//! A stack monitor knows the place of a push only when its value leaves, so its order has *holes* into which
//! operations are put later ([`crate::engine::Edit`]). The stretch between two holes is final but for its two
//! ends. It is remembered as
//!
//! 1. its latest call and its earliest return: two stretches that come to stand side by side respect real
//!    time iff nothing on the right returned before the latest call on the left (and, where the two stamps
//!    are equal, by the order of the process);
//! 2. its effect on a stack, reduced: the values it takes from below, whether it needs to find nothing more
//!    below them, and the values it leaves. Stretches side by side multiply, a pop against the push it meets,
//!    as in the polycyclic monoid (Nivat & Perrot 1970).
//!
//! When a hole closes, its neighbours are joined, the smaller effect into the larger. Every two operations
//! are compared by the join that brings them into one stretch, so at the end, with one stretch left, this was
//! the same check as replaying the order from left to right.
//!
//! Memory: 40 bytes a hole, and a number an element inside. Between holes that are open for long a stretch
//! usually has no effect at all, so effects are kept apart. The names of holes rise from left to right, so a
//! hole is found without a table; nearly always it is one of the last.

use std::collections::VecDeque;

use linpoint_history::specs::codes::stack::PUSH;
use linpoint_history::{Builtin, Operation, Symbols, Value, ValueId};

use super::{BadWitness, Seen, with_row};
use crate::timeline::{OpId, Timeline};

/// The recheck of one order with holes.
#[derive(Clone, Debug)]
pub struct Segments {
    /// From left to right; there is always one.
    stretches: Vec<Stretch>,
    effects: Effects,
    seen: Seen,
    pending_seen: Vec<bool>,
    operations: u64,
}

/// A stretch between two holes.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    latest_call: i64,
    earliest_return: i64,
    /// Whose these are; if of several, one of them, and the others are in the effect.
    latest: Whose,
    earliest: Whose,
    /// The hole to the left of it; of the first stretch nothing.
    hole: u32,
    /// Where its effect is, or [`NONE`].
    effect: u32,
}

const _: () = assert!(size_of::<Stretch>() == 40);

/// A process and the number of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Whose {
    process: u32,
    id: u32,
}

/// Effects of stretches that have one, with room to be used again.
#[derive(Clone, Debug, Default)]
struct Effects {
    effects: Vec<Effect>,
    free: Vec<u32>,
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
        let first = Effect { bottom: true, pushes, ..Effect::default() };
        Segments {
            stretches: vec![Stretch { effect: 0, ..Stretch::empty(NONE) }],
            effects: Effects { effects: vec![first], free: Vec::new() },
            seen: Seen::default(),
            pending_seen: Vec::new(),
            operations: 0,
        }
    }

    /// The next operation at the end of the order.
    #[inline]
    pub fn push(&mut self, id: OpId, op: &Operation) -> Result<(), BadWitness> {
        self.note(id)?;
        let Some(last) = self.stretches.last_mut() else { return Err(self.bad(RESULT)) };
        let joined = last.append(&mut self.effects, id, op);
        joined.map_err(|why| self.bad(why))
    }

    /// The next operations at the end of the order, in one go.
    pub fn push_all(&mut self, timeline: &Timeline, ids: &[OpId]) -> Result<(), BadWitness> {
        let mut ids = ids.iter();
        while let Some(&id) = ids.next() {
            // The first looks at everything, and so does one whose stamps are among the extremes of the
            // stretch.
            with_row(timeline, id, |row| self.push(id, row))?;
            let Some(last) = self.stretches.last_mut() else { return Err(self.bad(RESULT)) };
            if !last.is_plain(&self.effects) {
                continue;
            }
            let (mut latest_call, mut latest) = (last.latest_call, last.latest);
            let earliest_return = last.earliest_return;
            let effect = self.effects.of(&mut last.effect);
            let (rows, start) = (timeline.known_rows(), timeline.known_from());
            let (mut done, mut taken) = (true, 0);
            for &id in ids.as_slice() {
                // A pending one is far behind them.
                let Some(row) = rows.get(id.0.wrapping_sub(start) as usize) else { break };
                let usual = (row.ret > latest_call) & (row.ret > earliest_return) & (row.call != latest_call);
                if !usual || !self.seen.insert(id.0) {
                    break;
                }
                taken += 1;
                let whose = Whose { process: row.process().0, id: id.0 };
                latest = if row.call > latest_call { whose } else { latest };
                latest_call = latest_call.max(row.call);
                done = effect.take(row);
                if !done {
                    break;
                }
            }
            (last.latest_call, last.latest) = (latest_call, latest);
            self.operations += taken as u64;
            ids = ids.as_slice()[taken..].iter();
            if !done {
                return Err(self.bad(RESULT));
            }
        }
        Ok(())
    }

    /// A hole at the end of the order.
    #[inline]
    pub fn hole(&mut self, name: u32) -> Result<(), BadWitness> {
        if let [.., last] = self.stretches.as_mut_slice() {
            last.trim(&mut self.effects);
        }
        if let [_, .., last] = self.stretches.as_slice()
            && last.hole >= name
        {
            return Err(self.bad("the names of holes do not rise"));
        }
        self.stretches.push(Stretch::empty(name));
        Ok(())
    }

    /// Puts an operation right behind a hole.
    #[inline]
    pub fn fill(&mut self, name: u32, id: OpId, op: &Operation) -> Result<(), BadWitness> {
        self.note(id)?;
        let Some(at) = self.behind(name) else { return Err(self.bad("a hole is filled that is not open")) };
        let mut one = Stretch::empty(name);
        let old = self.stretches[at];
        let joined = one.append(&mut self.effects, id, op).and_then(|()| one.join(&mut self.effects, old));
        if at + 1 < self.stretches.len() {
            one.trim(&mut self.effects);
        }
        self.stretches[at] = one;
        joined.map_err(|why| self.bad(why))
    }

    /// Nothing more comes into a hole: its neighbours become one.
    #[inline]
    pub fn close(&mut self, name: u32) -> Result<(), BadWitness> {
        let Some(at) = self.behind(name) else { return Err(self.bad("a hole is closed that is not open")) };
        let is_last = at + 1 == self.stretches.len();
        // Nearly always the last.
        let right = if is_last { self.stretches.pop() } else { Some(self.stretches.remove(at)) };
        let (Some(right), Some(left)) = (right, self.stretches.get_mut(at - 1)) else {
            return Err(self.bad(RESULT));
        };
        let joined = left.join(&mut self.effects, right);
        if !is_last {
            left.trim(&mut self.effects);
        }
        joined.map_err(|why| self.bad(why))
    }

    /// The order is complete: is it one stretch, with all `completed` operations in it? How many operations
    /// it has.
    pub fn finish(&self, completed: u32) -> Result<u64, BadWitness> {
        if self.stretches.len() != 1 {
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

    /// The stretch right behind an open hole.
    #[inline]
    fn behind(&self, name: u32) -> Option<usize> {
        const NEAR: usize = 8;
        let holes = &self.stretches[1..];
        let near = holes.len().saturating_sub(NEAR);
        if let Some(at) = holes[near..].iter().rposition(|stretch| stretch.hole == name) {
            return Some(near + at + 1);
        }
        holes[..near].binary_search_by_key(&name, |stretch| stretch.hole).ok().map(|at| at + 1)
    }

    #[inline]
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

impl Effects {
    /// The effect at `place`, made if there is none.
    #[inline]
    fn of(&mut self, place: &mut u32) -> &mut Effect {
        if *place == NONE {
            *place = self.free.pop().unwrap_or_else(|| {
                self.effects.push(Effect::default());
                self.effects.len() as u32 - 1
            });
        }
        &mut self.effects[*place as usize]
    }

    /// The effect at `place`, if there is one.
    #[inline]
    fn get(&self, place: u32) -> Option<&Effect> {
        self.effects.get(place as usize)
    }

    /// An effect that is not needed any more; there is nothing left in it.
    #[inline]
    fn put_back(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The effect at `left` and then the one at `right`, which is given back. `None` where they do not fit.
    fn multiply(&mut self, left: &mut u32, right: u32) -> Option<()> {
        if right == NONE {
            return Some(());
        }
        if *left == NONE {
            *left = right;
            return Some(());
        }
        let mut theirs = std::mem::take(&mut self.effects[right as usize]);
        let joined = self.effects[*left as usize].times(&mut theirs);
        theirs.clear();
        self.effects[right as usize] = theirs;
        self.put_back(right);
        joined
    }
}

impl Stretch {
    /// Nothing, behind the hole `hole`.
    #[inline]
    fn empty(hole: u32) -> Stretch {
        Stretch {
            latest_call: i64::MIN,
            earliest_return: i64::MAX,
            latest: NOBODY,
            earliest: NOBODY,
            hole,
            effect: NONE,
        }
    }

    /// One more operation at the right end.
    #[inline]
    fn append(&mut self, effects: &mut Effects, id: OpId, op: &Operation) -> Result<(), &'static str> {
        let whose = Whose { process: op.process().0, id: id.0 };
        if op.ret <= self.latest_call {
            if op.ret < self.latest_call {
                return Err(STAMPS);
            }
            self.check_processes(effects, &[whose])?;
        }
        if op.call >= self.latest_call {
            self.note_call(effects, op.call, whose);
        }
        if op.ret <= self.earliest_return {
            self.note_return(effects, op.ret, whose);
        }
        if effects.of(&mut self.effect).take(op) { Ok(()) } else { Err(RESULT) }
    }

    /// Puts another stretch at the right end.
    #[inline]
    fn join(&mut self, effects: &mut Effects, right: Stretch) -> Result<(), &'static str> {
        if right.earliest_return <= self.latest_call {
            if right.earliest_return < self.latest_call {
                return Err(STAMPS);
            }
            self.check_processes(effects, &right.earliests(effects))?;
        }
        // The call of an operation that returned later is noted even where the stamps are equal.
        if right.latest_call > self.latest_call && right.is_plain(effects) && self.is_plain(effects) {
            (self.latest_call, self.latest) = (right.latest_call, right.latest);
        } else if right.latest_call >= self.latest_call {
            for whose in right.latests(effects) {
                self.note_call(effects, right.latest_call, whose);
            }
        }
        if right.earliest_return < self.earliest_return && right.is_plain(effects) && self.is_plain(effects) {
            (self.earliest_return, self.earliest) = (right.earliest_return, right.earliest);
        } else if right.earliest_return <= self.earliest_return {
            for whose in right.earliests(effects) {
                self.note_return(effects, right.earliest_return, whose);
            }
        }
        // They were noted here.
        if !right.is_plain(effects) {
            let theirs = &mut effects.effects[right.effect as usize];
            theirs.also_latest.clear();
            theirs.also_earliest.clear();
        }
        effects.multiply(&mut self.effect, right.effect).ok_or(RESULT)
    }

    /// Are the latest call and the earliest return of one operation each?
    #[inline]
    fn is_plain(&self, effects: &Effects) -> bool {
        effects
            .get(self.effect)
            .is_none_or(|effect| effect.also_latest.is_empty() && effect.also_earliest.is_empty())
    }

    /// Drops an effect that is none.
    #[inline]
    fn trim(&mut self, effects: &mut Effects) {
        if effects.get(self.effect).is_some_and(Effect::is_nothing) {
            effects.put_back(self.effect);
            self.effect = NONE;
        }
    }

    /// Operations to come, all of which return at the very stamp of the latest call here, must not be earlier
    /// ones of the process that called then.
    #[cold]
    fn check_processes(&self, effects: &Effects, coming: &[Whose]) -> Result<(), &'static str> {
        let latests = self.latests(effects);
        let follows = |whose: &Whose| {
            latests.iter().all(|latest| latest.process != whose.process || latest.id < whose.id)
        };
        if coming.iter().all(follows) { Ok(()) } else { Err(PROCESS) }
    }

    #[inline]
    fn note_call(&mut self, effects: &mut Effects, stamp: i64, whose: Whose) {
        if stamp > self.latest_call || self.latest == NOBODY {
            (self.latest_call, self.latest) = (stamp, whose);
            if let Some(effect) = effects.effects.get_mut(self.effect as usize) {
                effect.also_latest.clear();
            }
        } else {
            effects.of(&mut self.effect).also_latest.push(whose);
        }
    }

    #[inline]
    fn note_return(&mut self, effects: &mut Effects, stamp: i64, whose: Whose) {
        if stamp < self.earliest_return || self.earliest == NOBODY {
            (self.earliest_return, self.earliest) = (stamp, whose);
            if let Some(effect) = effects.effects.get_mut(self.effect as usize) {
                effect.also_earliest.clear();
            }
        } else if stamp != Operation::NEVER {
            effects.of(&mut self.effect).also_earliest.push(whose);
        }
    }

    #[cold]
    fn latests(&self, effects: &Effects) -> Vec<Whose> {
        let also = effects.get(self.effect).into_iter().flat_map(|effect| effect.also_latest.iter().copied());
        std::iter::once(self.latest).filter(|whose| *whose != NOBODY).chain(also).collect()
    }

    #[cold]
    fn earliests(&self, effects: &Effects) -> Vec<Whose> {
        let also =
            effects.get(self.effect).into_iter().flat_map(|effect| effect.also_earliest.iter().copied());
        std::iter::once(self.earliest).filter(|whose| *whose != NOBODY).chain(also).collect()
    }
}

impl Effect {
    fn is_nothing(&self) -> bool {
        let stack = self.pops.is_empty() && self.pushes.is_empty() && !self.bottom;
        stack && self.also_latest.is_empty() && self.also_earliest.is_empty()
    }

    fn clear(&mut self) {
        self.pops.clear();
        self.pushes.clear();
        self.bottom = false;
        self.also_latest.clear();
        self.also_earliest.clear();
    }

    /// One more operation; `false` where it cannot be.
    #[inline(always)]
    fn take(&mut self, op: &Operation) -> bool {
        match (op.op(), op.result) {
            (PUSH, _) => {
                self.pushes.push_back(op.arg);
                true
            }
            (_, ValueId::NULL) if !op.is_pending() => self.find_empty(),
            (_, value) => self.pop((!op.is_pending()).then_some(value)),
        }
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

    /// This effect and then `right`, which is left as a ruin: the smaller is worked into the larger. `None`
    /// where they do not fit.
    fn times(&mut self, right: &mut Effect) -> Option<()> {
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
        self.bottom |= right.bottom;
        join(&mut self.pops, &mut right.pops);
        join(&mut self.pushes, &mut right.pushes);
        Some(())
    }
}

/// `left` and then `right`, moving the shorter.
fn join<T>(left: &mut VecDeque<T>, right: &mut VecDeque<T>) {
    if left.len() < right.len() {
        std::mem::swap(left, right);
        while let Some(item) = right.pop_back() {
            left.push_front(item);
        }
    } else {
        left.append(right);
    }
}

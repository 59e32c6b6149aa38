//! Sets, multisets and lists: every value is an object of its own, and a small one.
//!
//! For one value the object is a count (for a set 0 or 1), and its operations are of four roles: *add* (count +
//! 1), *take* (count - 1, possible above 0), *present* (reads that it is above 0) and *absent* (reads that it
//! is 0). An `add` that answers "it was there already" reads presence, a `remove` that answers "it was not"
//! reads absence.
//!
//! Nothing takes effect until a return forces it; reads are satisfied the moment the count is right. Of
//! several open operations of one role the one that returns first is used, since it leaves those with more
//! time; pending ones come last. So:
//!
//! - a take or a *present* that finds the count 0 at its return needs an open add;
//! - an *absent* that finds the count above 0 needs as many open takes as the count;
//! - an add returns: it takes effect now. But open takes may have brought the count to 0 just before it, and
//!   then an open *absent* was satisfied. In a multiset both must be kept: two configurations. In a set the
//!   add is possible at 0 only, so one is left.
//!
//! A configuration is dropped if another has used no operation that it has not, and has satisfied all reads
//! it has. Nearly always one is left. Values at their initial count with nothing open are forgotten.
//!
//! Most operations are alone with their value: no other on it overlaps them. They take effect when they
//! return, or cannot. So rows are looked at twice: when they are *met*, in order of return and ahead of what
//! is explained, each is linked with the one before it on its value, and those that overlap are marked; when
//! they are explained, only the marked ones need their calls, and an [`Episode`]. An operation on the value
//! that is not met yet overlaps nothing that is explained now: all that are called by then are loaded.
//!
//! Values are independent, and an order of each that respects the gaps merges with the others by gaps. While
//! one value has several configurations the order of the others is held back.

mod core;
mod episode;
mod meet;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use linpoint_history::specs::codes::set;
use linpoint_history::{Kind, OpCode, Operation, ProcessId, Value, ValueId};
use rustc_hash::FxHashMap;

use self::episode::{Episode, Role};
use self::meet::{DONE, MARKED, Met, Over, ROLE_SHIFT};
use super::table::Table;
use crate::engine::{Context, Engine, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides sets, multisets and lists, with values that may repeat.
#[derive(Debug, Default)]
pub struct SetMonitor {
    next: u32,
    /// For each value that is known, where it is among the elements.
    places: Table,
    elements: Vec<Element>,
    free_elements: Vec<u32>,
    over: Over,
    /// What was met of the rows from `met_from` on.
    met: Vec<Met>,
    met_from: u32,
    /// The calls of operations that overlap others on their value and were not called yet, the first of them
    /// last.
    due: BinaryHeap<Reverse<(u32, OpId)>>,
    /// The gap of the first of `due`.
    next_due: u32,
    /// Values with several open operations.
    episodes: Vec<Episode>,
    free: Vec<u32>,
    /// The role of each operation of the specification, if its answer is false, and if it is true.
    roles: [[Option<Role>; 2]; 4],
    outbox: Outbox,
    /// How often each value is in it at first, and those of them that have no number yet.
    initial: FxHashMap<ValueId, u32>,
    unnamed: Vec<(Value, u32)>,
    started: bool,
    pending_known: usize,
    /// For values with operations that never return: the first gap of these.
    unreturned: FxHashMap<ValueId, u32>,
    /// Is a core being decided? Then none is looked for.
    in_core: bool,
}

/// What is known of a value that is in the collection or has operations that were met.
#[derive(Clone, Copy, Debug)]
struct Element {
    /// How often it is in it, as far as nothing is open.
    count: u32,
    /// The last operation on it that was met, or [`NONE`].
    last: u32,
    /// The episode, if several operations are open, or [`NONE`].
    open: u32,
    /// The last operation that changed it and returned, for counterexamples: stamps, process and code.
    who: u32,
    call: i64,
    ret: i64,
}

const _: () = assert!(size_of::<Element>() == 32);
const NONE: u32 = u32::MAX;

/// Orders of several values, merged by gaps.
#[derive(Debug, Default)]
struct Outbox {
    /// How many values have several configurations.
    stalled: u32,
    held: Vec<(u32, OpId)>,
}

impl Outbox {
    #[inline]
    fn push(&mut self, gap: u32, id: OpId, witness: &mut Witness) {
        if self.stalled == 0 {
            witness.order.push(id);
        } else {
            self.held.push((gap, id));
        }
    }

    fn resume(&mut self, log: &mut Vec<(u32, OpId)>, witness: &mut Witness) {
        self.held.append(log);
        self.stalled -= 1;
        if self.stalled == 0 {
            self.held.sort_by_key(|(gap, _)| *gap);
            witness.order.extend(self.held.drain(..).map(|(_, id)| id));
        }
    }
}

impl SetMonitor {
    /// Nothing seen yet.
    pub fn new() -> SetMonitor {
        SetMonitor::default()
    }

    fn prepare(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if !self.started {
            self.started = true;
            for (code, roles) in (0..).zip(&mut self.roles) {
                let mut op = Operation::new(ProcessId(0), OpCode(code));
                for (role, answer) in roles.iter_mut().zip([ValueId::FALSE, ValueId::TRUE]) {
                    op.result = answer;
                    *role = role_of(cx, &op).ok();
                }
            }
            // Only "full" can be spurious here, and only where there is a bound.
            if cx.spec.capacity.is_some() {
                return Err(Stop::Unsupported("the collection is bounded".into()));
            }
            if let Value::List(items) = &cx.spec.initial {
                for item in items.iter() {
                    match self.unnamed.iter_mut().find(|(value, _)| value == item) {
                        Some(known) => known.1 += u32::from(cx.spec.kind != Kind::Set),
                        None => self.unnamed.push((item.clone(), 1)),
                    }
                }
            }
        }
        for (value, count) in std::mem::take(&mut self.unnamed) {
            match cx.symbols.find(&value) {
                Some(id) => drop(self.initial.insert(id, count)),
                None => self.unnamed.push((value, count)),
            }
        }
        let known = std::mem::replace(&mut self.pending_known, timeline.pending().len());
        for index in known..timeline.pending().len() {
            let id = OpId::pending(index as u32);
            let op = timeline.op(id);
            if matches!(role_of(cx, op)?, Role::Add | Role::Take) {
                let earliest = timeline.earliest(id);
                let first = self.unreturned.entry(op.arg).or_insert(earliest);
                *first = earliest.min(*first);
                let place = self.place(op.arg);
                let last = self.elements[place as usize].last;
                self.mark_from(timeline, last, earliest);
                self.call_later(earliest, id);
            }
        }
        Ok(())
    }

    /// How often a value nothing is known of is in the collection.
    #[inline]
    fn at_first(&self, value: ValueId) -> u32 {
        if self.initial.is_empty() { 0 } else { self.initial.get(&value).copied().unwrap_or(0) }
    }

    /// The role of a completed operation.
    #[inline]
    fn role(&self, cx: &Context<'_>, op: &Operation) -> Result<Role, Stop> {
        let known = self.roles.get(usize::from(op.op().0));
        match known.and_then(|roles| roles[usize::from(op.result == ValueId::TRUE)]) {
            Some(role) => Ok(role),
            None => role_of(cx, op),
        }
    }

    /// Calls what is due in this gap.
    #[cold]
    fn call_due(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        now: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        while let Some(&Reverse((earliest, id))) = self.due.peek() {
            if earliest > now {
                self.next_due = earliest;
                return Ok(());
            }
            self.due.pop();
            let (place, role) = match id.as_pending() {
                Some(_) => {
                    let op = timeline.op(id);
                    (self.place(op.arg), role_of(cx, op)?)
                }
                None => {
                    let met = self.met[(id.0 - self.met_from) as usize];
                    (met.place(), met.role())
                }
            };
            self.called(id, place, role, now, witness)?;
        }
        self.next_due = u32::MAX;
        Ok(())
    }

    fn called(
        &mut self,
        id: OpId,
        place: u32,
        role: Role,
        now: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        let element = &self.elements[place as usize];
        let satisfied = if element.open == NONE && role.is_satisfied(element.count) {
            true
        } else {
            let index = self.episode(place);
            self.episodes[index as usize].called(id, role, now)?
        };
        if satisfied {
            self.outbox.push(now, id, witness);
            if id.as_pending().is_none() {
                self.met[(id.0 - self.met_from) as usize].word = DONE;
            }
        }
        Ok(())
    }

    /// The episode of a value, begun if there is none yet.
    fn episode(&mut self, place: u32) -> u32 {
        let element = &mut self.elements[place as usize];
        if element.open == NONE {
            element.open = self.free.pop().unwrap_or_else(|| {
                self.episodes.push(Episode::default());
                self.episodes.len() as u32 - 1
            });
            self.episodes[element.open as usize].begin(element.count);
        }
        element.open
    }

    fn returned_in_episode(
        &mut self,
        op: &Operation,
        role: Role,
        now: u32,
        limit: u32,
        (place, index): (u32, u32),
        witness: &mut Witness,
    ) -> bool {
        let episode = &mut self.episodes[index as usize];
        let split = episode.configurations.len() > 1;
        if !episode.returned(OpId(now), role, now, limit) {
            return false;
        }
        let element = &mut self.elements[place as usize];
        element.changed_if(matches!(role, Role::Add | Role::Take), op);
        match (split, episode.configurations.as_mut_slice()) {
            (false, [one]) => one.log.drain(..).for_each(|(gap, id)| self.outbox.push(gap, id, witness)),
            (true, [one]) => self.outbox.resume(&mut one.log, witness),
            (false, _) => self.outbox.stalled += 1,
            (true, _) => {}
        }
        if let Some(count) = episode.is_over() {
            self.free.push(index);
            (element.count, element.open) = (count, NONE);
            self.over.note_if(true, op.arg, place);
        }
        true
    }

    /// Explains a return that is marked; is there a way?
    #[inline(never)]
    fn returned(&mut self, op: &Operation, now: u32, limit: u32, witness: &mut Witness) -> bool {
        let met = self.met[(now - self.met_from) as usize];
        if met.word == DONE {
            return true;
        }
        let index = self.episode(met.place());
        self.returned_in_episode(op, met.role(), now, limit, (met.place(), index), witness)
    }
}

/// What an operation that is alone with its value needs and does: at least and at most so many, and then more
/// or less.
#[derive(Clone, Copy, Debug)]
struct Effect {
    least: u32,
    most: u32,
    change: i32,
}

/// The effects of the roles, where a value is in the collection at most `limit` times.
fn effects(limit: u32) -> [Effect; 4] {
    Role::ALL.map(|role| match role {
        Role::Add => Effect { least: 0, most: limit - 1, change: 1 },
        Role::Take => Effect { least: 1, most: u32::MAX, change: -1 },
        Role::Present => Effect { least: 1, most: u32::MAX, change: 0 },
        Role::Absent => Effect { least: 0, most: 0, change: 0 },
    })
}

impl Element {
    /// Takes note of an operation that returns, if it changed it: whether it did is nothing to guess, so both
    /// are worked out.
    #[inline]
    fn changed_if(&mut self, changed: bool, op: &Operation) {
        let who = op.process().0 << 8 | u32::from(op.op().0);
        self.call = if changed { op.call } else { self.call };
        self.ret = if changed { op.ret } else { self.ret };
        self.who = if changed { who } else { self.who };
    }
}

impl SetMonitor {
    /// Explains the returns below `until`, which were met.
    fn explain_until(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        until: u32,
        limit: u32,
        effects: &[Effect; 4],
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        for gap in self.next..until {
            self.next = gap;
            if self.over.is_full() {
                self.forget_over();
            }
            if self.next_due <= gap {
                self.call_due(cx, timeline, gap, witness)?;
            }
            let met = self.met[(gap - self.met_from) as usize];
            let op = timeline.op(OpId(gap));
            let possible = if met.word & MARKED == 0 {
                let effect = effects[(met.word >> ROLE_SHIFT & 3) as usize];
                let element = &mut self.elements[met.place() as usize];
                let possible = (element.count >= effect.least) & (element.count <= effect.most);
                if possible {
                    element.count = element.count.wrapping_add_signed(effect.change);
                    element.changed_if(effect.change != 0, op);
                    let is_over = element.count == self.at_first(op.arg);
                    self.over.note_if(is_over, op.arg, met.place());
                    self.outbox.push(gap, OpId(gap), witness);
                } else {
                    // For the core.
                    self.episode(met.place());
                }
                possible
            } else {
                self.returned(op, gap, limit, witness)
            };
            if !possible {
                return Err(Stop::Violated(self.explain(cx, timeline, OpId(gap))));
            }
        }
        self.next = until;
        Ok(())
    }
}

impl Engine for SetMonitor {
    fn name(&self) -> &'static str {
        "set monitor"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.prepare(cx, timeline)?;
        self.meet(cx, timeline)?;
        let limit = if cx.spec.kind == Kind::Set { 1 } else { u32::MAX };
        let effects = effects(limit);
        while self.next < upto {
            let until = upto.min(self.next + 1024);
            self.explain_until(cx, timeline, until, limit, &effects, witness)?;
            cx.budget.check_own(self.memory())?;
        }
        Ok(())
    }

    fn finish(&mut self, _cx: &Context<'_>, _timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        for episode in &mut self.episodes {
            if let [first, _, ..] = episode.configurations.as_mut_slice() {
                self.outbox.resume(&mut first.log, witness);
                episode.configurations.truncate(1);
            }
        }
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.next)
    }

    fn memory(&self) -> usize {
        self.places.memory()
            + self.elements.capacity() * size_of::<Element>()
            + self.met.capacity() * 8
            + self.due.len() * 8
            + self.episodes.len() * 256
            + self.outbox.held.capacity() * 8
    }
}

/// The role of an operation for its value. A pending one takes the role in which it changes something, if it
/// has one.
fn role_of(cx: &Context<'_>, op: &Operation) -> Result<Role, Stop> {
    let yes = op.is_pending() || op.result == ValueId::TRUE;
    Ok(match (cx.spec.kind, op.op()) {
        (Kind::Set, set::ADD) if yes => Role::Add,
        (Kind::Set, set::ADD) => Role::Present,
        (Kind::Multiset | Kind::List, set::ADD) => Role::Add,
        (Kind::Set | Kind::Multiset | Kind::List, set::REMOVE) if yes => Role::Take,
        (Kind::Set | Kind::Multiset | Kind::List, set::REMOVE) => Role::Absent,
        (Kind::Set | Kind::Multiset | Kind::List, set::CONTAINS) if yes => Role::Present,
        (Kind::Set | Kind::Multiset | Kind::List, set::CONTAINS) => Role::Absent,
        _ => return Err(Stop::Unsupported("an operation concerns several values".into())),
    })
}

//! Sets, multisets and lists: every value is an object of its own, and a small one.
//!
//! For one value the object is a count (for a set 0 or 1), and its operations are of four roles: *add* (count + 1), *take*
//! (count - 1, possible above 0), *present* (reads that it is above 0) and *absent* (reads that it is 0). An `add` that answers "it
//! was there already" reads presence, a `remove` that answers "it was not" reads absence.
//!
//! Nothing takes effect until a return forces it; reads are satisfied the moment the count is right. Of several open operations of one role
//! the one that returns first is used, since it leaves those with more time; pending ones come last. So:
//!
//! - a take or a *present* that finds the count 0 at its return needs an open add;
//! - an *absent* that finds the count above 0 needs as many open takes as the count;
//! - an add returns: it takes effect now. But open takes may have brought the count to 0 just before it, and then an open *absent* was
//!   satisfied. In a multiset both must be kept: two configurations. In a set the add is possible at 0 only, so one is left.
//!
//! A configuration is dropped if another has used no operation that it has not, and has satisfied all reads it has.
//! Nearly always one is left. Values at their initial count with nothing open are forgotten.
//!
//! Most operations are alone with their value: they take effect when they return, or cannot. Only when a second one is called before
//! that an [`Episode`] is begun, with both.
//!
//! Values are independent, and an order of each that respects the gaps merges with the others by gaps. While one value
//! has several configurations the order of the others is held back.

mod core;
mod episode;

use linpoint_history::specs::codes::set;
use linpoint_history::{Kind, OpCode, Operation, ProcessId, Value, ValueId};
use rustc_hash::FxHashMap;

use self::episode::{Episode, Role};
use super::notes::{NONE, Notes};
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
    /// For each open operation that has not taken effect, or may not have, the element it is on.
    notes: Notes,
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
    /// Pending operations that are not called yet, the latest first.
    pending: Vec<(u32, OpId)>,
    pending_known: usize,
    /// Is a core being decided? Then none is looked for.
    in_core: bool,
}

/// What is known of a value that is in the collection or has open operations.
#[derive(Clone, Copy, Debug)]
struct Element {
    /// How often it is in it, as far as nothing is open.
    count: u32,
    open: Open,
    /// The last operation that changed it and returned, for counterexamples: stamps, process and code.
    call: i64,
    ret: i64,
    who: u32,
}

/// What is open on a value.
#[derive(Clone, Copy, Debug)]
enum Open {
    Nothing,
    /// One operation, which has not taken effect.
    One(OpId, Role),
    /// Several, or one of several: which episode.
    Episode(u32),
}

const _: () = assert!(size_of::<Element>() == 32);

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
            if cx.spec.capacity.is_some() || cx.spec.spurious {
                return Err(Stop::Unsupported(
                    "the collection is bounded, or answers may be spurious".into(),
                ));
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
            if matches!(role_of(cx, timeline.op(id))?, Role::Add | Role::Take) {
                self.pending.push((timeline.earliest(id), id));
            }
        }
        self.pending.sort_unstable_by(|a, b| b.cmp(a));
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

    #[inline]
    fn called(
        &mut self,
        id: OpId,
        value: ValueId,
        role: Role,
        now: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        let place = match self.places.get(value.0) {
            Some(place) => place,
            None => {
                let count = self.at_first(value);
                if role.is_satisfied(count) {
                    self.outbox.push(now, id, witness);
                    return Ok(());
                }
                let open = Open::One(id, role);
                let place = self.add(Element { count, open, call: 0, ret: 0, who: NONE });
                self.places.insert(value.0, place);
                self.note(id, now, place);
                return Ok(());
            }
        };
        let element = &mut self.elements[place as usize];
        if let Open::Nothing = element.open {
            if role.is_satisfied(element.count) {
                self.outbox.push(now, id, witness);
            } else {
                element.open = Open::One(id, role);
                self.note(id, now, place);
            }
            return Ok(());
        }
        let index = self.episode(place, now)?;
        if self.episodes[index as usize].called(id, role, now)? {
            self.outbox.push(now, id, witness);
        } else {
            self.note(id, now, place);
        }
        Ok(())
    }

    #[inline]
    fn add(&mut self, element: Element) -> u32 {
        match self.free_elements.pop() {
            Some(place) => {
                self.elements[place as usize] = element;
                place
            }
            None => {
                self.elements.push(element);
                self.elements.len() as u32 - 1
            }
        }
    }

    #[inline]
    fn note(&mut self, id: OpId, now: u32, place: u32) {
        if id.as_pending().is_none() {
            self.notes.put(now, id.0, place);
        }
    }

    /// The episode of a value with something open, begun if there is none yet.
    fn episode(&mut self, place: u32, now: u32) -> Result<u32, Stop> {
        let element = &mut self.elements[place as usize];
        if let Open::Episode(index) = element.open {
            return Ok(index);
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.episodes.push(Episode::default());
            self.episodes.len() as u32 - 1
        });
        let episode = &mut self.episodes[index as usize];
        episode.begin(element.count);
        if let Open::One(id, role) = element.open {
            episode.called(id, role, now)?;
        }
        element.open = Open::Episode(index);
        Ok(index)
    }

    /// Explains a return; is there a way?
    #[inline]
    fn returned(
        &mut self,
        op: &Operation,
        role: Role,
        now: u32,
        limit: u32,
        witness: &mut Witness,
    ) -> Result<bool, Stop> {
        let place = self.notes.take(now);
        if place == NONE {
            return Ok(true);
        }
        let element = &mut self.elements[place as usize];
        if let Open::One(..) = element.open {
            let count = match role {
                Role::Add if element.count < limit => Some(element.count + 1),
                Role::Take => element.count.checked_sub(1),
                _ => None,
            };
            if let Some(count) = count {
                (element.count, element.open) = (count, Open::Nothing);
                element.changed(op);
                self.outbox.push(now, OpId(now), witness);
                self.forget_if_at_first(op.arg, place);
                return Ok(true);
            }
        }
        let index = self.episode(place, now)?;
        Ok(self.returned_in_episode(op, role, now, limit, (place, index), witness))
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
        if matches!(role, Role::Add | Role::Take) {
            element.changed(op);
        }
        match (split, episode.configurations.as_mut_slice()) {
            (false, [one]) => one.log.drain(..).for_each(|(gap, id)| self.outbox.push(gap, id, witness)),
            (true, [one]) => self.outbox.resume(&mut one.log, witness),
            (false, _) => self.outbox.stalled += 1,
            (true, _) => {}
        }
        if let Some(count) = episode.is_over() {
            self.free.push(index);
            (element.count, element.open) = (count, Open::Nothing);
            self.forget_if_at_first(op.arg, place);
        }
        true
    }

    /// Forgets a value with nothing open that is in the collection as often as at first.
    #[inline]
    fn forget_if_at_first(&mut self, value: ValueId, place: u32) {
        if self.elements[place as usize].count == self.at_first(value) {
            self.places.remove(value.0);
            self.free_elements.push(place);
        }
    }
}

impl Element {
    /// Takes note of an operation that changed it and returns.
    #[inline]
    fn changed(&mut self, op: &Operation) {
        (self.call, self.ret) = (op.call, op.ret);
        self.who = op.process().0 << 8 | u32::from(op.op().0);
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
        let limit = if cx.spec.kind == Kind::Set { 1 } else { u32::MAX };
        while self.next < upto {
            let gap = self.next;
            while let Some(&(_, id)) = self.pending.last().filter(|(earliest, _)| *earliest <= gap) {
                self.pending.pop();
                let op = timeline.op(id);
                self.called(id, op.arg, role_of(cx, op)?, gap, witness)?;
            }
            for id in timeline.called_in(gap) {
                let op = timeline.op(id);
                self.called(id, op.arg, self.role(cx, op)?, gap, witness)?;
            }
            let op = timeline.op(OpId(gap));
            if !self.returned(op, self.role(cx, op)?, gap, limit, witness)? {
                return Err(Stop::Violated(self.explain(cx, timeline, OpId(gap))));
            }
            self.next += 1;
            if self.next.is_multiple_of(1024) {
                cx.budget.check_own(self.memory())?;
            }
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
            + self.notes.memory()
            + self.episodes.len() * 256
            + self.outbox.held.capacity() * 8
    }
}

/// The role of an operation for its value. A pending one takes the role in which it changes something, if it has one.
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

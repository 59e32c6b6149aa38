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
//! Values are independent, and an order of each that respects the gaps merges with the others by gaps. While one value
//! has several configurations the order of the others is held back.

mod core;
mod episode;

use linpoint_history::specs::codes::set;
use linpoint_history::{Kind, Operation, Value, ValueId};
use rustc_hash::FxHashMap;

use self::episode::{Episode, Role};
use super::recent::Recent;
use crate::engine::{Context, Engine, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides sets, multisets and lists, with values that may repeat.
#[derive(Debug, Default)]
pub struct SetMonitor {
    next: u32,
    elements: FxHashMap<ValueId, Element>,
    /// Values with open operations, by [`Element::episode`].
    episodes: Vec<Episode>,
    free: Vec<u32>,
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
    recent: Recent,
}

/// What is known of a value that is in the collection or has open operations.
#[derive(Clone, Copy, Debug)]
struct Element {
    /// How often it is in it, while nothing is open.
    count: u32,
    /// Its open operations, or [`NONE`].
    episode: u32,
    /// The last operation that changed it and returned, for counterexamples: stamps, process and code.
    changed: (i64, i64, u32),
}

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
            if cx.spec.capacity.is_some() || cx.spec.spurious {
                return Err(Stop::Unsupported("the set monitor is for collections without bounds".into()));
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
            if matches!(role(cx, timeline.op(id))?, Role::Add | Role::Take) {
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

    fn called(
        &mut self,
        id: OpId,
        value: ValueId,
        role: Role,
        now: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        let known = self.elements.get(&value).copied();
        let count = known.map_or_else(|| self.at_first(value), |element| element.count);
        if known.is_none_or(|element| element.episode == NONE) && role.is_satisfied(count) {
            self.outbox.push(now, id, witness);
            return Ok(());
        }
        let index = match known.map(|element| element.episode).filter(|&episode| episode != NONE) {
            Some(index) => index,
            None => {
                let index = self.free.pop().unwrap_or_else(|| {
                    self.episodes.push(Episode::default());
                    self.episodes.len() as u32 - 1
                });
                self.episodes[index as usize].begin(count);
                let element = Element { count, episode: index, changed: (0, 0, u32::MAX) };
                self.elements.entry(value).or_insert(element).episode = index;
                index
            }
        };
        let episode = &mut self.episodes[index as usize];
        if episode.called(id, role, now)? {
            self.outbox.push(now, id, witness);
        }
        Ok(())
    }

    /// Explains a return; is there a way?
    fn returned(&mut self, op: &Operation, role: Role, now: u32, limit: u32, witness: &mut Witness) -> bool {
        let Some(element) = self.elements.get_mut(&op.arg) else { return true };
        if element.episode == NONE {
            return true;
        }
        let episode = &mut self.episodes[element.episode as usize];
        let split = episode.configurations.len() > 1;
        if !episode.returned(OpId(now), role, now, limit) {
            return false;
        }
        if matches!(role, Role::Add | Role::Take) {
            element.changed = (op.call, op.ret, op.process().0 << 8 | u32::from(op.op().0));
        }
        match (split, episode.configurations.as_mut_slice()) {
            (false, [one]) => one.log.drain(..).for_each(|(gap, id)| self.outbox.push(gap, id, witness)),
            (true, [one]) => self.outbox.resume(&mut one.log, witness),
            (false, _) => self.outbox.stalled += 1,
            (true, _) => {}
        }
        if let Some(count) = episode.is_over() {
            self.free.push(element.episode);
            (element.count, element.episode) = (count, NONE);
            if count == self.at_first(op.arg) {
                self.elements.remove(&op.arg);
            }
        }
        true
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
        let from = self.next;
        while self.next < upto {
            let gap = self.next;
            while let Some(&(_, id)) = self.pending.last().filter(|(earliest, _)| *earliest <= gap) {
                self.pending.pop();
                let op = timeline.op(id);
                self.called(id, op.arg, role(cx, op)?, gap, witness)?;
            }
            for id in timeline.called_in(gap) {
                let op = timeline.op(id);
                self.called(id, op.arg, role(cx, op)?, gap, witness)?;
            }
            let op = timeline.op(OpId(gap));
            if !self.returned(op, role(cx, op)?, gap, limit, witness) {
                return Err(Stop::Violated(self.explain(cx, timeline, OpId(gap))));
            }
            self.next += 1;
            if self.next.is_multiple_of(1024) {
                cx.budget.check(self.memory())?;
            }
        }
        self.recent.keep(timeline, from, upto.max(from));
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

    fn memory(&self) -> usize {
        self.elements.capacity() * (size_of::<(ValueId, Element)>() + 1)
            + self.episodes.len() * 256
            + self.outbox.held.capacity() * 8
            + self.recent.memory()
    }
}

/// The role of an operation for its value. A pending one takes the role in which it changes something, if it has one.
#[inline]
fn role(cx: &Context<'_>, op: &Operation) -> Result<Role, Stop> {
    let yes = op.is_pending() || op.result == ValueId::TRUE;
    Ok(match (cx.spec.kind, op.op()) {
        (Kind::Set, set::ADD) if yes => Role::Add,
        (Kind::Set, set::ADD) => Role::Present,
        (Kind::Multiset | Kind::List, set::ADD) => Role::Add,
        (Kind::Set | Kind::Multiset | Kind::List, set::REMOVE) if yes => Role::Take,
        (Kind::Set | Kind::Multiset | Kind::List, set::REMOVE) => Role::Absent,
        (Kind::Set | Kind::Multiset | Kind::List, set::CONTAINS) if yes => Role::Present,
        (Kind::Set | Kind::Multiset | Kind::List, set::CONTAINS) => Role::Absent,
        _ => return Err(Stop::Unsupported("the set monitor knows operations on one value only".into())),
    })
}

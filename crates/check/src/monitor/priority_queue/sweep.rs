//! One pass over a priority queue's history, with the pending removals given to values beforehand.
//!
//! See the [module above](super) for why this is right. In every gap: what is called becomes known; if a removal or an "empty" is waiting, the
//! least value that is surely inside is looked up, and everything that may take effect before it does; then one
//! operation returns.

use std::collections::VecDeque;

use linpoint_history::specs::codes::priority_queue::{INSERT, REMOVE};
use linpoint_history::{Kind, Operation, ProcessId, ValueId};
use rustc_hash::FxHashMap;

use super::heap::{Heap, Order};
use crate::engine::{Context, Stop, Witness};
use crate::monitor::cover::{Cover, PastCovers};
use crate::monitor::slab::Slab;
use crate::monitor::values::{Seen, ValueTable};
use crate::monitor::{initial_contents, inserted_twice};
use crate::timeline::{OpId, Timeline};

/// What left-over values are given to removals that never returned: the gap of the call, and the removal ([`NONE`]: any).
pub(super) type Given = FxHashMap<ValueId, (u32, u32)>;

/// A pass under way.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    started: bool,
    pub given: Given,
    values: ValueTable,
    pub elements: Slab<Element>,
    /// Values that are surely inside; some that are no more.
    pub inside: Heap,
    /// Removals that have not taken effect, the value that leaves first in front.
    pub waiting: Vec<Waiting>,
    /// Answers "empty" that have not taken effect.
    empties: Vec<u32>,
    /// For insertions from the gap on that did not take effect, where their value is.
    places: VecDeque<u32>,
    pub gap: u32,
    pub past: PastCovers,
    pending_read: usize,
}

/// A value that was inserted, or whose removal was called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub row: Operation,
    /// The insertion; [`NONE`] where it was there from the start or is not known.
    pub insertion: u32,
    /// The first gap it may be inserted in; `u32::MAX` while no insertion is known.
    pub earliest: u32,
    /// The removal, or [`NONE`].
    pub removal: u32,
    /// The first gap it may be removed in; `u32::MAX` while no removal is known.
    pub until: u32,
}

impl Element {
    /// The first gap it is surely inside.
    #[inline]
    pub fn inside(&self) -> u32 {
        match self.insertion {
            NONE if self.earliest == 0 => 0,
            NONE => u32::MAX,
            id => OpId(id).latest().saturating_add(1),
        }
    }
}

/// A removal that has not taken effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub value: ValueId,
    pub place: u32,
    pub removal: u32,
    /// The first gap in which both it and its insertion are called.
    pub start: u32,
}

/// Why a pass ended early.
#[derive(Debug)]
pub(super) enum Failure {
    /// The removal that returns in this gap is of a value that was not inserted by then.
    NotInserted,
    /// It is of a value that another removed.
    RemovedTwice,
    /// In all its gaps a value that leaves before it is surely inside.
    Covered(Waiting),
    /// In all its gaps something is surely inside.
    NotEmpty,
    /// Something else.
    Stop(Stop),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Failure {
        Failure::Stop(stop)
    }
}

pub(super) const NONE: u32 = u32::MAX;
/// The place of a removal whose value another removed.
const REPEATED: u32 = u32::MAX - 1;

impl Sweep {
    /// A pass in which left-over values are removed as `given` says.
    pub fn new(given: Given) -> Sweep {
        Sweep { given, ..Sweep::default() }
    }

    /// Explains the returns below `upto`.
    pub fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Failure> {
        self.start(cx, timeline)?;
        self.read_pending(cx, timeline)?;
        let base = timeline.base();
        for gap in self.gap..upto.min(timeline.end()) {
            self.gap = gap;
            if gap.is_multiple_of(4096) {
                cx.budget.check(self.memory())?;
            }
            for id in timeline.called_in(gap) {
                self.called(cx, timeline, id)?;
            }
            if !self.waiting.is_empty() || !self.empties.is_empty() {
                self.settle(cx, timeline, witness);
            }
            let place = self.places.pop_front().unwrap_or(NONE);
            let row = &timeline.rows()[(gap - base) as usize];
            self.returns(cx, timeline, row, place, witness)?;
        }
        self.gap = self.gap.max(upto.min(timeline.end()));
        Ok(())
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.values.memory()
            + self.elements.memory()
            + self.inside.memory()
            + self.places.capacity() * 4
            + self.past.memory()
    }

    fn start(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        self.gap = timeline.base();
        if cx.spec.kind == Kind::PriorityQueueMax {
            self.inside.order = Order::GreatestFirst;
        }
        for (index, value) in initial_contents(cx.spec, cx.symbols)?.into_iter().enumerate() {
            // A value without a number occurs in no row and cannot be compared.
            let Some(value) = value else {
                return Err(Stop::Unsupported(format!("initial value {index} is in no operation")));
            };
            let mut row = Operation::new(ProcessId(0), INSERT);
            row.arg = value;
            let place = self.insert(cx, row, NONE, 0);
            self.values.put(value.0, place);
            self.inside.push(cx.symbols, value, place);
        }
        Ok(())
    }

    /// A new element, which perhaps is given to a removal that never returned.
    #[inline]
    fn insert(&mut self, cx: &Context<'_>, row: Operation, insertion: u32, earliest: u32) -> u32 {
        let mut element = Element { row, insertion, earliest, removal: NONE, until: u32::MAX };
        if self.given.is_empty() {
            return self.elements.add(element);
        }
        let given = self.given.get(&row.arg).copied();
        if let Some((call, removal)) = given {
            (element.removal, element.until) = (removal, call);
        }
        let place = self.elements.add(element);
        if let Some((call, removal)) = given
            && removal != NONE
        {
            self.wait(cx, Waiting { value: row.arg, place, removal, start: call.max(earliest) });
        }
        place
    }

    /// Learns of the pending insertions that were not there before.
    fn read_pending(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        for index in self.pending_read..timeline.pending().len() {
            let id = OpId::pending(index as u32);
            let row = timeline.op(id);
            match row.op() {
                INSERT => self.inserted(cx, row, id, timeline.earliest(id))?,
                REMOVE => {}
                _ => return Err(Stop::Unsupported("change_key is called".into())),
            }
        }
        self.pending_read = timeline.pending().len();
        Ok(())
    }

    /// An operation is called in this gap.
    #[inline]
    fn called(&mut self, cx: &Context<'_>, timeline: &Timeline, id: OpId) -> Result<(), Stop> {
        let row = timeline.op(id);
        match row.op() {
            INSERT => self.inserted(cx, row, id, self.gap),
            REMOVE if row.result == ValueId::NULL => {
                self.empties.push(id.0);
                Ok(())
            }
            REMOVE => {
                self.removed(cx, row.result, id);
                Ok(())
            }
            _ => Err(Stop::Unsupported("change_key is called".into())),
        }
    }

    #[inline]
    fn inserted(&mut self, cx: &Context<'_>, row: &Operation, id: OpId, earliest: u32) -> Result<(), Stop> {
        if row.arg == ValueId::NULL {
            return Err(Stop::Unsupported("null is inserted".into()));
        }
        if row.result != ValueId::NULL && !row.is_pending() {
            return Err(Stop::Unsupported("an insertion answers something".into()));
        }
        let place = match self.values.claim(row.arg.0, self.elements.upcoming()) {
            Seen::New => self.insert(cx, *row, id.0, earliest),
            Seen::At(place) if self.elements.get(place).earliest == u32::MAX => {
                let element = self.elements.get_mut(place);
                (element.row, element.insertion, element.earliest) = (*row, id.0, earliest);
                let until = element.until;
                let waiting = self.waiting.iter_mut().find(|waiting| waiting.place == place);
                if let Some(waiting) = waiting {
                    waiting.start = until.max(earliest);
                }
                self.values.retire(row.arg.0);
                place
            }
            _ => return Err(inserted_twice(cx.symbols, row.arg)),
        };
        if id.as_pending().is_none() {
            let at = (id.0 - self.gap) as usize;
            if at >= self.places.len() {
                self.places.resize(at + 1, NONE);
            }
            self.places[at] = place;
        }
        Ok(())
    }

    #[inline]
    fn removed(&mut self, cx: &Context<'_>, value: ValueId, id: OpId) {
        let gap = self.gap;
        let mut waiting = Waiting { value, place: REPEATED, removal: id.0, start: u32::MAX };
        let elements = &self.elements;
        match self.values.take(value.0, |place| elements.get(place).earliest != u32::MAX) {
            Seen::At(place) => {
                let element = self.elements.get_mut(place);
                if element.removal == NONE {
                    (element.removal, element.until) = (id.0, gap);
                    waiting.start = gap.max(element.earliest);
                    waiting.place = place;
                }
            }
            Seen::New => {
                let row = Operation::new(ProcessId(0), INSERT);
                let element = Element { row, insertion: NONE, earliest: u32::MAX, removal: id.0, until: gap };
                waiting.place = self.elements.add(element);
                self.values.put(value.0, waiting.place);
            }
            Seen::Gone => {}
        }
        self.wait(cx, waiting);
    }

    #[inline]
    fn wait(&mut self, cx: &Context<'_>, waiting: Waiting) {
        let order = self.inside.order;
        let at = self.waiting.iter().position(|other| order.before(cx.symbols, waiting.value, other.value));
        self.waiting.insert(at.unwrap_or(self.waiting.len()), waiting);
    }

    /// What may take effect in this gap does.
    #[inline]
    fn settle(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) {
        let gap = self.gap;
        let mut least = self.inside.top();
        while let Some((_, place)) = least
            && self.elements.get(place).until <= gap
        {
            self.inside.pop(cx.symbols);
            least = self.inside.top();
        }
        let mut kept = 0;
        let mut next = 0;
        while next < self.waiting.len() {
            let waiting = self.waiting[next];
            if least.is_some_and(|(least, _)| !self.inside.order.before(cx.symbols, waiting.value, least)) {
                break;
            }
            if waiting.start <= gap {
                self.take(timeline, waiting, witness);
            } else {
                self.waiting[kept] = waiting;
                kept += 1;
            }
            next += 1;
        }
        if kept < next {
            self.waiting.drain(kept..next);
        }
        if least.is_none() && !self.empties.is_empty() {
            witness.order.extend(self.empties.drain(..).map(OpId));
        }
        if self.waiting.is_empty() && self.empties.is_empty() {
            self.past.clear();
        }
    }

    /// A removal takes effect, and just before it its insertion if that did not.
    #[inline]
    fn take(&mut self, timeline: &Timeline, waiting: Waiting, witness: &mut Witness) {
        let element = *self.elements.get(waiting.place);
        let insertion = OpId(element.insertion);
        if element.insertion != NONE {
            if insertion.as_pending().is_some() {
                witness.order.push(insertion);
            } else if insertion.0 >= self.gap {
                witness.order.push(insertion);
                self.places[(insertion.0 - self.gap) as usize] = NONE;
            }
        }
        witness.order.push(OpId(waiting.removal));
        if element.inside() < element.until {
            self.remember(timeline, &element);
        }
        if OpId(waiting.removal).as_pending().is_some() {
            self.values.retire(waiting.value.0);
        }
        self.elements.remove(waiting.place);
    }

    /// Keeps the cover of a value that left, for as long as a removal waits that it might refute.
    fn remember(&mut self, timeline: &Timeline, element: &Element) {
        if self.waiting.len() + self.empties.len() <= 1 {
            // The one that waits is this one.
            return;
        }
        self.past.add(cover_of(timeline, element));
        if self.past.is_crowded() {
            let starts = self.waiting.iter().map(|waiting| waiting.start);
            let first = starts.chain(self.empties.iter().map(|&id| timeline.earliest(OpId(id)))).min();
            self.past.retain(|cover| first.is_some_and(|first| cover.to > first));
        }
    }

    #[inline]
    fn returns(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        row: &Operation,
        place: u32,
        witness: &mut Witness,
    ) -> Result<(), Failure> {
        let gap = self.gap;
        if row.op() == INSERT {
            if place != NONE {
                witness.order.push(OpId(gap));
                if self.elements.get(place).until > gap + 1 {
                    self.inside.push(cx.symbols, row.arg, place);
                }
            }
            return Ok(());
        }
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.removal == gap) {
            if waiting.place != REPEATED {
                let inserted = waiting.start <= gap;
                return Err(if inserted { Failure::Covered(*waiting) } else { Failure::NotInserted });
            }
            // Until the other removal returns, its value might be inserted again, and then this is not for us.
            let ahead = (gap + 1..timeline.end()).map(OpId).find(|&id| {
                let op = timeline.op(id);
                timeline.earliest(id) <= gap && op.op() == REMOVE && op.result == waiting.value
            });
            let Some(other) = ahead else { return Err(Failure::RemovedTwice) };
            waiting.removal = other.0;
        }
        if row.result == ValueId::NULL && self.empties.contains(&gap) {
            return Err(Failure::NotEmpty);
        }
        Ok(())
    }
}

pub(super) fn cover_of(timeline: &Timeline, element: &Element) -> Cover {
    Cover {
        value: element.row.arg,
        from: element.inside(),
        to: element.until,
        insertion: (element.insertion != NONE).then_some(element.row),
        removal: (element.removal != NONE).then(|| *timeline.op(OpId(element.removal))),
    }
}

//! One pass over a priority queue's history, with the pending removals given to values beforehand.
//!
//! See the [module above](super) for why this is right. In every gap: what is called becomes known; if a
//! removal or an "empty" is waiting, the least value that is surely inside is looked up, and everything that
//! may take effect before it does; then one operation returns.

use linpoint_history::specs::codes::priority_queue::{INSERT, REMOVE};
use linpoint_history::{Kind, Operation, ProcessId, ValueId};
use rustc_hash::FxHashMap;

use super::heap::Order;
use super::inside::Inside;
use crate::engine::{Context, Stop, Witness};
use crate::monitor::cover::{Cover, PastCovers};
use crate::monitor::notes::Notes;
use crate::monitor::slab::Slab;
use crate::monitor::values::{Seen, ValueTable};
use crate::monitor::{initial_contents, inserted_twice};
use crate::timeline::{OpId, Timeline};

/// What left-over values are given to removals that never returned: the gap of the call, and the removal
/// ([`NONE`]: any).
pub(super) type Given = FxHashMap<ValueId, (u32, u32)>;

/// A pass under way.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    started: bool,
    pub given: Given,
    pub values: ValueTable,
    pub elements: Slab<Element>,
    /// Which end leaves first.
    pub order: Order,
    /// Values that are surely inside.
    pub inside: Inside,
    /// Removals that have not taken effect, the value that leaves first at the end.
    pub waiting: Vec<Waiting>,
    /// Answers "empty" that have not taken effect.
    empties: Vec<u32>,
    /// For operations that have not returned and did not take effect: where the value of an insertion is, and
    /// something for a removal.
    notes: Notes,
    /// Did two removals of one value wait?
    repeated: bool,
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

pub(super) const NONE: u32 = crate::monitor::notes::NONE;
/// The note for a removal.
const REMOVAL: u32 = 0;
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
                cx.budget.check_own(self.memory())?;
            }
            for id in timeline.called_in(gap) {
                self.called(cx, timeline, id)?;
            }
            if !self.waiting.is_empty() || !self.empties.is_empty() {
                self.settle(cx, timeline, witness);
            }
            let note = self.notes.take(gap);
            if note != NONE || self.repeated {
                let row = &timeline.rows()[(gap - base) as usize];
                self.returns(cx, timeline, row, note, witness)?;
            }
        }
        self.gap = self.gap.max(upto.min(timeline.end()));
        Ok(())
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.values.memory()
            + self.elements.memory()
            + self.inside.memory()
            + self.notes.memory()
            + self.past.memory()
    }

    fn start(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        self.gap = timeline.base();
        if cx.spec.kind == Kind::PriorityQueueMax {
            self.order = Order::GreatestFirst;
        }
        if !self.given.is_empty() {
            // What is given to a removal leaves when that is called, which nobody says then.
            self.inside.use_heap(cx.symbols, self.order, &self.values);
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
            self.inside.push(cx.symbols, self.order, (value, place), &self.values);
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
                self.notes.put(self.gap, id.0, REMOVAL);
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
                let (removal, start) = (element.removal, element.until.max(earliest));
                self.wait(cx, Waiting { value: row.arg, place, removal, start });
                self.values.retire(row.arg.0);
                place
            }
            _ => return Err(inserted_twice(cx.symbols, row.arg)),
        };
        if id.as_pending().is_none() {
            self.notes.put(self.gap, id.0, place);
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
                    self.inside.leave(value);
                }
            }
            Seen::New => {
                let row = Operation::new(ProcessId(0), INSERT);
                let element = Element { row, insertion: NONE, earliest: u32::MAX, removal: id.0, until: gap };
                let place = self.elements.add(element);
                self.values.put(value.0, place);
                // It waits from the call of its insertion on.
                self.notes.put(gap, id.0, REMOVAL);
                return;
            }
            Seen::Gone => {}
        }
        self.repeated |= waiting.place == REPEATED;
        self.wait(cx, waiting);
    }

    #[inline]
    fn wait(&mut self, cx: &Context<'_>, waiting: Waiting) {
        if OpId(waiting.removal).as_pending().is_none() {
            self.notes.put(self.gap, waiting.removal, REMOVAL);
        }
        let mut at = self.waiting.len();
        while at > 0 && !self.order.before(cx.symbols, waiting.value, self.waiting[at - 1].value) {
            at -= 1;
        }
        self.waiting.insert(at, waiting);
    }

    /// What may take effect in this gap does.
    #[inline]
    fn settle(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) {
        let gap = self.gap;
        let first = self.inside.first(cx.symbols, self.order, &self.elements, gap);
        let mut at = self.waiting.len();
        while at > 0 {
            at -= 1;
            let waiting = self.waiting[at];
            if first.is_some_and(|first| !self.order.before(cx.symbols, waiting.value, first)) {
                break;
            }
            if waiting.start <= gap {
                self.take(timeline, waiting, witness);
                // Nearly always the last.
                if at + 1 == self.waiting.len() {
                    self.waiting.pop();
                } else {
                    self.waiting.remove(at);
                }
            }
        }
        if first.is_none() && !self.empties.is_empty() {
            for &id in &self.empties {
                self.notes.take(id);
                witness.order.push(OpId(id));
            }
            self.empties.clear();
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
                self.notes.take(insertion.0);
            }
        }
        witness.order.push(OpId(waiting.removal));
        if element.inside() < element.until {
            self.remember(timeline, &element);
        }
        if OpId(waiting.removal).as_pending().is_some() {
            self.values.retire(waiting.value.0);
        } else {
            self.notes.take(waiting.removal);
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

    /// An operation returns that perhaps did not take effect before.
    #[inline]
    fn returns(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        row: &Operation,
        note: u32,
        witness: &mut Witness,
    ) -> Result<(), Failure> {
        let gap = self.gap;
        if row.op() == INSERT {
            if note != NONE {
                witness.order.push(OpId(gap));
                if self.elements.get(note).until > gap + 1 {
                    self.inside.push(cx.symbols, self.order, (row.arg, note), &self.values);
                }
            }
            return Ok(());
        }
        self.removal_returns(timeline, row)
    }

    /// A removal returns. If it did not take effect that is an error, unless its value may yet be inserted
    /// again.
    #[cold]
    fn removal_returns(&mut self, timeline: &Timeline, row: &Operation) -> Result<(), Failure> {
        let gap = self.gap;
        // No insertion of it was called by now: whoever else removes the value, one that is called later
        // comes too late for this removal.
        if let Seen::At(place) = self.values.get(row.result.0)
            && self.elements.get(place).earliest == u32::MAX
        {
            return Err(Failure::NotInserted);
        }
        // The removal itself comes before those of the same value that were put off until it returns.
        let mut returning = self.waiting.iter().filter(|waiting| waiting.removal == gap).peekable();
        let repeated = returning.peek().is_some();
        if let Some(waiting) = returning.find(|waiting| waiting.place != REPEATED) {
            let inserted = waiting.start <= gap;
            return Err(if inserted { Failure::Covered(*waiting) } else { Failure::NotInserted });
        }
        if repeated {
            // Until the other removal returns, its value might be inserted again, and then this is not for
            // us.
            let ahead = (gap + 1..timeline.end()).map(OpId).find(|&id| {
                let op = timeline.op(id);
                timeline.earliest(id) <= gap && op.op() == REMOVE && op.result == row.result
            });
            let Some(other) = ahead else { return Err(Failure::RemovedTwice) };
            for waiting in self.waiting.iter_mut().filter(|waiting| waiting.removal == gap) {
                waiting.removal = other.0;
            }
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

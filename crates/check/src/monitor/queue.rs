//! The queue monitor: first in, first out, every value enqueued at most once. O(1) an operation.
//!
//! A value v has four numbers: it is enqueued in one of the gaps `ie..=il` and dequeued in one of `re..=rl`.
//! A queue's history is wrong iff a value is dequeued that was not enqueued by then, or twice; or a was
//! enqueued before b (`il(a) < ie(b)`) and b was dequeued before a (`rl(b) < re(a)`); or an answer "empty"
//! has no gap in which nothing is surely inside (Henzinger, Sezgin & Vafeiadis 2013; Lee & Mathur 2025).
//!
//! **The pass.** Values stand in a ring in order of `il`. When the dequeue of v returns, v is *taken*, and
//! before it every value of the ring with `il < ie(v)`: each of them must have its dequeue called by now,
//! else the order is violated. The order of taking is the order of the queue; the enqueues take effect at the
//! earliest gaps that this order leaves (`e := max(e, ie)`), the dequeues too (`d := max(d, re, e)`). An
//! "empty" takes effect at the first uncovered gap: all values of the ring that are surely in by then are
//! taken there first. Dequeues wait in `leaving` until the enqueues of their gap are known.
//!
//! **Pending operations.** An enqueue that never returned counts if its value was dequeued. Dequeues that
//! never returned take what nobody else takes: the i-th of them by call the i-th such value by `il`, no other
//! matching is better. Where a dequeue's order forces such a value out, that is decided at once. Where only
//! an "empty" asks for it, it is known at the end which values nobody took, so the monitor keeps the rows
//! from there on ([`QueueMonitor::stalled`]) and resumes when all are there.

mod refute;

use std::collections::VecDeque;

use linpoint_history::specs::codes::queue::{DEQUEUE, ENQUEUE};
use linpoint_history::{Operation, ValueId};

use super::cover::{Cover, PastCovers};
use super::kept::keep;
use super::ring::Ring;
use super::values::{Seen, ValueTable};
use super::{initial_contents, inserted_twice};
use crate::engine::{Context, Engine, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides histories of a queue. See the module's text.
#[derive(Debug, Default)]
pub struct QueueMonitor {
    started: bool,
    values: ValueTable,
    ring: Ring<Element>,
    loose: Vec<Loose>,
    free_loose: Vec<u32>,
    /// Dequeues that were read and have not returned, and where their value is.
    returns: VecDeque<(u32, u32)>,
    /// Rows below this were read.
    read: u32,
    /// The gap under way, which is also the number of the next return.
    gap: u32,
    enqueue_gap: u32,
    dequeue_gap: u32,
    leaving: VecDeque<(OpId, u32)>,
    /// Answers "empty" that have no gap yet: number and earliest gap.
    empties: Vec<(u32, u32)>,
    /// Ring items below this cover no gap any more.
    clear: u32,
    past: PastCovers,
    pending_read: usize,
    /// Dequeues that never returned, by call, and how many of them have a value.
    removals: Vec<(u32, OpId)>,
    removals_used: usize,
    /// What they took.
    lost: Vec<Lost>,
    stalled: Option<Box<Timeline>>,
    all_known: bool,
}

/// A value whose enqueue returned, or that was there from the start. The row of its enqueue does not stand in
/// the order, so the timeline has it.
#[derive(Clone, Copy, Debug)]
struct Element {
    value: ValueId,
    /// `ie`.
    earliest: u32,
    /// `il + 1`: the first gap it is surely in; zero: from the start.
    inside: u32,
    /// Its dequeue, or [`NONE`], or [`TAKEN`].
    removal: u32,
    /// `re`; `u32::MAX` while no dequeue is known.
    until: u32,
}

/// A value whose enqueue did not return before its dequeue, or never.
#[derive(Clone, Copy, Debug)]
struct Loose {
    /// The pending enqueue, or [`NONE`].
    insertion: u32,
    earliest: u32,
    /// The dequeue, or [`NONE`].
    removal: u32,
    until: u32,
    /// Its place in the ring, once its enqueue was read, or [`NONE`].
    slot: u32,
}

/// A value that a dequeue which never returned must have taken.
#[derive(Clone, Copy, Debug)]
struct Lost {
    value: ValueId,
    /// Its enqueue; none for what was there from the start.
    row: Option<Operation>,
    /// The completed dequeue of a younger value that shows it, and that value's enqueue.
    younger: Option<Operation>,
    insertion: Option<Operation>,
}

const NONE: u32 = u32::MAX;
const TAKEN: u32 = u32::MAX - 1;
/// Places with this bit are of loose values.
const LOOSE: u32 = 1 << 31;
/// The place of an answer "empty".
const EMPTY: u32 = u32::MAX - 3;
/// How many gaps are judged at a time.
const STRETCH: u32 = 64;
/// The place of a dequeue whose value has another dequeue.
const REPEATED: u32 = u32::MAX - 2;

impl Engine for QueueMonitor {
    fn name(&self) -> &'static str {
        "queue monitor"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.start(cx, timeline)?;
        self.read_pending(cx, timeline)?;
        match &mut self.stalled {
            None => self.sweep(cx, timeline, upto, witness),
            Some(kept) => {
                keep(kept, timeline);
                cx.budget.check_own(self.memory())
            }
        }
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        self.start(cx, timeline)?;
        self.read_pending(cx, timeline)?;
        if let Some(mut kept) = self.stalled.take() {
            keep(&mut kept, timeline);
            self.resume(cx, &kept, witness)?;
        }
        for slot in self.ring.front()..self.ring.end() {
            let element = *self.ring.get(slot);
            if element.removal != TAKEN && element.inside > 0 {
                self.enqueue(OpId(element.inside - 1), element.earliest, witness);
            }
        }
        self.flush(u32::MAX, witness);
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.gap)
    }

    fn memory(&self) -> usize {
        let kept = self.stalled.as_ref().map_or(0, |t| t.rows().len() * 48);
        self.ring.memory()
            + self.values.memory()
            + self.loose.capacity() * size_of::<Loose>()
            + self.returns.capacity() * 8
            + self.leaving.capacity() * 8
            + self.past.memory()
            + kept
    }
}

impl QueueMonitor {
    /// A monitor that has seen nothing.
    pub fn new() -> QueueMonitor {
        QueueMonitor::default()
    }

    fn start(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        (self.read, self.gap) = (timeline.base(), timeline.base());
        for value in initial_contents(cx.spec, cx.symbols)? {
            let named = value.unwrap_or(ValueId::NULL);
            let element = Element { value: named, earliest: 0, inside: 0, removal: NONE, until: u32::MAX };
            let slot = self.ring.push(element);
            if let Some(value) = value {
                self.values.put(value.0, slot);
            }
        }
        Ok(())
    }

    fn sweep(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        let upto = upto.min(timeline.end());
        while self.gap < upto {
            // Gaps are judged some at a time: knowing a little more than was called by then does no harm.
            let until = upto.min(self.gap + STRETCH);
            if until.is_multiple_of(4096) {
                cx.budget.check_own(self.memory())?;
            }
            let last = (self.gap..until).filter_map(|gap| timeline.called_in(gap).next()).max();
            self.read_rows(cx, timeline, last.map_or(0, |last| last.0 + 1))?;
            while let Some(&(id, place)) = self.returns.front()
                && id < until
            {
                if self.place_empties(timeline, id + 1, witness) {
                    return Ok(());
                }
                self.gap = id;
                if place == EMPTY {
                    if self.empties.iter().any(|&(empty, _)| empty == id) {
                        return Err(self.covered_empty(cx, timeline, id));
                    }
                } else {
                    self.dequeue_returns(cx, timeline, place, witness)?;
                }
                self.returns.pop_front();
                self.gap = id + 1;
            }
            if self.place_empties(timeline, until, witness) {
                return Ok(());
            }
            self.gap = until;
        }
        Ok(())
    }

    /// After a stall, when all rows are there.
    fn resume(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        self.all_known = true;
        self.read_rows(cx, timeline, timeline.end())?;
        for slot in self.ring.front()..self.ring.end() {
            if self.ring.get(slot).removal == NONE && !self.take_lost(timeline, slot, u32::MAX, None) {
                break;
            }
        }
        self.sweep(cx, timeline, timeline.end(), witness)
    }

    /// Learns of the completed operations below `upto`: which value, and where its other half is.
    #[inline]
    fn read_rows(&mut self, cx: &Context<'_>, timeline: &Timeline, upto: u32) -> Result<(), Stop> {
        if upto <= self.read {
            return Ok(());
        }
        let from = (self.read - timeline.base()) as usize;
        let to = (upto - timeline.base()) as usize;
        let rows = &timeline.rows()[from..to];
        let earliests = &timeline.earliests()[from..to];
        for (row, &earliest) in rows.iter().zip(earliests) {
            let id = self.read;
            match row.op() {
                ENQUEUE => self.read_enqueue(cx, row, id, earliest)?,
                DEQUEUE if row.result == ValueId::NULL => {
                    self.empties.push((id, earliest));
                    self.returns.push_back((id, EMPTY));
                }
                DEQUEUE => {
                    let place = self.read_dequeue(row.result, id, earliest);
                    self.returns.push_back((id, place));
                }
                _ => return Err(Stop::Unsupported("not an operation of a queue".into())),
            }
            self.read += 1;
        }
        Ok(())
    }

    #[inline]
    fn read_enqueue(
        &mut self,
        cx: &Context<'_>,
        row: &Operation,
        id: u32,
        earliest: u32,
    ) -> Result<(), Stop> {
        if row.arg == ValueId::NULL {
            return Err(Stop::Unsupported("null is enqueued".into()));
        }
        if row.result != ValueId::NULL {
            return Err(Stop::Unsupported("an enqueue answers something".into()));
        }
        let mut element =
            Element { value: row.arg, earliest, inside: id + 1, removal: NONE, until: u32::MAX };
        match self.values.claim(row.arg.0, self.ring.end()) {
            Seen::New => {
                self.ring.push(element);
            }
            Seen::At(place)
                if place & LOOSE != 0 && self.loose[(place ^ LOOSE) as usize].insertion == NONE =>
            {
                let loose = &mut self.loose[(place ^ LOOSE) as usize];
                (element.removal, element.until) = (loose.removal, loose.until);
                loose.slot = self.ring.push(element);
                self.values.retire(row.arg.0);
            }
            _ => return Err(inserted_twice(cx.symbols, row.arg)),
        }
        Ok(())
    }

    #[inline]
    fn read_dequeue(&mut self, value: ValueId, id: u32, earliest: u32) -> u32 {
        match self.values.take(value.0, |place| place & LOOSE == 0) {
            Seen::At(place) if place & LOOSE == 0 => {
                let element = self.ring.get_mut(place);
                (element.removal, element.until) = (id, earliest);
                place
            }
            Seen::At(place) => {
                let loose = &mut self.loose[(place ^ LOOSE) as usize];
                if loose.removal != NONE {
                    return REPEATED;
                }
                (loose.removal, loose.until) = (id, earliest);
                self.values.retire(value.0);
                place
            }
            Seen::New => {
                let loose = Loose { insertion: NONE, earliest: 0, removal: id, until: earliest, slot: NONE };
                let place = self.add_loose(loose);
                self.values.put(value.0, place);
                place
            }
            Seen::Gone => REPEATED,
        }
    }

    fn add_loose(&mut self, loose: Loose) -> u32 {
        match self.free_loose.pop() {
            Some(index) => {
                self.loose[index as usize] = loose;
                index | LOOSE
            }
            None => {
                self.loose.push(loose);
                (self.loose.len() as u32 - 1) | LOOSE
            }
        }
    }

    /// Learns of the pending operations that were not there before.
    fn read_pending(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        for index in self.pending_read..timeline.pending().len() {
            let id = OpId::pending(index as u32);
            let row = timeline.op(id);
            let earliest = timeline.earliest(id);
            if row.op() == DEQUEUE {
                self.removals.push((earliest, id));
                let unused = self.removals_used;
                self.removals[unused..].sort_unstable();
                continue;
            }
            if row.arg == ValueId::NULL {
                return Err(Stop::Unsupported("null is enqueued".into()));
            }
            match self.values.get(row.arg.0) {
                Seen::New => {
                    let loose =
                        Loose { insertion: id.0, earliest, removal: NONE, until: u32::MAX, slot: NONE };
                    let place = self.add_loose(loose);
                    self.values.put(row.arg.0, place);
                }
                Seen::At(place)
                    if place & LOOSE != 0 && self.loose[(place ^ LOOSE) as usize].insertion == NONE =>
                {
                    let loose = &mut self.loose[(place ^ LOOSE) as usize];
                    (loose.insertion, loose.earliest) = (id.0, earliest);
                    self.values.retire(row.arg.0);
                }
                _ => return Err(inserted_twice(cx.symbols, row.arg)),
            }
        }
        self.pending_read = timeline.pending().len();
        Ok(())
    }

    /// The dequeue of a value returns: whatever stands before the value is taken, then the value.
    #[inline]
    fn dequeue_returns(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        place: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        if place == REPEATED {
            return Err(self.dequeued_twice(cx, timeline));
        }
        let mut slot = place;
        if place & LOOSE != 0 {
            let loose = self.loose[(place ^ LOOSE) as usize];
            self.free_loose.push(place ^ LOOSE);
            slot = loose.slot;
            if loose.slot == NONE {
                if loose.insertion == NONE || loose.earliest > self.gap {
                    return Err(self.not_yet_enqueued(cx, timeline));
                }
                self.take_before(cx, timeline, loose.earliest, NONE, witness)?;
                self.take_loose(loose, witness);
                return Ok(());
            }
        }
        if slot < self.ring.front() || self.ring.get(slot).removal == TAKEN {
            return Ok(());
        }
        let earliest = self.ring.get(slot).earliest;
        if earliest > self.gap {
            return Err(self.not_yet_enqueued(cx, timeline));
        }
        self.take_before(cx, timeline, earliest, slot, witness)?;
        self.take(timeline, slot, witness);
        while self.ring.front() < self.ring.end() && self.ring.get(self.ring.front()).removal == TAKEN {
            self.ring.pop();
        }
        Ok(())
    }

    /// Takes all values of the ring before `slot` that were enqueued before gap `earliest`.
    #[inline]
    fn take_before(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        earliest: u32,
        slot: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        while self.ring.front() < self.ring.end().min(slot) {
            let front = self.ring.front();
            let element = self.ring.get(front);
            if element.removal != TAKEN {
                if element.inside > earliest {
                    break;
                }
                let out = element.until <= self.gap
                    || element.removal == NONE
                        && self.take_lost(timeline, front, self.gap, Some(timeline.op(OpId(self.gap))));
                if !out {
                    return Err(self.wrong_order(cx, timeline, front));
                }
                self.take(timeline, front, witness);
            }
            self.ring.pop();
        }
        Ok(())
    }

    /// Gives a value to the next dequeue that never returned, if that was called by gap `upto`.
    fn take_lost(&mut self, timeline: &Timeline, slot: u32, upto: u32, younger: Option<&Operation>) -> bool {
        let Some(&(gap, id)) = self.removals.get(self.removals_used) else { return false };
        if gap > upto {
            return false;
        }
        self.removals_used += 1;
        let insertion = younger.and_then(|row| refute::insertion_of(timeline, row.result, self));
        let element = self.ring.get_mut(slot);
        (element.removal, element.until) = (id.0, gap);
        let element = *element;
        let (value, row) = (element.value, element.row(timeline));
        self.lost.push(Lost { value, row, younger: younger.copied(), insertion });
        self.values.retire(value.0);
        true
    }

    #[inline]
    fn take(&mut self, timeline: &Timeline, slot: u32, witness: &mut Witness) {
        let element = self.ring.get_mut(slot);
        let Element { earliest, inside, removal, until, .. } = *element;
        element.removal = TAKEN;
        if !self.empties.is_empty() {
            let cover = cover_of(timeline, &Element { removal, ..*element });
            self.past.add(cover);
            if self.past.is_crowded() {
                self.forget_covers();
            }
        }
        if inside > 0 {
            self.enqueue(OpId(inside - 1), earliest, witness);
        }
        self.dequeue_gap = self.dequeue_gap.max(until).max(self.enqueue_gap);
        self.leaving.push_back((OpId(removal), self.dequeue_gap));
    }

    fn take_loose(&mut self, loose: Loose, witness: &mut Witness) {
        self.enqueue(OpId(loose.insertion), loose.earliest, witness);
        self.dequeue_gap = self.dequeue_gap.max(loose.until).max(self.enqueue_gap);
        self.leaving.push_back((OpId(loose.removal), self.dequeue_gap));
    }

    #[inline]
    fn enqueue(&mut self, id: OpId, earliest: u32, witness: &mut Witness) {
        self.enqueue_gap = self.enqueue_gap.max(earliest);
        self.flush(self.enqueue_gap, witness);
        witness.order.push(id);
    }

    /// Writes down the dequeues of gaps below `gap`.
    #[inline]
    fn flush(&mut self, gap: u32, witness: &mut Witness) {
        while let Some(&(id, at)) = self.leaving.front()
            && at < gap
        {
            witness.order.push(id);
            self.leaving.pop_front();
        }
    }

    /// Places the open answers "empty" in the gaps from here to `until` in which nothing is surely inside.
    /// True: that may depend on what is not known before the end, and rows are kept from now on.
    #[inline]
    fn place_empties(&mut self, timeline: &Timeline, until: u32, witness: &mut Witness) -> bool {
        while self.gap < until && !self.empties.is_empty() {
            let earliest = self.empties.iter().map(|empty| empty.1).fold(u32::MAX, u32::min);
            if earliest >= until {
                break;
            }
            self.gap = self.gap.max(earliest);
            match self.covering() {
                None => self.cut(timeline, witness),
                Some(slot) => {
                    let lost =
                        self.removals.get(self.removals_used).is_some_and(|&(call, _)| call <= self.gap);
                    if lost && self.ring.get(slot).removal == NONE && !self.all_known {
                        self.stalled = Some(Box::new(timeline.clone()));
                        return true;
                    }
                }
            }
            self.gap += 1;
        }
        false
    }

    /// The first value of the ring that is surely inside in this gap.
    fn covering(&mut self) -> Option<u32> {
        self.clear = self.clear.max(self.ring.front());
        while self.clear < self.ring.end() {
            let element = self.ring.get(self.clear);
            if element.inside > self.gap {
                break;
            }
            if element.until > self.gap {
                return Some(self.clear);
            }
            self.clear += 1;
        }
        None
    }

    /// Nothing is surely inside: all that is in is taken, then come the open answers "empty".
    fn cut(&mut self, timeline: &Timeline, witness: &mut Witness) {
        let gap = self.gap;
        while self.ring.front() < self.ring.end() {
            let front = self.ring.front();
            let element = self.ring.get(front);
            if element.inside > gap {
                break;
            }
            if element.removal != TAKEN {
                self.take(timeline, front, witness);
            }
            self.ring.pop();
        }
        self.flush(u32::MAX, witness);
        (self.enqueue_gap, self.dequeue_gap) = (self.enqueue_gap.max(gap), self.dequeue_gap.max(gap));
        self.empties.retain(|&(id, earliest)| {
            if earliest <= gap {
                witness.order.push(OpId(id));
            }
            earliest > gap
        });
        self.forget_covers();
    }

    /// Forgets the covers that no open answer "empty" can meet.
    fn forget_covers(&mut self) {
        match self.empties.iter().map(|e| e.1).min() {
            None => self.past.clear(),
            Some(first) => self.past.retain(|cover| cover.to > first),
        }
    }
}

impl Element {
    /// Its enqueue; none for what was there from the start.
    fn row(&self, timeline: &Timeline) -> Option<Operation> {
        timeline.row(OpId(self.inside.checked_sub(1)?))
    }
}

fn cover_of(timeline: &Timeline, element: &Element) -> Cover {
    Cover {
        value: element.value,
        from: element.inside,
        to: element.until,
        insertion: element.row(timeline),
        removal: (element.removal != NONE).then(|| *timeline.op(OpId(element.removal))),
    }
}

//! Counters that are only incremented and read: one configuration is enough.
//!
//! Increments are all alike, so an explanation of the past is the count it has reached, and the open
//! increment that returns first is always the one to use. The explanation with the *least* count can become
//! any other by using open increments, and reads are served as the count passes their value, so it is the
//! only one to keep. A read below the count can never be served.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use linpoint_history::Kind;
use linpoint_history::specs::codes::counter;
use rustc_hash::FxHashMap;

use crate::counterexample::sentence;
use crate::engine::{Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides counters with `increment` and `read`.
#[derive(Debug, Default)]
pub struct CounterMetastate {
    next: u32,
    count: Option<i64>,
    /// Open increments that have not taken effect; pending ones have the greatest numbers.
    increments: BinaryHeap<Reverse<OpId>>,
    /// Open reads that are not served, by the count they need.
    waiting: FxHashMap<i64, Vec<OpId>>,
    /// Pending increments that are not called yet, the latest first.
    pending: Vec<(u32, OpId)>,
    pending_known: usize,
}

impl CounterMetastate {
    /// Nothing seen yet.
    pub fn new() -> CounterMetastate {
        CounterMetastate::default()
    }

    fn prepare(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if self.count.is_none() {
            let count = cx.spec.initial.as_int().filter(|n| n.unsigned_abs() < 1 << 62);
            if count.is_none() || cx.spec.kind != Kind::Counter {
                return Err(Stop::Unsupported("the counter starts with a number that is too large".into()));
            }
            self.count = count;
        }
        let known = std::mem::replace(&mut self.pending_known, timeline.pending().len());
        for index in known..timeline.pending().len() {
            let id = OpId::pending(index as u32);
            if is_increment(timeline, id)? {
                self.pending.push((timeline.earliest(id), id));
            }
        }
        self.pending.sort_unstable_by(|a, b| b.cmp(a));
        Ok(())
    }

    fn read_called(&mut self, cx: &Context<'_>, timeline: &Timeline, id: OpId, witness: &mut Witness) {
        match cx.symbols.int(timeline.op(id).result) {
            value if value == self.count => witness.order.push(id),
            Some(value) => self.waiting.entry(value).or_default().push(id),
            None => {}
        }
    }

    /// An increment takes effect, and the reads that waited for it.
    fn step(&mut self, witness: &mut Witness) -> bool {
        let (Some(count), Some(Reverse(id))) = (self.count, self.increments.pop()) else { return false };
        witness.order.push(id);
        self.count = Some(count + 1);
        witness.order.append(&mut self.waiting.remove(&(count + 1)).unwrap_or_default());
        true
    }

    /// Explains a return; is there a way?
    fn returned(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        id: OpId,
        witness: &mut Witness,
    ) -> Result<bool, Stop> {
        if is_increment(timeline, id)? {
            // Those that return before it have taken effect, so it is the first if it has not.
            return Ok(self.increments.peek() != Some(&Reverse(id)) || self.step(witness));
        }
        let Some(value) = cx.symbols.int(timeline.op(id).result) else { return Ok(false) };
        while self.count < Some(value) {
            if !self.step(witness) {
                return Ok(false);
            }
        }
        Ok(self.waiting.get(&value).is_none_or(|reads| !reads.contains(&id)))
    }
}

impl Engine for CounterMetastate {
    fn name(&self) -> &'static str {
        "counter metastate"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.prepare(cx, timeline)?;
        while self.next < upto {
            let gap = self.next;
            while let Some(&(_, id)) = self.pending.last().filter(|(earliest, _)| *earliest <= gap) {
                self.pending.pop();
                self.increments.push(Reverse(id));
            }
            for id in timeline.called_in(gap) {
                if is_increment(timeline, id)? {
                    self.increments.push(Reverse(id));
                } else {
                    self.read_called(cx, timeline, id, witness);
                }
            }
            if !self.returned(cx, timeline, OpId(gap), witness)? {
                let what = sentence(cx.spec, cx.symbols, timeline.op(OpId(gap)));
                let reason = format!("{what} finds no place: the count was never that while it was open");
                return Err(Stop::Violated(Violation { at: OpId(gap), core: Vec::new(), reason }));
            }
            self.next += 1;
            if self.next.is_multiple_of(1024) {
                cx.budget.check(self.memory())?;
            }
        }
        Ok(())
    }

    fn finish(
        &mut self,
        _cx: &Context<'_>,
        _timeline: &Timeline,
        _witness: &mut Witness,
    ) -> Result<(), Stop> {
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.next)
    }

    fn memory(&self) -> usize {
        (self.increments.len() + self.pending.len()) * 8 + self.waiting.len() * 64
    }
}

fn is_increment(timeline: &Timeline, id: OpId) -> Result<bool, Stop> {
    match timeline.op(id).op() {
        counter::INCREMENT => Ok(true),
        counter::READ => Ok(false),
        _ => Err(Stop::Unsupported("there is more than increments and reads".into())),
    }
}

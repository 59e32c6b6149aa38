//! Registers whose writes are all different: one forward pass over *clusters* (Gibbons & Korach 1997).
//!
//! A value's cluster is its write and its reads. In every explanation the register holds a value during one
//! stretch, so clusters follow one another as wholes. Let `first` be the least return of a cluster and `last`
//! its greatest call. If `first < last` the register holds the value from `first` to `last` at least (a
//! *forward* zone); otherwise the whole cluster fits into any single gap of `[last, first]` (a *backward*
//! zone). A history is linearizable iff every read follows the call of its write, no two forward zones
//! overlap, and no backward zone lies strictly inside a forward one.
//!
//! The pass keeps the clusters that may still be read (*alive*), in order of `first`. With `a0` the first of
//! them, all others satisfy `last <= first(a0)`: they fit into the gap `first(a0)`, just before `a0`. Three
//! things happen:
//!
//! - A cluster v returns for the first time: every alive u with `first(u) < last(v)` is over, since a read of
//!   u called from now on would put v inside u's zone.
//! - An alive cluster is read: all others are over. Those with a smaller `first` come before it; those with a
//!   greater one now lie inside its forward zone, so they take effect in the gap `first`, before it.
//! - A value that is over, or that was never written, is read: violated. There is no other way to fail.
//!
//! When clusters end they are written to the witness: the others first, then `a0`. A value read for long is
//! written as it goes, as soon as no operation is open that may yet have to come before it.
//!
//! Times are numbers of gaps plus one, so that the initial value, whose cluster began before everything, has
//! `first` zero.

mod core;

use linpoint_history::specs::codes::{kv, register};
use linpoint_history::{Kind, OpCode, ValueId};
use rustc_hash::FxHashMap;

use super::notes::{NONE, Notes};
use super::seen::Seen;
use super::table::Table;
use crate::engine::{Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides registers and single keys of a key–value store, as long as they are only written and read and no
/// value is written twice.
#[derive(Debug, Default)]
pub struct RegisterMonitor {
    next: u32,
    initial: Option<ValueId>,
    seen: Seen,
    /// Clusters that are open or alive, by value.
    by_value: Table,
    clusters: Vec<Cluster>,
    free: Vec<u32>,
    /// The clusters that have returned and may still be read, in order of `first`.
    alive: Vec<u32>,
    /// The cluster of each open operation.
    notes: Notes,
    /// Pending writes nobody has read yet.
    pending: FxHashMap<ValueId, OpId>,
    pending_known: usize,
    /// Open reads of values that are over. They are wrong, unless their value is written again before they
    /// return; then this monitor is not the one to decide.
    stale: Vec<OpId>,
    /// A violation, and the last return of an operation it may rest on: if a value is written twice before
    /// that, it means nothing.
    doom: Option<(u32, Violation)>,
}

#[derive(Clone, Debug)]
struct Cluster {
    value: ValueId,
    write: Option<OpId>,
    /// Has it a write, or is it the initial value?
    written: bool,
    /// Is it open or alive? Otherwise it is over, and waits to be used again.
    current: bool,
    first: u32,
    last: u32,
    /// Reads that are not in the witness yet, in order of call.
    reads: Vec<OpId>,
}

/// The `first` of a cluster that has not returned.
const OPEN: u32 = u32::MAX;

/// How many returns pass between attempts to write down a value that is read for long.
const FLUSH: u32 = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    Write,
    Read,
}

impl RegisterMonitor {
    /// Nothing seen yet.
    pub fn new() -> RegisterMonitor {
        RegisterMonitor::default()
    }

    /// Takes note of the initial value, once it has a number, and of pending writes.
    fn prepare(&mut self, cx: &Context<'_>, timeline: &Timeline) -> Result<(), Stop> {
        if self.initial.is_none()
            && let Some(value) = cx.symbols.find(&cx.spec.initial)
        {
            self.initial = Some(value);
            self.seen.insert(value);
            let index = self.open(value);
            let cluster = &mut self.clusters[index as usize];
            (cluster.first, cluster.written) = (0, true);
            if self.next == 0 {
                self.alive.push(index);
            } else {
                self.forget(index); // Others were written meanwhile: it can no longer be read.
            }
        }
        for index in self.pending_known..timeline.pending().len() {
            let op = &timeline.pending()[index];
            if access(cx, op.op())? == Access::Write {
                self.insert(op.arg)?;
                self.pending.insert(op.arg, OpId::pending(index as u32));
            }
        }
        self.pending_known = timeline.pending().len();
        Ok(())
    }

    fn insert(&mut self, value: ValueId) -> Result<(), Stop> {
        if self.seen.insert(value) {
            return Ok(());
        }
        Err(Stop::Unsupported("a value is written twice, or is the initial value".into()))
    }

    /// A new cluster.
    #[inline]
    fn open(&mut self, value: ValueId) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.clusters.push(Cluster {
                value,
                write: None,
                written: false,
                current: true,
                first: OPEN,
                last: 0,
                reads: Vec::new(),
            });
            self.clusters.len() as u32 - 1
        });
        let cluster = &mut self.clusters[index as usize];
        (cluster.value, cluster.write, cluster.written) = (value, None, false);
        (cluster.current, cluster.first, cluster.last) = (true, OPEN, 0);
        self.by_value.insert(value.0, index);
        index
    }

    #[inline]
    fn forget(&mut self, index: u32) {
        let cluster = &mut self.clusters[index as usize];
        cluster.current = false;
        self.by_value.remove(cluster.value.0);
        self.free.push(index);
    }

    /// Writes down what is not written yet of a cluster.
    #[inline]
    fn emit(&mut self, index: u32, witness: &mut Witness) {
        let cluster = &mut self.clusters[index as usize];
        if let Some(write) = cluster.write.take() {
            witness.order.push(write);
        }
        witness.order.append(&mut cluster.reads);
    }

    /// The first `count` alive clusters are over.
    fn close(&mut self, count: usize, witness: &mut Witness) {
        for at in (1..count).chain((count > 0).then_some(0)) {
            let index = self.alive[at];
            self.emit(index, witness);
            self.forget(index);
        }
        self.alive.drain(..count);
    }

    #[inline]
    fn write_called(&mut self, id: OpId, value: ValueId, now: u32) -> Result<(), Stop> {
        self.insert(value)?;
        let index = self.by_value.get(value.0);
        let index = index.unwrap_or_else(|| self.open(value));
        let cluster = &mut self.clusters[index as usize];
        (cluster.write, cluster.written, cluster.last) = (Some(id), true, now);
        self.notes.put(self.next, id.0, index);
        Ok(())
    }

    /// May a read of `value` called now be explained, as far as known?
    #[inline]
    fn read_called(&mut self, id: OpId, value: ValueId, now: u32, witness: &mut Witness) -> bool {
        let index = match self.by_value.get(value.0) {
            Some(index) => index,
            None if self.seen.contains(value) && !self.pending.contains_key(&value) => return false,
            None => self.open(value),
        };
        if self.alive.len() > 1 && self.clusters[index as usize].first != OPEN {
            let at = self.alive.iter().position(|&other| other == index).unwrap_or(0);
            self.close(at, witness);
            while self.alive.len() > 1 {
                let other = self.alive.remove(1);
                self.emit(other, witness);
                self.forget(other);
            }
        }
        let cluster = &mut self.clusters[index as usize];
        cluster.last = now;
        cluster.reads.push(id);
        self.notes.put(self.next, id.0, index);
        true
    }

    /// An operation on `value` returns. Was the value written by now?
    #[inline]
    fn returned(&mut self, value: ValueId, now: u32, timeline: &Timeline, witness: &mut Witness) -> bool {
        let index = self.notes.take(self.next);
        if index == NONE {
            return true;
        }
        let cluster = &self.clusters[index as usize];
        // A cluster that is over may be another value's by now.
        if cluster.first != OPEN || cluster.value != value {
            return true;
        }
        if !cluster.written && !self.written_by_pending(index, now, timeline) {
            return false;
        }
        let cluster = &mut self.clusters[index as usize];
        cluster.first = now;
        let last = cluster.last;
        let over = self.alive.iter().take_while(|&&other| self.clusters[other as usize].first < last).count();
        self.close(over, witness);
        self.alive.push(index);
        true
    }

    /// Gives a cluster without a write that of an operation that never returned, if there is one by now.
    fn written_by_pending(&mut self, index: u32, now: u32, timeline: &Timeline) -> bool {
        let cluster = &mut self.clusters[index as usize];
        let written = self.pending.get(&cluster.value).map(|&id| (id, timeline.earliest(id) + 1));
        let Some((id, earliest)) = written.filter(|written| written.1 <= now) else { return false };
        self.pending.remove(&cluster.value);
        (cluster.write, cluster.written) = (Some(id), true);
        cluster.last = cluster.last.max(earliest);
        true
    }

    /// After a violation: looks for values written twice, and nothing else.
    fn await_doom(&mut self, cx: &Context<'_>, timeline: &Timeline, upto: u32) -> Result<(), Stop> {
        let until = self.doom.as_ref().map_or(0, |(until, _)| *until);
        for gap in self.next + 1..upto.min(until + 1) {
            for id in timeline.called_in(gap) {
                let op = timeline.op(id);
                if access(cx, op.op())? == Access::Write {
                    self.insert(op.arg)?;
                }
            }
        }
        self.next = self.next.max(upto - 1);
        match &self.doom {
            Some((_, violation)) if until < upto => Err(Stop::Violated(violation.clone())),
            _ => Ok(()),
        }
    }

    /// Writes down the reads of the value the register holds for sure, if nothing can come before them any
    /// more.
    fn flush(&mut self, witness: &mut Witness) {
        let &[front] = self.alive.as_slice() else { return };
        let first = self.clusters[front as usize].first;
        let held = self.clusters[front as usize].last > first;
        let mut others = (0..).zip(&self.clusters).filter(|(index, other)| other.current && *index != front);
        if held && others.all(|(_, other)| other.last > first) {
            self.emit(front, witness);
        }
    }
}

impl Engine for RegisterMonitor {
    fn name(&self) -> &'static str {
        "register monitor"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        self.prepare(cx, timeline)?;
        if self.doom.is_some() {
            return self.await_doom(cx, timeline, upto);
        }
        let (write, read) = codes(cx)?;
        while self.next < upto {
            let gap = self.next;
            for id in timeline.called_in(gap) {
                let op = timeline.op(id);
                if op.op() == write {
                    self.write_called(id, op.arg, gap + 1)?;
                } else if op.op() != read {
                    access(cx, op.op())?;
                } else if !self.read_called(id, op.result, gap + 1, witness) {
                    self.stale.push(id);
                }
            }
            if !self.stale.is_empty() && self.stale.contains(&OpId(gap)) {
                let violation = core::stale_read(cx, timeline, OpId(gap), self.initial);
                let open = (gap..timeline.end()).rev().find(|&id| timeline.earliest(OpId(id)) <= gap);
                self.doom = Some((open.unwrap_or(gap), violation));
                return self.await_doom(cx, timeline, upto);
            }
            let op = timeline.op(OpId(gap));
            let value = if op.op() == write { op.arg } else { op.result };
            if !self.returned(value, gap + 1, timeline, witness) {
                return Err(core::unwritten(cx, timeline, OpId(gap)));
            }
            self.next += 1;
            if self.next.is_multiple_of(FLUSH) {
                self.flush(witness);
                cx.budget.check_own(self.memory())?;
            }
        }
        self.flush(witness);
        Ok(())
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        self.prepare(cx, timeline)?;
        if let Some((_, violation)) = self.doom.take() {
            return Err(Stop::Violated(violation));
        }
        self.close(self.alive.len(), witness);
        Ok(())
    }

    fn explained(&self) -> Option<u32> {
        Some(self.next)
    }

    fn memory(&self) -> usize {
        let reads = self.alive.first().map_or(0, |&front| 4 * self.clusters[front as usize].reads.capacity());
        reads + self.clusters.len() * 128 + self.seen.memory() + self.by_value.memory() + self.notes.memory()
    }
}

/// The codes of writes and reads.
fn codes(cx: &Context<'_>) -> Result<(OpCode, OpCode), Stop> {
    match cx.spec.kind {
        Kind::Register | Kind::CasRegister | Kind::RmwRegister => Ok((register::WRITE, register::READ)),
        Kind::Kv => Ok((kv::PUT, kv::GET)),
        _ => Err(Stop::Unsupported("not a register".into())),
    }
}

/// Which access an operation is, if it is one this monitor knows.
fn access(cx: &Context<'_>, op: OpCode) -> Result<Access, Stop> {
    let (write, read) = codes(cx)?;
    match op {
        op if op == write => Ok(Access::Write),
        op if op == read => Ok(Access::Read),
        _ => Err(Stop::Unsupported("there is more than reads and writes".into())),
    }
}

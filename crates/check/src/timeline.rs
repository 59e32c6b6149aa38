//! Real time, reduced to what matters for linearizability: the order of returns, and how many of them each call saw.
//!
//! Number the completed operations 0, 1, 2, … in order of return. Call `earliest(x)` the number of operations that
//! returned before x was called. Then **a precedes b iff id(a) < earliest(b)**: nothing else about the stamps matters.
//! Between return i-1 and return i lies *gap* i; operation x may take effect in any gap g with
//! `earliest(x) <= g <= id(x)`, and inside one gap every order is allowed. A linearization is a gap for each operation and
//! an order inside each gap. A pending operation may take effect in any gap from `earliest` on, or never.
//!
//! Rows come in order of return, which is the order a log has, so `earliest` is found by a short search backwards
//! and nothing is sorted. Rows may be released once they were explained: what is held is a window.
//!
//! **Equal stamps.** Different processes: concurrent. One process: its operations follow one another, so an operation called
//! at the very stamp its predecessor returned comes after it. That order need not be an interval order, and this
//! module offers the two interval orders that enclose it ([`Ties`]): what holds under `Strict` holds, what is violated
//! under `Relaxed` is violated.

use linpoint_history::{OpCode, Operation, ValueId};

/// An operation of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

impl OpId {
    const PENDING: u32 = 1 << 31;

    /// The completed operation that returned as number `index`.
    #[inline]
    pub fn completed(index: u32) -> OpId {
        OpId(index)
    }

    /// The pending operation at `index` of [`Timeline::pending`].
    #[inline]
    pub fn pending(index: u32) -> OpId {
        OpId(index | Self::PENDING)
    }

    /// Its place among the pending operations, if it is one.
    #[inline]
    pub fn as_pending(self) -> Option<usize> {
        (self.0 & Self::PENDING != 0).then_some((self.0 & !Self::PENDING) as usize)
    }

    /// The last gap it may take effect in.
    #[inline]
    pub fn latest(self) -> u32 {
        if self.0 & Self::PENDING != 0 { u32::MAX } else { self.0 }
    }
}

/// How touching operations of one process are ordered (`a.ret == b.call`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ties {
    /// b after a, and after everything that returned up to a. Asks a little too much.
    #[default]
    Strict,
    /// a and b are taken as concurrent. Asks a little too little.
    Relaxed,
}

/// A window of a history in order of return. See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    ties: Ties,
    base: u32,
    rows: Vec<Operation>,
    earliest: Vec<u32>,
    /// For each gap of the window, the last pushed completed operation whose `earliest` it is, plus one.
    called: Vec<u32>,
    /// For each row, the next operation with the same `earliest`, plus one.
    next: Vec<u32>,
    /// The returns of the rows, in a column of their own: this is what is searched.
    returns: Vec<i64>,
    pending: Vec<Operation>,
    pending_earliest: Vec<u32>,
    touching: bool,
}

impl Timeline {
    /// An empty timeline.
    pub fn new(ties: Ties) -> Timeline {
        Timeline { ties, ..Timeline::default() }
    }

    /// All of a history at once.
    pub fn of(operations: &[Operation], ties: Ties) -> Timeline {
        let mut sorted: Vec<Operation> = operations.to_vec();
        sorted.sort_by_key(|op| (op.ret, op.call));
        let mut timeline = Timeline::new(ties);
        for op in sorted.iter().filter(|op| !op.is_pending()) {
            timeline.push(*op);
        }
        for op in sorted.iter().filter(|op| op.is_pending()) {
            timeline.push_pending(*op);
        }
        timeline
    }

    /// Adds a completed operation. Rows come in order of return; rows with equal returns in order of call.
    pub fn push(&mut self, op: Operation) {
        self.extend(&[op]);
    }

    /// Adds completed operations, in order of return; those with equal returns in order of call.
    pub fn extend(&mut self, rows: &[Operation]) {
        debug_assert!(rows.iter().all(|op| !op.is_pending()));
        let held = self.rows.len();
        assert!(self.base as usize + held + rows.len() < OpId::PENDING as usize, "at most 2^31 operations");
        self.rows.extend_from_slice(rows);
        self.returns.extend(rows.iter().map(|op| op.ret));
        self.called.resize(held + rows.len() + 1, 0);
        self.earliest.reserve(rows.len());
        self.next.reserve(rows.len());
        for (index, op) in (held..).zip(rows) {
            let gap = self.gap(op, index);
            let id = self.base + index as u32;
            self.earliest.push(self.base + gap as u32);
            self.next.push(std::mem::replace(&mut self.called[gap], id + 1));
        }
    }

    /// Adds a pending operation, whose call must lie in the window or after it.
    pub fn push_pending(&mut self, op: Operation) {
        let gap = self.gap(&op, self.returns.len());
        let earliest = self.base + gap as u32;
        self.push_pending_at(op, earliest);
    }

    /// The gap an operation is called in, as far as the first `end` rows tell.
    #[inline]
    fn gap(&mut self, op: &Operation, end: usize) -> usize {
        let returns = &self.returns[..end];
        let gap = count_before(returns, op.call);
        if returns.get(gap) == Some(&op.call) { self.touched(op, gap, end) } else { gap }
    }

    /// An operation called at the very stamp of a return: is that its own process's?
    #[cold]
    fn touched(&mut self, op: &Operation, gap: usize, end: usize) -> usize {
        let equal = self.rows[gap..end].iter().take_while(|done| done.ret == op.call);
        let own = equal.enumerate().filter(|(_, done)| done.process() == op.process()).last();
        let Some((offset, _)) = own else { return gap };
        self.touching = true;
        if self.ties == Ties::Strict { gap + offset + 1 } else { gap }
    }

    /// Adds a pending operation whose first gap is known already, as a driver knows it that has read ahead.
    pub fn push_pending_at(&mut self, op: Operation, earliest: u32) {
        self.pending.push(op);
        self.pending_earliest.push(earliest);
    }

    /// Forgets the rows below `id`.
    pub fn release(&mut self, id: u32) {
        let drop = (id.min(self.end()) - self.base) as usize;
        self.rows.drain(..drop);
        self.returns.drain(..drop);
        self.earliest.drain(..drop);
        self.called.drain(..drop);
        self.next.drain(..drop);
        self.base += drop as u32;
    }

    /// The first row held.
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// One past the last row: how many operations have completed so far.
    #[inline]
    pub fn end(&self) -> u32 {
        self.base + self.rows.len() as u32
    }

    /// The rows held, in order of return; the first is number [`Timeline::base`].
    #[inline]
    pub fn rows(&self) -> &[Operation] {
        &self.rows
    }

    /// [`Timeline::earliest`] of the rows held.
    #[inline]
    pub fn earliests(&self) -> &[u32] {
        &self.earliest
    }

    /// The pending operations.
    #[inline]
    pub fn pending(&self) -> &[Operation] {
        &self.pending
    }

    /// Did an operation begin at the very stamp at which its process's last one returned?
    pub fn has_touching(&self) -> bool {
        self.touching
    }

    /// The row of an operation that is held.
    #[inline]
    pub fn op(&self, id: OpId) -> &Operation {
        match id.as_pending() {
            Some(index) => &self.pending[index],
            None => &self.rows[(id.0 - self.base) as usize],
        }
    }

    /// The row of an operation, if it is held.
    pub fn get(&self, id: OpId) -> Option<&Operation> {
        match id.as_pending() {
            Some(index) => self.pending.get(index),
            None => self.rows.get(id.0.checked_sub(self.base)? as usize),
        }
    }

    /// The first gap an operation may take effect in.
    #[inline]
    pub fn earliest(&self, id: OpId) -> u32 {
        match id.as_pending() {
            Some(index) => self.pending_earliest[index],
            None => self.earliest[(id.0 - self.base) as usize],
        }
    }

    /// Does `a` precede `b`?
    #[inline]
    pub fn precedes(&self, a: OpId, b: OpId) -> bool {
        a.latest() < self.earliest(b)
    }

    /// The completed operations that may take effect from gap `gap` on and not before: those called between the
    /// returns `gap - 1` and `gap`. Pending ones are not among them.
    #[inline]
    pub fn called_in(&self, gap: u32) -> CalledIn<'_> {
        CalledIn { timeline: self, next: self.called.get((gap - self.base) as usize).copied().unwrap_or(0) }
    }

    /// Which operation of the specification, argument, result.
    #[inline]
    pub fn what(&self, id: OpId) -> (OpCode, ValueId, ValueId) {
        let op = self.op(id);
        (op.op(), op.arg, op.result)
    }
}

/// See [`Timeline::called_in`].
#[derive(Clone, Debug)]
pub struct CalledIn<'a> {
    timeline: &'a Timeline,
    next: u32,
}

impl Iterator for CalledIn<'_> {
    type Item = OpId;

    #[inline]
    fn next(&mut self) -> Option<OpId> {
        let id = self.next.checked_sub(1)?;
        self.next = self.timeline.next[(id - self.timeline.base) as usize];
        Some(OpId(id))
    }
}

/// How many of the sorted `returns` lie before `stamp`: a search backwards, since the answer is almost always within a few
/// rows of the end; first in blocks that are counted whole, without branches, then with a stride that doubles.
#[inline]
fn count_before(returns: &[i64], stamp: i64) -> usize {
    const BLOCK: usize = 8;
    let mut high = returns.len();
    for _ in 0..4 {
        let Some(block) = returns[..high].last_chunk::<BLOCK>() else { break };
        let before = block.iter().filter(|ret| **ret < stamp).count();
        if before > 0 {
            return high - BLOCK + before;
        }
        high -= BLOCK;
    }
    let mut stride = 4 * BLOCK;
    loop {
        let low = high.saturating_sub(stride);
        if low == 0 || returns[low] < stamp {
            return low + returns[low..high].partition_point(|ret| *ret < stamp);
        }
        high = low;
        stride *= 2;
    }
}

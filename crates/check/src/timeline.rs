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
    pending: Vec<Operation>,
    pending_earliest: Vec<u32>,
    /// For each process, the stamp and number of its last return.
    last_return: Vec<(i64, u32)>,
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
        debug_assert!(!op.is_pending());
        let id = self.end();
        assert!(id < OpId::PENDING - 1, "a timeline holds less than 2^31 operations");
        let mut earliest = self.base + count_before(&self.rows, op.call);
        let process = op.process().0 as usize;
        if process >= self.last_return.len() {
            self.last_return.resize(process + 1, (i64::MIN, 0));
        }
        let (stamp, predecessor) = self.last_return[process];
        if stamp == op.call && stamp != i64::MIN {
            self.touching = true;
            if self.ties == Ties::Strict {
                earliest = earliest.max(predecessor + 1);
            }
        }
        self.last_return[process] = (op.ret, id);
        let gap = (earliest - self.base) as usize;
        self.rows.push(op);
        self.earliest.push(earliest);
        self.called.push(0);
        self.next.push(self.called[gap]);
        self.called[gap] = id + 1;
    }

    /// Adds a pending operation, whose call must lie in the window or after it.
    pub fn push_pending(&mut self, op: Operation) {
        let mut earliest = self.base + count_before(&self.rows, op.call);
        if let Some(&(stamp, predecessor)) = self.last_return.get(op.process().0 as usize)
            && stamp == op.call
        {
            self.touching = true;
            if self.ties == Ties::Strict {
                earliest = earliest.max(predecessor + 1);
            }
        }
        self.pending.push(op);
        self.pending_earliest.push(earliest);
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

/// How many rows returned before `stamp`: a search backwards that doubles its stride, since the answer is almost
/// always within a few rows of the end.
#[inline]
fn count_before(rows: &[Operation], stamp: i64) -> u32 {
    let mut high = rows.len();
    let mut stride = 8;
    loop {
        let low = high.saturating_sub(stride);
        if low == 0 || rows[low].ret < stamp {
            return (low + rows[low..high].partition_point(|op| op.ret < stamp)) as u32;
        }
        high = low;
        stride *= 2;
    }
}

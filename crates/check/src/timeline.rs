//! Real time, reduced to what matters for linearizability: the order of returns, and how many of them each
//! call saw.
//!
//! Number the completed operations 0, 1, 2, … in order of return. Call `earliest(x)` the number of operations
//! that returned before x was called. Then **a precedes b iff id(a) < earliest(b)**: nothing else about the
//! stamps matters. Between return i-1 and return i lies *gap* i; operation x may take effect in any gap g
//! with `earliest(x) <= g <= id(x)`, and inside one gap every order is allowed. A linearization is a gap for
//! each operation and an order inside each gap. A pending operation may take effect in any gap from
//! `earliest` on, or never.
//!
//! Rows come in order of return, which is the order a log has, so `earliest` is found by a short search
//! backwards and nothing is sorted. Rows may be released once they were explained: what is held is a window,
//! and, for the sake of counterexamples, the last few thousand rows before it ([`Timeline::known`]).
//!
//! **Equal stamps.** Different processes: concurrent. One process: its operations follow one another, so an
//! operation called at the very stamp its predecessor returned comes after it. That order need not be an
//! interval order, and this module offers two interval orders that enclose it ([`Ties`]): what holds under
//! `Strict` holds, what is violated under `Relaxed` is violated. `Strict` takes returns at the same stamp in
//! the order in which their rows come ([`crate::decide`]).

mod floating;

use linpoint_history::{OpCode, Operation, ValueId};

use self::floating::Floating;

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
    /// The number of the first of `rows`.
    start: u32,
    /// The number of the first row that was not released.
    base: u32,
    rows: Vec<Operation>,
    earliest: Vec<u32>,
    /// For each gap of the window, the last pushed completed operation whose `earliest` it is, plus one.
    called: Vec<u32>,
    /// For each row, the next operation with the same `earliest`, plus one.
    next: Vec<u32>,
    /// The lower halves of the returns of the rows, in a column of their own: this is what is searched.
    lows: Vec<u32>,
    /// How far back from the end calls are looked for, the short way: eight rows times a power of two.
    reach: u32,
    pending: Vec<Operation>,
    pending_earliest: Vec<u32>,
    /// Rows that were released and may still be asked for.
    floating: Floating,
    touching: bool,
}

impl Timeline {
    /// An empty timeline.
    pub fn new(ties: Ties) -> Timeline {
        Timeline { ties, ..Timeline::default() }
    }

    /// How touching operations of one process are ordered.
    pub fn ties(&self) -> Ties {
        self.ties
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

    /// Adds a completed operation. Rows come in order of return; rows of one process in its order.
    pub fn push(&mut self, op: Operation) {
        self.extend(&[op]);
    }

    /// Adds completed operations, in order of return; those of one process in its order.
    pub fn extend(&mut self, rows: &[Operation]) {
        self.rows.extend_from_slice(rows);
        self.index();
    }

    /// Adds the completed operations that `fill` puts behind those it is given, in the same order as
    /// [`Timeline::extend`]; nothing if it gives `None`.
    pub fn fill<T>(&mut self, fill: impl FnOnce(&mut Vec<Operation>) -> Option<T>) -> Option<T> {
        let held = self.rows.len();
        let filled = fill(&mut self.rows);
        assert!(self.rows.len() >= held, "rows are added, not taken");
        if filled.is_none() {
            self.rows.truncate(held);
        }
        self.index();
        filled
    }

    /// Finds the gaps of the rows that are new.
    fn index(&mut self) {
        assert!(self.start as usize + self.rows.len() < OpId::PENDING as usize, "at most 2^31 operations");
        let held = self.earliest.len();
        debug_assert!(self.rows[held..].iter().all(|op| !op.is_pending()));
        self.lows.extend(self.rows[held..].iter().map(|op| op.ret as u32));
        self.called.resize(self.rows.len() + 1, 0);
        self.earliest.resize(self.rows.len(), FAR);
        self.next.resize(self.rows.len(), 0);
        let (rows, lows, new) = (&self.rows, &self.lows, &mut self.earliest[held..]);
        match self.reach {
            0 => measure::<8>(rows, lows, new),
            1 => measure::<16>(rows, lows, new),
            2 => measure::<32>(rows, lows, new),
            _ => measure::<64>(rows, lows, new),
        }
        self.link(held);
    }

    /// Turns the distances of the rows from `held` on into gaps, and lists the rows by them.
    fn link(&mut self, held: usize) {
        let (rows, lows, start) = (self.rows.as_slice(), &self.lows[..self.rows.len()], self.start);
        let called = &mut self.called[..=rows.len()];
        let (earliests, nexts) = (&mut self.earliest[..rows.len()], &mut self.next[..rows.len()]);
        let (block, mut far, mut middle) = (8 << self.reach, 0, 0);
        for index in held..rows.len() {
            let call = rows[index].call;
            let distance = earliests[index];
            middle += u32::from(distance > block / 2);
            let mut gap = index.wrapping_sub(distance as usize);
            if distance == FAR {
                far += 1;
                gap = count_before(&rows[..index], call);
            }
            // Whether the call is behind all rows is anybody's guess, so it is not asked: the row itself
            // stands there then.
            let is_asked = self.ties == Ties::Strict || !self.touching;
            if is_asked && lows[gap] == call as u32 && rows[gap].ret == call {
                let own = touched(rows, &rows[index], gap, index);
                self.touching |= own.is_some();
                gap = own.filter(|_| self.ties == Ties::Strict).unwrap_or(gap);
            }
            earliests[index] = start + gap as u32;
            nexts[index] = std::mem::replace(&mut called[gap], start + index as u32 + 1);
        }
        // Which size is best only time tells, so nothing but time rests on it.
        let new = (rows.len() - held) as u32;
        if far > new / 32 {
            self.reach = (self.reach + 1).min(3);
        } else if middle < new / 64 {
            self.reach = self.reach.saturating_sub(1);
        }
    }

    /// Adds a pending operation, whose call must lie in the window or after it.
    pub fn push_pending(&mut self, op: Operation) {
        let end = self.rows.len();
        let mut gap = count_before(&self.rows, op.call);
        if self.rows.get(gap).is_some_and(|row| row.ret == op.call) {
            let own = touched(&self.rows, &op, gap, end);
            self.touching |= own.is_some();
            gap = own.filter(|_| self.ties == Ties::Strict).unwrap_or(gap);
        }
        let earliest = self.start + gap as u32;
        self.push_pending_at(op, earliest);
    }

    /// Adds a pending operation whose first gap is known already, as a driver knows it that has read ahead.
    pub fn push_pending_at(&mut self, op: Operation, earliest: u32) {
        self.pending.push(op);
        self.pending_earliest.push(earliest);
    }

    /// Releases the rows below `id`, but for those from `needed` on, which [`Timeline::row`] still gives.
    pub fn release_but(&mut self, id: u32, needed: u32) {
        self.floating.forget(needed);
        let id = id.min(self.end());
        let from = self.floating.end().unwrap_or(needed.max(self.base));
        if from < id {
            let rows = &self.rows[(from - self.start) as usize..(id - self.start) as usize];
            self.floating.extend(from, rows);
        }
        self.release(id);
    }

    /// Releases the rows below `id`. The last few thousand are forgotten only later.
    pub fn release(&mut self, id: u32) {
        self.base = self.base.max(id.min(self.end()));
        let spent = (self.base - self.start) as usize;
        let held = self.rows.len() - spent;
        // What stays is moved: not more often than as many leave.
        if spent > KEPT + held.max(KEPT) {
            let drop = spent - KEPT;
            self.rows.drain(..drop);
            self.lows.drain(..drop);
            self.earliest.drain(..drop);
            self.called.drain(..drop);
            self.next.drain(..drop);
            self.start += drop as u32;
        }
    }

    /// The first row held.
    #[inline]
    pub fn base(&self) -> u32 {
        self.base
    }

    /// One past the last row: how many operations have completed so far.
    #[inline]
    pub fn end(&self) -> u32 {
        self.start + self.rows.len() as u32
    }

    /// The rows held, in order of return; the first is number [`Timeline::base`].
    #[inline]
    pub fn rows(&self) -> &[Operation] {
        &self.rows[(self.base - self.start) as usize..]
    }

    /// [`Timeline::earliest`] of the rows held.
    #[inline]
    pub fn earliests(&self) -> &[u32] {
        &self.earliest[(self.base - self.start) as usize..]
    }

    /// All operations that are known: those released a short while ago, those held, then the pending ones.
    pub fn known(&self) -> impl Iterator<Item = Row> {
        let row = |id: OpId| Row { id, earliest: self.earliest(id), op: *self.op(id) };
        let completed = (self.start..self.end()).map(OpId);
        let pending = (0..self.pending.len()).map(|index| OpId::pending(index as u32));
        completed.chain(pending).map(row)
    }

    /// The completed operations that are known, from [`Timeline::known_from`] on.
    #[inline]
    pub fn known_rows(&self) -> &[Operation] {
        &self.rows
    }

    /// From which return on all operations are known.
    #[inline]
    pub fn known_from(&self) -> u32 {
        self.start
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

    /// The row of an operation that is known.
    #[inline]
    pub fn op(&self, id: OpId) -> &Operation {
        match id.as_pending() {
            Some(index) => &self.pending[index],
            None => &self.rows[(id.0 - self.start) as usize],
        }
    }

    /// The row of an operation, if it is known.
    #[inline]
    pub fn get(&self, id: OpId) -> Option<&Operation> {
        match id.as_pending() {
            Some(index) => self.pending.get(index),
            None => self.rows.get(id.0.checked_sub(self.start)? as usize),
        }
    }

    /// A copy of the row of an operation, if it is known or was needed when it was released.
    pub fn row(&self, id: OpId) -> Option<Operation> {
        self.get(id).copied().or_else(|| self.floating.get(id.0))
    }

    /// The first gap an operation may take effect in.
    #[inline]
    pub fn earliest(&self, id: OpId) -> u32 {
        match id.as_pending() {
            Some(index) => self.pending_earliest[index],
            None => self.earliest[(id.0 - self.start) as usize],
        }
    }

    /// Does `a` precede `b`?
    #[inline]
    pub fn precedes(&self, a: OpId, b: OpId) -> bool {
        a.latest() < self.earliest(b)
    }

    /// The completed operations that may take effect from gap `gap` on and not before: those called between
    /// the returns `gap - 1` and `gap`. Pending ones are not among them.
    #[inline]
    pub fn called_in(&self, gap: u32) -> CalledIn<'_> {
        CalledIn { timeline: self, next: self.called.get((gap - self.start) as usize).copied().unwrap_or(0) }
    }

    /// Which operation of the specification, argument, result.
    #[inline]
    pub fn what(&self, id: OpId) -> (OpCode, ValueId, ValueId) {
        let op = self.op(id);
        (op.op(), op.arg, op.result)
    }
}

/// An operation that is known, with its place.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number.
    pub id: OpId,
    /// The first gap it may take effect in.
    pub earliest: u32,
    /// Its row.
    pub op: Operation,
}

/// How many rows are known at least after they were released: a violation is usually found a few operations
/// after what it contradicts.
const KEPT: usize = 2048;

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
        self.next = self.timeline.next[(id - self.timeline.start) as usize];
        Some(OpId(id))
    }
}

/// Instead of a distance: it takes a longer search.
const FAR: u32 = u32::MAX;

/// For each of the last `distances.len()` rows, how many of the rows before it did not return before its
/// call; [`FAR`] if it takes a longer search.
///
/// Nearly always these are a few, so the last `BLOCK` rows are counted whole and without a branch, by the
/// lower halves of their stamps. That is exact if the first row of the block returned before the call and no
/// stamp of the block is 2³¹ or more away from it: the first is looked at, and the last returned no later
/// than the operation itself.
#[inline(never)]
fn measure<const BLOCK: usize>(rows: &[Operation], lows: &[u32], distances: &mut [u32]) {
    const NEAR: u64 = i32::MAX as u64;
    // The first rows of all have no whole block before them.
    let held = rows.len() - distances.len();
    let distances = &mut distances[BLOCK.saturating_sub(held).min(rows.len() - held)..];
    let from = rows.len() - distances.len() - BLOCK.min(rows.len() - distances.len());
    let blocks = rows[from..].iter().zip(lows[from..].windows(BLOCK + 1));
    for (((first, block), op), distance) in blocks.zip(&rows[rows.len() - distances.len()..]).zip(distances) {
        let before = op.call.wrapping_sub(first.ret).wrapping_sub(1) as u64;
        let near = (op.ret.wrapping_sub(op.call) as u64 <= NEAR) & (before < NEAR);
        let Some(block) = block.first_chunk::<BLOCK>() else { return };
        let call = op.call as u32;
        let later: i32 = block.iter().map(|low| 1 + ((low.wrapping_sub(call) as i32) >> 31)).sum();
        *distance = if near { later as u32 } else { FAR };
    }
}

/// An operation called at the very stamp of the return `gap`: the gap after those returns at this stamp that
/// are of its own process, if there are any.
#[cold]
fn touched(rows: &[Operation], op: &Operation, gap: usize, end: usize) -> Option<usize> {
    let equal = rows[gap..end].iter().take_while(|done| done.ret == op.call);
    let own = equal.enumerate().filter(|(_, done)| done.process() == op.process()).last();
    own.map(|(offset, _)| gap + offset + 1)
}

/// How many of the rows returned before `stamp`: a search backwards with a stride that doubles.
#[inline(never)]
pub(crate) fn count_before(rows: &[Operation], stamp: i64) -> usize {
    let mut high = rows.len();
    let mut stride = 4;
    loop {
        let low = high.saturating_sub(stride);
        if low == 0 || rows[low].ret < stamp {
            return low + rows[low..high].partition_point(|row| row.ret < stamp);
        }
        high = low;
        stride *= 2;
    }
}

#[cfg(test)]
mod tests {
    use linpoint_history::ProcessId;
    use linpoint_history::rng::Rng;

    use super::*;

    /// By definition: how many rows before `index` returned before its call, and under `Strict` up to the
    /// last of its own process that returned at that very stamp.
    fn earliest(rows: &[Operation], index: usize, ties: Ties) -> usize {
        let row = &rows[index];
        let before = rows[..index].iter().filter(|done| done.ret < row.call).count();
        let own = |done: &Operation| done.ret == row.call && done.process() == row.process();
        let touched = rows[..index].iter().rposition(own).filter(|_| ties == Ties::Strict);
        touched.map_or(before, |last| last + 1)
    }

    /// Stamps near and far apart, at both ends of their range, with and without ties, loaded in pieces.
    #[test]
    fn gaps_are_as_defined() {
        let mut rng = Rng::new(6);
        for shift in [0, 3, 24, 25, 26, 29, 30, 31, 32, 33, 45, 55] {
            for (round, ties) in (0..12).zip([Ties::Strict, Ties::Relaxed].into_iter().cycle()) {
                let (mut ret, spread) =
                    (if round % 3 == 0 { i64::MIN } else { -(100 << shift) }, 1 + rng.below(90));
                let mut rows: Vec<Operation> = Vec::new();
                for _ in 0..400 {
                    ret = ret.saturating_add((rng.below(3) << shift) as i64);
                    let mut row = Operation::new(ProcessId(rng.below(5) as u32), OpCode(0));
                    let duration =
                        (rng.below(spread) << shift) as i64 - i64::from(shift > 3 && rng.chance(0.3));
                    (row.call, row.ret) = (ret.saturating_sub(duration.max(0)), ret.min(i64::MAX - 1));
                    rows.push(row);
                }
                rows.sort_by_key(|row| (row.ret, row.call));
                let mut timeline = Timeline::new(ties);
                let mut loaded = 0;
                while loaded < rows.len() {
                    let next = rows.len().min(loaded + 1 + rng.below(70) as usize);
                    timeline.extend(&rows[loaded..next]);
                    for index in loaded..next {
                        let found = timeline.earliest(OpId(index as u32)) as usize;
                        assert_eq!(found, earliest(&rows, index, ties), "shift {shift}, row {index}");
                        let listed = timeline.called_in(found as u32).any(|id| id == OpId(index as u32));
                        assert!(listed, "shift {shift}, row {index} is called in gap {found}");
                    }
                    loaded = next;
                }
            }
        }
    }

    /// What was released stays known for a while, and what is needed as long as it is.
    #[test]
    fn released_rows_are_found_while_they_are_needed() {
        let mut rng = Rng::new(7);
        let row = |id: u32| {
            let mut row = Operation::new(ProcessId(id % 3), OpCode(1));
            (row.call, row.ret, row.arg) = (i64::from(id), i64::from(id) + 5, ValueId(id));
            row
        };
        let mut timeline = Timeline::default();
        let mut needed = 0;
        for _ in 0..300 {
            let end = timeline.end();
            let rows: Vec<Operation> = (end..end + rng.below(200) as u32).map(row).collect();
            timeline.extend(&rows);
            let upto = timeline.base() + rng.below(u64::from(timeline.end() - timeline.base()) + 1) as u32;
            needed += rng.below(u64::from(upto.saturating_sub(needed)) / 20 + 1) as u32;
            timeline.release_but(upto, needed);
            assert_eq!(timeline.base(), upto);
            assert_eq!(timeline.rows().len(), (timeline.end() - upto) as usize);
            for id in (needed..timeline.end()).step_by(7) {
                assert_eq!(timeline.row(OpId(id)), Some(row(id)));
            }
            assert!(timeline.known().all(|known| known.op == row(known.id.0)));
            assert!(timeline.known_from() <= upto.saturating_sub(KEPT as u32));
        }
    }
}

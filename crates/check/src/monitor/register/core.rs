//! Why a register's history cannot be explained, in at most six operations: two clusters, each cut down to
//! its write, the operation that returned first and the one called last. Whole clusters and single reads may
//! be left out of a linearizable history without harm, so what these few rows contradict, the history
//! contradicts.

use linpoint_history::{Operation, ValueId};
use rustc_hash::FxHashMap;

use super::{Access, access};
use crate::engine::{Context, Stop, Violation};
use crate::timeline::{OpId, Row, Timeline};

/// A read returned before its value was written.
pub(super) fn unwritten(cx: &Context<'_>, timeline: &Timeline, at: OpId) -> Stop {
    let op = timeline.op(at);
    let value = cx.symbols.value(if access(cx, op.op()) == Ok(Access::Write) { op.arg } else { op.result });
    let reason = format!("read -> {value} is impossible: {value} was not written by the time it returned");
    Stop::Violated(Violation { at, core: vec![*op], reason })
}

/// A cluster as far as its rows are known.
#[derive(Clone, Copy, Default)]
struct Known {
    write: Option<Row>,
    first: Option<Row>,
    last: Option<Row>,
    initial: bool,
}

impl Known {
    fn add(&mut self, row: Row, access: Access) {
        if access == Access::Write {
            self.write = Some(row);
        }
        if self.first.is_none_or(|first| row.id.latest() < first.id.latest()) && row.id.as_pending().is_none()
        {
            self.first = Some(row);
        }
        if self.last.is_none_or(|last| row.earliest > last.earliest) {
            self.last = Some(row);
        }
    }

    /// One more than the gap by which it has begun.
    fn first(&self) -> u32 {
        if self.initial { 0 } else { self.first.map_or(u32::MAX, |row| row.id.0 + 1) }
    }

    /// One more than the gap up to which it lasts.
    fn last(&self) -> u32 {
        self.last.map_or(0, |row| row.earliest + 1)
    }

    fn is_whole(&self) -> bool {
        self.initial || self.write.is_some()
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let first = if self.initial { None } else { self.first };
        for row in [self.write, first, self.last].into_iter().flatten() {
            if rows.iter().all(|known| known.id != row.id) {
                rows.push(row);
            }
        }
        rows
    }
}

/// A read of a value that the register cannot hold any more. If its rows were released long ago, no core is
/// given.
pub(super) fn stale_read(
    cx: &Context<'_>,
    timeline: &Timeline,
    at: OpId,
    initial: Option<ValueId>,
) -> Violation {
    let read = *timeline.op(at);
    let earliest = timeline.earliest(at);
    let mut clusters: FxHashMap<ValueId, Known> = FxHashMap::default();
    if let Some(initial) = initial {
        clusters.entry(initial).or_default().initial = true;
    }
    for row in timeline.known().filter(|row| row.earliest <= earliest && row.id != at) {
        let Ok(access) = access(cx, row.op.op()) else { continue };
        let value = match access {
            Access::Write => row.op.arg,
            Access::Read if row.op.is_pending() => continue,
            Access::Read => row.op.result,
        };
        clusters.entry(value).or_default().add(row, access);
    }
    let mut stale = clusters.remove(&read.result).unwrap_or_default();
    stale.last = Some(Row { id: at, earliest, op: read });
    let (value, known) = (cx.symbols.value(read.result), stale.is_whole());
    let between = |(_, other): &(&ValueId, &Known)| {
        other.is_whole() && other.first() < stale.last() && other.last() > stale.first()
    };
    let contradicts =
        clusters.iter().filter(between).map(|(value, other)| (other.rows().len(), *value, other));
    let newer = contradicts.min_by_key(|(rows, value, other)| (*rows, u32::MAX - other.first(), *value));
    let (core, reason) = match newer.filter(|_| known) {
        Some((_, newer, other)) => {
            let mut rows = stale.rows();
            rows.extend(other.rows());
            rows.sort_by_key(|row| (row.op.call, row.op.ret));
            let newer = cx.symbols.value(newer);
            let reason = format!(
                "read -> {value} is impossible: the register held {newer} after {value} and before this read was called"
            );
            (rows.iter().map(|row| row.op).collect(), reason)
        }
        None => {
            let reason =
                format!("read -> {value} is impossible: {value} was overwritten before this read was called");
            (Vec::<Operation>::new(), reason)
        }
    };
    Violation { at, core, reason }
}

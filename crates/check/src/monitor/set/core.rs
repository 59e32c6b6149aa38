//! Why a value's operations cannot be explained, in few of them.
//!
//! At a moment at which no operation that changes the value is open, its count is certain: so many were
//! added, so many taken. Everything before such a moment may be replaced by as many adds as the count (for a
//! value that was there at first: by as many takes as it lacks). Operations open when the contradiction shows
//! become pending, and reads may be left out at will. The latest such moment that still gives a contradiction
//! is chosen, and reads are left out as long as it stays one.

use linpoint_history::specs::codes::set;
use linpoint_history::{Kind, OpCode, Operation, ProcessId, ValueId};

use super::{Element, NONE, Role, SetMonitor, role_of};
use crate::counterexample::sentence;
use crate::engine::{Context, Stop, Violation, run};
use crate::timeline::{OpId, Row, Ties, Timeline};

/// Cores larger than this are not made smaller.
const LARGEST_SHRUNK_CORE: usize = 64;

impl SetMonitor {
    /// The violation at a return that cannot be explained.
    pub(super) fn explain(&self, cx: &Context<'_>, timeline: &Timeline, at: OpId) -> Violation {
        let op = timeline.op(at);
        let needed = match role_of(cx, op) {
            Ok(Role::Add | Role::Absent) => "absent",
            _ => "present",
        };
        let (what, value) = (sentence(cx.spec, cx.symbols, op), cx.symbols.value(op.arg));
        let reason = format!("{what} is impossible: {value} cannot have been {needed} while it was open");
        Violation { at, core: self.core(cx, timeline, at).unwrap_or_default(), reason }
    }

    fn core(&self, cx: &Context<'_>, timeline: &Timeline, at: OpId) -> Option<Vec<Operation>> {
        if self.in_core {
            return None;
        }
        let value = timeline.op(at).arg;
        let called = |row: &Row| row.op.arg == value && row.earliest <= at.0;
        let rows: Vec<Row> = timeline.known().filter(called).collect();
        let changes: Vec<(Row, i64)> =
            rows.iter().filter_map(|row| Some((*row, change(cx, &row.op)?))).collect();
        let mut cuts: Vec<u32> = changes.iter().map(|(row, _)| row.earliest).collect();
        cuts.push(timeline.earliest(at));
        cuts.sort_unstable();
        cuts.dedup();
        let crossed = |cut: u32| changes.iter().any(|(row, _)| row.earliest < cut && cut <= row.id.latest());
        let known = timeline.known_from();
        cuts.retain(|&cut| cut >= known && cut <= timeline.earliest(at) && !crossed(cut));
        let mut cores = cuts.into_iter().rev().take(16).filter_map(|cut| {
            let core = self.since(cx, &rows, &changes, at, cut)?;
            violated(cx, &core).then(|| without_reads(cx, core))
        });
        // The operation alone is enough where the element is known to be absent, but says little: show how it
        // left.
        let first = cores.next()?;
        let told = |core: &Vec<Operation>| core.len() > first.len() && core.len() <= 4;
        Some(if first.len() == 1 { cores.find(told).unwrap_or(first) } else { first })
    }

    /// The rows from a moment on at which the count is certain, and rows that bring it about; if they are
    /// known.
    fn since(
        &self,
        cx: &Context<'_>,
        rows: &[Row],
        changes: &[(Row, i64)],
        at: OpId,
        cut: u32,
    ) -> Option<Vec<Operation>> {
        let value = rows.iter().find(|row| row.id == at)?.op.arg;
        let element = self.elements.get(self.places.get(value.0)? as usize)?;
        let now = self.episodes.get(element.open as usize)?.settled;
        let since = changes.iter().filter(|(row, _)| row.id.0 >= cut && row.id.0 < at.0);
        let count = now - since.map(|(_, change)| change).sum::<i64>();
        let missing = count - i64::from(self.at_first(value));
        let mut core = Vec::new();
        if missing != 0 {
            let before =
                changes.iter().filter(|(row, change)| row.id.0 < cut && change.signum() == missing.signum());
            core.extend(before.rev().take(missing.unsigned_abs() as usize).map(|(row, _)| row.op));
            if core.is_empty() && missing.abs() == 1 {
                let changed = row_of(cx, element, value)?;
                let known =
                    changes.iter().any(|(row, _)| row.op.call == changed.call && row.op.ret == changed.ret);
                core.extend(Some(changed).filter(|op| !known && change(cx, op) == Some(missing)));
            }
            if core.len() as i64 != missing.abs() {
                return None;
            }
        }
        for row in rows.iter().filter(|row| row.earliest >= cut) {
            if row.id.0 <= at.0 {
                core.push(row.op);
            } else if change(cx, &row.op).is_some() {
                let mut open = row.op;
                (open.ret, open.result) = (Operation::NEVER, ValueId::NULL);
                core.push(open);
            }
        }
        Some(core)
    }
}

/// By how much an operation changes the count, if it does.
fn change(cx: &Context<'_>, op: &Operation) -> Option<i64> {
    match role_of(cx, op) {
        Ok(Role::Add) => Some(1),
        Ok(Role::Take) => Some(-1),
        _ => None,
    }
}

/// The row of the operation that last changed a value.
fn row_of(cx: &Context<'_>, element: &Element, value: ValueId) -> Option<Operation> {
    if element.who == NONE {
        return None;
    }
    let mut op = Operation::new(ProcessId(element.who >> 8), OpCode(element.who as u8));
    (op.call, op.ret, op.arg) = (element.call, element.ret, value);
    if cx.spec.kind == Kind::Set || op.op() != set::ADD {
        op.result = ValueId::TRUE;
    }
    Some(op)
}

fn violated(cx: &Context<'_>, rows: &[Operation]) -> bool {
    // What is wrong under the laxer reading of touching operations is wrong.
    let timeline = Timeline::of(rows, Ties::Relaxed);
    let mut monitor = SetMonitor { in_core: true, ..SetMonitor::new() };
    rows.len() <= LARGEST_SHRUNK_CORE && matches!(run(&mut monitor, cx, &timeline), Err(Stop::Violated(_)))
}

fn without_reads(cx: &Context<'_>, mut core: Vec<Operation>) -> Vec<Operation> {
    let mut index = core.len();
    while index > 0 {
        index -= 1;
        if change(cx, &core[index]).is_none() {
            let row = core.remove(index);
            if !violated(cx, &core) {
                core.insert(index, row);
            }
        }
    }
    core
}

//! Locks and semaphores; the owner is the process.
//!
//! `null` means "done"; a request that answers `false` was refused because somebody else had it, a release
//! that answers `false` because the process did not have it.

use std::collections::BTreeMap;

use super::codes::{lock as codes, rw_lock};
use super::{Outcomes, State};
use crate::operation::ProcessId;
use crate::spec::Call;
use crate::value::Value;

type Shares = BTreeMap<ProcessId, u32>;

/// `acquire`, `release`.
pub(super) fn lock(owner: Option<ProcessId>, call: Call<'_>) -> Outcomes {
    let holders = |owner| State::Holders(Shares::new(), owner);
    match (call.op, owner) {
        (codes::ACQUIRE, None) => vec![(Value::Null, holders(Some(call.process)))],
        (codes::RELEASE, Some(p)) if p == call.process => vec![(Value::Null, holders(None))],
        (codes::ACQUIRE | codes::RELEASE, owner) => vec![(Value::Bool(false), holders(owner))],
        _ => Vec::new(),
    }
}

/// `read_lock`, `read_unlock`, `write_lock`, `write_unlock`.
pub(super) fn rw_lock(readers: &Shares, writer: Option<ProcessId>, call: Call<'_>) -> Outcomes {
    let done = |readers: Shares, writer| vec![(Value::Null, State::Holders(readers, writer))];
    match call.op {
        rw_lock::READ_LOCK if writer.is_none() => done(shares(readers, call.process, 1), None),
        rw_lock::READ_UNLOCK if readers.contains_key(&call.process) => {
            done(shares(readers, call.process, -1), writer)
        }
        rw_lock::WRITE_LOCK if writer.is_none() && readers.is_empty() => {
            done(Shares::new(), Some(call.process))
        }
        rw_lock::WRITE_UNLOCK if writer == Some(call.process) => done(Shares::new(), None),
        _ => vec![(Value::Bool(false), State::Holders(readers.clone(), writer))],
    }
}

/// `acquire`, `release` of one of `permits`.
pub(super) fn semaphore(permits: usize, held: &Shares, call: Call<'_>) -> Outcomes {
    let taken = held.values().sum::<u32>() as usize;
    let done = |held: Shares| vec![(Value::Null, State::Holders(held, None))];
    match call.op {
        codes::ACQUIRE if taken < permits => done(shares(held, call.process, 1)),
        codes::RELEASE if held.contains_key(&call.process) => done(shares(held, call.process, -1)),
        _ => vec![(Value::Bool(false), State::Holders(held.clone(), None))],
    }
}

fn shares(old: &Shares, process: ProcessId, change: i32) -> Shares {
    let mut after = old.clone();
    let count = after.entry(process).or_insert(0);
    *count = count.saturating_add_signed(change);
    if *count == 0 {
        after.remove(&process);
    }
    after
}

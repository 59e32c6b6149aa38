//! What the program must give back before an execution ends: counted references, and what it asks to have tracked.
//!
//! Only where a leak is a failure ([`crate::Limits::leaks_fail`]). What is given out is noted with the place in the source,
//! and struck out when it is given back; an execution in which every thread came to its end, and something is left,
//! failed. Whether something leaks is a matter of the trace, not of the schedule: references are counted in steps.

use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::execution::current;
use crate::failure::Failure;
use crate::heap;

/// What is given out and is to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// The value that references of [`crate::sync::Arc`] count.
    Counted,
    /// A block of memory.
    Block,
    /// A value that the program tracks.
    Value,
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Kept::Counted => "the value of an `Arc`",
            Kept::Block => "a block of memory",
            Kept::Value => "a tracked value",
        }
    }
}

/// What was given out and not yet given back in the running execution.
#[derive(Default)]
pub(crate) struct Given {
    /// By what it is and where it is, or its number: when and where in the source it was given out.
    open: FxHashMap<(Kept, usize), (u64, &'static Location<'static>)>,
    count: u64,
}

impl Given {
    pub(crate) fn forget(&mut self) {
        self.open.clear();
        self.count = 0;
    }

    /// The failure of an execution that ended with something left.
    pub(crate) fn judge(&self) -> Option<Failure> {
        let (&(kept, _), &(_, site)) = self.open.iter().min_by_key(|(_, (number, _))| *number)?;
        Some(Failure::Leak { what: kept.name(), site, count: self.open.len() })
    }
}

/// Notes that something was given out: a block or a counted value at `key`, or a value under a number of its own. Returns
/// the number of what is given out, from 1; nothing outside an exploration, or where leaks do not fail.
#[track_caller]
pub fn give(kept: Kept, key: Option<usize>) -> Option<usize> {
    let given = current()?.given()?;
    let site = Location::caller();
    heap::outside(|| {
        given.count += 1;
        let number = given.count;
        let key = key.unwrap_or(number as usize);
        given.open.entry((kept, key)).or_insert((number, site));
        Some(key)
    })
}

/// Notes that something was given back. Returns whether it was given out; `true` where that is not noted.
pub fn take_back(kept: Kept, key: usize) -> bool {
    let Some(given) = current().and_then(|handle| handle.given()) else { return true };
    heap::outside(|| given.open.remove(&(kept, key)).is_some())
}

//! A whole history in memory: rows and what their numbers stand for.

use crate::operation::Operation;
use crate::symbols::Symbols;

/// Operations, in any order, and the symbols they use.
///
/// The order of rows decides one thing only: of two operations of one process with touching stamps
/// (`a.ret == b.call`), the earlier row comes first.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The rows.
    pub operations: Vec<Operation>,
    /// What the numbers in the rows stand for.
    pub symbols: Symbols,
}

impl History {
    /// No operations.
    pub fn new() -> History {
        History::default()
    }

    /// Puts rows in order of return, then of call (pending ones last), which is what the engines read.
    /// Stable, so that rows with equal stamps stay as they are, and free when they are in order already.
    pub fn sort_by_return(&mut self) {
        if !is_sorted_by_return(&self.operations) {
            self.operations.sort_by_key(return_order);
        }
    }

    /// How many operations were open at the busiest moment, pending ones included.
    pub fn widest(&self) -> usize {
        let mut calls: Vec<i64> = self.operations.iter().map(|op| op.call).collect();
        let mut returns: Vec<i64> = self.operations.iter().map(|op| op.ret).collect();
        calls.sort_unstable();
        returns.sort_unstable();
        let (mut returned, mut widest) = (0, 0);
        for (called, call) in calls.iter().enumerate() {
            while returned < returns.len() && returns[returned] < *call {
                returned += 1;
            }
            widest = widest.max(called + 1 - returned);
        }
        widest
    }
}

/// Are rows in the order [`History::sort_by_return`] gives?
pub fn is_sorted_by_return(operations: &[Operation]) -> bool {
    operations.is_sorted_by_key(return_order)
}

/// Puts rows in order of return, pending ones last, by call. Rows that returned at the same stamp stay as
/// they came in: a log usually has them in the order in which they returned, which a coarse clock does not
/// tell. Those of one process follow one another by call, however they came in.
pub fn sort_as_logged(operations: &mut [Operation]) {
    if !operations.is_sorted_by_key(|op| op.ret) {
        operations.sort_by_key(|op| op.ret);
    }
    let processes = operations.iter().map(|op| op.process().0 as usize + 1).max().unwrap_or(0);
    let mut last_return = vec![i64::MIN; processes];
    let mut from = 0;
    while let Some(first) = operations.get(from) {
        let ret = first.ret;
        let same = operations[from..].iter().take_while(|op| op.ret == ret).count();
        let group = &mut operations[from..from + same];
        let follows =
            |op: &Operation| op.call >= std::mem::replace(&mut last_return[op.process().0 as usize], op.ret);
        if ret == Operation::NEVER || !group.iter().map(follows).fold(true, |all, one| all & one) {
            group.sort_by_key(|op| op.call);
        }
        from += same;
    }
}

/// The sort key of the order of return; pending operations come last.
#[inline]
pub fn return_order(op: &Operation) -> (i64, i64) {
    (op.ret, op.call)
}

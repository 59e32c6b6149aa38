//! Orders of operations: searched for among intervals, followed online, or given by versions.

pub(crate) mod search;

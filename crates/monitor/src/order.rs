//! Orders of operations: searched for among intervals, followed online, or given by versions.

pub(crate) mod engine;
pub(crate) mod frontier;
pub(crate) mod phases;
pub(crate) mod search;
pub(crate) mod spans;
pub(crate) mod versions;

//! Statics that are made at first use, anew in every execution, and dropped when the closure of the model returns.

pub use linpoint_sched::statics::Lazy;

pub use crate::thread::{AccessError, yield_now};

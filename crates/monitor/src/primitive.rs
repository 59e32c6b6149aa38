//! The atomics that the log is made of, in one place: the tests put the explorer's in their stead, and run the ring under every schedule.

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

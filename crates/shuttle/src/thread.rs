//! Threads of a test: std's names.

pub use linpoint_sched::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, current, park,
    park_timeout, scope, sleep, spawn, yield_now,
};
pub use std::thread::{Result, available_parallelism, panicking};

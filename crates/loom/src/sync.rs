//! What threads share and wait by.
//!
//! The types are the explorer's own, which are std's name for name; [`atomic`] and [`Notify`] add what is loom's.

pub mod atomic;
mod notify;
mod slot;

pub use linpoint_sched::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    WaitTimeoutResult, Weak, mpsc,
};
#[doc(no_inline)]
pub use std::sync::{LockResult, TryLockResult};

pub use notify::Notify;
pub(crate) use slot::begin;

//! `std::sync`, name for name.
//!
//! Inside an exploration taking and releasing a lock, waiting, notifying, sending and receiving are steps; outside each
//! type behaves as std's. Poisoning is std's in both.
//!
//! Counting references is a step as well ([`Arc`]). Where who drops the last one and what the counts are makes no
//! difference, std's `Arc` can be used beside these types, and has fewer schedules.

pub mod mpsc;

mod arc;
mod barrier;
mod condvar;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod poison;
mod rwlock;

pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

pub use crate::atomic;
pub(crate) use arc::CountChange;
pub use arc::{Arc, Weak};
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

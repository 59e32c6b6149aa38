//! `std::sync`, name for name.
//!
//! Inside an exploration taking and releasing a lock, waiting, notifying, sending and receiving are steps; outside each
//! type behaves as std's. Poisoning is std's in both.
//!
//! `Arc` and `Weak` are std's own: counting references is not a step, and `Arc<dyn T>` works.

pub mod mpsc;

mod barrier;
mod condvar;
mod lazy_lock;
mod mutex;
mod once;
mod once_lock;
mod rwlock;

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

pub use crate::atomic;
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy_lock::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use once::{Once, OnceState};
pub use once_lock::OnceLock;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

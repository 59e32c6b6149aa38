//! `std::sync`, name for name.
//!
//! Inside an exploration taking and releasing a lock, waiting, notifying, sending and receiving are steps; outside each
//! type behaves as std's. Poisoning is std's in both.
//!
//! `Arc` and `Weak` are std's own: counting references is not a step, and `Arc<dyn T>` works.

mod condvar;
mod mutex;
mod rwlock;

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

pub use crate::atomic;
pub use condvar::{Condvar, WaitTimeoutResult};
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

//! `std::sync`, name for name.
//!
//! `Arc` and `Weak` are std's own: counting references is not a step, and `Arc<dyn T>` works.

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

pub use crate::atomic;

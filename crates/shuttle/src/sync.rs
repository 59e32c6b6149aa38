//! What threads share and wait by: the explorer's own types, which are std's name for name.
//!
//! `Arc` is std's, as in shuttle: counting references is no step.

pub use std::sync::{Arc, Weak};

pub use linpoint_sched::sync::{
    Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceLock, OnceState,
    PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult,
    mpsc,
};

pub mod atomic {
    //! Atomics. Every load sees the latest store, whatever its ordering.

    pub use std::sync::atomic::Ordering;

    pub use linpoint_sched::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16,
        AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
    };
}

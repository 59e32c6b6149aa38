//! loom's names over Linpoint's explorer: suites written for loom run under it, unchanged.
//!
//! A model is a closure that is run under every schedule. Its threads, atomics, locks, cells and statics come from this
//! crate:
//!
//! ```
//! use loom::sync::Arc;
//! use loom::sync::atomic::{AtomicUsize, Ordering};
//! use loom::thread;
//!
//! loom::model(|| {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let other = Arc::clone(&count);
//!     let child = thread::spawn(move || other.fetch_add(1, Ordering::Relaxed));
//!     count.fetch_add(1, Ordering::Relaxed);
//!     child.join().unwrap();
//!     assert_eq!(count.load(Ordering::Relaxed), 2);
//! });
//! ```
//!
//! Where loom checks more than Linpoint does, this crate does so as well: what an [`sync::Arc`] counts and what
//! [`alloc`] tracks must be given back before an execution ends; cells must not be accessed while others access them,
//! and nothing may be used by a thread that cannot know that it was made.
//!
//! Each model prints one line at its end: what was covered, in how many executions and how long, and that memory was
//! sequentially consistent. `docs/loom.md` says how to switch, and what differs.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

mod record;

#[doc(inline)]
pub use linpoint_sched::thread_local;
#[doc(inline)]
pub use model::model;

/// Uses of freed memory are seen by it, and locations have names where models are explored under weak memory.
#[cfg(feature = "heap")]
#[global_allocator]
static HEAP: linpoint_sched::Heap = linpoint_sched::Heap::new();

/// How many threads loom allows in a model, the main one included. Here there may be 64.
pub const MAX_THREADS: usize = 5;

/// From here on schedules are explored again.
pub fn explore() {
    linpoint_sched::set_focus(true);
}

/// From here on schedules are not explored, until [`explore`] is called: each thread goes on as long as it can.
pub fn stop_exploring() {
    linpoint_sched::set_focus(false);
}

/// From here on schedules of this execution are not explored.
pub fn skip_branch() {
    linpoint_sched::set_focus(false);
}

/// Declares statics that are made at first use, anew in every execution.
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attribute:meta])* static ref $name:ident : $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::__lazy_static!([$(#[$attribute])*] [] $name, $type, $init);
        $crate::lazy_static!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static ref $name:ident : $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::__lazy_static!([$(#[$attribute])*] [$visibility] $name, $type, $init);
        $crate::lazy_static!($($rest)*);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ([$($attribute:tt)*] [$($visibility:tt)*] $name:ident, $type:ty, $init:expr) => {
        $($attribute)*
        #[allow(non_camel_case_types, dead_code, missing_copy_implementations)]
        $($visibility)* struct $name {
            __private: (),
        }
        #[doc(hidden)]
        $($visibility)* static $name: $name = $name { __private: () };
        impl ::core::ops::Deref for $name {
            type Target = $type;
            fn deref(&self) -> &$type {
                fn make() -> $type {
                    $init
                }
                static VALUE: $crate::lazy_static::Lazy<$type> =
                    $crate::lazy_static::Lazy { init: make, _p: ::core::marker::PhantomData };
                VALUE.get()
            }
        }
    };
}

//! shuttle's names over Linpoint's explorer: tests written for shuttle run under it, unchanged.
//!
//! ```
//! use shuttle::sync::{Arc, Mutex};
//! use shuttle::thread;
//!
//! shuttle::check_random(
//!     || {
//!         let count = Arc::new(Mutex::new(0));
//!         let other = Arc::clone(&count);
//!         let child = thread::spawn(move || *other.lock().unwrap() += 1);
//!         *count.lock().unwrap() += 1;
//!         child.join().unwrap();
//!         assert_eq!(*count.lock().unwrap(), 2);
//!     },
//!     100,
//! );
//! ```
//!
//! [`check_random`], [`check_urw`] and [`check_pct`] run so many schedules, drawn at random; [`check_dfs`] runs every one, or
//! as many as it may. A failure is drawn, with a token that [`replay`] runs again. Memory is sequentially consistent, as
//! shuttle's is. `docs/loom.md` says how to switch, and what differs.
//!
//! # What is not here
//! Schedulers written by the user ([`scheduler::Scheduler`] is closed), `current`, labels of tasks, and annotations for
//! shuttle's own viewer.

mod check;
mod config;
mod runner;

pub mod future;
pub mod lazy_static;
pub mod rand;
pub mod scheduler;
pub mod sync;
pub mod thread;

pub use check::{
    check, check_dfs, check_pct, check_random, check_random_with_seed, check_uncontrolled_nondeterminism,
    check_urw, replay, replay_from_file,
};
pub use config::{Config, FailurePersistence, MaxSteps};
pub use linpoint_sched::{hint, thread_local};
pub use runner::{PortfolioRunner, Runner};

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
                static VALUE: $crate::lazy_static::Lazy<$type> = $crate::lazy_static::Lazy::new(make);
                VALUE.get()
            }
        }
        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                _ = &**lazy;
            }
        }
    };
}

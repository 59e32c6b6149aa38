//! `std::hint`, as far as it concerns threads.
//!
//! To spin is no step, but a loop that does so lets others go first (`fair.rs`).

pub use std::hint::{assert_unchecked, black_box, unreachable_unchecked};

/// Tells the processor that the program waits in a loop; in an exploration, the explorer.
#[inline]
#[track_caller]
pub fn spin_loop() {
    match crate::execution::current() {
        None => std::hint::spin_loop(),
        Some(handle) => handle.yields(),
    }
}

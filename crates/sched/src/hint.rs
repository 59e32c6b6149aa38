//! `std::hint`, as far as it concerns threads.
//!
//! Neither is a step: a loop that waits is recognised by coming back to where it was, not by what it says.

pub use std::hint::{assert_unchecked, black_box, unreachable_unchecked};

/// Tells the processor that the program waits in a loop. In an exploration it is nothing.
#[inline]
pub fn spin_loop() {
    if crate::execution::current().is_none() {
        std::hint::spin_loop();
    }
}

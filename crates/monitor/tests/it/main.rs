//! The monitor's tests.

mod exact;
mod play;

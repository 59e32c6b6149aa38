//! The monitor's tests.

mod blame;
mod exact;
mod play;

//! Shadows for the usual shapes of state.

mod entries;

pub use entries::Entries;

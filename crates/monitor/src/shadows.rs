//! Shadows for the usual shapes of state.

mod entries;
mod layers;

pub use entries::Entries;
pub use layers::Layers;

//! Attacks on the engines.
//!
//! A *pack* makes inputs for one engine, lets the engine decide, and lets something independent of the engine decide as well: brute force, an exploration without reductions, a plain model, or the
//! same input told differently (see [`Pack`]). Whatever they do not agree about is a [`Disagreement`], shrunk as far as the pack can.
//!
//! `cargo xtask attack` runs packs by the minute; the tests of this crate run a few rounds of each, so that a pack that has
//! rotted shows. A round depends on its seed alone, so `--pack NAME --seed N --rounds 1` makes it again.

mod campaign;
pub mod corpus;
pub mod mutant;
mod pack;
mod packs;
pub mod program;
pub mod variation;

pub use campaign::{Campaign, Findings};
pub use pack::{Disagreement, Pack, Round};
pub use packs::{PACKS, find};

//! Attacks on exploration of Rust code.

use crate::pack::Pack;

mod model;
mod waiting;

/// The packs of this engine.
pub const PACKS: &[Pack] = &[waiting::PACK];

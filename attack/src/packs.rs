//! All packs, engine by engine: one file per engine.

mod history;
mod memory;
mod model;
mod monitor;
mod obligations;
mod rust;
mod shape;

use crate::pack::Pack;

/// Every pack there is. Each engine's file exports its own list.
pub const PACKS: &[&[Pack]] = &[
    history::PACKS,
    monitor::PACKS,
    model::PACKS,
    shape::PACKS,
    obligations::PACKS,
    rust::PACKS,
    memory::PACKS,
];

/// The packs of an engine, or the one pack of that name; all of them for `all`.
#[must_use]
pub fn find(name: &str) -> Vec<&'static Pack> {
    PACKS
        .iter()
        .copied()
        .flatten()
        .filter(|pack| name == "all" || pack.engine == name || pack.name == name)
        .collect()
}

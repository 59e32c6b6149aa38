//! Checks histories of many objects as a Timely dataflow, on one machine or many.
//!
//! Linearizability is local (Herlihy & Wing 1990), so the work spreads by object: sources are read where they
//! are, rows travel to the worker that owns their object, and each object has a check of its own that goes
//! along with the watermark. `docs/cluster.md` says what every verdict means and why it is right.
//!
//! Start with [`run`] (the dataflow), [`object`] (one object) and [`segment`] (what happens between two quiet
//! moments). Its neighbours: `linpoint-check` has the engines, `linpoint-history` the formats; this crate
//! prints nothing.

pub mod checker;
pub mod clock;
pub mod collect;
mod everyone;
pub mod homes;
pub mod hosts;
mod intake;
pub mod lead;
pub mod live;
pub mod object;
pub mod progress;
pub mod quiet;
pub mod report;
pub mod run;
pub mod segment;
pub mod source;
pub mod wire;

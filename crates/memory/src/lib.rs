//! Executions under the memory model of C++20 and Rust.
//!
//! (filled in below)

mod axioms;
mod clock;
mod event;
pub mod explore;
mod graph;
pub mod linearize;
pub mod litmus;
pub mod machine;
pub mod oracle;
mod ordering;
mod program;
pub mod random;
mod relation;
pub mod structures;

pub use clock::{Clock, Clocks, MAX_THREADS};
pub use event::{Access, Event, EventId, Kind, Location, Update, Value};
pub use explore::{Coverage, End, Ended, Limits, Options, Report, Schedule, WorkOrder, explore};
pub use graph::{Graph, Key, Label, Race};
pub use ordering::{Model, Ordering};
pub use program::{Program, Step};

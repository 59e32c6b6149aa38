//! Decides whether a history is linearizable.
//!
//! Rows arrive in order of return and become a [`Timeline`]; an [`Engine`] explains one return after another
//! and writes down the order it found; the recheck replays that order through the specification. All engines
//! are one forward pass, so that the same code checks a file and a live stream.

pub mod attempts;
pub mod brute;
pub mod counterexample;
pub mod decide;
pub mod depth_first;
pub mod drive;
pub mod engine;
pub mod feed;
pub mod frontier;
pub mod guided;
pub mod metastate;
pub mod monitor;
mod one_pass;
pub mod online;
pub mod orders;
pub mod portfolio;
pub mod recheck;
pub mod relax;
pub mod replay;
pub mod resident;
pub mod stream;
pub mod timeline;

pub use decide::{Answer, CheckError, Options, Partition, Split, Watch, check, check_rows};
pub use engine::{Budget, Context, Engine, Limit, Stop, Violation, Witness};
pub use timeline::{OpId, Timeline};

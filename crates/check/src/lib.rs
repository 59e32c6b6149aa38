//! Decides whether a history is linearizable.
//!
//! Rows arrive in order of return and become a [`Timeline`]; an [`Engine`] explains one return after another
//! and writes down the order it found; the recheck replays that order through the specification. Most engines
//! are one forward pass, so that the same code checks a file and a live stream; [`portfolio`] says which there
//! are, and which history each is for.
//!
//! ```
//! use linpoint_check::{Options, check_rows};
//! use linpoint_history::formats::{self, Input, ReadOptions};
//! use linpoint_history::specs;
//!
//! let queue = specs::parse("queue")?;
//! let log = r#"{"process":1,"op":"enqueue","arg":7,"ret":null,"call":0,"return":10}
//! {"process":2,"op":"dequeue","ret":7,"call":5,"return":15}
//! {"process":2,"op":"dequeue","ret":7,"call":20,"return":30}"#;
//! let history = formats::read_all(&Input::Bytes(log.into()), &queue, &ReadOptions::default())?;
//! let mut symbols = history.symbols;
//! let answer = check_rows(history.operations, &queue, &mut symbols, &Options::default())?;
//! // Brute force agrees about the core.
//! let found = answer.verdict.confirmed().expect("7 is taken twice");
//! assert!(found.core.len() <= 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Its neighbours: `linpoint-history` has the operations, specifications and formats; `linpoint-explain` puts
//! an [`Answer`] into words and pictures.

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

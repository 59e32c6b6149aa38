//! Refinement checked while the program runs (Tasiran & Qadeer 2005).
//!
//! An implementation logs calls, commits, returns and the writes behind its view; a verification thread replays the commits through the
//! specification and compares return values (I/O refinement) and state (view refinement).

mod barrier;
mod blame;
pub mod checker;
pub mod confidence;
mod drain;
pub mod event;
pub mod file;
pub mod finding;
mod http;
mod local;
mod logged;
mod merge;
pub mod model;
pub mod models;
mod monitor;
mod object;
mod order;
pub mod payload;
mod primitive;
mod record;
mod refine;
mod registry;
pub mod replay;
mod report;
mod ring;
mod sections;
pub mod shadow;
pub mod shadows;
pub mod stamp;
mod status;
mod ticks;
mod trail;
mod verifier;

pub use checker::{Checker, Commits, Conclusion, End, Limits, Progress, Setup, Summary};
pub use event::{Event, Location, ObjectId, ThreadId, What, Write};
pub use finding::{Blame, Finding, Found, Mistake};
pub use local::{Block, Overflow};
pub use logged::{Guard, Logged, Viewed, commit};
pub use model::{Applied, Model};
pub use monitor::{Builder, Monitor, MonitorError, Reaction, Registration, View};
pub use object::{Internal, Object, Op, Operation};
pub use payload::{Pair, Payload};
pub use report::{Judged, Report};
pub use shadow::Shadow;
pub use stamp::Stamps;
pub use status::Status;

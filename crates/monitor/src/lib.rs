//! Refinement checked while the program runs (Tasiran & Qadeer 2005).
//!
//! An implementation logs calls, commits, returns and the writes behind its view; a verification thread replays the commits through the
//! specification and compares return values (I/O refinement) and state (view refinement).

mod blame;
pub mod checker;
pub mod event;
pub mod finding;
mod merge;
pub mod model;
pub mod models;
mod order;
mod refine;
mod sections;
pub mod shadow;
pub mod shadows;
mod trail;

pub use checker::{Checker, Commits, Conclusion, End, Limits, Progress, Setup, Summary};
pub use event::{Event, Location, ObjectId, ThreadId, What, Write};
pub use finding::{Blame, Finding, Found, Mistake};
pub use model::{Applied, Model};
pub use shadow::Shadow;

//! Refinement checked while the program runs (Tasiran & Qadeer 2005).
//!
//! An implementation logs calls, commits, returns and the writes behind its view; a verification thread replays the commits through the
//! specification and compares return values (I/O refinement) and state (view refinement).

pub mod event;
pub mod model;
pub mod shadow;

pub use event::{Event, Location, ObjectId, ThreadId, What, Write};
pub use model::{Applied, Model};
pub use shadow::Shadow;

//! What your Rust code links to: the shims of std, and the harness that explores every schedule.

pub use linpoint_sched::{atomically, sync, thread};

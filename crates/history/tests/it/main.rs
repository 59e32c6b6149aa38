//! The integration tests of the crate, in one binary.

mod csv;
mod diagnostics;
mod documentation;
mod events;
mod json_lines;
mod mutations;
mod packed;
mod recorded;
mod round_trips;
mod samples;

//! The integration tests of the crate, in one binary.

mod formats;

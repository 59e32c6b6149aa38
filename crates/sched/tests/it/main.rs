//! The integration tests of the scheduler.

mod strategies;

//! Monitors: engines for one kind of object each, fast because they know it.

pub mod register;
pub mod seen;

mod recent;

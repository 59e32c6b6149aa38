//! Draws what Linpoint found: data in, text out.
//!
//! [`lanes`] draws the operations of a counterexample as a person would on a whiteboard, one lane a process and a bar an
//! operation. This crate knows histories and verdicts, and nothing of the engines that made them; it never prints.

pub mod label;
pub mod lanes;

pub use label::label;
pub use lanes::{Style, draw};

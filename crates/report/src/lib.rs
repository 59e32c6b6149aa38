//! Draws what Linpoint found: data in, text out.
//!
//! [`lanes`] draws operations on a terminal as a person would on a whiteboard, one lane a process and a bar
//! an operation. [`view`] is everything that can be drawn, as plain data; [`page`] makes one self-contained
//! HTML page of it, [`svg`] a picture, [`trace`] a file for trace viewers. This crate knows histories and
//! verdicts, and nothing of the engines that made them; it never prints.

mod columns;
pub mod label;
pub mod lanes;
pub mod page;
pub mod svg;
pub mod trace;
pub mod view;

pub use label::label;
pub use lanes::{Style, draw, draw_history};
pub use view::View;

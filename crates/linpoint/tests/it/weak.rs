//! Objects and programs under a weak memory model.

mod objects;
mod programs;

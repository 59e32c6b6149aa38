//! The crate from outside: drawings for a terminal, pictures, traces.

mod outputs;
mod terminal;

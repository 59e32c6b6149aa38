//! Integration tests of the weak memory engine.

mod agreement;
mod corpus;
mod exploring;
mod notation;
mod shapes;
mod structures;

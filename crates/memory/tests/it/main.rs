//! Integration tests of the weak memory engine.

mod agreement;
mod clients;
mod corpus;
mod exploring;
mod notation;
mod shapes;
mod structures;

//! Integration tests of the weak memory engine.

mod agreement;
mod clients;
mod corpus;
mod exploring;
mod native;
mod notation;
mod shapes;
mod structures;

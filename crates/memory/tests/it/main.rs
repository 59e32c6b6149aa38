//! Integration tests of the weak memory engine.

mod agreement;
mod clients;
mod corpus;
mod exploring;
mod native;
mod notation;
mod orderings;
mod shapes;
mod structures;

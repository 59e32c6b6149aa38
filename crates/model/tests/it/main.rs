//! Exploration from outside: the corpus and its verdicts, and the reductions against none.

mod assumptions;
mod atomically;
mod callers;
mod claims;
mod corpus;
mod data;
mod mangle;
mod mangled;
mod plain;
mod progress;
mod reductions;
mod sessions;
mod steppers;
mod turns;
mod workers;

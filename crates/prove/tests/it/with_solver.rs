//! What needs z3, by whose name `cargo xtask ci --without solver` leaves it out.

mod attacks;
mod corpus;
mod encodings;
mod found;
mod lemma;
mod mutants;
mod names;
mod others;
mod small;

//! Proofs with a solver. Where there is none, each test says by name that it was skipped.

mod attacks;
mod corpus;
mod explored;
mod found;
mod lemma;
mod mutants;
mod robustness;
mod small;
mod solvers;

//! The shape analysis, on the corpus, beside concrete states, and on programs spoiled at random.

mod corpus;
mod coverage;
mod mutants;
mod refused;
mod samples;

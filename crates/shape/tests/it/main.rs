//! The shape analysis, on the corpus, beside concrete states, and on programs spoiled at random.

mod audit;
mod certificates;
mod corpus;
mod coverage;
mod covering;
mod kinds;
mod mutants;
mod own;
mod refused;
mod samples;
mod scopes;
mod several;
mod told;

//! Exploration from outside: the corpus and its verdicts, and the reductions against none.

mod corpus;
mod reductions;

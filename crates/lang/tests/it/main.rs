//! The language from outside: the corpus, the printer, the diagnostics, the reference.

mod corpus;
mod diagnostics;
mod evaluation;
mod ghosts;
mod interpreter;
mod printer;
mod prophecies;
mod ranges;
mod reference;

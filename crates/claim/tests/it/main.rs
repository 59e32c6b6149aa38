//! Tests of claims: the semantics as tables, the monitor against a slow evaluator, the macro, and what it
//! refuses.

mod footprint;
mod macros;
mod many;
mod random;
mod reference;
mod run;
mod semantics;
mod ui;

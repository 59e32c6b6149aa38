//! Linearizability for every size and any number of processes, by local proof obligations and a solver.
//!
//! # What is proved
//!
//! A program of the algorithm language, a specification, an abstraction (`abs`) and, where linearization
//! points depend on what others do, a status function. For each step of the program there are a few
//! obligations about the process that takes it and one other process; a solver decides each. Together they
//! imply that every history of every number of processes, for every value of the symbolic sizes, is
//! linearizable. `docs/soundness.md` has the argument; `obligation.rs` the obligations; `docs/proving.md` how
//! to use it.
//!
//! # What is trusted
//!
//! The meaning of steps in formulas (`step.rs`, which mirrors the interpreter), the obligations
//! (`obligation.rs`, `abstraction.rs`, `operation.rs`), and the solver's `unsat`. Not trusted: annotations,
//! guesses, inference (`houdini.rs`), which instances of hypotheses are used (`ground.rs`), and anything else
//! that a solver says.
//!
//! [`prove_supervised`] is the door: what is proved is explored before it is told (`gate.rs`), and what is not
//! proved may be shown wrong by a run. [`diagnosis`] looks for what is missing; nothing it says is believed.
//!
//! This crate is the only one that talks to a solver. It prints nothing.

pub mod abstraction;
pub mod blame;
pub mod context;
pub mod diagnosis;
pub mod fact;
pub mod formula;
mod gap;
pub mod gate;
pub mod graph;
pub mod ground;
pub mod guess;
pub mod heap;
pub mod hide;
pub mod houdini;
mod initial;
pub mod lemma;
pub mod obligation;
pub mod opaque;
pub mod operation;
mod pairs;
pub mod points;
mod prove;
pub mod same;
pub mod scene;
pub mod show;
pub mod solver;
pub mod step;
mod supervised;
pub mod symbol;
pub mod term;
pub mod values;
pub mod worker;
pub mod world;

pub use gap::Gap;
pub use prove::{Decided, EveryObligation, Options, Outcome, Report, Verdict, prove};
pub use supervised::{Supervised, prove_supervised};

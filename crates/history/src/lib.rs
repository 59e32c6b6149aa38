//! The vocabulary of Linpoint: values, operations, histories, specifications, verdicts, and the file
//! formats they are read from and written to.
//!
//! This crate knows nothing of engines. Its neighbours: `linpoint-check` decides a [`History`] against a
//! [`Spec`]; `linpoint-report` draws what came out; the binary `linpoint` reads files and prints.
//!
//! Start with [`Operation`] (one row of a history, 32 bytes), [`Symbols`] (what its numbers stand for) and
//! [`Spec`] (the sequential object a history is compared with).

pub mod confidence;
pub mod diagnostic;
mod excerpt;
pub mod form;
pub mod formal;
pub mod formats;
pub mod generate;
pub mod history;
pub mod notation;
pub mod operation;
pub mod own;
pub mod rng;
pub mod signature;
pub mod spec;
pub mod specs;
pub mod symbols;
pub mod value;
pub mod verdict;

pub use diagnostic::Diagnostic;
pub use form::Form;
pub use history::History;
pub use operation::{KeyId, OpCode, Operation, ProcessId};
pub use own::{OwnSpec, OwnState, Undetermined};
pub use signature::{OpDecl, Shape, Signature};
pub use spec::{Call, Spec};
pub use specs::{Builtin, Kind};
pub use symbols::{Symbols, ValueId};
pub use value::Value;
pub use verdict::{Basis, Counterexample, Start, Unexplained, Unknown, Verdict};

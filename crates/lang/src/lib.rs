//! The algorithm language: concurrent objects as they are written on paper.
//!
//! ```
//! let text = "
//! object Treiber : stack {
//!   struct Node { val: data, next: *Node }
//!   shared top: *Node = null
//!
//!   op push(v: data) {
//!     x = new Node { val: v }
//!     loop {
//!       t = top
//!       x.next = t
//!       if cas(top, t, x) @lin { return }
//!     }
//!   }
//! }";
//! let (programs, wrong) = linpoint_lang::compile(text);
//! assert!(wrong.is_empty());
//! assert_eq!(programs[0].operations[0].name, "push");
//! ```
//!
//! The way of a text: [`token`] → [`parser`] → [`ast`] → [`lower()`] → [`program`], the form that every
//! engine shares. [`printer`] goes back from a tree to text. What is wrong is a list of [`Diagnostic`]s,
//! never a panic.
//!
//! This crate knows no solver and no scheduler, and does no input or output. `docs/language.md` is the
//! reference.

pub mod ast;
pub mod diagnostic;
pub mod erase;
pub mod flow;
pub mod interp;
mod lower;
mod near;
pub mod parser;
pub mod printer;
pub mod program;
pub mod prophecy;
pub mod span;
pub mod token;

pub use diagnostic::{Diagnostic, Severity};
pub use lower::{Specification, lower, specifications};
pub use parser::parse;
pub use printer::print;
pub use program::Program;
pub use span::Span;

/// Parses and lowers: the specifications of a text by the names of their objects, and everything that is
/// wrong with it. Objects that have no specification are left out.
pub fn compile_specifications(text: &str) -> (Vec<(String, Specification)>, Vec<Diagnostic>) {
    let (file, wrong) = parse(text);
    if wrong.iter().any(Diagnostic::is_error) {
        return (Vec::new(), wrong);
    }
    specifications(&file)
}

/// Parses and lowers: the programs of a text, and everything that is wrong with it.
pub fn compile(text: &str) -> (Vec<Program>, Vec<Diagnostic>) {
    let (file, mut wrong) = parse(text);
    if wrong.iter().any(Diagnostic::is_error) {
        return (Vec::new(), wrong);
    }
    let (programs, more) = lower(&file);
    wrong.extend(more);
    (programs, wrong)
}

//! Shape analysis.
pub mod budget;
pub mod choices;
pub mod concrete;
pub mod cover;
pub mod exec;
pub mod infer;
pub mod initial;
pub mod layout;
mod list;
mod merge;
pub mod prove;
mod reference;
pub mod refute;
pub mod run;
pub mod store;
pub mod structure;
pub mod threads;
pub mod views;

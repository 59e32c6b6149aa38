//! Shape analysis.
pub mod budget;
pub mod choices;
pub mod exec;
pub mod initial;
pub mod layout;
mod list;
mod merge;
mod reference;
pub mod run;
pub mod store;
pub mod structure;
pub mod threads;
pub mod views;

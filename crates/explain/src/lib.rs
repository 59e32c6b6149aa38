//! A verdict about a history, as a person reads it.
//!
//! `linpoint-check` decides and says what it found in numbers: operations by index, values by id. This crate
//! makes of it the text of a terminal ([`text`]), one JSON object for scripts ([`json`]) and the data of a
//! page ([`page`]), for everybody who checks histories: the command, and programs that check against a
//! specification of their own. It decides nothing.

pub mod json;
pub mod orders;
pub mod page;
pub mod text;

use linpoint_check::Answer;
use linpoint_history::{Builtin, Symbols};

/// An answer with what it takes to tell it.
pub struct Shown<'a> {
    /// The file's name, where several are checked.
    pub file: Option<String>,
    /// The specification, with what the format implies.
    pub spec: &'a Builtin,
    /// Its name, as given.
    pub spec_name: &'a str,
    /// What the numbers stand for.
    pub symbols: &'a Symbols,
    /// What came out.
    pub answer: &'a Answer,
    /// How the check is run once more.
    pub again: String,
}

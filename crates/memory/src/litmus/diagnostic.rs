//! What is wrong with the text of a litmus test.

use std::fmt;

/// What is wrong, where, and what was expected there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What was expected.
    pub expected: String,
}

impl Diagnostic {
    pub(super) fn new(line: usize, column: usize, message: &str, expected: &str) -> Diagnostic {
        Diagnostic { line, column, message: message.to_string(), expected: expected.to_string() }
    }
}

impl fmt::Display for Diagnostic {
    /// `line:column: what is wrong; expected: what was expected`. The name of the file goes before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; expected: {}", self.line, self.column, self.message, self.expected)
    }
}

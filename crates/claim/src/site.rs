//! Where a claim stands in the program.

use std::fmt::{self, Display, Formatter};

/// A claim in the text of the program. Many instances of it may be alive in a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Site {
    /// The file, as the compiler names it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The text of the claim.
    pub source: &'static str,
    /// The texts of its `First`, `Last` and `Exit` terms, in the order in which they are numbered.
    pub terms: &'static [&'static str],
}

impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

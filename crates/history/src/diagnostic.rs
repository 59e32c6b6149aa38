//! Bad input, said so that it can be mended: where, what, what was expected.
//!
//! Plain data; the binary renders it.

use std::fmt;

pub use crate::excerpt::Excerpt;

/// One thing wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code, such as `H004`; listed in `docs/formats.md`.
    pub code: &'static str,
    /// The file, or `-`; empty until known.
    pub file: String,
    /// Line, from 1; 0 where there is none (binary forms say the record instead).
    pub line: u64,
    /// Column in bytes, from 1; 0 where there is none.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What was expected, or what to do.
    pub help: String,
    /// The line, where it was at hand.
    pub excerpt: Option<Box<Excerpt>>,
}

impl Diagnostic {
    /// A diagnostic without a place.
    pub fn new(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            file: String::new(),
            line: 0,
            column: 0,
            message: message.into(),
            help: help.into(),
            excerpt: None,
        }
    }

    /// The same, at a place.
    pub fn at(mut self, line: u64, column: u32) -> Diagnostic {
        (self.line, self.column) = (line, column);
        self
    }

    /// The same, with the line that it stands in.
    pub fn showing(mut self, line: &[u8]) -> Diagnostic {
        self.excerpt = Excerpt::of(line, self.column).map(Box::new);
        self
    }

    /// The same, in a file.
    pub fn in_file(mut self, file: impl Into<String>) -> Diagnostic {
        self.file = file.into();
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
        }
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
            if self.column > 0 {
                write!(f, "{}:", self.column)?;
            }
        }
        if !self.file.is_empty() || self.line > 0 {
            f.write_str(" ")?;
        }
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Diagnostic {}

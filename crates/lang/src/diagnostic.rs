//! What is wrong with a program, said so that it can be mended: a stable code, the place, what is wrong, what
//! to do.
//!
//! Plain data. [`Diagnostic::render`] gives the look Rust programmers expect; only the binary prints it.

use std::fmt::Write as _;

use crate::span::{Span, line_column, line_text};

/// The stable codes; `docs/language.md` lists them.
pub mod code {
    /// Something else was expected here.
    pub const SYNTAX: &str = "L001";
    /// A brace, bracket or parenthesis is never closed.
    pub const UNCLOSED: &str = "L002";
    /// A character or number that means nothing.
    pub const CHARACTER: &str = "L003";
    /// A name that nothing has.
    pub const UNKNOWN: &str = "L010";
    /// A name that two things have.
    pub const TWICE: &str = "L011";
    /// A name of something that cannot be used like this.
    pub const KIND: &str = "L012";
    /// Too few or too many arguments.
    pub const ARGUMENTS: &str = "L013";
    /// A value of another type was expected.
    pub const TYPE: &str = "L020";
    /// A type that cannot be told.
    pub const UNTYPED: &str = "L021";
    /// A value that must be known before the run.
    pub const CONSTANT: &str = "L022";
    /// A variable that may have no value yet.
    pub const UNSET: &str = "L030";
    /// A label that is never reached.
    pub const UNREACHABLE: &str = "L031";
    /// `break` or `continue` with no loop around it.
    pub const NO_LOOP: &str = "L032";
    /// An end that a result is due at.
    pub const NO_RESULT: &str = "L033";
    /// A procedure that calls itself.
    pub const RECURSION: &str = "L034";
    /// A loop in an atomic block, or too many ways through one.
    pub const ATOMIC: &str = "L035";
    /// A lock still held at a return.
    pub const LEAK: &str = "L036";
    /// A choice in the initial code.
    pub const INITIAL: &str = "L037";
    /// A path without a linearization point.
    pub const NO_POINT: &str = "L040";
    /// A path with two.
    pub const TWO_POINTS: &str = "L041";
    /// An annotation that makes no sense here.
    pub const ANNOTATION: &str = "L042";
    /// Ghost code that the program could notice.
    pub const GHOST: &str = "L043";
    /// A guess that could hide runs.
    pub const PROPHECY: &str = "L044";
    /// No such specification.
    pub const SPEC: &str = "L050";
    /// Operations that do not fit the specification.
    pub const SIGNATURE: &str = "L051";
    /// A client that cannot be run.
    pub const CLIENT: &str = "L060";
}

/// Does it stop the program from being run?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Yes.
    Error,
    /// No, but it is probably not what was meant.
    Warning,
}

/// One thing wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Does it stop the program from being run?
    pub severity: Severity,
    /// Stable code; see [`code`].
    pub code: &'static str,
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// A few words beside the place; may be empty.
    pub note: String,
    /// What to do; may be empty.
    pub help: String,
    /// Another place that matters, and why.
    pub related: Option<(Span, String)>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            span,
            message: message.into(),
            note: String::new(),
            help: String::new(),
            related: None,
        }
    }

    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// The same with a few words beside the place.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.note = note.into();
        self
    }

    /// The same with what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = help.into();
        self
    }

    /// The same with another place.
    pub fn also(mut self, span: Span, why: impl Into<String>) -> Diagnostic {
        self.related = Some((span, why.into()));
        self
    }

    /// Does it stop the program from being run?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// As rustc draws it.
    pub fn render(&self, file: &str, text: &str) -> String {
        let kind = if self.is_error() { "error" } else { "warning" };
        let mut out = format!("{kind}[{}]: {}\n", self.code, self.message);
        let (line, column) = line_column(text, self.span.start as usize);
        let other = self.related.as_ref().map(|(span, _)| line_column(text, span.start as usize).0);
        let width = line.max(other.unwrap_or(0)).to_string().len();
        let _ = writeln!(out, "{:width$}--> {file}:{line}:{column}", "");
        let _ = writeln!(out, "{:width$} |", "");
        let mut places = vec![(self.span, self.note.as_str(), '^')];
        if let Some((span, why)) = &self.related {
            places.push((*span, why.as_str(), '-'));
        }
        places.sort_by_key(|(span, ..)| span.start);
        for (index, (span, note, mark)) in places.iter().enumerate() {
            if index > 0 {
                let _ = writeln!(out, "{:width$}...", "");
            }
            underline(&mut out, text, *span, note, *mark, width);
        }
        if !self.help.is_empty() {
            let _ = writeln!(out, "{:width$} |", "");
            let _ = writeln!(out, "{:width$} = help: {}", "", self.help);
        }
        out
    }
}

/// Characters of a long line that are shown before the marked place, and in all.
const BEFORE: usize = 60;
const SHOWN: usize = 200;

/// A line of the source with a mark below the span; of a long line, what is around it.
fn underline(out: &mut String, text: &str, span: Span, note: &str, mark: char, width: usize) {
    let (line, column) = line_column(text, span.start as usize);
    let source = line_text(text, line).replace('\t', " ");
    let length = source.chars().count();
    let (last, end) = line_column(text, span.end as usize);
    let end = if last == line { end } else { length + 1 };
    let gap = column.saturating_sub(1);
    let skipped = if length > SHOWN { gap.saturating_sub(BEFORE) } else { 0 };
    let mut shown: String = source.chars().skip(skipped).take(SHOWN).collect();
    if skipped > 0 {
        shown.insert(0, '…');
    }
    if length > skipped + SHOWN {
        shown.push('…');
    }
    let gap = " ".repeat(gap - skipped + usize::from(skipped > 0));
    let marks: String = std::iter::repeat_n(mark, end.saturating_sub(column).clamp(1, SHOWN)).collect();
    let _ = writeln!(out, "{line:width$} | {shown}");
    let _ = writeln!(out, "{}", format!("{:width$} | {gap}{marks} {note}", "").trim_end());
}

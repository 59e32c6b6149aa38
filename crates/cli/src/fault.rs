//! What can go wrong outside the verdict, and what the process exits with.

use std::fmt;
use std::path::PathBuf;

use linpoint_history::Diagnostic;
use linpoint_history::diagnostic::Excerpt;
use linpoint_verdict::VerdictKind;

/// A line on standard error; one that nobody reads any more is no reason to fail.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

/// The same without an end of line.
macro_rules! say_on {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stderr(), $($text)*);
    }};
}

pub(crate) use {say, say_on};

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Every history is linearizable, or the command did what it was asked.
    Holds = 0,
    /// A history is not linearizable.
    Violated = 1,
    /// Bad use or bad input.
    Bad = 2,
    /// Not decided.
    Unknown = 3,
    /// A bug of ours.
    Bug = 101,
}

impl Exit {
    /// What to exit with for several files: a bug outranks bad input, that a violation, that an unknown.
    pub fn and(self, other: Exit) -> Exit {
        let rank = |exit: Exit| match exit {
            Exit::Holds => 0,
            Exit::Unknown => 1,
            Exit::Violated => 2,
            Exit::Bad => 3,
            Exit::Bug => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// Every engine's verdict ends the process in the same way.
impl From<VerdictKind> for Exit {
    fn from(kind: VerdictKind) -> Exit {
        match kind {
            VerdictKind::Holds => Exit::Holds,
            VerdictKind::Violated => Exit::Violated,
            VerdictKind::Unknown => Exit::Unknown,
        }
    }
}

/// A failure to say on standard error.
#[derive(Debug)]
pub enum Fault {
    /// Something wrong with an input or an argument.
    Input(Diagnostic),
    /// A file could not be written.
    Output(PathBuf, std::io::Error),
    /// A run over several hosts broke off: nothing was decided.
    Broken(String),
    /// The recheck failed.
    Bug {
        /// What it says.
        what: String,
        /// Where the history that shows it was written.
        saved: Option<PathBuf>,
    },
}

impl Fault {
    /// Bad use: a message and what to do.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault::Input(Diagnostic::new("", message, help))
    }

    /// What to exit with.
    pub fn exit(&self) -> Exit {
        match self {
            Fault::Input(_) | Fault::Output(..) => Exit::Bad,
            Fault::Broken(_) => Exit::Unknown,
            Fault::Bug { .. } => Exit::Bug,
        }
    }
}

impl From<Diagnostic> for Fault {
    fn from(diagnostic: Diagnostic) -> Fault {
        Fault::Input(diagnostic)
    }
}

/// The line in question, with a caret below the column, as `.lin` errors have it.
fn show(excerpt: &Excerpt, line: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    writeln!(f, "{margin} |")?;
    writeln!(f, "{number} | {}", excerpt.text)?;
    match excerpt.caret {
        Some(caret) => writeln!(f, "{margin} | {}^", " ".repeat(caret)),
        None => writeln!(f, "{margin} |"),
    }
}

/// As rustc says it: `error[H004]: …`, the place, the help.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Input(d) => {
                match d.code {
                    "" => writeln!(f, "error: {}", d.message)?,
                    code => writeln!(f, "error[{code}]: {}", d.message)?,
                }
                if !d.file.is_empty() {
                    write!(f, "  --> {}", d.file)?;
                    if d.line > 0 {
                        write!(f, ":{}", d.line)?;
                        if d.column > 0 {
                            write!(f, ":{}", d.column)?;
                        }
                    }
                    writeln!(f)?;
                }
                if let Some(excerpt) = &d.excerpt {
                    show(excerpt, d.line, f)?;
                }
                if d.help.is_empty() { Ok(()) } else { writeln!(f, "  help: {}", d.help) }
            }
            Fault::Output(path, error) => {
                writeln!(f, "error: cannot write {}: {error}", path.display())
            }
            Fault::Broken(why) => writeln!(f, "unknown: {why}"),
            Fault::Bug { what, saved } => {
                writeln!(f, "error: {what}")?;
                writeln!(f, "  This is a bug in linpoint: no verdict is given.")?;
                match saved {
                    Some(path) => writeln!(f, "  help: please report it with the file {}", path.display()),
                    None => writeln!(f, "  help: please report it with the history"),
                }
            }
        }
    }
}

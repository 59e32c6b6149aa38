//! Litmus tests: small programs in a line of text each, with the number of their execution graphs.
//!
//! ```text
//! # name | graphs under RC11 | graphs under SC | program
//! SB+rlx|4|3|W x rlx 1; R y rlx || W y rlx 1; R x rlx
//! # name | allowed or forbidden under RC11 | outcome | program
//! MP|forbidden|1:a==1 & 1:b==0|W x rlx 1; W y rel 1 || R y acq a; R x rlx b
//! ```
//!
//! `docs/litmus.md` has the grammar. A reader never panics: what it does not understand is a [`Diagnostic`].

mod diagnostic;
mod expected;
mod statement;
mod words;

pub use diagnostic::Diagnostic;
pub use expected::{Expected, Outcome};

use crate::clock::MAX_THREADS;
use crate::machine::{Code, Machine};
use statement::{Names, read_statement};
use words::Text;

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Litmus {
    /// Its name.
    pub name: String,
    /// What it expects.
    pub expected: Expected,
    /// The program.
    pub program: Machine,
    /// Its text.
    pub text: String,
    /// The line that it stands on.
    pub line: usize,
}

/// Reads a file of litmus tests: all tests, or everything that is wrong.
///
/// # Errors
///
/// A diagnostic for each line that is not understood, and one if no line has a test.
pub fn read(text: &str) -> Result<Vec<Litmus>, Vec<Diagnostic>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut tests = Vec::new();
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        match read_line(line, number + 1) {
            Ok(test) => tests.push(test),
            Err(diagnostic) => wrong.push(diagnostic),
        }
    }
    if tests.is_empty() && wrong.is_empty() {
        wrong.push(Diagnostic::new(1, 1, "no litmus test in the file", "name|RC11|SC|program"));
    }
    if wrong.is_empty() { Ok(tests) } else { Err(wrong) }
}

/// Reads the text of a program alone.
///
/// # Errors
///
/// A diagnostic, if it is not understood.
pub fn read_program(text: &str) -> Result<Machine, Diagnostic> {
    Ok(program(Text::new(text, 1, 1))?.0)
}

fn read_line(line: &str, number: usize) -> Result<Litmus, Diagnostic> {
    let whole = Text::new(line, number, 1);
    let fields = whole.split_at_most(4, "|");
    let [name, first, second, text] = fields.as_slice() else {
        let message = format!("{} of 4 fields", fields.len());
        return Err(whole.end().error(&message, "name|RC11|SC|program"));
    };
    let text = text.before(" #").before("\t#").trim();
    if name.trim().is_empty() {
        return Err(name.error("the test has no name", "a name before the first |"));
    }
    let (program, names) = program(text)?;
    let expected = expected::read(*first, *second, &names)?;
    Ok(Litmus {
        name: name.trim().as_str().to_string(),
        expected,
        program,
        text: text.as_str().to_string(),
        line: number,
    })
}

fn program(text: Text<'_>) -> Result<(Machine, Names<'_>), Diagnostic> {
    let threads = text.split("||");
    if threads.len() > MAX_THREADS {
        let message = format!("the program has {} threads", threads.len());
        return Err(text.error(&message, &format!("at most {MAX_THREADS}")));
    }
    let mut names = Names::new(threads.len());
    let mut codes = Vec::new();
    for thread in threads {
        let mut code = Code::default();
        for statement in thread.split(";") {
            read_statement(statement, &mut names, &mut code.instructions)?;
        }
        codes.push(code);
    }
    for &thread in &names.created {
        codes[thread].waits = true;
    }
    Ok((Machine::new(codes, Vec::new()), names))
}

//! Litmus tests: small programs in a line of text each, with the number of their execution graphs.
//!
//! ```text
//! # name | graphs under RC11 | graphs under SC | program
//! SB+rlx|4|3|W x rlx 1; R y rlx || W y rlx 1; R x rlx
//! ```
//!
//! `docs/litmus.md` has the grammar. A reader never panics: what it does not understand is a [`Diagnostic`].

mod diagnostic;
mod statement;
mod words;

pub use diagnostic::Diagnostic;

use crate::clock::MAX_THREADS;
use crate::machine::{Code, Machine};
use statement::{Names, read_statement};
use words::Text;

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Litmus {
    /// Its name.
    pub name: String,
    /// How many graphs it has under RC11, those in which a thread is blocked not counted.
    pub rc11: u64,
    /// The same under sequential consistency.
    pub sc: u64,
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
    program(Text::new(text, 1, 1))
}

fn read_line(line: &str, number: usize) -> Result<Litmus, Diagnostic> {
    let whole = Text::new(line, number, 1);
    let fields = whole.split_at_most(4, "|");
    let [name, rc11, sc, text] = fields.as_slice() else {
        let message = format!("{} of 4 fields", fields.len());
        return Err(whole.end().error(&message, "name|RC11|SC|program"));
    };
    let text = text.before(" #").before("\t#").trim();
    if name.trim().is_empty() {
        return Err(name.error("the test has no name", "a name before the first |"));
    }
    Ok(Litmus {
        name: name.trim().as_str().to_string(),
        rc11: count(*rc11)?,
        sc: count(*sc)?,
        program: program(text)?,
        text: text.as_str().to_string(),
        line: number,
    })
}

/// The number of graphs that a test expects.
fn count(field: Text<'_>) -> Result<u64, Diagnostic> {
    let field = field.trim();
    field.as_str().parse().map_err(|_| {
        field.error(&format!("{:?} is not a number of graphs", field.as_str()), "a whole number, 0 or more")
    })
}

fn program(text: Text<'_>) -> Result<Machine, Diagnostic> {
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
    Ok(Machine::new(codes, Vec::new()))
}

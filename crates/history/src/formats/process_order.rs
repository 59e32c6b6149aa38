//! A process does one thing at a time: the check that the rows of a history agree with that.
//!
//! Rows come in order of return, so the last row of a process is the one that returned last, and a row may
//! not be called before that. It may be called at that very stamp: a process's operations follow one another.

use super::problem::TWO_OPEN;
use crate::diagnostic::Diagnostic;
use crate::operation::{Operation, ProcessId};
use crate::signature::Signature;
use crate::symbols::{Symbols, show_process};

/// Checks, for rows in order of return (ties in order of call), that no process has two operations open at
/// once.
#[derive(Clone, Debug, Default)]
pub struct ProcessOrder {
    /// The last row of each process.
    last: Vec<Option<Operation>>,
}

impl ProcessOrder {
    /// Takes the next row.
    ///
    /// # Errors
    /// If the row overlaps the one before it in its process; the message names both.
    #[inline]
    pub fn check(
        &mut self,
        row: &Operation,
        symbols: &Symbols,
        signature: &Signature,
    ) -> Result<(), Diagnostic> {
        let process = row.process().0 as usize;
        if process >= self.last.len() {
            self.last.resize(process + 1, None);
        }
        match &self.last[process] {
            Some(last) if row.call < last.ret => Err(overlap(last, row, symbols, signature)),
            _ => {
                self.last[process] = Some(*row);
                Ok(())
            }
        }
    }

    /// The last row of a process that was accepted.
    pub fn previous(&self, process: ProcessId) -> Option<Operation> {
        self.last.get(process.0 as usize).copied().flatten()
    }
}

#[cold]
fn overlap(a: &Operation, b: &Operation, symbols: &Symbols, signature: &Signature) -> Diagnostic {
    let (first, second) = if a.call <= b.call { (a, b) } else { (b, a) };
    if a == b {
        return Diagnostic::new(
            TWO_OPEN,
            format!(
                "process {} has the same operation twice, at the same time: {}",
                show_process(&symbols.process_name(a.process())),
                show(first, symbols, signature),
            ),
            "each operation once; a log that was written or joined twice has each line twice: sort -u FILE",
        );
    }
    Diagnostic::new(
        TWO_OPEN,
        format!(
            "process {} has two operations open at once: {} and {}",
            show_process(&symbols.process_name(a.process())),
            show(first, symbols, signature),
            show(second, symbols, signature),
        ),
        "a process calls its next operation after the last one returned; give concurrent clients, and those that \
         go on after a timeout, a process number of their own",
    )
}

/// An operation in a message: `enqueue(5) [120,170]`.
pub(super) fn show(row: &Operation, symbols: &Symbols, signature: &Signature) -> String {
    let name = signature.operations.get(usize::from(row.op().0)).map_or("?", |decl| decl.name);
    let arg = if row.arg.is_null() { String::new() } else { symbols.value(row.arg).to_string() };
    let result = if row.is_pending() || row.result.is_null() {
        String::new()
    } else {
        format!(" -> {}", symbols.value(row.result))
    };
    let ret = if row.is_pending() { "..".to_owned() } else { row.ret.to_string() };
    format!("{name}({arg}){result} [{},{ret}]", row.call)
}

//! What a litmus test expects: how many graphs there are, or whether an outcome is possible.

use super::statement::Names;
use super::words::Text;
use super::{Diagnostic, statement};
use crate::event::{Location, Value};
use crate::graph::Graph;
use crate::machine::{Machine, Register};

/// What a litmus test expects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    /// So many complete graphs.
    Graphs {
        /// Under RC11.
        rc11: u64,
        /// Under sequential consistency.
        sc: u64,
    },
    /// Some complete graph has the outcome under RC11, or none has.
    Outcome {
        /// May it be?
        allowed: bool,
        /// The outcome.
        outcome: Outcome,
    },
}

/// What threads and locations hold at the end: all of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome(Vec<(Place, Value)>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Register(usize, Register),
    Location(Location),
}

impl Outcome {
    /// Does a complete graph of the program end like this?
    #[must_use]
    pub fn holds(&self, program: &Machine, graph: &Graph) -> bool {
        let registers = program.final_registers(graph);
        self.0.iter().all(|&(place, value)| match place {
            Place::Register(thread, register) => {
                registers.get(thread).is_some_and(|registers| registers[register.index()] == value)
            }
            Place::Location(location) => graph.last_value(location).unwrap_or(0) == value,
        })
    }
}

const TERM: &str = "terms such as 1:a==1 or x==2, with & between them";

/// Reads the second and third field of a line. The program was read before: its locations are known.
pub(super) fn read(first: Text<'_>, second: Text<'_>, names: &Names<'_>) -> Result<Expected, Diagnostic> {
    let word = first.trim();
    match word.as_str() {
        "allowed" | "forbidden" => {
            let terms: Result<Vec<_>, _> =
                second.split("&").into_iter().map(|text| term(text, names)).collect();
            Ok(Expected::Outcome { allowed: word.as_str() == "allowed", outcome: Outcome(terms?) })
        }
        _ => Ok(Expected::Graphs { rc11: count(first)?, sc: count(second)? }),
    }
}

/// The number of graphs that a test expects.
fn count(field: Text<'_>) -> Result<u64, Diagnostic> {
    let field = field.trim();
    field.as_str().parse().map_err(|_| {
        let message = format!("{:?} is not a number of graphs", field.as_str());
        field.error(&message, "a whole number, 0 or more; or allowed or forbidden, and an outcome")
    })
}

fn term(text: Text<'_>, names: &Names<'_>) -> Result<(Place, Value), Diagnostic> {
    let text = text.trim();
    let wrong = || text.error(&format!("{:?} is not part of an outcome", text.as_str()), TERM);
    let sides = text.split_at_most(2, "==");
    let [left, right] = sides.as_slice() else { return Err(wrong()) };
    let value = right.trim().as_str().parse().map_err(|_| wrong())?;
    let parts = left.trim().split_at_most(2, ":");
    let place = match parts.as_slice() {
        [thread, register] => {
            let thread = thread.trim().as_str().parse().ok().filter(|&thread| names.has_thread(thread));
            let (register, rest) = statement::register(register.trim()).ok_or_else(wrong)?;
            if !rest.is_empty() {
                return Err(wrong());
            }
            Place::Register(thread.ok_or_else(wrong)?, register)
        }
        _ => Place::Location(names.known(left.trim().as_str()).ok_or_else(|| {
            text.error(&format!("{:?} is not a location of the program", left.trim().as_str()), TERM)
        })?),
    };
    Ok((place, value))
}

//! Jepsen's log lines, as in the etcd histories that come with porcupine: `INFO  jepsen.util - 0`, `:invoke`, `:cas` and
//! `[1 2]` with tabs between them, or, where something has expanded the tabs, blanks, which are process, type, operation and value.
//!
//! Here `:fail` of a compare-and-set means that the comparison failed: it took effect and answered `false`.
//! Of any other operation it means that it did not happen, as everywhere. `:info` is a timeout. Log lines
//! about other things are passed over: those of other loggers than `jepsen.util`, and those that have neither
//! the number of a process nor a type where an event has them. An event of another logger is refused: it may
//! be a copy, or the only one there is.

use std::io::{self, Write};

use super::detect;
use super::edn::{Parser, show};
use super::event_order::{self, Side};
use super::pairing::{Event, EventForm, Moment};
use super::schema::Schema;
use super::source::Source;
use super::{Format, Guard, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::{KeyId, OpCode};
use crate::signature::{OpDecl, Shape, Signature};
use crate::symbols::ValueId;
use crate::value::Value;

const PREFIX: &str = "INFO  jepsen.util - ";
/// Who logs events.
const LOGGER: &str = "jepsen.util";

/// The form.
pub(super) struct EtcdLog;

impl EventForm for EtcdLog {
    fn format(&self) -> Format {
        Format::EtcdLog
    }

    fn next(&mut self, source: &mut Source, schema: &Schema) -> Result<Option<Event>, Diagnostic> {
        while let Some((text, length)) = source.line()? {
            let line = &source.bytes()[text];
            let found = parse(line, schema, &source.guard).and_then(|event| match event {
                None if is_of_another_format(line, schema) => Err(cut_off()),
                event => Ok(event),
            });
            let event = found.map_err(|problem| {
                source.place(detect::changed(Format::EtcdLog, line, schema, problem), 0)
            })?;
            source.consume(length);
            source.lines += 1;
            if let Some(mut event) = event {
                event.line = source.lines;
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn repeated_is_true(&self, decl: &OpDecl) -> bool {
        is_cas(decl)
    }

    fn fail_is_false(&self, decl: &OpDecl) -> bool {
        is_cas(decl)
    }
}

/// Is it the operation whose `ok` Jepsen's logs write with what was asked for, and which such a log lets fail
/// when it answers `false`?
pub(super) fn is_cas(decl: &OpDecl) -> bool {
    decl.name == "cas" && decl.result == Shape::Bool
}

fn parse(line: &[u8], schema: &Schema, guard: &Guard) -> Result<Option<Event>, Diagnostic> {
    let line = std::str::from_utf8(line).map_err(|error| {
        let column = error.valid_up_to() as u32 + 1;
        problem::not_utf8().at(0, column)
    })?;
    if line.trim().is_empty() {
        return Ok(None);
    }
    let (logger, message) = parted(line);
    let fields = fields(message);
    let process = fields[0];
    let is_client = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    let is_event = fields.get(1).is_some_and(|field| is_moment(field.trim()));
    if let Some(logger) = logger.filter(|logger| *logger != LOGGER) {
        if !(is_client && is_event) {
            return Ok(None);
        }
        return Err(Diagnostic::new(
            problem::SYNTAX,
            format!("an event that `{logger}` logs; the events of a history are those of {LOGGER}"),
            format!("the log with the lines of {LOGGER} alone"),
        ));
    }
    // What a line about something else could not be is an event that is cut off.
    let is_cut = PREFIX.starts_with(line.trim_end());
    if !is_client && !is_event && !is_cut {
        return Ok(None);
    }
    let [process, moment, op, value, ..] = fields[..] else {
        if process == ":nemesis" {
            return Ok(None);
        }
        return Err(cut_off());
    };
    let keyword = |text: &'_ str| text.trim().strip_prefix(':').unwrap_or(text.trim()).to_owned();
    let moment = Moment::find(&keyword(moment))?;
    if keyword(process) == "nemesis" {
        let (op, value) = (OpCode(0), Value::Null);
        return Ok(Some(Event { process: None, moment, op, value, key: None, line: 0 }));
    }
    let process = match process.parse() {
        Ok(n) if !is_client || process.starts_with('0') && process.len() > 1 => {
            let found = format!("`{n}` written as `{process}`");
            return Err(problem::field_type(
                "process",
                &found,
                "a number from 0 on, without a zero before it",
            ));
        }
        Ok(n) => Value::Int(n),
        Err(_) if process.bytes().all(|b| b.is_ascii_digit()) => return Err(problem::too_large(process)),
        Err(_) => {
            return Err(problem::field_type("process", &format!("`{process}`"), "a number, or :nemesis"));
        }
    };
    let op = schema.operation(&keyword(op))?;
    let value = match moment {
        Moment::Invoke | Moment::Ok => {
            let mut parser = Parser::new(value.as_bytes(), guard);
            let data = parser.data()?;
            if parser.peek_kept()?.is_some() {
                let message = "something follows after the value";
                return Err(Diagnostic::new(problem::SYNTAX, message, "one value, such as nil, 3 or [1 2]"));
            }
            data.value(guard)?
        }
        Moment::Fail | Moment::Info => Value::Null,
    };
    Ok(Some(Event { process: Some(process), moment, op, value, key: None, line: 0 }))
}

fn cut_off() -> Diagnostic {
    problem::truncated("process, type, operation and value with tabs or blanks between them")
}

/// Is a line that is no event a record of another format, rather than a line about something else?
fn is_of_another_format(line: &[u8], schema: &Schema) -> bool {
    detect::changed(Format::EtcdLog, line, schema, cut_off()).code == problem::FORMAT_CHANGE
}

/// Who logged a line, and what. A line of the message alone has nobody before it, and may have a dash in its
/// value.
fn parted(line: &str) -> (Option<&str>, &str) {
    match line.split_once(" - ") {
        Some((before, message)) if !before.split_whitespace().any(is_moment) => {
            (before.split_whitespace().last(), message)
        }
        _ => (None, line),
    }
}

fn is_moment(word: &str) -> bool {
    matches!(word, ":invoke" | ":ok" | ":fail" | ":info")
}

/// The first four fields of a message. Only the last of them, the value, may have blanks inside.
fn fields(message: &str) -> Vec<&str> {
    if message.contains('\t') {
        return message.split('\t').map(str::trim).collect();
    }
    let mut fields = Vec::new();
    let mut rest = message.trim();
    while fields.len() < 3
        && let Some((field, after)) = rest.split_once(char::is_whitespace)
    {
        fields.push(field);
        rest = after.trim_start();
    }
    fields.push(rest);
    fields
}

/// Writes a history as log lines.
pub(super) fn write(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    if history.operations.iter().any(|row| row.key != KeyId::NONE) {
        let message = "the etcd log has no room for keys";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let symbols = &history.symbols;
    let numbers = event_order::process_numbers(history);
    for event in event_order::events(history)? {
        let row = &history.operations[event.row];
        let decl = signature.decl(row.op());
        let (moment, value) = match event.side {
            Side::Call => ("invoke", row.arg),
            Side::Return if is_cas(decl) && row.result == ValueId::FALSE => ("fail", row.arg),
            Side::Return if is_cas(decl) || decl.result == Shape::Unit => ("ok", row.arg),
            Side::Return => ("ok", row.result),
        };
        let process = numbers[row.process().0 as usize];
        writeln!(out, "{PREFIX}{process}\t:{moment}\t:{}\t{}", decl.name, show(&symbols.value(value)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_as_good_as_tabs() {
        let tabs = fields("12\t:invoke\t:cas\t[1 2]");
        assert_eq!(tabs, ["12", ":invoke", ":cas", "[1 2]"]);
        assert_eq!(fields("12  :invoke :cas    [1 2]"), tabs);
        assert_eq!(fields(" 12  :invoke :cas    [1 2] "), tabs);
        assert_eq!(fields("12  :invoke :read   nil"), ["12", ":invoke", ":read", "nil"]);
        assert_eq!(fields("12  :invoke"), ["12", ":invoke"]);
        assert_eq!(fields(""), [""]);
    }
}

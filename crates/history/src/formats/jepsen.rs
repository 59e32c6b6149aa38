//! Jepsen's histories in EDN, and porcupine's key-value histories, which look the same.
//!
//! Maps with `:process :type :f :value` and possibly `:key`, in a vector, in a list, or one after another. The order in
//! the file is the order in time; `:time` and `:index` say nothing more. Events of the nemesis, and whatever else has
//! no number for a process, are passed over.

use std::io::{self, Write};

use super::edn::{Edn, Parser, show};
use super::event_order::{self, Side};
use super::pairing::{Event, EventForm, Moment};
use super::schema::Schema;
use super::source::Source;
use super::{Format, ReadOptions, detect, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::{KeyId, OpCode};
use crate::signature::{Shape, Signature};
use crate::value::Value;

/// The form.
pub(super) struct Jepsen {
    format: Format,
    independent: bool,
    place: Place,
}

/// Where in the file we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Before,
    /// Maps follow one another to the end of the file.
    Bare,
    /// Inside a vector or a list that ends with this byte.
    Inside(u8),
    After,
}

impl Jepsen {
    /// Jepsen's own.
    pub fn edn(options: &ReadOptions) -> Jepsen {
        Jepsen { format: Format::JepsenEdn, independent: options.independent, place: Place::Before }
    }

    /// Porcupine's.
    pub fn kv_log() -> Jepsen {
        Jepsen { format: Format::KvLog, independent: false, place: Place::Before }
    }

    /// Goes to the next map; `false` at the end.
    fn find_map(&mut self, source: &mut Source) -> Result<bool, Diagnostic> {
        loop {
            let mut parser = Parser::new(source.bytes());
            let (next, skipped) = (parser.peek(), parser.at());
            if next.is_none() && source.more()? {
                continue;
            }
            source.lines += memchr::memchr_iter(b'\n', &source.bytes()[..skipped]).count() as u64;
            source.consume(skipped);
            match (self.place, next) {
                (Place::Inside(close), None) => {
                    let problem = problem::truncated(&format!("`{}`", close as char));
                    return Err(source.place(problem, 0));
                }
                (_, None) => return Ok(false),
                (Place::Before, Some(open @ (b'[' | b'('))) => {
                    self.place = Place::Inside(if open == b'[' { b']' } else { b')' });
                    source.consume(1);
                }
                (Place::Before, Some(_)) => self.place = Place::Bare,
                (Place::Inside(close), Some(byte)) if byte == close => {
                    self.place = Place::After;
                    source.consume(1);
                }
                (Place::After, Some(_)) => {
                    let message = "something follows after the end of the history";
                    let problem = Diagnostic::new(problem::SYNTAX, message, "one vector or list of maps");
                    return Err(source.place(problem, 0));
                }
                (Place::Bare | Place::Inside(_), Some(_)) => return Ok(true),
            }
        }
    }

    fn event(&self, data: &Edn, schema: &Schema) -> Result<Event, Diagnostic> {
        let Edn::Map(fields) = data else {
            return Err(Diagnostic::new(
                problem::SYNTAX,
                "an event is not a map",
                "{:process 0, :type :invoke, :f :read, :value nil}",
            ));
        };
        let field = |name: &str| {
            let is_it = |key: &Edn| matches!(key, Edn::Keyword(keyword) if keyword == name);
            fields.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
        };
        let process = field("process").ok_or_else(|| problem::missing(":process", "who called it"))?;
        let moment =
            field("type").ok_or_else(|| problem::missing(":type", ":invoke, :ok, :fail or :info"))?;
        let moment = Moment::find(moment.name().unwrap_or("something else"))?;
        let mut event =
            Event { process: None, moment, op: OpCode(0), value: Value::Null, key: Value::Null, line: 0 };
        match process {
            Edn::Int(n) => event.process = Some(Value::Int(*n)),
            Edn::Big(text) => return Err(problem::too_large(text)),
            _ => return Ok(event),
        }
        let name = field("f").or_else(|| field("op"));
        let name = name.ok_or_else(|| problem::missing(":f", "the name of the operation"))?;
        event.op = match name.name() {
            Some(name) => schema.operation(name)?,
            None => return Err(problem::field_type(":f", "no name", "the name of an operation")),
        };
        // What an operation that did not happen, or may not have, is said to have given back is not looked at.
        if matches!(moment, Moment::Invoke | Moment::Ok) {
            event.value = field("value").map_or(Ok(Value::Null), Edn::value)?;
        }
        event.key = field(&schema.key_field).map_or(Ok(Value::Null), Edn::value)?;
        if self.independent && matches!(moment, Moment::Invoke | Moment::Ok) {
            let Some((key, value)) = event.value.as_pair() else {
                return Err(problem::field_type(":value", event.value.kind_name(), "a pair [key value]"));
            };
            (event.key, event.value) = (key.clone(), value.clone());
        }
        Ok(event)
    }
}

impl EventForm for Jepsen {
    fn format(&self) -> Format {
        self.format
    }

    fn next(&mut self, source: &mut Source, schema: &Schema) -> Result<Option<Event>, Diagnostic> {
        if !self.find_map(source)? {
            return Ok(None);
        }
        loop {
            let mut parser = Parser::new(source.bytes());
            let event =
                parser.data().and_then(|data| self.event(&data, schema).map_err(|problem| problem.at(0, 1)));
            match event {
                Ok(mut event) => {
                    let used = parser.at();
                    event.line = source.lines + 1;
                    source.lines += memchr::memchr_iter(b'\n', &source.bytes()[..used]).count() as u64;
                    source.consume(used);
                    return Ok(Some(event));
                }
                // The map may go on in what was not read yet.
                Err(problem) if problem.code == problem::TRUNCATED && source.more()? => {}
                Err(problem) => {
                    let problem = detect::changed(self.format, source.bytes(), schema, problem);
                    let lines_on = problem.line;
                    return Err(source.place(problem, lines_on));
                }
            }
        }
    }

    fn implied_initial(&self) -> Option<Value> {
        (self.format == Format::KvLog).then(|| Value::text(""))
    }
}

/// Writes a history as a vector of maps.
pub(super) fn write_edn(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"[")?;
    write_maps(history, signature, "\n ", out)?;
    out.write_all(b"]\n")
}

/// Writes a history as porcupine's kv logs are.
pub(super) fn write_kv_log(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    if let Some(row) = history.operations.iter().find(|row| row.key == KeyId::NONE) {
        let name = signature.decl(row.op()).name;
        let message = format!("the kv log needs a key for every operation, and `{name}` has none");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    write_maps(history, signature, "\n", out)?;
    out.write_all(b"\n")
}

fn write_maps(
    history: &History,
    signature: &Signature,
    between: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let symbols = &history.symbols;
    let numbers = event_order::process_numbers(history);
    for (index, event) in event_order::events(history)?.into_iter().enumerate() {
        if index > 0 {
            out.write_all(between.as_bytes())?;
        }
        let row = &history.operations[event.row];
        let decl = signature.decl(row.op());
        let (moment, value) = match event.side {
            Side::Call => ("invoke", row.arg),
            Side::Return if decl.result == Shape::Unit => ("ok", row.arg),
            Side::Return => ("ok", row.result),
        };
        let process = numbers[row.process().0 as usize];
        write!(out, "{{:process {process}, :type :{moment}, :f :{}", decl.name)?;
        if row.key != KeyId::NONE {
            write!(out, ", :key {}", show(&symbols.key_name(row.key)))?;
        }
        write!(out, ", :value {}}}", show(&symbols.value(value)))?;
    }
    Ok(())
}

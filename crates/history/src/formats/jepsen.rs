//! Jepsen's histories in EDN, and porcupine's key-value histories, which look the same.
//!
//! Maps with `:process :type :f :value` and possibly `:key`, in a vector, in a list, or one after another.
//! The order in the file is the order in time; `:time` and `:index` say nothing more. Events of the process
//! `:nemesis` are passed over; any other process has a number, or is text.

use std::io::{self, Write};

use super::edn::{Edn, Parser, show};
use super::etcd_log::is_cas;
use super::event_order::{self, Side};
use super::pairing::{Event, EventForm, Moment};
use super::schema::Schema;
use super::source::Source;
use super::{Format, Guard, detect, misspelt, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::{KeyId, OpCode};
use crate::signature::{OpDecl, Shape, Signature};
use crate::value::Value;

/// The form.
pub(super) struct Jepsen {
    format: Format,
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
    pub fn edn() -> Jepsen {
        Jepsen { format: Format::JepsenEdn, place: Place::Before }
    }

    /// Porcupine's.
    pub fn kv_log() -> Jepsen {
        Jepsen { format: Format::KvLog, place: Place::Before }
    }

    /// Goes to the next map; `false` at the end.
    fn find_map(&mut self, source: &mut Source) -> Result<bool, Diagnostic> {
        loop {
            let mut parser = Parser::new(source.bytes(), &source.guard);
            let (next, mut skipped) = match parser.peek_kept() {
                Ok(next) => (next, parser.at()),
                // What is taken out may go on in what was not read yet.
                Err(problem) if problem.code == problem::TRUNCATED && !source.is_finished() => {
                    source.much_more()?;
                    continue;
                }
                Err(problem) => {
                    let lines_on = problem.line;
                    return Err(source.place(problem, lines_on));
                }
            };
            // A `#` at the end may be the first half of a `#_`.
            if next == Some(b'#') && skipped + 1 == source.bytes().len() && source.more()? {
                continue;
            }
            if next.is_none() && !source.is_finished() {
                // A comment may go on in what was not read yet; the lines before it are over.
                skipped = memchr::memrchr(b'\n', source.bytes()).map_or(0, |at| at + 1);
            }
            source.lines += memchr::memchr_iter(b'\n', &source.bytes()[..skipped]).count() as u64;
            source.consume(skipped);
            if next.is_none() && source.more()? {
                continue;
            }
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

    fn event(&self, data: &Edn, schema: &Schema, guard: &Guard) -> Result<Event, Diagnostic> {
        // Some write the kind of record before it: `#jepsen.history.Op{…}`.
        let data = if let Edn::Tagged(_, inner) = data { inner } else { data };
        let Edn::Map(fields) = data else {
            return Err(Diagnostic::new(
                problem::SYNTAX,
                "an event is not a map",
                "{:process 0, :type :invoke, :f :read, :value nil}",
            ));
        };
        let fields = Named::of(fields, &schema.key_field)?;
        let process = fields.process.ok_or_else(|| problem::missing(":process", "who called it"))?;
        let moment =
            fields.moment.ok_or_else(|| problem::missing(":type", ":invoke, :ok, :fail or :info"))?;
        let moment = Moment::find(moment.name().unwrap_or("something else"))?;
        let mut event =
            Event { process: None, moment, op: OpCode(0), value: Value::Null, key: None, line: 0 };
        event.process = match process {
            Edn::Int(n) => Some(Value::Int(*n)),
            Edn::Keyword(name) if name == "nemesis" => return Ok(event),
            Edn::Text(name) => Some(Value::text(name)),
            Edn::Big(text) => return Err(problem::too_large(text)),
            other => {
                let expected = "an integer, text or :nemesis";
                return Err(problem::field_type(":process", other.kind_name(), expected));
            }
        };
        let name =
            fields.f.or(fields.op).ok_or_else(|| problem::missing(":f", "the name of the operation"))?;
        event.op = match name.name() {
            Some(name) => schema.operation(name)?,
            None => return Err(problem::field_type(":f", "no name", "the name of an operation")),
        };
        // What an operation that did not happen, or may not have, is said to have given back is not looked
        // at.
        if matches!(moment, Moment::Invoke | Moment::Ok) {
            event.value = fields.value.map_or(Ok(Value::Null), |value| value.value(guard))?;
        }
        let key = fields.key.map(|key| key.value(guard)).transpose()?;
        event.key = key.filter(|key| !key.is_null());
        Ok(event)
    }
}

/// The fields of an event that are looked at.
#[derive(Default)]
struct Named<'a> {
    process: Option<&'a Edn>,
    moment: Option<&'a Edn>,
    f: Option<&'a Edn>,
    /// What some write for it.
    op: Option<&'a Edn>,
    value: Option<&'a Edn>,
    key: Option<&'a Edn>,
}

impl<'a> Named<'a> {
    /// Finds them, each once.
    fn of(fields: &'a [(Edn, Edn)], key_field: &str) -> Result<Named<'a>, Diagnostic> {
        let mut named = Named::default();
        let mut others = Vec::new();
        for (name, value) in fields {
            let Edn::Keyword(name) = name else {
                others.extend(name.name().map(|plain| (plain, show_name(name))));
                continue;
            };
            let place = match name.as_str() {
                "process" => &mut named.process,
                "type" => &mut named.moment,
                "f" => &mut named.f,
                "op" => &mut named.op,
                "value" => &mut named.value,
                name if name == key_field => &mut named.key,
                _ => {
                    others.push((name, format!(":{name}")));
                    continue;
                }
            };
            if place.replace(value).is_some() {
                return Err(problem::twice(&format!(":{name}")));
            }
        }
        match named.misspelt(&others, key_field) {
            Some(problem) => Err(problem),
            None => Ok(named),
        }
    }

    /// Is one of the other fields, as they are named and written, one that is missing?
    fn misspelt(&self, others: &[(&str, String)], key_field: &str) -> Option<Diagnostic> {
        let there = [
            ("process", self.process.is_some()),
            ("type", self.moment.is_some()),
            ("f", self.f.or(self.op).is_some()),
            ("value", self.value.is_some()),
            (key_field, self.key.is_some()),
        ];
        let missing = || there.iter().filter(|(_, there)| !there).map(|(name, _)| *name);
        others.iter().find_map(|(name, written)| misspelt::check_as(name, written, ":", missing()))
    }
}

/// A name that is no keyword, as it is written.
fn show_name(name: &Edn) -> String {
    match name {
        Edn::Text(text) => show(&Value::text(text)),
        other => other.name().unwrap_or_default().to_owned(),
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
            let guard = &source.guard;
            let mut parser = Parser::new(source.bytes(), guard);
            let event = parser
                .data()
                .and_then(|data| self.event(&data, schema, guard).map_err(|problem| problem.at(0, 1)));
            match event {
                Ok(mut event) => {
                    let used = parser.at();
                    event.line = source.lines + 1;
                    source.lines += memchr::memchr_iter(b'\n', &source.bytes()[..used]).count() as u64;
                    source.consume(used);
                    return Ok(Some(event));
                }
                // The map may go on in what was not read yet.
                Err(problem) if problem.code == problem::TRUNCATED && source.much_more()? => {}
                Err(problem) => {
                    let problem = detect::changed(self.format, source.bytes(), schema, problem);
                    let lines_on = problem.line;
                    return Err(source.place(problem, lines_on));
                }
            }
        }
    }

    fn repeated_is_true(&self, decl: &OpDecl) -> bool {
        is_cas(decl)
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

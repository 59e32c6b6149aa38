//! JSON lines, one operation a line: the contract format.
//!
//! Logs repeat themselves: line after line has the same fields in the same order with the same spacing. The
//! first line of a kind is read by [`Json`], which accepts anything; it leaves a template behind (the bytes
//! between the values), and the lines after it are read by comparing with the template and picking the values
//! out (`json_lines/template.rs`). A line that does not fit, or looks odd in any way, goes to the slow path,
//! which alone writes diagnostics.

mod digits;
mod op_names;
mod template;

use std::io::{self, Write};
use std::ops::Range;

use super::guard::Guard;
use super::json::Json;
use super::schema::{Field, Fields, Schema};
use super::source::Source;
use super::{Format, Reader, detect, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::{KeyId, Operation};
use crate::signature::Signature;
use crate::symbols::Symbols;

use op_names::OpNames;
use template::Template;

/// With less than this in the buffer, more is read before a template is tried.
const MARGIN: usize = 1024;
/// A file may mix a few kinds of lines, such as one without `arg` for operations that take none.
const TEMPLATES: usize = 4;

/// Reads JSON lines.
pub(super) struct JsonLines {
    source: Source,
    schema: Schema,
    names: OpNames,
    /// The templates learned; the one that fitted last is tried first.
    templates: Vec<Template>,
    /// Which template fitted last, and which to replace next.
    current: usize,
    oldest: usize,
}

impl JsonLines {
    pub fn new(source: Source, schema: Schema) -> JsonLines {
        JsonLines { source, schema, names: OpNames::new(), templates: Vec::new(), current: 0, oldest: 0 }
    }

    /// Reads lines as long as they fit a template, up to `full` rows.
    fn fast(&mut self, symbols: &mut Symbols, rows: &mut Vec<Operation>, full: usize) {
        let bytes = self.source.bytes();
        let mut at = 0;
        let before = rows.len();
        while rows.len() < full {
            let line = &bytes[at..];
            let Some(current) = self.templates.get(self.current) else { break };
            let read = match current.read(line, &self.names, symbols) {
                None => another(&self.templates, &mut self.current, line, &self.names, symbols),
                read => read,
            };
            let Some((row, used)) = read else { break };
            rows.push(row);
            at += used;
        }
        self.source.lines += (rows.len() - before) as u64;
        self.source.consume(at);
    }

    /// Reads one line, whatever it is; `false` at the end of the input.
    fn slow(&mut self, symbols: &mut Symbols, rows: &mut Vec<Operation>) -> Result<bool, Diagnostic> {
        let Some((text, length)) = self.source.line()? else { return Ok(false) };
        let line = &self.source.bytes()[text];
        if !line.trim_ascii().is_empty() {
            let mut spans = Vec::new();
            let row = parse(line, &self.schema, &self.source.guard, &mut spans)
                .and_then(|fields| self.schema.row(&fields, symbols))
                .map_err(|problem| {
                    let problem = detect::changed(Format::JsonLines, line, &self.schema, problem);
                    self.source.place(problem::not_a_line(line, problem), 0)
                })?;
            if let Some(row) = row {
                rows.push(row);
                let whole = &self.source.bytes()[..length];
                if let Some((_, name)) = spans.iter().find(|(field, _)| *field == Field::Op) {
                    let decl = self.schema.signature.decl(row.op());
                    self.names.learn(&whole[name.start + 1..name.end - 1], row.op(), decl);
                }
                if let Some(template) = Template::of(whole, &spans) {
                    self.learn(template);
                }
            }
        }
        self.source.consume(length);
        self.source.lines += 1;
        Ok(true)
    }

    fn learn(&mut self, template: Template) {
        if self.templates.contains(&template) {
            return;
        }
        if self.templates.len() < TEMPLATES {
            self.current = self.templates.len();
            self.templates.push(template);
        } else {
            self.current = self.oldest;
            self.templates[self.oldest] = template;
            self.oldest = (self.oldest + 1) % TEMPLATES;
        }
    }
}

/// The templates after the current one, in turn.
#[cold]
fn another(
    templates: &[Template],
    current: &mut usize,
    line: &[u8],
    names: &OpNames,
    symbols: &mut Symbols,
) -> Option<(Operation, usize)> {
    let (count, first) = (templates.len(), *current);
    let mut others = (1..count).map(|step| (first + step) % count);
    others.find_map(|index| {
        let read = templates[index].read(line, names, symbols)?;
        *current = index;
        Some(read)
    })
}

impl Reader for JsonLines {
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        let full = rows.len() + max.max(1);
        rows.reserve(max.min(1 << 16));
        while rows.len() < full {
            if self.source.bytes().len() < MARGIN && !self.source.is_finished() {
                self.source.more()?;
            }
            self.fast(symbols, rows, full);
            if rows.len() < full && !self.slow(symbols, rows)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set_guard(&mut self, guard: Guard) {
        self.source.guard = guard;
    }

    fn format(&self) -> Format {
        Format::JsonLines
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.source.bytes_total()
    }

    fn line(&self) -> u64 {
        self.source.lines
    }
}

/// The fields of one line, and where their values are.
fn parse(
    line: &[u8],
    schema: &Schema,
    guard: &Guard,
    spans: &mut Vec<(Field, Range<usize>)>,
) -> Result<Fields, Diagnostic> {
    let mut fields = Fields::default();
    let mut is_event = false;
    let mut others: Vec<(String, usize)> = Vec::new();
    let mut json = Json::guarded(line, guard);
    json.object(|json, name| {
        json.peek();
        let start = json.at();
        let field = schema.field(name);
        is_event |= name == "type";
        if field == Field::Other {
            others.push((name.to_owned(), start));
        }
        if field != Field::Other && spans.iter().any(|(seen, _)| *seen == field) {
            return Err(json.at_column(problem::twice(name), start));
        }
        take(json, field, schema, &mut fields).map_err(|problem| match problem.column {
            0 => json.at_column(problem, start),
            _ => problem,
        })?;
        spans.push((field, start..json.at()));
        Ok(())
    })?;
    json.end()?;
    if is_event && fields.call.is_none() {
        return Err(problem::format_change(Format::JsonLines, Format::JsonEvents));
    }
    for (name, start) in &others {
        if let Some(problem) = schema.misspelt(name, |field| spans.iter().any(|(seen, _)| *seen == field)) {
            return Err(json.at_column(problem, *start));
        }
    }
    Ok(fields)
}

/// Takes the value of one field.
fn take(json: &mut Json<'_>, field: Field, schema: &Schema, fields: &mut Fields) -> Result<(), Diagnostic> {
    if field == Field::Other {
        return json.skip();
    }
    let value = json.value().map_err(|problem| field.blame(problem))?;
    schema.set(fields, field, value)
}

/// Writes a history as JSON lines.
pub(super) fn write(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    history.operations.iter().try_for_each(|row| write_row(&history.symbols, signature, row, out))
}

/// Writes one operation as a JSON line.
pub fn write_row(
    symbols: &Symbols,
    signature: &Signature,
    row: &Operation,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "{{\"process\":{},\"op\":\"{}\",\"arg\":{},\"ret\":{},\"call\":{},\"return\":",
        symbols.process_name(row.process()),
        signature.decl(row.op()).name,
        symbols.value(row.arg),
        symbols.value(row.result),
        row.call
    )?;
    if row.is_pending() {
        out.write_all(b"null")?;
    } else {
        write!(out, "{}", row.ret)?;
    }
    if row.key != KeyId::NONE {
        write!(out, ",\"key\":{}", symbols.key_name(row.key))?;
    }
    out.write_all(b"}\n")
}

//! Comma-separated values, after RFC 4180: a header, one operation a record, quotes where needed.
//!
//! `arg` and `ret` are JSON where they look like it (`5`, `true`, `null`, `"5"`, `[1,2]`), text otherwise,
//! and null where empty. Blanks are part of a field: ` a` is another text than `a`. So ` 5` would be a text
//! that looks like the number next to it, and is refused. The columns come in any order; those with other
//! names are passed over.

use std::io::{self, Write};
use std::ops::Range;

use super::guard::EVERY;
use super::json::Json;
use super::schema::{Field, Fields, Schema};
use super::source::Source;
use super::{Format, Guard, Reader, detect, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::{KeyId, Operation};
use crate::signature::Signature;
use crate::symbols::Symbols;
use crate::value::Value;

/// Reads CSV.
pub(super) struct Csv {
    source: Source,
    schema: Schema,
    columns: Vec<Field>,
    record: Record,
    line: u64,
}

/// What a header should be.
const HEADER: &str = "process,op,arg,ret,call,return[,key]";

/// The columns with these names, if those that are needed are there, and each once.
pub(super) fn columns<'a>(
    names: impl Iterator<Item = &'a str>,
    schema: &Schema,
) -> Result<Vec<Field>, Diagnostic> {
    let mut columns = Vec::new();
    let mut others = Vec::new();
    for name in names {
        let column = schema.field(name);
        if column == Field::Other {
            others.push(name);
        }
        if column != Field::Other && columns.contains(&column) {
            let message = format!("there are two columns `{name}`");
            return Err(Diagnostic::new(problem::FIELD_TWICE, message, "each column once"));
        }
        columns.push(column);
    }
    if let Some(problem) =
        others.iter().find_map(|name| schema.misspelt(name, |field| columns.contains(&field)))
    {
        return Err(problem);
    }
    let needed = [(Field::Process, "process"), (Field::Op, "op"), (Field::Call, "call")];
    if let Some((_, name)) = needed.iter().find(|(column, _)| !columns.contains(column)) {
        return Err(Diagnostic::new(
            problem::MISSING_FIELD,
            format!("the header has no column `{name}`; expected {HEADER}"),
            format!("a first line {HEADER}, with the columns in any order"),
        ));
    }
    // One column that is not known, and one that is missing: the one may be the other, and a whole column
    // would be passed over.
    let usual = [(Field::Arg, "arg"), (Field::Result, "ret"), (Field::Return, "return")];
    if let (Some(name), Some((_, missing))) =
        (others.first(), usual.iter().find(|(column, _)| !columns.contains(column)))
    {
        return Err(Diagnostic::new(
            problem::MISSPELT,
            format!("there is a column `{name}`, and none `{missing}`"),
            format!("`{missing}` if that is meant; if it is not, a column `{missing}` with nothing in it"),
        ));
    }
    Ok(columns)
}

impl Csv {
    pub fn new(source: Source, schema: Schema) -> Csv {
        Csv { source, schema, columns: Vec::new(), record: Record::default(), line: 0 }
    }

    /// Reads the header, the first line with anything in it.
    fn header(&mut self) -> Result<(), Diagnostic> {
        let source = &mut self.source;
        while let Some((used, lines)) = self.record.next(source)? {
            if !self.record.is_blank() {
                let names = self.record.fields().map(str::trim);
                let known =
                    if self.record.goes_on { Err(after_quote()) } else { columns(names, &self.schema) };
                self.columns = known.map_err(|problem| source.place(problem, 0))?;
            }
            source.consume(used);
            source.lines += lines;
            if !self.columns.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn row(&self, symbols: &mut Symbols) -> Result<Option<Operation>, Diagnostic> {
        let count = self.record.ranges.len();
        if count != self.columns.len() {
            let message = format!("the record has {count} fields; expected {}", self.columns.len());
            let help = "as many fields as the header has columns; quotes around text with commas in it";
            return Err(Diagnostic::new(problem::SYNTAX, message, help));
        }
        if self.record.goes_on {
            return Err(after_quote());
        }
        let mut fields = Fields::default();
        for (column, text) in self.columns.iter().zip(self.record.fields()) {
            set(&mut fields, *column, text, &self.schema, &self.source.guard)?;
        }
        self.schema.row(&fields, symbols)
    }
}

/// Puts the text of one field where it belongs.
pub(super) fn set(
    fields: &mut Fields,
    column: Field,
    text: &str,
    schema: &Schema,
    guard: &Guard,
) -> Result<(), Diagnostic> {
    let value = match column {
        Field::Other => return Ok(()),
        // No operation has blanks around its name.
        Field::Op => Value::text(text.trim()),
        _ => value(text, guard).map_err(|problem| column.blame(problem))?,
    };
    schema.set(fields, column, value)
}

/// A field as a value: JSON where it looks like it, text otherwise.
pub(super) fn value(text: &str, guard: &Guard) -> Result<Value, Diagnostic> {
    let Some(first) = text.bytes().next() else { return Ok(Value::Null) };
    let plain = text.trim_ascii();
    if plain.is_empty() {
        return Ok(Value::text(text));
    }
    let mut json = Json::guarded(text.as_bytes(), guard);
    let parsed = json.value().and_then(|value| json.end().map(|()| value));
    match parsed {
        Ok(_) if plain.len() < text.len() => {
            let shown: String = plain.chars().take(40).collect();
            Err(Diagnostic::new(
                problem::SYNTAX,
                format!("there are blanks around `{shown}`"),
                "a field without blanks, or JSON text in quotes if the blanks are part of it: \"\"\" 5\"\"\"",
            ))
        }
        Err(problem)
            if matches!(first, b'"' | b'[' | b'{')
                || matches!(problem.code, problem::NOT_A_VALUE | problem::TOO_LARGE) =>
        {
            Err(Diagnostic { column: 0, ..problem })
        }
        Err(_) => {
            if text.len() >= EVERY {
                guard.ask(text.len())?;
            }
            Ok(Value::text(text))
        }
        Ok(value) => Ok(value),
    }
}

/// A value as a field, so that [`value`] gives it back; no quotes around it yet.
pub(super) fn field(shown: &Value) -> String {
    match shown {
        Value::Null => String::new(),
        Value::Str(text) if value(text, &Guard::default()).is_ok_and(|read| read == *shown) => {
            text.to_string()
        }
        other => other.to_string(),
    }
}

impl Reader for Csv {
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        if self.columns.is_empty() {
            self.header()?;
        }
        let full = rows.len() + max.max(1);
        while rows.len() < full {
            let Some((used, lines)) = self.record.next(&mut self.source)? else { return Ok(false) };
            if !self.record.is_blank() {
                let row = self.row(symbols).map_err(|problem| {
                    let text = &self.source.bytes()[..used];
                    self.source.place(detect::changed(Format::Csv, text, &self.schema, problem), 0)
                });
                rows.extend(row?);
                self.line = self.source.lines + 1;
            }
            self.source.consume(used);
            self.source.lines += lines;
        }
        Ok(true)
    }

    fn set_guard(&mut self, guard: Guard) {
        self.source.guard = guard;
    }

    fn format(&self) -> Format {
        Format::Csv
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    fn bytes_total(&self) -> Option<u64> {
        self.source.bytes_total()
    }

    fn line(&self) -> u64 {
        self.line
    }
}

/// The fields of one record, without their quotes.
#[derive(Debug, Default)]
struct Record {
    text: String,
    ranges: Vec<Range<usize>>,
    /// Does a field go on after its closing quote?
    goes_on: bool,
}

impl Record {
    fn fields(&self) -> impl Iterator<Item = &str> {
        self.ranges.iter().map(|range| &self.text[range.clone()])
    }

    /// An empty line.
    fn is_blank(&self) -> bool {
        self.ranges.len() == 1 && self.text.trim().is_empty()
    }

    /// Reads the next record without consuming it: its bytes and its lines. `None` at the end.
    fn next(&mut self, source: &mut Source) -> Result<Option<(usize, u64)>, Diagnostic> {
        if source.bytes().is_empty() && !source.more()? {
            return Ok(None);
        }
        loop {
            match self.split(source.bytes(), source.is_finished()) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => {
                    source.much_more()?;
                    let length = source.bytes().len();
                    if length >= EVERY {
                        // The fields are taken out of it once more.
                        source.guard.ask(length)?;
                    }
                }
                Err(problem) => return Err(source.place(problem, 0)),
            }
        }
    }

    /// Splits what `bytes` begins with; `None` if the record does not end here.
    fn split(&mut self, bytes: &[u8], is_all: bool) -> Result<Option<(usize, u64)>, Diagnostic> {
        self.ranges.clear();
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.clear();
        let (mut at, mut lines, mut quoted, mut start) = (0, 0, false, 0);
        // Behind a closing quote the field is over.
        let mut closed = false;
        self.goes_on = false;
        loop {
            let byte = bytes.get(at).copied();
            at += 1;
            match byte {
                None if !is_all => return Ok(None),
                None if quoted => return Err(problem::truncated("the closing quote")),
                Some(b'"') if quoted => match bytes.get(at) {
                    Some(b'"') => {
                        text.push(b'"');
                        at += 1;
                    }
                    None if !is_all => return Ok(None),
                    _ => (quoted, closed) = (false, true),
                },
                Some(b' ' | b'\t' | b'\r') if closed => {}
                Some(other) if closed && !matches!(other, b',' | b'\n') => {
                    (closed, self.goes_on) = (false, true);
                    text.push(other);
                }
                Some(b'"') if text[start..].trim_ascii().is_empty() => {
                    text.truncate(start);
                    quoted = true;
                }
                Some(b',') if !quoted => {
                    self.ranges.push(start..text.len());
                    start = text.len();
                    closed = false;
                }
                None | Some(b'\n') if !quoted => {
                    if !closed && text.len() > start && text.ends_with(b"\r") {
                        text.pop();
                    }
                    self.ranges.push(start..text.len());
                    let used = at.min(bytes.len());
                    // Of the record as it stands: with the commas and quotes taken out, two halves may make a
                    // character.
                    self.text = str::from_utf8(&bytes[..used])
                        .ok()
                        .and_then(|_| String::from_utf8(text).ok())
                        .ok_or_else(problem::not_utf8)?;
                    return Ok(Some((used, lines + 1)));
                }
                Some(byte) => {
                    lines += u64::from(byte == b'\n');
                    text.push(byte);
                }
                None => return Ok(None),
            }
        }
    }
}

/// Two ways to end a field, and nobody knows which is meant.
#[cold]
fn after_quote() -> Diagnostic {
    let message = "a field goes on after its closing quote";
    Diagnostic::new(
        problem::SYNTAX,
        message,
        "a comma or the end of the line there; a quote inside quotes is doubled",
    )
}

/// Writes a history as CSV.
pub(super) fn write(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    let symbols = &history.symbols;
    let has_keys = history.operations.iter().any(|row| row.key != KeyId::NONE);
    out.write_all(b"process,op,arg,ret,call,return")?;
    out.write_all(if has_keys { b",key\n" } else { b"\n" })?;
    for row in &history.operations {
        let ret = if row.is_pending() { String::new() } else { row.ret.to_string() };
        write!(
            out,
            "{},{},{},{},{},{ret}",
            quoted(field(&symbols.process_name(row.process()))),
            signature.decl(row.op()).name,
            quoted(field(&symbols.value(row.arg))),
            quoted(field(&symbols.value(row.result))),
            row.call,
        )?;
        if has_keys {
            write!(out, ",{}", quoted(field(&symbols.key_name(row.key))))?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn quoted(field: String) -> String {
    // Blanks at an end are safe without quotes here, but not from everyone who may save the file again.
    if field.contains(['"', ',', '\n', '\r']) || field.trim() != field {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

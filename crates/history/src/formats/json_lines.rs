//! JSON lines, one operation a line: the contract format.
//!
//! Logs repeat themselves: line after line has the same fields in the same order with the same spacing. The first line
//! of a kind is read by [`Json`], which accepts anything; it leaves a template behind (the bytes between the
//! values), and the lines after it are read by comparing with the template and picking the values out
//! (`json_lines/template.rs`). A line that does not fit, or looks odd in any way, goes to the slow path, which alone
//! writes diagnostics.

use std::io::{self, Write};

use super::json::Json;
use super::schema::{Fields, Schema};
use super::source::Source;
use super::{Format, Reader, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::{KeyId, Operation};
use crate::signature::Signature;
use crate::symbols::Symbols;
use crate::value::Value;

/// Reads JSON lines.
pub(super) struct JsonLines {
    source: Source,
    schema: Schema,
}

impl JsonLines {
    pub fn new(source: Source, schema: Schema) -> JsonLines {
        JsonLines { source, schema }
    }

    /// Reads one line the slow way. `None` at the end of the input.
    fn slow(&mut self, symbols: &mut Symbols) -> Result<Option<Option<Operation>>, Diagnostic> {
        let Some((text, length)) = self.source.line()? else { return Ok(None) };
        let line = &self.source.bytes()[text];
        let row = if line.trim_ascii().is_empty() {
            None
        } else {
            parse(line, &self.schema)
                .and_then(|fields| self.schema.row(&fields, symbols))
                .map_err(|problem| self.source.place(problem, 0))?
        };
        self.source.consume(length);
        self.source.lines += 1;
        Ok(Some(row))
    }
}

impl Reader for JsonLines {
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        let full = rows.len() + max.max(1);
        while rows.len() < full {
            match self.slow(symbols)? {
                None => return Ok(false),
                Some(row) => rows.extend(row),
            }
        }
        Ok(true)
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

/// The fields of one line.
fn parse(line: &[u8], schema: &Schema) -> Result<Fields, Diagnostic> {
    let mut fields = Fields::default();
    let mut seen = 0u32;
    let mut json = Json::new(line);
    json.object(|json, name| {
        let start = json.at();
        let slot = match name {
            "process" => 0,
            "op" => 1,
            "arg" => 2,
            "ret" => 3,
            "call" => 4,
            "return" => 5,
            "failed" => 6,
            "type" => {
                return Err(
                    json.at_column(problem::format_change(Format::JsonLines, Format::JsonEvents), start)
                );
            }
            name if name == schema.key_field => 7,
            _ => return json.skip(),
        };
        if seen & 1 << slot != 0 {
            let message = format!("`{name}` appears twice");
            return Err(
                json.at_column(Diagnostic::new(problem::FIELD_TWICE, message, "each field once"), start)
            );
        }
        seen |= 1 << slot;
        match slot {
            0 => fields.process = Some(json.value()?),
            1 => match json.value()? {
                Value::Str(name) => {
                    let op = schema.operation(&name).map_err(|problem| json.at_column(problem, start))?;
                    fields.op = Some(op);
                }
                other => {
                    let problem = problem::field_type("op", other.kind_name(), "the name of an operation");
                    return Err(json.at_column(problem, start));
                }
            },
            2 => fields.arg = json.value()?,
            3 => fields.result = json.value()?,
            4 => fields.call = json.integer_or_null("call")?,
            5 => fields.ret = json.integer_or_null("return")?,
            6 => match json.value()? {
                Value::Bool(failed) => fields.failed = failed,
                Value::Null => {}
                other => {
                    let problem = problem::field_type("failed", other.kind_name(), "true or false");
                    return Err(json.at_column(problem, start));
                }
            },
            _ => fields.key = json.value()?,
        }
        if slot == 4 && fields.call == Some(i64::MAX) || slot == 5 && fields.ret == Some(i64::MAX) {
            return Err(json.at_column(problem::stamp_too_large(), start));
        }
        Ok(())
    })?;
    json.end()?;
    Ok(fields)
}

/// Writes a history as JSON lines.
pub(super) fn write(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    let symbols = &history.symbols;
    for row in &history.operations {
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
        out.write_all(b"}\n")?;
    }
    Ok(())
}

//! JSON events: one call or return a line, in time order.
//!
//! `{"process":3,"type":"invoke","op":"enqueue","value":5}`; `f` is another name of `op`.

use std::io::{self, Write};

use super::detect;
use super::event_order::{self, Side};
use super::guard::Guard;
use super::json::Json;
use super::pairing::{Event, EventForm, Moment};
use super::schema::Schema;
use super::source::Source;
use super::{Format, misspelt, problem};
use crate::diagnostic::Diagnostic;
use crate::history::History;
use crate::operation::KeyId;
use crate::signature::Signature;
use crate::value::Value;

/// The form.
pub(super) struct JsonEvents;

impl EventForm for JsonEvents {
    fn format(&self) -> Format {
        Format::JsonEvents
    }

    fn next(&mut self, source: &mut Source, schema: &Schema) -> Result<Option<Event>, Diagnostic> {
        while let Some((text, length)) = source.line()? {
            let line = &source.bytes()[text];
            let event = if line.trim_ascii().is_empty() {
                None
            } else {
                let event = parse(line, schema, &source.guard).map_err(|problem| {
                    let problem = detect::changed(Format::JsonEvents, line, schema, problem);
                    source.place(problem::not_a_line(line, problem), 0)
                })?;
                Some(event)
            };
            source.consume(length);
            source.lines += 1;
            if let Some(mut event) = event {
                event.line = source.lines;
                return Ok(Some(event));
            }
        }
        Ok(None)
    }
}

fn parse(line: &[u8], schema: &Schema, guard: &Guard) -> Result<Event, Diagnostic> {
    let (mut process, mut moment, mut op) = (None, None, None);
    let (mut value, mut key) = (None, None);
    let mut is_row = false;
    let mut others: Vec<(String, usize)> = Vec::new();
    let mut json = Json::guarded(line, guard);
    json.object(|json, name| {
        json.peek();
        let start = json.at();
        let twice = match name {
            "process" => process.replace(json.value()?).is_some(),
            "type" => moment.replace((json.value()?, start)).is_some(),
            "op" | "f" => op.replace((json.value()?, start)).is_some(),
            "value" => value.replace(json.value()?).is_some(),
            name if name == schema.key_field => key.replace(json.value()?).is_some(),
            name => {
                is_row |= name == "call";
                others.push((name.to_owned(), start));
                json.skip()?;
                false
            }
        };
        if twice {
            return Err(json.at_column(problem::twice(name), start));
        }
        Ok(())
    })?;
    json.end()?;
    if moment.is_none() && is_row {
        return Err(problem::format_change(Format::JsonEvents, Format::JsonLines));
    }
    let there = [
        ("process", process.is_some()),
        ("type", moment.is_some()),
        ("op", op.is_some()),
        ("value", value.is_some()),
        (schema.key_field.as_str(), key.is_some()),
    ];
    let missing = || there.iter().filter(|(_, there)| !there).map(|(name, _)| *name);
    for (name, start) in &others {
        if let Some(problem) = misspelt::check(name, missing()) {
            return Err(json.at_column(problem, *start));
        }
    }
    let process = process.ok_or_else(|| problem::missing("process", "who called it"))?;
    let moment = moment.ok_or_else(|| problem::missing("type", "invoke, ok, fail or info"))?;
    let op = op.ok_or_else(|| problem::missing("op", "the name of the operation"))?;
    let is_nemesis = process == Value::text("nemesis");
    let moment = match &moment.0 {
        Value::Str(name) => Moment::find(name),
        other => Err(problem::field_type("type", other.kind_name(), "invoke, ok, fail or info")),
    }
    .map_err(|problem| json.at_column(problem, moment.1))?;
    let op = match &op.0 {
        _ if is_nemesis => Ok(crate::operation::OpCode(0)),
        Value::Str(name) => schema.operation(name),
        other => Err(problem::field_type("op", other.kind_name(), "the name of an operation")),
    }
    .map_err(|problem| json.at_column(problem, op.1))?;
    Ok(Event {
        process: (!is_nemesis).then_some(process),
        moment,
        op,
        value: value.unwrap_or_default(),
        key: key.filter(|key| !key.is_null()),
        line: 0,
    })
}

/// Writes a history as JSON events.
pub(super) fn write(history: &History, signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    let symbols = &history.symbols;
    let names = event_order::process_names(history);
    for event in event_order::events(history)? {
        let row = &history.operations[event.row];
        let (moment, value) = match event.side {
            Side::Call => ("invoke", row.arg),
            Side::Return => ("ok", row.result),
        };
        write!(
            out,
            "{{\"process\":{},\"type\":\"{moment}\",\"op\":\"{}\",\"value\":{}",
            names[row.process().0 as usize],
            signature.decl(row.op()).name,
            symbols.value(value),
        )?;
        if row.key != KeyId::NONE {
            write!(out, ",\"key\":{}", symbols.key_name(row.key))?;
        }
        out.write_all(b"}\n")?;
    }
    Ok(())
}

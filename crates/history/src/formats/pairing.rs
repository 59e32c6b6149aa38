//! Calls and returns joined to operations: what all event forms share.
//!
//! The number of an event in the file is its stamp; or its line, where one clock numbered the lines of several
//! files ([`ReadOptions::stamped_by_line`]). `ok` ends an operation; `fail` says that it did not
//! happen, and it is dropped; `info` says that nobody knows, and it stays pending for ever. A process whose
//! operation is pending cannot go on: if the file goes on under its name, that is a new process that took the
//! name over. Its own name is the pair of that name and a count ([`later`]), never a text made of both, which
//! another process may have.

use rustc_hash::FxHashMap;

use super::process_order::show;
use super::schema::{Schema, process_id};
use super::source::Source;
use super::{Format, Guard, ReadOptions, Reader, problem};
use crate::diagnostic::Diagnostic;
use crate::operation::{KeyId, OpCode, Operation, ProcessId};
use crate::signature::{OpDecl, Shape};
use crate::symbols::{Symbols, ValueId, later};
use crate::value::Value;

/// What an event says about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// It is called.
    Invoke,
    /// It answered.
    Ok,
    /// It did not happen.
    Fail,
    /// It may or may not have happened.
    Info,
}

impl Moment {
    /// The moment a log calls `name`.
    pub fn find(name: &str) -> Result<Moment, Diagnostic> {
        match name {
            "invoke" => Ok(Moment::Invoke),
            "ok" => Ok(Moment::Ok),
            "fail" => Ok(Moment::Fail),
            "info" => Ok(Moment::Info),
            other => {
                let shown: String = other.chars().take(40).collect();
                Err(problem::field_type("type", &format!("`{shown}`"), "invoke, ok, fail or info"))
            }
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Moment::Invoke => "invoke",
            Moment::Ok => "ok",
            Moment::Fail => "fail",
            Moment::Info => "info",
        }
    }
}

/// A call or a return.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// Who; `None` for those that are no clients, such as the nemesis.
    pub process: Option<Value>,
    pub moment: Moment,
    pub op: OpCode,
    pub value: Value,
    /// The object; `None` where the event does not say.
    pub key: Option<Value>,
    /// The line the event begins in.
    pub line: u64,
}

/// A way to write events down.
pub(super) trait EventForm: Send {
    fn format(&self) -> Format;

    /// The next event; `None` at the end. Diagnostics are complete.
    fn next(&mut self, source: &mut Source, schema: &Schema) -> Result<Option<Event>, Diagnostic>;

    /// Does `ok` of this operation with the value of its call mean that it answered `true`?
    fn repeated_is_true(&self, decl: &OpDecl) -> bool {
        let _ = decl;
        false
    }

    /// Does `fail` of this operation mean that it answered `false`?
    fn fail_is_false(&self, decl: &OpDecl) -> bool {
        let _ = decl;
        false
    }

    /// As [`Reader::implied_initial`].
    fn implied_initial(&self) -> Option<Value> {
        None
    }
}

/// Reads any event form.
pub(super) struct Events<F> {
    source: Source,
    schema: Schema,
    form: F,
    /// Are values pairs of an object and a value?
    independent: bool,
    /// Are stamps lines?
    stamped_by_line: bool,
    lanes: FxHashMap<Value, Lane>,
    /// Operations that will never return, given out at the end.
    pending: Vec<Operation>,
    clock: i64,
    line: u64,
}

/// What is known of a process.
struct Lane {
    process: ProcessId,
    /// How many processes have had this number.
    incarnation: u32,
    open: Option<Open>,
    gone: bool,
}

struct Open {
    row: Operation,
    line: u64,
    /// The value of the call, whether it is an argument or not: some logs repeat it.
    said: Value,
}

impl<F: EventForm> Events<F> {
    pub fn new(source: Source, schema: Schema, form: F, options: &ReadOptions) -> Events<F> {
        Events {
            source,
            schema,
            form,
            independent: options.independent,
            stamped_by_line: options.stamped_by_line,
            lanes: FxHashMap::default(),
            pending: Vec::new(),
            clock: 0,
            line: 0,
        }
    }

    /// Looks at the clock: the number of the event, or its line.
    fn stamp(&mut self, event: &Event) -> Result<(), Diagnostic> {
        let is_taken = self.stamped_by_line && event.line == self.line;
        self.line = event.line;
        if is_taken {
            return Err(problem::line_taken());
        }
        if self.stamped_by_line {
            self.clock = i64::try_from(event.line).unwrap_or(i64::MAX - 1);
        }
        Ok(())
    }

    /// Takes the object out of a value that is a pair. What an operation that did not happen, or may not
    /// have, is said to have given back is not looked at.
    fn apart(&self, event: &mut Event) -> Result<(), Diagnostic> {
        if !self.independent {
            return Ok(());
        }
        event.key = None;
        if !matches!(event.moment, Moment::Invoke | Moment::Ok) {
            return Ok(());
        }
        let Some((key, value)) = event.value.as_pair() else {
            return Err(problem::field_type("value", event.value.kind_name(), "a pair [key value]"));
        };
        (event.key, event.value) = (Some(key.clone()), value.clone());
        Ok(())
    }

    fn call(&mut self, name: &Value, event: &Event, symbols: &mut Symbols) -> Result<(), Diagnostic> {
        let lane = match self.lanes.get_mut(name) {
            Some(lane) => lane,
            None if !matches!(name, Value::Int(_) | Value::Str(_)) => {
                return Err(problem::field_type("process", name.kind_name(), "an integer or text"));
            }
            None => {
                let process = process_id(symbols, name)?;
                let lane = Lane { process, incarnation: 1, open: None, gone: false };
                self.lanes.entry(name.clone()).or_insert(lane)
            }
        };
        if lane.gone {
            lane.incarnation += 1;
            lane.gone = false;
            lane.process = process_id(symbols, &later(name, lane.incarnation))?;
        }
        let decl = self.schema.signature.decl(event.op);
        let mut row = Operation::new(lane.process, event.op);
        row.call = self.clock;
        row.ret = Operation::NEVER;
        // Reads are often logged with what they will answer, or with a key: they take no argument.
        if decl.arg != Shape::Unit {
            row.arg = self.schema.argument(event.op, &event.value, symbols)?;
        }
        row.key = event.key.as_ref().map_or(KeyId::NONE, |key| symbols.key(key));
        if let Some(open) = &lane.open {
            return Err(Diagnostic::new(
                problem::TWO_OPEN,
                format!(
                    "process {name} has two operations open at once: {} of line {} and {}",
                    show(&open.row, symbols, &self.schema.signature),
                    open.line,
                    show(&row, symbols, &self.schema.signature),
                ),
                "an `ok`, `fail` or `info` event for the first before the next `invoke` of the same process",
            ));
        }
        lane.open = Some(Open { row, line: event.line, said: event.value.clone() });
        Ok(())
    }

    /// Ends what the process has open; the row, if it is one now.
    fn end(
        &mut self,
        name: &Value,
        event: &Event,
        symbols: &mut Symbols,
    ) -> Result<Option<Operation>, Diagnostic> {
        let lane = self.lanes.get_mut(name);
        let Some((lane, Open { mut row, said, .. })) =
            lane.and_then(|lane| lane.open.take().map(|open| (lane, open)))
        else {
            let message = format!("process {name} has nothing open that `{}` could end", event.moment.name());
            return Err(Diagnostic::new(
                problem::RETURN_WITHOUT_CALL,
                message,
                "an `invoke` event of the same process before it",
            ));
        };
        let decl = self.schema.signature.decl(row.op());
        if row.op() != event.op {
            let other = self.schema.signature.decl(event.op).name;
            return Err(Diagnostic::new(
                problem::RETURN_WITHOUT_CALL,
                format!("process {name} called `{}` and returns from `{other}`", decl.name),
                format!("the end of `{}`", decl.name),
            ));
        }
        if let Some(key) = event.key.as_ref().filter(|key| **key != symbols.key_name(row.key)) {
            let object = |key: &Value| match key {
                Value::Null => "the object without a name".to_owned(),
                key => format!("object {key}"),
            };
            let (called, ended) = (object(&symbols.key_name(row.key)), object(key));
            return Err(Diagnostic::new(
                problem::RETURN_WITHOUT_CALL,
                format!("process {name} called `{}` of {called} and returns from {ended}", decl.name),
                format!("the end of `{}` of {called}", decl.name),
            ));
        }
        match event.moment {
            Moment::Ok => row.result = self.answer(&row, &said, &event.value, symbols)?,
            Moment::Fail if self.form.fail_is_false(decl) => row.result = ValueId::FALSE,
            Moment::Fail => return Ok(None),
            Moment::Info | Moment::Invoke => {
                lane.gone = true;
                self.pending.push(row);
                return Ok(None);
            }
        }
        row.ret = self.clock;
        Ok(Some(row))
    }

    /// The result that the value of an `ok` event stands for. Logs repeat what was `said` in the call of
    /// operations that answer nothing, or nothing but "done"; anything else is no answer of theirs. Of one
    /// that answers true or false the call again is no answer, but where the form says so.
    fn answer(
        &self,
        row: &Operation,
        said: &Value,
        value: &Value,
        symbols: &mut Symbols,
    ) -> Result<ValueId, Diagnostic> {
        let decl = self.schema.signature.decl(row.op());
        let is_repeated = value == said;
        match decl.result {
            Shape::Unit if is_repeated => Ok(ValueId::NULL),
            Shape::Done if is_repeated && value.as_bool().is_none() => Ok(ValueId::NULL),
            Shape::Bool if is_repeated && value.as_bool().is_none() => {
                if self.form.repeated_is_true(decl) {
                    return Ok(ValueId::TRUE);
                }
                Err(Diagnostic::new(
                    problem::RESULT,
                    format!(
                        "`{}` answers true or false, and this `ok` only repeats the value of its `invoke`: nobody knows what it answered",
                        decl.name
                    ),
                    format!(
                        "true or false as the value of its `ok`; or a --spec in which `{}` answers nothing",
                        decl.name
                    ),
                ))
            }
            _ => self.schema.result(row.op(), value, symbols),
        }
    }

    /// What is still open at the end never returned.
    fn leave_open(&mut self) {
        let open = self.lanes.values_mut().filter_map(|lane| lane.open.take());
        self.pending.extend(open.map(|open| open.row));
        self.pending.sort_by_key(|row| row.call);
    }
}

impl<F: EventForm> Reader for Events<F> {
    fn read(
        &mut self,
        symbols: &mut Symbols,
        rows: &mut Vec<Operation>,
        max: usize,
    ) -> Result<bool, Diagnostic> {
        let full = rows.len() + max.max(1);
        while rows.len() < full {
            let Some(mut event) = self.form.next(&mut self.source, &self.schema)? else {
                self.leave_open();
                rows.append(&mut self.pending);
                return Ok(false);
            };
            if let Some(name) = event.process.take() {
                let stamped = self.stamp(&event);
                let row = stamped.and_then(|()| self.apart(&mut event)).and_then(|()| match event.moment {
                    Moment::Invoke => self.call(&name, &event, symbols).map(|()| None),
                    _ => self.end(&name, &event, symbols),
                });
                let place = |problem: Diagnostic| {
                    let column = problem.column;
                    problem.at(event.line, column).in_file(self.source.name().to_owned())
                };
                rows.extend(row.map_err(place)?);
            }
            self.clock += 1;
        }
        Ok(true)
    }

    fn set_guard(&mut self, guard: Guard) {
        self.source.guard = guard;
    }

    fn format(&self) -> Format {
        self.form.format()
    }

    fn implied_initial(&self) -> Option<Value> {
        self.form.implied_initial()
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

//! What a reader knows of the specification; which fields a record has; and the one place where fields become
//! an [`Operation`].

use std::fmt::{self, Write as _};

use super::ReadOptions;
use super::misspelt;
use super::problem;
use crate::diagnostic::Diagnostic;
use crate::operation::{OpCode, Operation, ProcessId};
use crate::signature::{Shape, Signature};
use crate::spec::Spec;
use crate::specs::{Builtin, Kind};
use crate::symbols::{Symbols, ValueId, show_process};
use crate::value::Value;

/// The operations, and how the fields are called.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    pub signature: Signature,
    pub kind: Kind,
    /// What the specification is called.
    pub name: String,
    /// The field that names the object.
    pub key_field: String,
}

/// What a field of a record, or a column of a table, is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Process,
    Op,
    Arg,
    Result,
    Call,
    Return,
    Key,
    /// The operation is known not to have happened.
    Failed,
    /// Nothing that matters here.
    Other,
}

impl Field {
    /// What is wrong with what stands in this field: what is no value at all is no stamp either.
    pub fn blame(self, problem: Diagnostic) -> Diagnostic {
        let found = "a number with a fraction, or an object";
        match self {
            Field::Call if problem.code == problem::NOT_A_VALUE => problem::stamp_type("call", found),
            Field::Return if problem.code == problem::NOT_A_VALUE => problem::stamp_type("return", found),
            _ => problem,
        }
    }
}

/// One operation as it stands in a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub process: Option<Value>,
    pub op: Option<OpCode>,
    pub arg: Value,
    pub result: Value,
    pub call: Option<i64>,
    pub ret: Option<i64>,
    pub key: Value,
    /// The operation is known not to have happened.
    pub failed: bool,
}

impl Schema {
    pub fn new(spec: &Builtin, options: &ReadOptions) -> Schema {
        Schema {
            signature: spec.signature().clone(),
            kind: spec.kind,
            name: spec.name().to_owned(),
            key_field: options.key_field.clone().unwrap_or_else(|| "key".into()),
        }
    }

    /// The operation called `name`.
    pub fn operation(&self, name: &str) -> Result<OpCode, Diagnostic> {
        self.signature.find(name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            let small = name.to_lowercase();
            let help = match self.signature.find(&small) {
                Some(_) => format!("`{small}`, if that is meant: names are written in small letters"),
                None => format!("one of {}; or another --spec", self.signature.names()),
            };
            let message =
                format!("unknown operation `{shown}`; {} has {}", self.name, self.signature.names());
            Diagnostic::new(problem::UNKNOWN_OPERATION, message, help)
        })
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Field {
        match name {
            "process" => Field::Process,
            "op" => Field::Op,
            "arg" => Field::Arg,
            "ret" => Field::Result,
            "call" => Field::Call,
            "return" => Field::Return,
            "failed" => Field::Failed,
            name if name == self.key_field => Field::Key,
            _ => Field::Other,
        }
    }

    /// Is something wrong with a field that nobody knows, in a record that has the fields that `has` says?
    /// See [`misspelt`].
    pub fn misspelt(&self, name: &str, has: impl Fn(Field) -> bool) -> Option<Diagnostic> {
        let known = ["process", "op", "arg", "ret", "call", "return", "failed", self.key_field.as_str()];
        misspelt::check(name, known.into_iter().filter(|known| !has(self.field(known))))
    }

    /// Puts a value where it belongs.
    pub fn set(&self, fields: &mut Fields, field: Field, value: Value) -> Result<(), Diagnostic> {
        match field {
            Field::Process => fields.process = Some(value),
            Field::Op => match value {
                Value::Str(name) => fields.op = Some(self.operation(&name)?),
                other => {
                    return Err(problem::field_type("op", other.kind_name(), "the name of an operation"));
                }
            },
            Field::Arg => fields.arg = value,
            Field::Result => fields.result = value,
            Field::Call => fields.call = stamp("call", &value)?,
            Field::Return => fields.ret = stamp("return", &value)?,
            Field::Key => fields.key = value,
            Field::Failed => match value {
                Value::Bool(failed) => fields.failed = failed,
                Value::Null => {}
                other => return Err(problem::field_type("failed", other.kind_name(), "true or false")),
            },
            Field::Other => {}
        }
        Ok(())
    }

    /// Makes a row of fields, `None` for an operation that did not happen.
    pub fn row(&self, fields: &Fields, symbols: &mut Symbols) -> Result<Option<Operation>, Diagnostic> {
        let process = fields.process.as_ref().ok_or_else(|| problem::missing("process", "who called it"))?;
        let op = fields.op.ok_or_else(|| problem::missing("op", "the name of the operation"))?;
        let call = fields.call.ok_or_else(|| problem::missing("call", "the stamp of the call"))?;
        if fields.failed {
            return Ok(None);
        }
        let mut row = Operation::new(process_id(symbols, process)?, op);
        row.call = call;
        row.ret = fields.ret.unwrap_or(Operation::NEVER);
        if row.ret < row.call {
            return Err(problem::return_before_call(&row));
        }
        row.arg = self.argument(op, &fields.arg, symbols)?;
        if !row.is_pending() {
            row.result = self.result(op, &fields.result, symbols)?;
        }
        row.key = symbols.key(&fields.key);
        Ok(Some(row))
    }

    /// An argument's number, if the operation takes it.
    pub fn argument(&self, op: OpCode, value: &Value, symbols: &mut Symbols) -> Result<ValueId, Diagnostic> {
        self.check(op, value, problem::ARGUMENT)?;
        Ok(self.signature.decl(op).arg.normalise(symbols.intern(value)))
    }

    /// A result's number, if the operation gives it.
    pub fn result(&self, op: OpCode, value: &Value, symbols: &mut Symbols) -> Result<ValueId, Diagnostic> {
        self.check(op, value, problem::RESULT)?;
        Ok(self.signature.decl(op).result.normalise(symbols.intern(value)))
    }

    /// Does the operation admit the value, as its argument or its result? `code` says as which.
    pub fn check(&self, op: OpCode, value: &Value, code: &'static str) -> Result<(), Diagnostic> {
        let decl = self.signature.decl(op);
        let (what, shape) = match code {
            problem::ARGUMENT => ("argument", decl.arg),
            _ => ("result", decl.result),
        };
        if shape.admits(value) { Ok(()) } else { Err(mismatch(code, decl.name, what, shape, value)) }
    }
}

fn stamp(name: &str, value: &Value) -> Result<Option<i64>, Diagnostic> {
    match value {
        Value::Null => Ok(None),
        Value::Int(i64::MAX) => Err(problem::stamp_too_large()),
        Value::Int(n) => Ok(Some(*n)),
        other => Err(problem::stamp_type(name, other.kind_name())),
    }
}

/// The number of a process, if there is one left.
pub(super) fn process_id(symbols: &mut Symbols, name: &Value) -> Result<ProcessId, Diagnostic> {
    if !is_process_name(name) {
        let expected = "an integer, text, or a list of one of these and a number from 2 on";
        return Err(problem::field_type("process", name.kind_name(), expected));
    }
    within_bounds(symbols.process(name), name)
}

/// An integer, text, or what [`crate::symbols::later`] makes of them.
fn is_process_name(name: &Value) -> bool {
    let is_plain = |name: &Value| matches!(name, Value::Int(_) | Value::Str(_));
    match name.as_pair() {
        Some((name, Value::Int(generation))) => is_plain(name) && *generation >= 2,
        _ => is_plain(name),
    }
}

fn within_bounds(process: ProcessId, name: &Value) -> Result<ProcessId, Diagnostic> {
    if process.0 <= Operation::MAX_PROCESS {
        return Ok(process);
    }
    Err(Diagnostic::new(
        problem::TOO_MANY_PROCESSES,
        format!("process {} is one too many: a history has at most 2^24 processes", show_process(name)),
        "process numbers that are used again once an operation returned",
    ))
}

/// The beginning of a text that may be long: it takes forty characters, and not one more.
struct Beginning(String);

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = 41usize.saturating_sub(self.0.chars().count());
        self.0.extend(text.chars().take(room));
        if self.0.chars().count() > 40 { Err(fmt::Error) } else { Ok(()) }
    }
}

fn mismatch(code: &'static str, op: &str, what: &str, shape: Shape, value: &Value) -> Diagnostic {
    let mut beginning = Beginning(String::new());
    let mut shown = match write!(beginning, "{value}") {
        Ok(()) => beginning.0,
        Err(_) => beginning.0.chars().take(40).chain(['…']).collect(),
    };
    if shown != value.kind_name() {
        shown = format!("{shown}, {}", value.kind_name());
    }
    Diagnostic::new(
        code,
        format!("the {what} of `{op}` is {shown}; expected {}", shape.expected()),
        format!("`{op}` with {} as its {what}; or another --spec", shape.expected()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_processes_is_bounded() {
        let name = Value::Int(7);
        assert!(within_bounds(ProcessId(Operation::MAX_PROCESS), &name).is_ok());
        let problem = within_bounds(ProcessId(Operation::MAX_PROCESS + 1), &name).unwrap_err();
        assert_eq!(problem.code, problem::TOO_MANY_PROCESSES);
    }
}

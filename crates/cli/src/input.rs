//! From arguments to specifications, formats and inputs.

use std::path::Path;

use linpoint_history::formats::{Format, Input};
use linpoint_history::specs::{self, SpecError};
use linpoint_history::{Builtin, Kind, Value};

use crate::fault::Fault;

/// Reads `--spec` and `--initial`.
pub fn spec(name: &str, initial: Option<&str>) -> Result<Builtin, Fault> {
    let spec = specs::parse(name).map_err(spec_fault)?;
    match initial {
        Some(text) => spec.starting_from(json(text)?).map_err(spec_fault),
        None => Ok(spec),
    }
}

fn spec_fault(error: SpecError) -> Fault {
    let help = match &error {
        SpecError::Unknown { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
        SpecError::Unknown { .. } => {
            format!("known: {}", Kind::all().map(Kind::name).collect::<Vec<_>>().join(", "))
        }
        SpecError::Setting { .. } => {
            "collections take `capacity=N` and `spurious`, a semaphore takes `capacity=N`".to_owned()
        }
        _ => String::new(),
    };
    Fault::usage(error.to_string(), help)
}

/// Reads `--format`.
pub fn format(name: Option<&str>) -> Result<Option<Format>, Fault> {
    let Some(name) = name else { return Ok(None) };
    let known = || Format::all().map(Format::name).collect::<Vec<_>>().join(", ");
    match Format::find(name) {
        Some(format) => Ok(Some(format)),
        None => Err(Fault::usage(format!("unknown format `{name}`"), format!("known: {}", known()))),
    }
}

/// A path, or `-` for standard input.
pub fn input(path: &Path) -> Input {
    if path == Path::new("-") { Input::Stdin } else { Input::File(path.to_owned()) }
}

/// A JSON value of the kinds Linpoint knows.
fn json(text: &str) -> Result<Value, Fault> {
    let wrong = |why: String| Fault::usage(format!("`--initial {text}` is not JSON"), why);
    let parsed = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    value(&parsed).ok_or_else(|| wrong("expected integers of 64 bits, text, booleans, null and lists".into()))
}

fn value(json: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::Int(n.as_i64()?),
        Json::String(s) => Value::text(s),
        Json::Array(items) => Value::list(items.iter().map(value).collect::<Option<Vec<_>>>()?),
        Json::Object(_) => return None,
    })
}

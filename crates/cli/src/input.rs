//! From arguments to specifications, formats and inputs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use linpoint_history::formats::{Format, Input};
use linpoint_history::specs::{Catalog, SpecError};
use linpoint_history::{Builtin, Value};

use crate::fault::Fault;
use crate::own;

/// The specifications that the program brings.
static CATALOG: OnceLock<Catalog> = OnceLock::new();

/// From here on the specifications of a catalog are known by their names.
pub fn know(catalog: Catalog) {
    // The first one stays: there is one command in a process.
    let _ = CATALOG.set(catalog);
}

fn catalog() -> &'static Catalog {
    CATALOG.get_or_init(Catalog::default)
}

/// The program's own specifications as `linpoint specs` lists them.
pub fn own_specs() -> impl Iterator<Item = String> {
    catalog()
        .own()
        .map(|own| format!("{:<20} of this program\n    {}\n", own.name(), own.signature().names()))
}

/// Reads `--spec` and `--initial`.
pub fn spec(name: &str, initial: Option<&str>) -> Result<Builtin, Fault> {
    let spec = match own::is_file(name) {
        true => own::spec(name)?,
        false => catalog().parse(name).map_err(spec_fault)?,
    };
    match initial {
        Some(text) => spec.starting_from(json(text)?).map_err(spec_fault),
        None => Ok(spec),
    }
}

fn spec_fault(error: SpecError) -> Fault {
    let help = match &error {
        SpecError::Unknown { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
        SpecError::Unknown { .. } => {
            let known = catalog().names().collect::<Vec<_>>().join(", ");
            format!("known: {known}; or your own, as `my-object.lin`")
        }
        SpecError::Setting { .. } => {
            "collections take `capacity=N` and `spurious`, a semaphore takes `capacity=N`".to_owned()
        }
        SpecError::Pointless { .. } => "`capacity=N:spurious`, or no setting".to_owned(),
        SpecError::Room { .. } => "fewer elements, or more room".to_owned(),
        SpecError::Twice { .. } => "each setting once".to_owned(),
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

/// Can `--partition` name what it names?
pub fn partition(name: Option<&str>) -> Result<(), Fault> {
    let meaning = match name {
        Some("process") => "says who called",
        Some("op" | "f" | "type") => "says what was called",
        Some("arg" | "ret" | "failed") => "says what an operation took or gave",
        Some("call" | "return") => "says when",
        _ => return Ok(()),
    };
    let field = name.unwrap_or_default();
    Err(Fault::usage(
        format!("`--partition {field}`: the field `{field}` {meaning}, and cannot name the object as well"),
        "another field of the history, `key`, `value` or `none`",
    ))
}

/// Refuses to write over what is read.
pub fn not_over<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    outputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Result<(), Fault> {
    let inputs: Vec<&PathBuf> = inputs.into_iter().collect();
    for (option, path) in outputs {
        if let Some(input) = inputs.iter().find(|input| is_same(input, path)) {
            let message =
                format!("{option} {} would write over {}, which is read", path.display(), input.display());
            return Err(Fault::usage(message, "another file to write"));
        }
    }
    Ok(())
}

/// Do two names mean the same file?
pub fn is_same(a: &Path, b: &Path) -> bool {
    let about = |path: &Path| std::fs::metadata(path).ok().filter(|about| about.is_file());
    let (Some(first), Some(second)) = (about(a), about(b)) else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (first.dev(), first.ino()) == (second.dev(), second.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (first, second);
        matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
    }
}

/// A JSON value of the kinds Linpoint knows.
fn json(text: &str) -> Result<Value, Fault> {
    let parsed = serde_json::from_str(text)
        .map_err(|error| Fault::usage(format!("`--initial {text}` is not JSON"), error.to_string()))?;
    value(&parsed).map_err(|what| {
        let message = format!("`--initial {text}` has {what}, for which histories have no room");
        Fault::usage(message, "integers of 64 bits, text, booleans, null, and lists of these")
    })
}

/// The value, or what it is that is none.
fn value(json: &serde_json::Value) -> Result<Value, &'static str> {
    use serde_json::Value as Json;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => match n.as_i64() {
            Some(n) => Value::Int(n),
            None if n.is_u64() => return Err("an integer that does not fit into 64 bits"),
            None => return Err("a number that is no integer of 64 bits"),
        },
        Json::String(s) => Value::text(s),
        Json::Array(items) => Value::list(items.iter().map(value).collect::<Result<Vec<_>, _>>()?),
        Json::Object(_) => return Err("an object"),
    })
}

//! Programs of the algorithm language, from a file to what engines take: read, compiled, with its mistakes
//! shown.

use std::io::Read as _;
use std::path::Path;

use linpoint_history::Diagnostic;
use linpoint_lang::{Program, compile, parse};

use crate::fault::Fault;

/// Shows everything that is wrong with a program.
pub fn show(path: &Path, text: &str, wrong: &[linpoint_lang::Diagnostic]) {
    let file = path.display().to_string();
    for diagnostic in wrong {
        crate::fault::say!("{}", diagnostic.render(&file, text));
    }
}

/// The object that is asked for, or the only one of a file, with the text; `None` if there are mistakes,
/// which are then shown.
pub fn load(path: &Path, object: Option<&str>) -> Result<Option<(String, Program)>, Fault> {
    let text = read(path)?;
    let (mut programs, wrong) = compile(&text);
    show(path, &text, &wrong);
    // Not even about an object without mistakes: what it was compiled with may be what is wrong.
    if wrong.iter().any(linpoint_lang::Diagnostic::is_error) {
        return Ok(None);
    }
    let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
    if let Some(wanted) = object {
        programs.retain(|program| program.name == wanted);
        if programs.is_empty() && !names.is_empty() {
            return Err(Fault::usage(
                format!("this file has no object `{wanted}`"),
                format!("it has {}", names.join(", ")),
            ));
        }
    }
    // A verdict about one of them would be taken for one about all.
    if programs.len() > 1 {
        return Err(Fault::usage(
            format!("this file has {} objects: {}", names.len(), names.join(", ")),
            "say which one is meant with `--object NAME`",
        ));
    }
    match programs.into_iter().next() {
        Some(program) => Ok(Some((text, program))),
        None if parse(&text).0.objects.iter().any(|object| object.is_spec) => Err(Fault::usage(
            "this file has only specifications, and no object to run",
            format!("check a history with one: `linpoint check history.jsonl --spec {}`", path.display()),
        )),
        None => Err(Fault::usage("this file has no object", "write one: `object Name : spec { … }`")),
    }
}

/// The text of a program.
pub fn read(path: &Path) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes).map(drop),
        false => std::fs::read(path).map(|content| bytes = content),
    };
    let name = path.display().to_string();
    let bad = |message: String, help: &str| Diagnostic::new("", message, help).in_file(name.clone());
    read.map_err(|error| bad(format!("cannot read this file: {error}"), "check the path"))?;
    let text = String::from_utf8(bytes).map_err(|_| bad("this is not text".into(), "programs are UTF-8"))?;
    if text.trim_start().starts_with(['{', '[']) {
        let help = "check it with `linpoint check`; programs are in the language of docs/language.md";
        return Err(bad("this is JSON, perhaps a history, and not a program".into(), help).into());
    }
    Ok(text)
}

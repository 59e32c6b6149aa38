//! `--spec FILE.lin`: a specification that the user wrote in the algorithm language.
//!
//! Behind the file's name may stand what else is needed: the object of the file that is meant, and the sizes
//! it is to have, as `stores.lin:Ring:N=64`.

use std::path::{Path, PathBuf};

use linpoint_history::Builtin;
use linpoint_lang::{Diagnostic, Specification, compile_specifications};
use linpoint_model::BlockSpec;

use crate::fault::Fault;
use crate::program;

/// The name of a file at the start of a `--spec`, and what stands behind it; `None` if this is no file of the
/// language.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.ends_with(".lin") {
        return Some((name, ""));
    }
    let at = name.find(".lin:")?;
    Some((&name[..at + ".lin".len()], &name[at + ".lin:".len()..]))
}

/// Is this the name of a file of the language, and not of a built-in specification?
pub fn is_file(name: &str) -> bool {
    split(name).is_some()
}

/// What tells a specification in a file from others: the file, however its path is written, and what stands
/// behind it.
pub fn identity(name: &str) -> Option<(PathBuf, String)> {
    let (file, settings) = split(name)?;
    let path = Path::new(file);
    Some((path.canonicalize().unwrap_or_else(|_| path.to_owned()), settings.to_owned()))
}

/// Reads the specification that `name` says.
pub fn spec(name: &str) -> Result<Builtin, Fault> {
    let (file, settings) = split(name).expect("it was asked whether this is a file");
    let path = Path::new(file);
    let text = program::read(path)?;
    let (mut found, wrong) = compile_specifications(&text);
    let is_bad = wrong.iter().any(Diagnostic::is_error);
    // Warnings are for whoever explores or proves the object beside the specification.
    if is_bad {
        program::show(path, &text, &wrong);
        return Err(Fault::usage(format!("{file} has mistakes"), "mend what is shown above"));
    }
    let (object, sizes) = read_settings(file, settings)?;
    let known: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    if let Some(object) = object {
        found.retain(|(name, _)| name == object);
    }
    let ((object, mut specification), 0) = (
        match found.pop() {
            Some(last) => last,
            None if known.is_empty() => {
                let help = "write one: `spec Name { shared x: int  op add(n: int) { x = x + n } }`";
                return Err(Fault::usage(format!("{file} has no specification"), help));
            }
            None => {
                let message = format!("{file} has no specification `{}`", object.unwrap_or_default());
                return Err(Fault::usage(message, format!("it has {}", known.join(", "))));
            }
        },
        found.len(),
    ) else {
        let message = format!("{file} has {} specifications: {}", known.len(), known.join(", "));
        return Err(Fault::usage(message, format!("say which one is meant: `--spec {file}:{}`", known[0])));
    };
    set_sizes(&object, &mut specification, &sizes)?;
    let builtin = BlockSpec::builtin(&object, specification, &text);
    builtin.map_err(|unfit| {
        let help = "docs/language.md says what a specification for histories may have";
        Fault::usage(format!("{file}: {unfit}"), help)
    })
}

/// The object that is meant, and the sizes.
type Settings<'a> = (Option<&'a str>, Vec<(&'a str, i32)>);

fn read_settings<'a>(file: &str, settings: &'a str) -> Result<Settings<'a>, Fault> {
    let (mut object, mut sizes) = (None, Vec::new());
    for setting in settings.split(':').filter(|_| !settings.is_empty()) {
        match setting.split_once('=') {
            Some((size, _)) if sizes.iter().any(|(known, _)| *known == size) => {
                let message = format!("`{settings}` behind {file} gives the size `{size}` twice");
                return Err(Fault::usage(message, "each size once"));
            }
            Some((size, number)) => match number.parse::<i32>() {
                Ok(number) if (0..=LARGEST_SIZE).contains(&number) => sizes.push((size, number)),
                _ => {
                    let message = format!("`{setting}`: a size is a number from 0 to {LARGEST_SIZE}");
                    return Err(Fault::usage(message, format!("for example `{file}:{size}=64`")));
                }
            },
            None if object.is_none() && !setting.is_empty() => object = Some(setting),
            None => {
                let message = format!("`{settings}` behind {file} is not understood");
                return Err(Fault::usage(message, "one object, and sizes: `file.lin:Object:N=64`"));
            }
        }
    }
    Ok((object, sizes))
}

/// Arrays may not be longer.
const LARGEST_SIZE: i32 = 1_000_000;

fn set_sizes(object: &str, specification: &mut Specification, sizes: &[(&str, i32)]) -> Result<(), Fault> {
    for (name, number) in sizes {
        let found = match specification {
            Specification::Block(program) => program.sizes.iter_mut().find(|size| size.name == *name),
            Specification::Builtin(_) => None,
        };
        match found {
            Some(size) => size.usual = *number,
            None => {
                let message = format!("the specification `{object}` has no size `{name}`");
                return Err(Fault::usage(message, "sizes are declared as `size N = 3`"));
            }
        }
    }
    Ok(())
}

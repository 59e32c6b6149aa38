//! Which format is this? The first bytes say; the file's name is asked only when they do not.

use super::source::Source;
use super::{Format, ReadOptions, problem};
use crate::diagnostic::Diagnostic;
use crate::specs::Builtin;

/// Enough to see the first records.
const LOOK: usize = 16 << 10;

/// The format of an input: as asked for, or as found.
pub(super) fn format(
    source: &mut Source,
    spec: &Builtin,
    options: &ReadOptions,
) -> Result<Format, Diagnostic> {
    if let Some(format) = options.format {
        return Ok(format);
    }
    source.want(LOOK)?;
    let head = &source.bytes()[..source.bytes().len().min(LOOK)];
    let _ = spec;
    if head.is_empty() {
        return Ok(Format::JsonLines);
    }
    if head.trim_ascii_start().starts_with(b"{\"") {
        return Ok(Format::JsonLines);
    }
    Err(Diagnostic::new(problem::UNKNOWN_FORMAT, "the format was not recognised", "--format"))
}

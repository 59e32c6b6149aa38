//! What can be wrong with an input, each with a code that never changes its meaning. `docs/formats.md` lists
//! them.

use super::Format;
use super::unpack::Junk;
use crate::diagnostic::Diagnostic;
use crate::operation::Operation;

/// The input cannot be opened or read.
pub const UNREADABLE: &str = "H001";
/// The input is a directory.
pub const DIRECTORY: &str = "H002";
/// The text is not UTF-8.
pub const NOT_UTF8: &str = "H003";
/// The text is not what the format's grammar allows.
pub const SYNTAX: &str = "H004";
/// The input ends in the middle of a record.
pub const TRUNCATED: &str = "H005";
/// A record lacks a field.
pub const MISSING_FIELD: &str = "H006";
/// A field holds the wrong kind of thing.
pub const FIELD_TYPE: &str = "H007";
/// The specification has no such operation.
pub const UNKNOWN_OPERATION: &str = "H008";
/// The operation does not take this argument.
pub const ARGUMENT: &str = "H009";
/// The operation does not give this result.
pub const RESULT: &str = "H010";
/// An integer that 64 bits cannot hold.
pub const TOO_LARGE: &str = "H011";
/// A value that Linpoint has no room for: floating point, an object.
pub const NOT_A_VALUE: &str = "H012";
/// An operation returned before it was called.
pub const RETURN_BEFORE_CALL: &str = "H013";
/// One process has two operations open at once.
pub const TWO_OPEN: &str = "H014";
/// A return without a call, or of another operation than was called.
pub const RETURN_WITHOUT_CALL: &str = "H015";
/// The file changes its format half-way.
pub const FORMAT_CHANGE: &str = "H016";
/// The format was not recognised.
pub const UNKNOWN_FORMAT: &str = "H017";
/// More processes than a history can hold.
pub const TOO_MANY_PROCESSES: &str = "H018";
/// A binary or packed file is damaged.
pub const DAMAGED: &str = "H019";
/// The format is not part of this build.
pub const NOT_BUILT_IN: &str = "H020";
/// A field appears twice in one record.
pub const FIELD_TWICE: &str = "H021";
/// A record is longer or nested deeper than any real one.
pub const TOO_BIG: &str = "H022";
/// A field is missing, and another one is named nearly so.
pub const MISSPELT: &str = "H023";
/// A file that is read twice was not the same both times.
pub const CHANGED: &str = "H024";
/// The history has no objects of the kind that was asked for.
pub const NO_OBJECTS: &str = "H025";
/// Two events begin in one line, where lines are the clock.
pub const LINE_TAKEN: &str = "H026";

/// Nothing is wrong, and there is no time to read on; never shown, see [`super::guard::reached`].
pub(super) const TIME: &str = "time";
/// Nothing is wrong, and there is no memory to read on.
pub(super) const MEMORY: &str = "memory";

/// Reading from outside failed.
pub(super) fn unreadable(error: &std::io::Error) -> Diagnostic {
    match error.kind() {
        _ if error.get_ref().is_some_and(|inner| inner.is::<Junk>()) => damaged(
            format!("the packed file cannot be unpacked: {error}"),
            "the packed file alone, without what was written behind it",
        ),
        // A sum that is wrong is told as input that is invalid.
        std::io::ErrorKind::InvalidData
        | std::io::ErrorKind::InvalidInput
        | std::io::ErrorKind::UnexpectedEof => damaged(
            format!("the packed file cannot be unpacked: {error}"),
            "a whole .gz or .zst file; it may have been cut off when it was copied",
        ),
        _ => Diagnostic::new(UNREADABLE, format!("cannot be read: {error}"), "a file that can be read"),
    }
}

/// A binary or packed file is not as it was written.
pub(super) fn damaged(message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::new(DAMAGED, message, help)
}

/// The format needs a cargo feature.
#[cfg(not(feature = "parquet"))]
pub(super) fn not_built_in(format: Format) -> Diagnostic {
    Diagnostic::new(
        NOT_BUILT_IN,
        format!("this build of Linpoint does not have the format {}", format.name()),
        format!("a build with `--features {}`, or another format", format.name()),
    )
}

/// Another format begins in the middle of the input.
pub(super) fn format_change(from: Format, to: Format) -> Diagnostic {
    Diagnostic::new(
        FORMAT_CHANGE,
        format!("the input begins as {} and goes on as {}", from.name(), to.name()),
        "one format from beginning to end; split the file, or write it again in one format",
    )
}

/// The input does not end where a record does.
pub(super) fn truncated(expected: &str) -> Diagnostic {
    Diagnostic::new(
        TRUNCATED,
        format!("the input ends in the middle of a record; expected {expected}"),
        "a whole record; the end of the file may be missing",
    )
}

/// Bytes that are no text.
pub(super) fn not_utf8() -> Diagnostic {
    Diagnostic::new(NOT_UTF8, "the text is not UTF-8", "text in UTF-8, which most programs can save")
}

/// A field is not there.
pub(super) fn missing(field: &str, help: &str) -> Diagnostic {
    Diagnostic::new(MISSING_FIELD, format!("the record has no `{field}`"), help)
}

/// A field holds the wrong kind of thing.
pub(super) fn field_type(field: &str, found: &str, expected: &str) -> Diagnostic {
    Diagnostic::new(
        FIELD_TYPE,
        format!("`{field}` is {found}; expected {expected}"),
        format!("`{field}` is {expected}"),
    )
}

/// A stamp is no integer.
pub(super) fn stamp_type(field: &str, found: &str) -> Diagnostic {
    field_type(field, found, "an integer or null")
}

/// An integer does not fit.
pub(super) fn too_large(text: &str) -> Diagnostic {
    let shown: String = text.chars().take(40).collect();
    Diagnostic::new(
        TOO_LARGE,
        format!("the integer {shown} does not fit into 64 bits"),
        format!("an integer from {} to {}; larger ones can be written as text", i64::MIN, i64::MAX),
    )
}

/// The one stamp that stands for "never" was given as a number.
pub(super) fn stamp_too_large() -> Diagnostic {
    Diagnostic::new(
        TOO_LARGE,
        format!("the stamp {} is too large", i64::MAX),
        format!("stamps below {}; leave `return` out for an operation that never returned", i64::MAX),
    )
}

/// A value has no place in a history.
pub(super) fn not_a_value(found: &str) -> Diagnostic {
    Diagnostic::new(
        NOT_A_VALUE,
        format!("{found} cannot be an argument or a result"),
        "null, true, false, a 64-bit integer, text, or a list of these; write other things as text",
    )
}

/// The stamps of an operation are the wrong way round.
pub(super) fn return_before_call(row: &Operation) -> Diagnostic {
    Diagnostic::new(
        RETURN_BEFORE_CALL,
        format!("the operation returns at {} before it is called at {}", row.ret, row.call),
        "a `return` stamp that is not less than `call`",
    )
}

/// Two events have one line, and lines are the clock.
pub(super) fn line_taken() -> Diagnostic {
    Diagnostic::new(
        LINE_TAKEN,
        "two events begin in one line, and lines are the clock that the files share",
        "each event on a line of its own, or files with stamps",
    )
}

/// Objects that are named in values are those of events.
pub(super) fn no_values(format: Format) -> Diagnostic {
    Diagnostic::new(
        NO_OBJECTS,
        format!("the format {} has no values [key value] to take objects from", format.name()),
        "the objects in a field, `key` or the one that --partition names; pairs are for formats of calls and returns",
    )
}

/// What is wrong with `line`, which should be one JSON object: perhaps the log is JSON, but not a line for each record.
pub(super) fn not_a_line(line: &[u8], problem: Diagnostic) -> Diagnostic {
    if !matches!(problem.code, SYNTAX | TRUNCATED) {
        return problem;
    }
    let column = problem.column;
    let line = line.trim_ascii();
    let goes_on = matches!(line.last(), Some(b'{' | b'[' | b','));
    let (message, help) = match line.first() {
        Some(b'[') => (
            "a JSON array; expected one object, on a line of its own, for each record",
            "the records of the array, one a line: jq -c '.[]' FILE | linpoint check -",
        ),
        Some(b'#') => ("a comment; expected an object", "the log without its comments: grep -v '^ *#' FILE"),
        Some(b'/') if line.starts_with(b"//") => {
            ("a comment; expected an object", "the log without its comments: grep -v '^ *//' FILE")
        }
        Some(b'{') if goes_on => (
            "the line ends in the middle of an object",
            "each object on one line: jq -c . FILE | linpoint check -",
        ),
        _ => return problem,
    };
    Diagnostic::new(problem.code, message, help).at(problem.line, column)
}

/// A field twice in one record.
pub(super) fn twice(field: &str) -> Diagnostic {
    Diagnostic::new(FIELD_TWICE, format!("`{field}` appears twice in one record"), "each field once")
}

/// A record is beyond all measure.
pub(super) fn too_big(message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(TOO_BIG, message, "records of a reasonable size; is this the right format?")
}

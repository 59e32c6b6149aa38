//! Which format is this? The first bytes say; the file's name is asked only when they do not.

use super::json::Json;
use super::schema::Schema;
use super::source::Source;
use super::{Format, ReadOptions, problem};
use crate::diagnostic::Diagnostic;
use crate::specs::{Builtin, Kind};

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
    if let Some(format) = by_content(head, spec.kind) {
        return Ok(format);
    }
    if let Some(format) = by_name(source.name()) {
        return Ok(format);
    }
    if head.trim_ascii().is_empty() {
        return Ok(Format::JsonLines);
    }
    let names: Vec<&str> = Format::all().map(Format::name).collect();
    Err(Diagnostic::new(
        problem::UNKNOWN_FORMAT,
        "the format was not recognised",
        format!("one of {}; say which with --format", names.join(", ")),
    )
    .at(1, 0))
}

/// The format that `head` looks like the beginning of.
fn by_content(head: &[u8], kind: Kind) -> Option<Format> {
    if super::binary::is_binary(head) {
        return Some(Format::Binary);
    }
    if head.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    let head = skip_comments(head);
    let line = &head[..memchr::memchr(b'\n', head).unwrap_or(head.len())];
    match head.first()? {
        b'{' => match head[1..].trim_ascii_start().first() {
            Some(b':') => Some(edn_maps(line, kind)),
            Some(b'"') => Some(json(line)),
            _ => None,
        },
        b'[' if is_json_object(skip_comments(&head[1..])) => Some(json(line)),
        b'[' | b'(' => {
            let inner = skip_comments(&head[1..]);
            let is_map = inner.starts_with(b"{") && inner[1..].trim_ascii_start().starts_with(b":");
            (is_map || inner.starts_with(b"#") || inner.starts_with(b"]") || inner.starts_with(b")"))
                .then_some(Format::JepsenEdn)
        }
        // A tag of EDN's stands right behind its sign: this is a comment, and what follows says the format.
        b'#' if head.get(1).is_none_or(u8::is_ascii_whitespace) => {
            let is_text =
                |line: &&[u8]| !line.trim_ascii().is_empty() && !line.trim_ascii().starts_with(b"#");
            let rest = head.split(|byte| *byte == b'\n').find(is_text);
            is_json_object(rest.unwrap_or_default()).then_some(Format::JsonLines)
        }
        b'#' => Some(Format::JepsenEdn),
        _ if is_log_line(line) => Some(Format::EtcdLog),
        _ => is_header(line).then_some(Format::Csv),
    }
}

/// Does this begin as an object of JSON does?
fn is_json_object(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"{") && text[1..].trim_ascii_start().starts_with(b"\"")
}

/// White space and EDN's comments do not say what follows.
fn skip_comments(mut head: &[u8]) -> &[u8] {
    loop {
        head = head.trim_ascii_start();
        match head.first() {
            Some(b';') => head = memchr::memchr(b'\n', head).map_or(&[], |at| &head[at..]),
            _ => return head,
        }
    }
}

/// Events say what `type` they are, rows say when they were called.
fn json(line: &[u8]) -> Format {
    let (mut is_event, mut is_row) = (false, false);
    // A line that cannot be read is as good as what could be read of it.
    let _ = Json::new(line).object(|json, name| {
        is_event |= name == "type";
        is_row |= name == "call";
        json.skip()
    });
    if is_event && !is_row { Format::JsonEvents } else { Format::JsonLines }
}

/// Porcupine's key-value logs are Jepsen's maps with a key, of a store.
fn edn_maps(line: &[u8], kind: Kind) -> Format {
    let has_key = memchr::memmem::find(line, b":key ").is_some();
    if has_key && kind == Kind::Kv { Format::KvLog } else { Format::JepsenEdn }
}

fn is_log_line(line: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    let has = |moment: &[u8]| {
        memchr::memmem::find_iter(line, moment)
            .any(|at| at > 0 && is_blank(line.get(at - 1)) && is_blank(line.get(at + moment.len())))
    };
    [&b":invoke"[..], b":ok", b":fail", b":info"].into_iter().any(has)
        || line.starts_with(b"INFO ") && memchr::memmem::find(line, b"jepsen").is_some()
}

fn is_header(line: &[u8]) -> bool {
    let names: Vec<&[u8]> = line.split(|b| *b == b',').map(|name| trim_quotes(name.trim_ascii())).collect();
    names.contains(&&b"process"[..]) && names.contains(&&b"op"[..])
}

fn trim_quotes(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name)
}

fn by_name(name: &str) -> Option<Format> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    by_ending(name.rsplit_once('.')?.1)
}

/// The format of files with this ending.
pub(super) fn by_ending(ending: &str) -> Option<Format> {
    match ending {
        "jsonl" | "ndjson" | "json" => Some(Format::JsonLines),
        "edn" => Some(Format::JepsenEdn),
        "log" => Some(Format::EtcdLog),
        "csv" => Some(Format::Csv),
        "parquet" => Some(Format::Parquet),
        "lin" => Some(Format::Binary),
        _ => None,
    }
}

/// What is wrong with `record`, which cannot be read as `format`: perhaps it is of another format.
pub(super) fn changed(format: Format, record: &[u8], schema: &Schema, problem: Diagnostic) -> Diagnostic {
    if super::guard::reached(&problem).is_some() {
        return problem;
    }
    let record = &record[..record.len().min(LOOK)];
    let unlike = |a: Format, b: Format| {
        let is_edn = |format| matches!(format, Format::JepsenEdn | Format::KvLog);
        let is_json = |format| matches!(format, Format::JsonLines | Format::JsonEvents);
        a != b && !(is_edn(a) && is_edn(b)) && !(is_json(a) && is_json(b))
    };
    match by_content(record, schema.kind) {
        Some(other) if unlike(format, other) => problem::format_change(format, other).at(problem.line, 1),
        _ => problem,
    }
}

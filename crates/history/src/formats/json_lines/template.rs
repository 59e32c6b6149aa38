//! The shape of a line, learned from one and expected of the next: the bytes between the values, and which
//! field each value is.
//!
//! Reading a line with a template is comparing up to sixteen bytes at a time with what should stand there,
//! and picking values out in between. It accepts less than the slow path, never more: whatever is unusual
//! makes it give up, and the slow path decides.

use std::ops::Range;

use memchr::memchr;

use super::super::json::Json;
use super::super::schema::Field;
use super::digits::{POWERS, leading_digits};
use super::op_names::{BOOL, CELL, Class, INT, Known, LIST, NULL, OpNames, PAIR, TEXT, TRUE};
use crate::operation::{KeyId, Operation, ProcessId};
use crate::signature::Shape;
use crate::symbols::{Symbols, ValueId};
use crate::value::Value;

/// The shape of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
    /// The parts of a line with the usual fields in the usual order.
    usual: Option<[Part; USUAL.len()]>,
}

/// The order of fields in the contract, read without asking at each what it is.
const USUAL: [Option<Field>; 7] = [
    Some(Field::Process),
    Some(Field::Op),
    Some(Field::Arg),
    Some(Field::Result),
    Some(Field::Call),
    Some(Field::Return),
    None,
];

/// No text and no list from this length on is read here.
const LONG: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    word: u128,
    mask: u128,
    length: u32,
    /// What stands after the literal; nothing where it goes on, or the line is over.
    field: Option<Field>,
}

impl Template {
    /// The template of a line, given where its values are, in order.
    pub fn of(line: &[u8], values: &[(Field, Range<usize>)]) -> Option<Template> {
        let mut template = Template { parts: Vec::new(), usual: None };
        let mut at = 0;
        for (field, range) in values {
            let (start, end) = match (field, line.get(range.start)?) {
                // The quotes around the name belong to the literals.
                (Field::Op, _) => (range.start + 1, range.end - 1),
                // So does all of `failed`: a line that says `true` is no row.
                (Field::Failed, _) | (Field::Other, b'{' | b'[' | b'-') => continue,
                _ => (range.start, range.end),
            };
            template.literal(line.get(at..start)?, Some(*field));
            at = end;
        }
        template.literal(line.get(at..)?, None);
        if template.parts.iter().map(|part| part.field).eq(USUAL) {
            template.usual = template.parts.as_slice().try_into().ok();
        }
        // A line this long is not what the buffer's margin was made for.
        (line.len() <= super::MARGIN / 2).then_some(template)
    }

    fn literal(&mut self, bytes: &[u8], field: Option<Field>) {
        let mut chunks = bytes.chunks(16).peekable();
        while let Some(chunk) = chunks.next() {
            let field = if chunks.peek().is_some() { None } else { field };
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            let mask = u128::MAX >> (128 - 8 * chunk.len());
            self.parts.push(Part {
                word: u128::from_le_bytes(word),
                mask,
                length: chunk.len() as u32,
                field,
            });
        }
    }

    /// Reads a line that begins `bytes`, its end included; the row and the bytes used.
    #[inline]
    pub fn read(&self, bytes: &[u8], names: &OpNames, symbols: &mut Symbols) -> Option<(Operation, usize)> {
        match &self.usual {
            Some(parts) => read_usual(parts, bytes, names, symbols),
            None => self.read_any(bytes, names, symbols),
        }
    }

    fn read_any(&self, bytes: &[u8], names: &OpNames, symbols: &mut Symbols) -> Option<(Operation, usize)> {
        let mut found = Found::default();
        let mut at = 0;
        for part in &self.parts {
            at = part.pass(bytes, at)?;
            let Some(field) = part.field else { continue };
            match field {
                Field::Process => (found.process, at) = read_process(bytes, at, symbols)?,
                Field::Op => {
                    let (known, length) = names.find(chunk(bytes, at)?)?;
                    (found.known, at) = (Some(known), at + length);
                }
                Field::Arg => (found.arg, at) = value(bytes, at, symbols)?,
                Field::Result => (found.result, at) = value(bytes, at, symbols)?,
                Field::Call => (found.call, at) = stamp(bytes, at)?,
                Field::Return => (found.ret, at) = stamp_or_null(bytes, at)?,
                Field::Key => {
                    let id;
                    ((id, _), at) = value(bytes, at, symbols)?;
                    found.key = if id.is_null() { KeyId::NONE } else { symbols.key(&symbols.value(id)) };
                }
                Field::Other => at = other(bytes, at)?,
                Field::Failed => {}
            }
        }
        found.row().map(|row| (row, at))
    }
}

/// As [`Template::read`], for the usual fields in the usual order.
#[inline(always)]
fn read_usual(
    parts: &[Part; USUAL.len()],
    bytes: &[u8],
    names: &OpNames,
    symbols: &mut Symbols,
) -> Option<(Operation, usize)> {
    let [before_process, before_op, before_arg, before_result, before_call, before_return, end] = parts;
    let (process, at) = read_process(bytes, before_process.pass(bytes, 0)?, symbols)?;
    let at = before_op.pass(bytes, at)?;
    let (known, length) = names.find(chunk(bytes, at)?)?;
    let (arg, at) = value(bytes, before_arg.pass(bytes, at + length)?, symbols)?;
    let (result, at) = value(bytes, before_result.pass(bytes, at)?, symbols)?;
    let (call, at) = stamp(bytes, before_call.pass(bytes, at)?)?;
    let (ret, at) = stamp_or_null(bytes, before_return.pass(bytes, at)?)?;
    let at = end.pass(bytes, at)?;
    let found = Found { process, known: Some(known), arg, result, call, ret, key: KeyId::NONE };
    found.row().map(|row| (row, at))
}

impl Part {
    /// Compares with the literal; the place after it.
    #[inline(always)]
    fn pass(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let here = u128::from_le_bytes(*chunk(bytes, at)?);
        (here & self.mask == self.word).then_some(at + self.length as usize)
    }
}

/// What a line has said.
struct Found<'a> {
    process: ProcessId,
    known: Option<&'a Known>,
    arg: (ValueId, Class),
    result: (ValueId, Class),
    call: i64,
    ret: i64,
    key: KeyId,
}

impl Default for Found<'_> {
    fn default() -> Self {
        Found {
            process: ProcessId(0),
            known: None,
            arg: (ValueId::NULL, NULL),
            result: (ValueId::NULL, NULL),
            call: 0,
            ret: Operation::NEVER,
            key: KeyId::NONE,
        }
    }
}

impl Found<'_> {
    /// The row, unless something about it needs a closer look.
    #[inline(always)]
    fn row(self) -> Option<Operation> {
        let known = self.known?;
        let is_pending = self.ret == Operation::NEVER;
        let fits = known.arg.admits(self.arg.1) & (known.result.admits(self.result.1) | is_pending);
        if !fits | (self.ret < self.call) {
            return None;
        }
        let mut row = Operation::of(self.process, known.op);
        (row.call, row.ret, row.key) = (self.call, self.ret, self.key);
        row.arg = known.arg.normalise(self.arg.0);
        row.result = if is_pending { ValueId::NULL } else { known.result.normalise(self.result.0) };
        Some(row)
    }
}

#[inline(always)]
fn chunk(bytes: &[u8], at: usize) -> Option<&[u8; 16]> {
    bytes.get(at..at + 16)?.try_into().ok()
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// A number without sign and without leading zeros, below the largest that a stamp may be, and its length.
#[inline(always)]
fn number(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = word(bytes, at)?;
    let (mut length, mut number) = leading_digits(first);
    if length == 8 {
        let (count, more) = leading_digits(word(bytes, at + 8)?);
        if count > 0 {
            (length, number) = (8 + count, number * POWERS[count] + more);
        }
        if count == 8 {
            let (count, more) = leading_digits(word(bytes, at + 16)?);
            // Nineteen digits, as nanoseconds since 1970 have, fit into 64 bits without a sign.
            if count > 3 {
                return None;
            }
            if count > 0 {
                (length, number) = (16 + count, number * POWERS[count] + more);
            }
            if number >= i64::MAX as u64 {
                return None;
            }
        }
    }
    let leading_zero = first as u8 == b'0' && length > 1;
    (length > 0 && !leading_zero).then_some((number, length))
}

/// A stamp, and the place after it.
#[inline(always)]
fn stamp(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    number(bytes, at).map(|(n, length)| (n as i64, at + length))
}

#[inline(always)]
fn stamp_or_null(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    match stamp(bytes, at) {
        None if bytes.get(at..)?.starts_with(b"null") => Some((Operation::NEVER, at + 4)),
        found => found,
    }
}

#[inline(always)]
fn read_process(bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<(ProcessId, usize)> {
    let (process, length) = match number(bytes, at) {
        Some((n, length)) => (symbols.process_number(n as i64), length),
        None => named_process(bytes, at, symbols)?,
    };
    (process.0 <= Operation::MAX_PROCESS).then_some((process, at + length))
}

#[cold]
fn named_process(bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<(ProcessId, usize)> {
    let text = text(bytes, at)?;
    Some((symbols.process(&Value::text(text)), text.len() + 2))
}

/// A value's number and its class, and the place after it.
#[inline(always)]
fn value(bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<((ValueId, Class), usize)> {
    let first = word(bytes, at)?;
    let (length, small) = leading_digits(first);
    let is_null = first as u32 == u32::from_le_bytes(*b"null");
    let is_small = length.wrapping_sub(1) < 7 && (first as u8 != b'0' || length == 1);
    // Which of the two it is cannot be predicted, and need not be.
    if is_null | is_small {
        let id = if is_null { ValueId::NULL } else { ValueId(small as u32) };
        return Some(((id, if is_null { NULL } else { INT }), at + if is_null { 4 } else { length }));
    }
    let (id, class, length) = long_value(first, bytes, at, symbols)?;
    Some(((id, class), at + length))
}

/// The other values: truth, large integers, text, lists.
#[inline]
fn long_value(first: u64, bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<(ValueId, Class, usize)> {
    const WORD_TRUE: u32 = u32::from_le_bytes(*b"true");
    const WORD_FALS: u32 = u32::from_le_bytes(*b"fals");
    match first as u32 {
        WORD_TRUE => Some((ValueId::TRUE, TRUE, 4)),
        WORD_FALS if bytes.get(at + 4) == Some(&b'e') => Some((ValueId::FALSE, BOOL, 5)),
        _ if first as u8 == b'[' => list(bytes, at, symbols),
        _ => match number(bytes, at) {
            Some((n, length)) => Some((symbols.intern_int(n as i64), INT, length)),
            None => text(bytes, at).map(|text| (symbols.intern_text(text), TEXT, text.len() + 2)),
        },
    }
}

/// A list that ends where the line does, at the latest.
fn list(bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<(ValueId, Class, usize)> {
    let rest = bytes.get(at..)?;
    // A line that is long beyond measure is for those who look at limits.
    let line = &rest[..memchr(b'\n', rest).filter(|length| *length < LONG)?];
    let mut json = Json::new(line);
    let value = json.value().ok()?;
    let class = match value.as_pair() {
        Some(_) if Shape::Cell.admits(&value) => PAIR | CELL,
        Some((Value::Null, _)) | None => LIST,
        Some(_) => PAIR,
    };
    Some((symbols.intern(&value), class, json.at()))
}

/// The place after a value that does not matter.
#[inline]
fn other(bytes: &[u8], at: usize) -> Option<usize> {
    match number(bytes, at) {
        Some((_, length)) => Some(at + length),
        None => text(bytes, at).map(|text| at + text.len() + 2),
    }
}

/// Text in quotes, without escapes.
#[inline]
fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?.strip_prefix(b"\"")?;
    let text = &rest[..memchr(b'"', rest).filter(|length| *length < LONG)?];
    if text.iter().any(|&b| b == b'\\' || b < 0x20) {
        return None;
    }
    std::str::from_utf8(text).ok()
}

//! The shape of a line, learned from one and expected of the next: the bytes between the values, and which field each
//! value is.
//!
//! Reading a line with a template is comparing up to sixteen bytes at a time with what should stand there, and picking values out in
//! between. It accepts less than the slow path, never more: whatever is unusual makes it give up, and the slow path
//! decides.

use std::ops::Range;

use memchr::memchr;

use super::digits::{POWERS, leading_digits};
use super::op_names::{BOOL, Class, INT, NULL, OpNames, TEXT, TRUE};
use crate::operation::{KeyId, OpCode, Operation, ProcessId};
use crate::symbols::{Symbols, ValueId};
use crate::value::Value;

/// What stands between two literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Process,
    /// The name itself; the quotes belong to the literals around it.
    Op,
    Arg,
    Result,
    Call,
    Return,
    Key,
    /// `failed`, which is part of the literal: a line that says `true` is no row.
    Failed,
    /// A field that means nothing here.
    Other,
    /// Nothing: the literal goes on, or the line is over.
    Nothing,
}

/// The shape of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    word: u128,
    mask: u128,
    length: u32,
    slot: Slot,
}

impl Template {
    /// The template of a line, given where its values are, in order.
    pub fn of(line: &[u8], values: &[(Slot, Range<usize>)]) -> Option<Template> {
        let mut template = Template { parts: Vec::new() };
        let mut at = 0;
        for (slot, range) in values {
            let (start, end) = match (slot, line.get(range.start)?) {
                (Slot::Op, _) => (range.start + 1, range.end - 1),
                (Slot::Failed, _) | (Slot::Other, b'{' | b'[' | b'-') => continue,
                _ => (range.start, range.end),
            };
            template.literal(line.get(at..start)?, *slot);
            at = end;
        }
        template.literal(line.get(at..)?, Slot::Nothing);
        // A line this long is not what the buffer's margin was made for.
        (line.len() <= super::MARGIN / 2).then_some(template)
    }

    fn literal(&mut self, bytes: &[u8], slot: Slot) {
        let mut chunks = bytes.chunks(16).peekable();
        while let Some(chunk) = chunks.next() {
            let slot = if chunks.peek().is_some() { Slot::Nothing } else { slot };
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            let mask = u128::MAX >> (128 - 8 * chunk.len());
            self.parts.push(Part { word: u128::from_le_bytes(word), mask, length: chunk.len() as u32, slot });
        }
    }

    /// Reads a line that begins `bytes`, its end included; the row and the bytes used.
    #[inline]
    pub fn read(&self, bytes: &[u8], names: &OpNames, symbols: &mut Symbols) -> Option<(Operation, usize)> {
        let mut row = Operation::new(ProcessId(0), OpCode(0));
        row.ret = Operation::NEVER;
        let (mut process, mut op) = (ProcessId(0), None);
        let (mut arg, mut result) = ((ValueId::NULL, NULL), (ValueId::NULL, NULL));
        let mut at = 0;
        for part in &self.parts {
            let here = u128::from_le_bytes(*chunk(bytes, at)?);
            if here & part.mask != part.word {
                return None;
            }
            at += part.length as usize;
            match part.slot {
                Slot::Process => {
                    let used;
                    (process, used) = read_process(bytes, at, symbols)?;
                    at += used;
                }
                Slot::Op => {
                    let (known, length) = names.find(chunk(bytes, at)?)?;
                    op = Some(known);
                    at += length;
                }
                Slot::Arg => {
                    let (id, class, used) = value(bytes, at, symbols)?;
                    arg = (id, class);
                    at += used;
                }
                Slot::Result => {
                    let (id, class, used) = value(bytes, at, symbols)?;
                    result = (id, class);
                    at += used;
                }
                Slot::Call => {
                    let (stamp, used) = stamp(bytes, at)?;
                    row.call = stamp;
                    at += used;
                }
                Slot::Return => {
                    if bytes[at..].starts_with(b"null") {
                        at += 4;
                    } else {
                        let (stamp, used) = stamp(bytes, at)?;
                        row.ret = stamp;
                        at += used;
                    }
                }
                Slot::Key => {
                    let (id, _, used) = value(bytes, at, symbols)?;
                    row.key = if id.is_null() { KeyId::NONE } else { symbols.key(&symbols.value(id)) };
                    at += used;
                }
                Slot::Other => at += other(bytes, at)?,
                Slot::Failed | Slot::Nothing => {}
            }
        }
        let known = op?;
        let fits = known.arg.admits(arg.1) & (known.result.admits(result.1) | row.is_pending());
        if !fits || row.ret < row.call {
            return None;
        }
        row.set_who_what(process, known.op);
        row.arg = known.arg.normalise(arg.0);
        row.result = if row.is_pending() { ValueId::NULL } else { known.result.normalise(result.0) };
        Some((row, at))
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

/// A number without sign, of at most 18 digits and without leading zeros, and its length.
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
            if count > 2 {
                return None;
            }
            if count > 0 {
                (length, number) = (16 + count, number * POWERS[count] + more);
            }
        }
    }
    let leading_zero = first as u8 == b'0' && length > 1;
    (length > 0 && !leading_zero).then_some((number, length))
}

#[inline(always)]
fn stamp(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    number(bytes, at).map(|(n, used)| (n as i64, used))
}

#[inline(always)]
fn read_process(bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<(ProcessId, usize)> {
    let (process, used) = match number(bytes, at) {
        Some((n, used)) => (symbols.process_number(n as i64), used),
        None => {
            let text = text(bytes, at)?;
            (symbols.process(&Value::text(text)), text.len() + 2)
        }
    };
    (process.0 <= Operation::MAX_PROCESS).then_some((process, used))
}

/// A value that is no list: its number, its class, its length.
#[inline(always)]
fn value(bytes: &[u8], at: usize, symbols: &mut Symbols) -> Option<(ValueId, Class, usize)> {
    const WORD_NULL: u32 = u32::from_le_bytes(*b"null");
    const WORD_TRUE: u32 = u32::from_le_bytes(*b"true");
    const WORD_FALS: u32 = u32::from_le_bytes(*b"fals");
    let first = word(bytes, at)?;
    let (length, small) = leading_digits(first);
    let leading_zero = first as u8 == b'0';
    if (1..8).contains(&length) && !(leading_zero && length > 1) {
        return Some((ValueId(small as u32), INT, length));
    }
    match first as u32 {
        WORD_NULL => Some((ValueId::NULL, NULL, 4)),
        WORD_TRUE => Some((ValueId::TRUE, TRUE, 4)),
        WORD_FALS if bytes.get(at + 4) == Some(&b'e') => Some((ValueId::FALSE, BOOL, 5)),
        _ if length == 8 => number(bytes, at).map(|(n, used)| (symbols.intern_int(n as i64), INT, used)),
        _ => text(bytes, at).map(|text| (symbols.intern_text(text), TEXT, text.len() + 2)),
    }
}

/// The length of a value that does not matter.
#[inline]
fn other(bytes: &[u8], at: usize) -> Option<usize> {
    match number(bytes, at) {
        Some((_, used)) => Some(used),
        None => text(bytes, at).map(|text| text.len() + 2),
    }
}

/// Text in quotes, without escapes.
#[inline]
fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?.strip_prefix(b"\"")?;
    let text = &rest[..memchr(b'"', rest)?];
    if text.iter().any(|&b| b == b'\\' || b < 0x20) {
        return None;
    }
    std::str::from_utf8(text).ok()
}

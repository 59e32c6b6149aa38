//! Rows: as they are in memory, or packed for the wire.
//!
//! What travels is packed once, where it is made, and unpacked where it is used: on the way it is only
//! copied. Packed rows begin with a stamp and the bytes that each takes, which is the least that all of them
//! fit into:
//! - 32 bytes hold any row.
//! - 20 bytes: the call as so much after that stamp, how long it took, the values, the key, and the process
//!   and operation in a byte each.
//! - 16 bytes: the same for rows of which argument or result is null, as of reads, writes and of collections:
//!   there is room for the other, and a bit says which of the two it is.

use std::fmt;

use linpoint_history::{KeyId, OpCode, Operation, ProcessId, ValueId};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    plain: Vec<Operation>,
    packed: Vec<u8>,
}

/// The bytes of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Short = SHORT as isize,
    Narrow = NARROW as isize,
    Wide = WIDE as isize,
}

const SHORT: usize = 16;
const NARROW: usize = 20;
const WIDE: usize = 32;
/// The stamp and the form, before the rows.
const HEAD: usize = 16;
/// In a short row, beside the operation: the value is the result.
const IS_RESULT: u8 = 1 << 7;

impl Rows {
    /// Rows that stay in this process.
    pub fn new(rows: Vec<Operation>) -> Rows {
        Rows { plain: rows, packed: Vec::new() }
    }

    /// Rows that will travel.
    pub fn packed(rows: impl ExactSizeIterator<Item = Operation> + Clone) -> Rows {
        let (mut packing, count) = (Packing::default(), rows.len());
        packing.begin(rows.clone(), count);
        rows.enumerate().for_each(|(place, row)| packing.put(place, &row));
        packing.rows(count)
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.packed.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        let packed = opened(&self.packed).map_or(0, |(_, form, body)| body.len() / form as usize);
        self.plain.len() + packed
    }

    /// Gives a few at a time.
    pub fn chunks(&self, count: usize, mut take: impl FnMut(&[Operation])) {
        self.plain.chunks(count).for_each(&mut take);
        match opened(&self.packed) {
            Some((base, Form::Short, body)) => {
                unpack::<SHORT>(body, count, |row| read_short(row, base), take)
            }
            Some((base, Form::Narrow, body)) => {
                unpack::<NARROW>(body, count, |row| read_narrow(row, base), take);
            }
            Some((_, Form::Wide, body)) => unpack::<WIDE>(body, count, read_wide, take),
            None => {}
        }
    }
}

/// The stamp, the form and the bytes of packed rows; `None` if that is not what they are.
fn opened(packed: &[u8]) -> Option<(i64, Form, &[u8])> {
    let (head, body) = packed.split_first_chunk::<HEAD>()?;
    let form = match eight(&head[8..]) {
        16 => Form::Short,
        20 => Form::Narrow,
        32 => Form::Wide,
        _ => return None,
    };
    body.len().is_multiple_of(form as usize).then_some((eight(head), form, body))
}

#[inline]
fn unpack<const BYTES: usize>(
    body: &[u8],
    count: usize,
    read: impl Fn(&[u8; BYTES]) -> Operation,
    mut take: impl FnMut(&[Operation]),
) {
    let mut rows = Vec::with_capacity(count);
    for chunk in body.as_chunks::<BYTES>().0.chunks(count) {
        rows.clear();
        rows.extend(chunk.iter().map(&read));
        take(&rows);
    }
}

/// Where rows are packed, time and again in the same bytes: these stay near the processor, and what is sent
/// off is no larger than it must be.
#[derive(Default)]
pub(crate) struct Packing {
    base: i64,
    form: Form,
    /// Of the rows alone.
    bytes: Vec<u8>,
}

impl Packing {
    /// Begins anew, for some of `rows`, at most so many.
    pub fn begin(&mut self, rows: impl Iterator<Item = Operation>, most: usize) {
        let (mut first, mut last, mut longest, mut process) = (i64::MAX, i64::MIN, 0, 0);
        let (mut op, mut both) = (0, false);
        for row in rows {
            (first, last) = (first.min(row.call), last.max(row.call));
            longest = longest.max((row.ret as u64).wrapping_sub(row.call as u64));
            process = process.max(row.process().0);
            op |= row.op().0;
            both |= !row.arg.is_null() & !row.result.is_null();
        }
        let spread = (last as u64).wrapping_sub(first as u64);
        let is_narrow = first <= last
            && spread <= u64::from(u32::MAX)
            && longest <= u64::from(u16::MAX)
            && process <= u32::from(u8::MAX);
        let form = match is_narrow {
            true if !both && op & IS_RESULT == 0 => Form::Short,
            true => Form::Narrow,
            false => Form::Wide,
        };
        (self.base, self.form) = (first, form);
        let needed = most * form as usize;
        if self.bytes.len() < needed {
            self.bytes.resize(needed, 0);
        }
    }

    /// Puts a row at a place.
    #[inline]
    pub fn put(&mut self, place: usize, row: &Operation) {
        match self.form {
            Form::Short => set(&mut self.bytes, place, short_bytes(row, self.base)),
            Form::Narrow => set(&mut self.bytes, place, narrow_bytes(row, self.base)),
            Form::Wide => set(&mut self.bytes, place, wide_bytes(row)),
        }
    }

    /// The first `count`.
    pub fn rows(&self, count: usize) -> Rows {
        let body = &self.bytes[..count * self.form as usize];
        let mut packed = Vec::with_capacity(if count == 0 { 0 } else { HEAD + body.len() });
        if count > 0 {
            packed.extend_from_slice(&self.base.to_le_bytes());
            packed.extend_from_slice(&(self.form as u64).to_le_bytes());
            packed.extend_from_slice(body);
        }
        Rows { plain: Vec::new(), packed }
    }
}

#[inline]
fn set<const BYTES: usize>(body: &mut [u8], place: usize, row: [u8; BYTES]) {
    if let Some(place) = body.as_chunks_mut::<BYTES>().0.get_mut(place) {
        *place = row;
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.plain.is_empty() {
            return serializer.serialize_bytes(&self.packed);
        }
        serializer.serialize_bytes(&Rows::packed(self.plain.iter().copied()).packed)
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rows, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Rows;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("rows")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Rows, E> {
                if !bytes.is_empty() && opened(bytes).is_none() {
                    return Err(E::custom("rows of 16, 20 or 32 bytes"));
                }
                Ok(Rows { plain: Vec::new(), packed: bytes.to_vec() })
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

// Bytes of strangers give some row or other, and nothing worse.

/// A row in 16 bytes, called no earlier than `base`.
#[inline]
fn short_bytes(row: &Operation, base: i64) -> [u8; SHORT] {
    let (after, took) = since(row, base);
    let is_result = row.arg.is_null() & !row.result.is_null();
    let value = if is_result { row.result } else { row.arg };
    let op = row.op().0 | if is_result { IS_RESULT } else { 0 };
    let times = u64::from(after) | u64::from(value.0) << 32;
    let what = u64::from(row.key.0) | u64::from(took) << 32 | u64::from(row.process().0 as u8) << 48;
    (u128::from(times) | u128::from(what | u64::from(op) << 56) << 64).to_le_bytes()
}

#[inline]
fn read_short(bytes: &[u8; SHORT], base: i64) -> Operation {
    let word = |at: usize| four(&bytes[at..]);
    let mut row = begun(base, word(0), [bytes[12], bytes[13]], bytes[14], bytes[15] & !IS_RESULT);
    let (value, is_result) = (ValueId(word(4)), bytes[15] & IS_RESULT != 0);
    row.arg = if is_result { ValueId::NULL } else { value };
    row.result = if is_result { value } else { ValueId::NULL };
    row.key = KeyId(word(8));
    row
}

/// A row in 20 bytes, called no earlier than `base`.
#[inline]
fn narrow_bytes(row: &Operation, base: i64) -> [u8; NARROW] {
    let mut packed = [0; NARROW];
    let (after, took) = since(row, base);
    packed[..4].copy_from_slice(&after.to_le_bytes());
    packed[4..8].copy_from_slice(&row.arg.0.to_le_bytes());
    packed[8..12].copy_from_slice(&row.result.0.to_le_bytes());
    packed[12..16].copy_from_slice(&row.key.0.to_le_bytes());
    packed[16..18].copy_from_slice(&took.to_le_bytes());
    (packed[18], packed[19]) = (row.process().0 as u8, row.op().0);
    packed
}

#[inline]
fn read_narrow(bytes: &[u8; NARROW], base: i64) -> Operation {
    let word = |at: usize| four(&bytes[at..]);
    let mut row = begun(base, word(0), [bytes[16], bytes[17]], bytes[18], bytes[19]);
    (row.arg, row.result, row.key) = (ValueId(word(4)), ValueId(word(8)), KeyId(word(12)));
    row
}

/// How long after `base` it was called, and how long it took.
#[inline]
fn since(row: &Operation, base: i64) -> (u32, u16) {
    (row.call.wrapping_sub(base) as u32, row.ret.wrapping_sub(row.call) as u16)
}

/// A row of which these are known.
#[inline]
fn begun(base: i64, after: u32, took: [u8; 2], process: u8, op: u8) -> Operation {
    let mut row = Operation::new(ProcessId(process.into()), OpCode(op));
    row.call = base.wrapping_add(i64::from(after));
    row.ret = row.call.wrapping_add(i64::from(u16::from_le_bytes(took)));
    row
}

/// A row in its 32 bytes.
#[inline]
fn wide_bytes(row: &Operation) -> [u8; WIDE] {
    let mut packed = [0; WIDE];
    packed[..8].copy_from_slice(&row.call.to_le_bytes());
    packed[8..16].copy_from_slice(&row.ret.to_le_bytes());
    packed[16..20].copy_from_slice(&row.arg.0.to_le_bytes());
    packed[20..24].copy_from_slice(&row.result.0.to_le_bytes());
    packed[24..28].copy_from_slice(&row.key.0.to_le_bytes());
    packed[28..].copy_from_slice(&(row.process().0 << 8 | u32::from(row.op().0)).to_le_bytes());
    packed
}

#[inline]
fn read_wide(bytes: &[u8; WIDE]) -> Operation {
    let (long, word) = (|at: usize| eight(&bytes[at..]), |at: usize| four(&bytes[at..]));
    let mut row = Operation::new(ProcessId(word(28) >> 8), OpCode(word(28) as u8));
    (row.call, row.ret) = (long(0), long(8));
    (row.arg, row.result, row.key) = (ValueId(word(16)), ValueId(word(20)), KeyId(word(24)));
    row
}

#[inline]
fn eight(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

#[inline]
fn four(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(process: u32, op: u8, values: [ValueId; 2], times: [i64; 2]) -> Operation {
        let mut row = Operation::new(ProcessId(process), OpCode(op));
        ([row.arg, row.result], [row.call, row.ret], row.key) = (values, times, KeyId(12));
        row
    }

    #[test]
    fn rows_come_back_from_the_smallest_form_they_fit_into() {
        let (seven, nine) = (ValueId(7), ValueId(9));
        let (arg, result, both) = ([seven, ValueId::NULL], [ValueId::NULL, nine], [seven, nine]);
        let none = [ValueId::NULL; 2];
        let usual = [-9, 65_526];
        for (last, bytes) in [
            (row(255, 127, arg, usual), SHORT),
            (row(255, 9, result, usual), SHORT),
            (row(0, 0, none, [i64::from(u32::MAX) - 9, i64::from(u32::MAX)]), SHORT),
            (row(255, 9, both, usual), NARROW),
            (row(255, 128, arg, usual), NARROW),
            (row(255, 9, arg, [-9, 65_527]), WIDE),
            (row(256, 9, arg, usual), WIDE),
            (row(3, 9, both, [u32::MAX.into(), i64::from(u32::MAX) + 1]), WIDE),
            (row(77, 3, arg, [-9, Operation::NEVER]), WIDE),
            (row(1, 3, arg, [i64::MAX - 1, i64::MAX - 1]), WIDE),
        ] {
            let first = row(255, 9, arg, usual);
            let all = [first, first, first, first, last];
            let (near, far) = (Rows::new(all.to_vec()), Rows::packed(all.into_iter()));
            assert_eq!(far.packed.len(), HEAD + 5 * bytes, "{last:?}");
            for rows in [near, far] {
                let mut back = Vec::new();
                rows.chunks(2, |few| back.extend_from_slice(few));
                assert_eq!((back.as_slice(), rows.len()), (all.as_slice(), 5));
            }
        }
        assert!(Rows::packed([].into_iter()).is_empty());
    }

    #[test]
    fn what_is_no_rows_is_not_opened() {
        let good = Rows::packed([row(1, 2, [ValueId(1); 2], [3, 4])].into_iter()).packed;
        assert!(opened(&good).is_some());
        for cut in 0..good.len() {
            // Of a head alone nothing is missing: no rows.
            assert_eq!(opened(&good[..cut]).is_some(), cut == HEAD, "{cut}");
        }
        let mut other = good;
        other[8] = 17;
        assert!(opened(&other).is_none());
    }
}

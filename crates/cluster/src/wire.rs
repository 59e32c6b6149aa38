//! What travels between workers: rows by the thousand, and what their numbers stand for.
//!
//! A row holds numbers that its source gave. A worker that gets a batch is told, before or with the first row that uses it, what a number stands for, and keeps a table a
//! source: names travel once. Inside a process a batch is moved, not written; between processes rows are 20 bytes each, or 32 where they do not fit.

use std::fmt;

use linpoint_history::{KeyId, OpCode, Operation, ProcessId, Value, ValueId};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Of all that follows: two hosts with different ones do not understand each other.
pub const VERSION: u32 = 2;

/// Rows of one source for one worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    /// The worker it is for.
    pub target: u64,
    /// The source's number among all sources of the run.
    pub source: u32,
    /// What the source is; in the first batch for a worker.
    pub about: Option<About>,
    /// New keys, processes and large values, by their numbers.
    pub keys: Vec<(u32, Wire)>,
    /// See `keys`.
    pub processes: Vec<(u32, Wire)>,
    /// See `keys`.
    pub values: Vec<(u32, Wire)>,
    /// The rows, in order of return as far as the source knows.
    pub rows: Rows,
    /// Something that is not a row.
    pub notice: Option<Notice>,
}

/// What a source is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its name, such as the file's.
    pub name: String,
    /// The specification of its objects.
    pub spec: String,
    /// What they start with.
    pub initial: Option<Wire>,
    /// How far its clock may be off.
    pub epsilon: i64,
}

/// Something that happened to a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// A checkpoint is taken at this mark.
    Checkpoint(i64),
    /// It broke off: nothing is known of what it did from the time of this notice on.
    Lost {
        /// Why.
        why: String,
    },
    /// The run is stopped: what it would have given from the time of this notice on is not read.
    Stopped,
    /// Operations on these keys came after it was promised that none would.
    Late {
        /// The keys, by the source's numbers.
        keys: Vec<u32>,
        /// The stamp of the call.
        at: i64,
    },
}

/// Rows: as they are in memory, or packed for the wire. What travels is packed once, where it is made, and unpacked where it is used: on the way it is only copied.
///
/// Packed rows begin with a stamp. Where it is none ([`WIDE`]), 32 bytes a row follow. Otherwise there are 20 a row: the call as so much after that stamp, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    plain: Vec<Operation>,
    packed: Vec<u8>,
}

const ROW: usize = 32;
const NARROW: usize = 20;
/// The stamp before the rows.
const BASE: usize = 8;
/// In the place of the stamp: rows have 32 bytes each. No operation that returned was called then.
const WIDE: i64 = i64::MAX;

impl Rows {
    /// Rows that stay in this process.
    pub fn new(rows: Vec<Operation>) -> Rows {
        Rows { plain: rows, packed: Vec::new() }
    }

    /// Rows that will travel.
    pub fn packed(rows: impl ExactSizeIterator<Item = Operation> + Clone) -> Rows {
        let (mut packing, count) = (Packing::new(rows.clone(), rows.len()), rows.len());
        rows.enumerate().for_each(|(place, row)| packing.put(place, &row));
        packing.rows(count)
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.packed.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        let (base, body) = self.body();
        self.plain.len() + body.len() / if base == WIDE { ROW } else { NARROW }
    }

    /// The stamp and the bytes of packed rows.
    fn body(&self) -> (i64, &[u8]) {
        self.packed
            .split_first_chunk::<BASE>()
            .map_or((WIDE, &[]), |(base, body)| (i64::from_le_bytes(*base), body))
    }

    /// Gives a few at a time.
    pub fn chunks(&self, count: usize, mut take: impl FnMut(&[Operation])) {
        self.plain.chunks(count).for_each(&mut take);
        let (base, body) = self.body();
        let mut rows = Vec::with_capacity(count);
        if base == WIDE {
            for chunk in body.as_chunks::<ROW>().0.chunks(count) {
                rows.clear();
                rows.extend(chunk.iter().map(read_row));
                take(&rows);
            }
        } else {
            for chunk in body.as_chunks::<NARROW>().0.chunks(count) {
                rows.clear();
                rows.extend(chunk.iter().map(|bytes| read_narrow(bytes, base)));
                take(&rows);
            }
        }
    }
}

/// Rows that are being packed, for as many as there may be.
pub(crate) struct Packing {
    /// See [`Rows`].
    base: i64,
    bytes: Vec<u8>,
}

impl Packing {
    /// For some of `rows`, at most so many.
    pub fn new(rows: impl Iterator<Item = Operation>, most: usize) -> Packing {
        let (mut first, mut last, mut longest, mut process) = (i64::MAX, i64::MIN, 0, 0);
        for row in rows {
            (first, last) = (first.min(row.call), last.max(row.call));
            longest = longest.max((row.ret as u64).wrapping_sub(row.call as u64));
            process = process.max(row.process().0);
        }
        let spread = (last as u64).wrapping_sub(first as u64);
        let fits = first < WIDE
            && spread <= u64::from(u32::MAX)
            && longest <= u64::from(u16::MAX)
            && process <= u32::from(u8::MAX);
        let (base, each) = if fits { (first, NARROW) } else { (WIDE, ROW) };
        let mut bytes = vec![0; BASE + most * each];
        bytes[..BASE].copy_from_slice(&base.to_le_bytes());
        Packing { base, bytes }
    }

    /// Puts a row at a place.
    #[inline]
    pub fn put(&mut self, place: usize, row: &Operation) {
        let body = &mut self.bytes[BASE..];
        if self.base == WIDE {
            if let Some(place) = body.as_chunks_mut::<ROW>().0.get_mut(place) {
                *place = row_bytes(row);
            }
        } else if let Some(place) = body.as_chunks_mut::<NARROW>().0.get_mut(place) {
            *place = narrow_bytes(row, self.base);
        }
    }

    /// The first `count`.
    pub fn rows(mut self, count: usize) -> Rows {
        let each = if self.base == WIDE { ROW } else { NARROW };
        self.bytes.truncate(if count == 0 { 0 } else { BASE + count * each });
        Rows { plain: Vec::new(), packed: self.bytes }
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

/// A row in 20 bytes, called no earlier than `base`.
#[inline]
fn narrow_bytes(row: &Operation, base: i64) -> [u8; NARROW] {
    let mut packed = [0; NARROW];
    let (after, took) = (row.call.wrapping_sub(base) as u32, row.ret.wrapping_sub(row.call) as u16);
    packed[..4].copy_from_slice(&after.to_le_bytes());
    packed[4..8].copy_from_slice(&row.arg.0.to_le_bytes());
    packed[8..12].copy_from_slice(&row.result.0.to_le_bytes());
    packed[12..16].copy_from_slice(&row.key.0.to_le_bytes());
    packed[16..18].copy_from_slice(&took.to_le_bytes());
    (packed[18], packed[19]) = (row.process().0 as u8, row.op().0);
    packed
}

/// Reads it back; bytes of strangers give some row or other.
#[inline]
fn read_narrow(bytes: &[u8; NARROW], base: i64) -> Operation {
    let word = |at: usize| four(&bytes[at..]);
    let mut row = Operation::new(ProcessId(u32::from(bytes[18])), OpCode(bytes[19]));
    row.call = base.wrapping_add(i64::from(word(0)));
    row.ret = row.call.wrapping_add(i64::from(u16::from_le_bytes([bytes[16], bytes[17]])));
    (row.arg, row.result, row.key) = (ValueId(word(4)), ValueId(word(8)), KeyId(word(12)));
    row
}

/// A row in its 32 bytes.
#[inline]
pub(crate) fn row_bytes(row: &Operation) -> [u8; ROW] {
    let mut packed = [0; ROW];
    packed[..8].copy_from_slice(&row.call.to_le_bytes());
    packed[8..16].copy_from_slice(&row.ret.to_le_bytes());
    packed[16..20].copy_from_slice(&row.arg.0.to_le_bytes());
    packed[20..24].copy_from_slice(&row.result.0.to_le_bytes());
    packed[24..28].copy_from_slice(&row.key.0.to_le_bytes());
    packed[28..].copy_from_slice(&(row.process().0 << 8 | u32::from(row.op().0)).to_le_bytes());
    packed
}

/// Reads a row back.
#[inline]
pub(crate) fn read_row(bytes: &[u8; ROW]) -> Operation {
    let (long, word) = (|at: usize| eight(&bytes[at..]), |at: usize| four(&bytes[at..]));
    let mut row = Operation::new(ProcessId(word(28) >> 8), OpCode(word(28) as u8));
    (row.call, row.ret) = (long(0), long(8));
    (row.arg, row.result, row.key) = (ValueId(word(16)), ValueId(word(20)), KeyId(word(24)));
    row
}

fn eight(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

fn four(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
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
                let rows = Rows { plain: Vec::new(), packed: bytes.to_vec() };
                let (base, body) = rows.body();
                let each = if base == WIDE { ROW } else { NARROW };
                if !bytes.is_empty() && (bytes.len() < BASE || !body.len().is_multiple_of(each)) {
                    return Err(E::custom("rows of 20 or 32 bytes"));
                }
                Ok(rows)
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// A value on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire(pub Value);

impl Serialize for Wire {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        write_value(&self.0, &mut bytes);
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Wire {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wire, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Wire;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_bytes<E: Error>(self, mut bytes: &[u8]) -> Result<Wire, E> {
                let value = read_value(&mut bytes, 64).filter(|_| bytes.is_empty());
                value.map(Wire).ok_or_else(|| E::custom("not a value"))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Adds a value: a letter for its kind, then what it holds.
pub(crate) fn write_value(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null => bytes.push(b'n'),
        Value::Bool(b) => bytes.push(if *b { b't' } else { b'f' }),
        Value::Int(n) => {
            bytes.push(b'i');
            bytes.extend_from_slice(&n.to_le_bytes());
        }
        Value::Str(text) => {
            bytes.push(b's');
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        Value::List(items) => {
            bytes.push(b'l');
            bytes.extend_from_slice(&(items.len() as u32).to_le_bytes());
            items.iter().for_each(|item| write_value(item, bytes));
        }
    }
}

/// Reads a value of no more than `deep` levels from the front of `bytes`.
pub(crate) fn read_value(bytes: &mut &[u8], deep: usize) -> Option<Value> {
    let (&kind, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(match kind {
        b'n' => Value::Null,
        b't' => Value::Bool(true),
        b'f' => Value::Bool(false),
        b'i' => Value::Int(i64::from_le_bytes(*take::<8>(bytes)?)),
        b's' => {
            let length = u32::from_le_bytes(*take::<4>(bytes)?) as usize;
            let (text, rest) = bytes.split_at_checked(length)?;
            *bytes = rest;
            Value::text(std::str::from_utf8(text).ok()?)
        }
        b'l' => {
            let length = u32::from_le_bytes(*take::<4>(bytes)?) as usize;
            let deep = deep.checked_sub(1)?;
            // Each item takes a byte at least.
            if length > bytes.len() {
                return None;
            }
            let items: Option<Vec<Value>> = (0..length).map(|_| read_value(bytes, deep)).collect();
            Value::list(items?)
        }
        _ => return None,
    })
}

pub(crate) fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}

/// Which of `workers` an object belongs to: the same on every machine (FNV-1a).
pub fn home(spec: &str, key: &Value, workers: usize) -> u64 {
    let mut bytes = spec.as_bytes().to_vec();
    write_value(key, &mut bytes);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ hash >> 32) % workers.max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_rows_come_back() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(-5),
            Value::text("päan"),
            Value::list([Value::Int(1), Value::list([]), Value::text("")]),
        ];
        for value in values {
            let mut bytes = Vec::new();
            write_value(&value, &mut bytes);
            assert_eq!(read_value(&mut bytes.as_slice(), 64), Some(value));
            for cut in 0..bytes.len() {
                assert_eq!(read_value(&mut &bytes[..cut], 64), None);
            }
        }
        let mut row = Operation::new(ProcessId(77), OpCode(3));
        (row.call, row.ret, row.arg, row.key) = (-9, Operation::NEVER, ValueId(7), KeyId(12));
        assert_eq!(read_row(&row_bytes(&row)), row);
        let mut short = Operation::new(ProcessId(255), OpCode(9));
        (short.call, short.ret, short.arg, short.key) = (-9, 65_526, ValueId(7), KeyId(12));
        let mut long = short;
        long.ret += 1;
        let mut stranger = Operation::new(ProcessId(256), OpCode(9));
        (stranger.call, stranger.ret) = (5, 6);
        let mut far_off = short;
        (far_off.call, far_off.ret) = (u32::MAX.into(), i64::from(u32::MAX) + 1);
        for (last, narrow) in
            [(row, false), (short, true), (long, false), (stranger, false), (far_off, false)]
        {
            let all = [short, short, short, short, last];
            let (near, far) = (Rows::new(all.to_vec()), Rows::packed(all.into_iter()));
            assert_eq!(far.packed.len(), BASE + 5 * if narrow { NARROW } else { ROW });
            for rows in [near, far] {
                let mut back = Vec::new();
                rows.chunks(2, |few| back.extend_from_slice(few));
                assert_eq!((back.as_slice(), rows.len()), (all.as_slice(), 5));
            }
        }
        assert!(Rows::packed([].into_iter()).is_empty());
    }
}

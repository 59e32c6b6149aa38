//! What travels between workers: rows by the thousand, and what their numbers stand for.
//!
//! A row holds numbers that its source gave. A worker that gets a batch is told, before or with the first row
//! that uses it, what a number stands for, and keeps a table a source: names travel once. Inside a process a
//! batch is moved, not written; between processes rows are 16 bytes each, or 20 or 32 where they do not fit.

mod rows;

use std::fmt;

use linpoint_history::Value;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use self::rows::Packing;
pub use self::rows::Rows;

/// Of all that follows: two hosts with different ones do not understand each other.
pub const VERSION: u32 = 4;

/// Rows of one source for one worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    /// The worker it is for.
    pub target: u64,
    /// The source's number among all sources of the run.
    pub source: u32,
    /// The time it is of: its rows were not called before. It travels at this time or an earlier one.
    pub at: i64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
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
    }
}

//! What operations take and give back: JSON's values without floating point and without objects.
//!
//! Values are compared, hashed and ordered; the order (null, booleans, integers, strings, lists) is what a
//! priority queue uses. Cloning is cheap: text and lists are shared.

use std::fmt;
use std::sync::Arc;

/// An argument or a result.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Value {
    /// No value: the result of `write`, the answer of an empty queue, a missing key.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A 64-bit integer; larger ones are bad input, never rounded.
    Int(i64),
    /// Text.
    Str(Arc<str>),
    /// Several values: several arguments, or a snapshot.
    List(Arc<[Value]>),
}

impl Value {
    /// Text as a value.
    pub fn text(text: &str) -> Value {
        Value::Str(Arc::from(text))
    }

    /// Several values as one.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Value {
        Value::List(items.into_iter().collect())
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The two items of a list of two.
    pub fn as_pair(&self) -> Option<(&Value, &Value)> {
        match self {
            Value::List(items) if items.len() == 2 => Some((&items[0], &items[1])),
            _ => None,
        }
    }

    /// Is this `null`?
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Bytes that it takes, what it holds behind pointers included, as if nobody shared that.
    pub fn bytes(&self) -> usize {
        size_of::<Value>() + self.heap_bytes()
    }

    /// Bytes that it holds behind pointers.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::Null | Value::Bool(_) | Value::Int(_) => 0,
            Value::Str(text) => 32 + text.len(),
            Value::List(items) => 32 + items.iter().map(Value::bytes).sum::<usize>(),
        }
    }

    /// What a diagnostic calls this kind of value.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Str(_) => "text",
            Value::List(_) => "a list",
        }
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}

/// Prints as JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(n) => write!(f, "{n}"),
            Value::Str(text) => write_json_text(f, text),
            Value::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Writes `text` as a JSON string, quotes included.
pub fn write_json_text(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for ch in text.chars() {
        match ch {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            ch if (ch as u32) < 0x20 => write!(f, "\\u{:04x}", ch as u32)?,
            ch => f.write_char(ch)?,
        }
    }
    f.write_char('"')
}

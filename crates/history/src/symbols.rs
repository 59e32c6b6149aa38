//! Numbers in place of values: a row of a history holds 32-bit [`ValueId`]s, and [`Symbols`] knows what
//! they stand for.
//!
//! Small non-negative integers are their own id, so the common case needs no table and no hashing, and two
//! such ids compare as the integers do. `null`, `false` and `true` have fixed ids. Everything else (text,
//! lists, negative and large integers) is interned: equal values have equal ids, always.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::operation::{KeyId, ProcessId};
use crate::value::Value;

/// Stands for a value. Equal ids mean equal values, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

const TABLE: u32 = 0xC000_0000;

impl ValueId {
    /// `null`.
    pub const NULL: ValueId = ValueId(0xFFFF_FFFF);
    /// `false`.
    pub const FALSE: ValueId = ValueId(0xFFFF_FFFE);
    /// `true`.
    pub const TRUE: ValueId = ValueId(0xFFFF_FFFD);
    /// Integers below this are their own id.
    pub const INLINE: u32 = TABLE;

    /// The integer this id is, if it is a small one.
    pub fn small(self) -> Option<u32> {
        (self.0 < TABLE).then_some(self.0)
    }

    /// Is this `null`?
    pub fn is_null(self) -> bool {
        self == Self::NULL
    }

    /// The truth value, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Self::TRUE => Some(true),
            Self::FALSE => Some(false),
            _ => None,
        }
    }

    /// The id of a truth value.
    pub fn from_bool(b: bool) -> ValueId {
        if b { Self::TRUE } else { Self::FALSE }
    }

    fn table_index(self) -> Option<usize> {
        (TABLE..Self::TRUE.0).contains(&self.0).then(|| (self.0 - TABLE) as usize)
    }
}

/// What the numbers in a history stand for: values, processes, keys.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    values: Vec<Value>,
    value_ids: FxHashMap<Value, ValueId>,
    /// Text apart, so that it is found without making a value of it.
    text_ids: FxHashMap<Arc<str>, ValueId>,
    processes: Names,
    keys: Names,
}

impl Symbols {
    /// Nothing interned yet.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The id of `value`, made if new.
    pub fn intern(&mut self, value: &Value) -> ValueId {
        match value {
            Value::Null => ValueId::NULL,
            Value::Bool(b) => ValueId::from_bool(*b),
            Value::Int(n) if (0..i64::from(TABLE)).contains(n) => ValueId(*n as u32),
            Value::Str(text) => match self.text_ids.get(text) {
                Some(&id) => id,
                None => self.add_text(Arc::clone(text)),
            },
            other => {
                if let Some(&id) = self.value_ids.get(other) {
                    return id;
                }
                let id = self.add(other.clone());
                self.value_ids.insert(other.clone(), id);
                id
            }
        }
    }

    /// The id of a text, made if new; nothing is allocated if it is not.
    pub fn intern_text(&mut self, text: &str) -> ValueId {
        match self.text_ids.get(text) {
            Some(&id) => id,
            None => self.add_text(Arc::from(text)),
        }
    }

    fn add_text(&mut self, text: Arc<str>) -> ValueId {
        let id = self.add(Value::Str(Arc::clone(&text)));
        self.text_ids.insert(text, id);
        id
    }

    fn add(&mut self, value: Value) -> ValueId {
        let index = self.values.len() as u32;
        assert!(index < ValueId::TRUE.0 - TABLE, "a history holds less than 2^30 distinct large values");
        self.values.push(value);
        ValueId(TABLE + index)
    }

    /// The id of an integer, made if new.
    #[inline]
    pub fn intern_int(&mut self, n: i64) -> ValueId {
        if (0..i64::from(TABLE)).contains(&n) { ValueId(n as u32) } else { self.intern(&Value::Int(n)) }
    }

    /// The id of `value` if it has one already.
    pub fn find(&self, value: &Value) -> Option<ValueId> {
        match value {
            Value::Null => Some(ValueId::NULL),
            Value::Bool(b) => Some(ValueId::from_bool(*b)),
            Value::Int(n) if (0..i64::from(TABLE)).contains(n) => Some(ValueId(*n as u32)),
            Value::Str(text) => self.text_ids.get(text).copied(),
            other => self.value_ids.get(other).copied(),
        }
    }

    /// The value behind an id.
    pub fn value(&self, id: ValueId) -> Value {
        match id {
            ValueId::NULL => Value::Null,
            ValueId::FALSE => Value::Bool(false),
            ValueId::TRUE => Value::Bool(true),
            _ => match id.table_index() {
                Some(index) => self.values[index].clone(),
                None => Value::Int(i64::from(id.0)),
            },
        }
    }

    /// The two items behind an id, if it stands for a list of two.
    pub fn pair(&self, id: ValueId) -> Option<(&Value, &Value)> {
        self.values.get(id.table_index()?)?.as_pair()
    }

    /// The integer behind an id, if it is one.
    pub fn int(&self, id: ValueId) -> Option<i64> {
        match id.small() {
            Some(n) => Some(i64::from(n)),
            None => self.values.get(id.table_index()?)?.as_int(),
        }
    }

    /// The order of values, as [`Value`] has it.
    pub fn compare(&self, a: ValueId, b: ValueId) -> Ordering {
        match (a.small(), b.small()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => self.value(a).cmp(&self.value(b)),
        }
    }

    /// How many values needed the table.
    pub fn table_len(&self) -> usize {
        self.values.len()
    }

    /// The number of the process called `name` in the file, made if new.
    pub fn process(&mut self, name: &Value) -> ProcessId {
        ProcessId(self.processes.intern(name))
    }

    /// As [`Symbols::process`], for a process whose name is a number.
    #[inline]
    pub fn process_number(&mut self, n: i64) -> ProcessId {
        match self.processes.small.get(n as usize) {
            Some(&id) if id != 0 => ProcessId(id - 1),
            _ => self.process(&Value::Int(n)),
        }
    }

    /// What the file calls a process: an integer, text, or the [`later`] process of such a name.
    pub fn process_name(&self, process: ProcessId) -> Value {
        self.processes.name(process.0)
    }

    /// How many processes there are.
    pub fn process_count(&self) -> usize {
        self.processes.names.len()
    }

    /// The number of the object called `name` in the file, made if new. `null` is the object without a name.
    pub fn key(&mut self, name: &Value) -> KeyId {
        if name.is_null() { KeyId::NONE } else { KeyId(self.keys.intern(name)) }
    }

    /// What the file calls an object.
    pub fn key_name(&self, key: KeyId) -> Value {
        if key == KeyId::NONE { Value::Null } else { self.keys.name(key.0) }
    }

    /// How many objects have a name.
    pub fn key_count(&self) -> usize {
        self.keys.names.len()
    }
}

/// The name of the process that goes on under `name` after `generation - 1` processes of that name are gone:
/// a list of the two, so that it is the name of no process of a file's own, and of no other.
pub fn later(name: &Value, generation: u32) -> Value {
    Value::list([name.clone(), Value::Int(i64::from(generation))])
}

/// The name of a process as it is shown: `3`, `"a"`, and `3#2` for the second process of the name 3. No two
/// names are shown alike, since text stands in quotes.
pub fn show_process(name: &Value) -> String {
    match name.as_pair() {
        Some((name, generation)) => format!("{name}#{generation}"),
        None => name.to_string(),
    }
}

#[derive(Clone, Debug, Default)]
struct Names {
    names: Vec<Value>,
    ids: FxHashMap<Value, u32>,
    /// Small integers, the usual names, found without hashing: `small[n]` is the id plus one.
    small: Vec<u32>,
}

impl Names {
    const SMALL: i64 = 4096;

    fn intern(&mut self, name: &Value) -> u32 {
        if let Value::Int(n @ 0..Self::SMALL) = *name {
            let n = n as usize;
            if n >= self.small.len() {
                self.small.resize(n + 1, 0);
            }
            if self.small[n] == 0 {
                self.names.push(name.clone());
                self.small[n] = self.names.len() as u32;
            }
            return self.small[n] - 1;
        }
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.clone());
        self.ids.insert(name.clone(), id);
        id
    }

    fn name(&self, id: u32) -> Value {
        self.names.get(id as usize).cloned().unwrap_or(Value::Null)
    }
}

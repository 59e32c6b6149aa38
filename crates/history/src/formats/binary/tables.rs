//! The tables of the binary form: names of operations, values, processes and keys.

use super::super::guard::Guard;
use super::block::damaged;
use crate::diagnostic::Diagnostic;
use crate::value::Value;

/// Lists are nested no deeper than this.
const DEEPEST: u32 = 64;

/// Of longer texts and lists it is asked whether there is room for them.
const LONG: usize = 1 << 16;

/// What one block of symbols adds.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub values: Vec<Value>,
    pub processes: Vec<Value>,
    pub keys: Vec<Value>,
}

impl Tables {
    /// Adds the payload to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        for table in [&self.values, &self.processes, &self.keys] {
            out.extend((table.len() as u32).to_le_bytes());
            table.iter().for_each(|value| write_value(out, value));
        }
    }
}

/// The names of operations; a name's place is its number.
pub(super) fn read_names(mut payload: &[u8]) -> Result<Vec<&str>, Diagnostic> {
    let mut names = Vec::new();
    while let Some((&length, rest)) = payload.split_first() {
        let (name, rest) = rest.split_at_checked(usize::from(length)).ok_or_else(early)?;
        names.push(std::str::from_utf8(name).map_err(|_| damaged("a name is not UTF-8"))?);
        payload = rest;
    }
    Ok(names)
}

/// The payload that [`read_names`] reads.
pub(super) fn write_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut out = Vec::new();
    for name in names {
        out.push(name.len() as u8);
        out.extend_from_slice(name.as_bytes());
    }
    out
}

/// Reads a block of symbols.
pub(super) fn read_symbols(payload: &[u8], guard: &Guard) -> Result<Tables, Diagnostic> {
    let mut rest = payload;
    let mut tables = Tables::default();
    for table in [&mut tables.values, &mut tables.processes, &mut tables.keys] {
        let count = u32::from_le_bytes(take(&mut rest)?);
        for _ in 0..count {
            guard.one_more(table)?;
            table.push(read_value(&mut rest, 0, guard)?);
        }
    }
    if rest.is_empty() { Ok(tables) } else { Err(damaged("a block is longer than its symbols")) }
}

fn read_value(rest: &mut &[u8], depth: u32, guard: &Guard) -> Result<Value, Diagnostic> {
    let [tag] = take(rest)?;
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Bool(false),
        2 => Value::Bool(true),
        3 => Value::Int(i64::from_le_bytes(take(rest)?)),
        4 => {
            let length = u32::from_le_bytes(take(rest)?) as usize;
            let (text, tail) = rest.split_at_checked(length).ok_or_else(early)?;
            *rest = tail;
            if length >= LONG {
                guard.ask(length)?;
            }
            Value::text(std::str::from_utf8(text).map_err(|_| damaged("a text is not UTF-8"))?)
        }
        5 if depth < DEEPEST => {
            let count = u32::from_le_bytes(take(rest)?);
            let mut items = Vec::new();
            for _ in 0..count {
                guard.one_more(&items)?;
                items.push(read_value(rest, depth + 1, guard)?);
            }
            if items.len() >= LONG {
                // Made a list of that does not grow, it is there twice for a moment.
                guard.ask(items.len() * size_of::<Value>())?;
            }
            Value::list(items)
        }
        _ => return Err(damaged("a value is of an unknown kind")),
    })
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0),
        Value::Bool(false) => out.push(1),
        Value::Bool(true) => out.push(2),
        Value::Int(n) => {
            out.push(3);
            out.extend(n.to_le_bytes());
        }
        Value::Str(text) => {
            out.push(4);
            out.extend((text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        Value::List(items) => {
            out.push(5);
            out.extend((items.len() as u32).to_le_bytes());
            items.iter().for_each(|item| write_value(out, item));
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Diagnostic> {
    let (head, tail) = rest.split_first_chunk().ok_or_else(early)?;
    *rest = tail;
    Ok(*head)
}

#[cold]
fn early() -> Diagnostic {
    damaged("a block ends too early")
}

//! Which operations belong to one object.
//!
//! A key of the history names an object. A map is a product of its keys: `insert`, `get` and `remove` look at
//! one entry and change one entry, so a history of these is a history of as many objects as there are keys in
//! it. `len` and `is_empty` look at all entries: where one has answered, the map stays whole. Where none has,
//! pending ones are left out, since they can change nothing.

use linpoint_history::specs::codes::map;
use linpoint_history::{Builtin, KeyId, Kind, Operation, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

/// An object and its operations.
pub(super) struct Object {
    /// Its name; of an entry of one of several maps the map's and the entry's.
    pub(super) name: Value,
    /// In the order they came in.
    pub(super) rows: Vec<Operation>,
}

/// Rows by object: at least one, in order of their keys.
pub(super) fn split(rows: &[Operation], spec: &Builtin, symbols: &mut Symbols) -> Vec<Object> {
    let by_entry = spec.kind == Kind::Map && rows.iter().all(|op| is_separable(op, symbols));
    let mut known: FxHashMap<(KeyId, ValueId), usize> = FxHashMap::default();
    let mut objects: Vec<(KeyId, Object)> = Vec::new();
    for op in rows {
        let entry = if by_entry { entry(op, symbols) } else { Some(ValueId::NULL) };
        let Some(entry) = entry else { continue };
        let index = *known.entry((op.key, entry)).or_insert_with(|| {
            let key = symbols.key_name(op.key);
            let name = match (by_entry, op.key) {
                (false, _) => key,
                (true, KeyId::NONE) => symbols.value(entry),
                (true, _) => Value::list([key, symbols.value(entry)]),
            };
            objects.push((op.key, Object { name, rows: Vec::new() }));
            objects.len() - 1
        });
        objects[index].1.rows.push(*op);
    }
    objects.sort_by_key(|(key, _)| *key);
    let mut objects: Vec<Object> = objects.into_iter().map(|(_, object)| object).collect();
    if objects.is_empty() {
        objects.push(Object { name: Value::Null, rows: Vec::new() });
    }
    objects
}

/// The number of the object of each row, as [`split`] numbers them; [`u32::MAX`] for a row that belongs to
/// none.
pub(super) fn of_rows(rows: &[Operation], spec: &Builtin, symbols: &mut Symbols) -> Vec<u32> {
    let by_entry = spec.kind == Kind::Map && rows.iter().all(|op| is_separable(op, symbols));
    let mut known: FxHashMap<(KeyId, ValueId), u32> = FxHashMap::default();
    let mut keys: Vec<(KeyId, u32)> = Vec::new();
    let mut of_rows: Vec<u32> = Vec::with_capacity(rows.len());
    for op in rows {
        let entry = if by_entry { entry(op, symbols) } else { Some(ValueId::NULL) };
        of_rows.push(entry.map_or(u32::MAX, |entry| {
            *known.entry((op.key, entry)).or_insert_with(|| {
                keys.push((op.key, keys.len() as u32));
                keys.len() as u32 - 1
            })
        }));
    }
    // Objects stand in order of their keys.
    keys.sort_by_key(|(key, _)| *key);
    let mut place = vec![0; keys.len()];
    keys.iter().enumerate().for_each(|(at, (_, first))| place[*first as usize] = at as u32);
    of_rows
        .iter_mut()
        .filter(|object| **object != u32::MAX)
        .for_each(|object| *object = place[*object as usize]);
    of_rows
}

/// Does an operation on a map concern one entry, or nothing?
fn is_separable(op: &Operation, symbols: &Symbols) -> bool {
    match op.op() {
        map::INSERT => symbols.pair(op.arg).is_some(),
        map::GET | map::REMOVE => true,
        _ => op.is_pending(),
    }
}

/// The entry of a map an operation concerns.
fn entry(op: &Operation, symbols: &mut Symbols) -> Option<ValueId> {
    match op.op() {
        map::INSERT => {
            let key = symbols.pair(op.arg)?.0.clone();
            Some(symbols.intern(&key))
        }
        map::GET | map::REMOVE => Some(op.arg),
        _ => None,
    }
}

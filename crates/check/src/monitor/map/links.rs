//! Which insertion each answer of a key rests on.
//!
//! A value nobody found needs no number among the symbols, and may have none. Operations that never returned:
//! a `get` is left out; so is an `insert` whose value nobody found, since every operation on a key answers
//! what it found, so that nothing could come after it. An `insert` whose value was found is left to other
//! engines, as its own answer is missing.

use linpoint_history::specs::codes::map;
use linpoint_history::{Operation, Value, ValueId};
use rustc_hash::FxHashMap;

use super::Wrong;
use crate::engine::{Context, Stop};

const NONE: u32 = u32::MAX;

/// The values of a key, linked by the answers.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) values: Vec<Held>,
    by_id: FxHashMap<ValueId, u32>,
    /// For an insertion its value; for an answer that left the value there, the next such answer.
    next: Vec<u32>,
    /// The values that begin a chain.
    pub(super) starts: Vec<u32>,
    /// The operations that found the key missing and left it so.
    pub(super) missing: Vec<u32>,
    /// The value the key has at first.
    pub(super) initial: Option<u32>,
    /// Values whose insertion never returned.
    unsure: Vec<ValueId>,
    /// Is there a removal that never returned?
    pub(super) removal_pending: bool,
}

/// A value the key had at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Its insertion; none for the initial value.
    insertion: u32,
    /// What took it away, or [`NONE`].
    taken: u32,
    first_read: u32,
    last_read: u32,
}

impl Links {
    /// Takes note of all values inserted.
    pub(super) fn new(cx: &Context<'_>, rows: &[Operation], pending: &[Operation]) -> Result<Links, Stop> {
        let mut links = Links { next: vec![NONE; rows.len()], ..Links::default() };
        let mut key = Key::default();
        for (row, op) in rows.iter().enumerate() {
            if let Some(value) = key.inserts(cx, op)? {
                links.next[row] = links.add(cx, value, row as u32)?;
            }
        }
        for op in pending {
            if op.op() == map::LEN || op.op() == map::IS_EMPTY {
                continue;
            }
            match key.inserts(cx, op)? {
                Some(Some(value)) if links.by_id.contains_key(&value) => return Err(twice(cx, value)),
                Some(value) => links.unsure.extend(value),
                None => links.removal_pending |= op.op() == map::REMOVE,
            }
        }
        if let Some(value) = key.initial(cx) {
            if value.is_null() {
                return Err(Stop::Unsupported("the key starts with null, which reads as missing".into()));
            }
            let value = links.add(cx, cx.symbols.find(&value), NONE)?;
            links.initial = Some(value);
            links.starts.push(value);
            if links.unsure.iter().any(|unsure| links.by_id.get(unsure) == Some(&value)) {
                return Err(Stop::Unsupported("the initial value may be inserted again".into()));
            }
        }
        Ok(links)
    }

    fn add(&mut self, cx: &Context<'_>, id: Option<ValueId>, insertion: u32) -> Result<u32, Stop> {
        let value = self.values.len() as u32;
        if let Some(id) = id
            && self.by_id.insert(id, value).is_some()
        {
            return Err(twice(cx, id));
        }
        self.values.push(Held { insertion, taken: NONE, first_read: NONE, last_read: NONE });
        Ok(value)
    }

    /// Links every answer to the value it names.
    pub(super) fn read_answers(
        &mut self,
        cx: &Context<'_>,
        rows: &[Operation],
    ) -> Result<Result<(), Wrong>, Stop> {
        for (row, op) in rows.iter().enumerate() {
            let row = row as u32;
            if op.result.is_null() {
                match op.op() {
                    map::INSERT => self.starts.push(self.next[row as usize]),
                    _ => self.missing.push(row),
                }
                continue;
            }
            let Some(&value) = self.by_id.get(&op.result) else {
                if self.unsure.contains(&op.result) {
                    let value = cx.symbols.value(op.result);
                    let why = format!("the insert of {value} never returned, but {value} was found");
                    return Err(Stop::Unsupported(why));
                }
                return Ok(Err(Wrong::Strange(row)));
            };
            let held = &mut self.values[value as usize];
            if op.op() != map::GET {
                if held.taken != NONE {
                    return Ok(Err(Wrong::Twice(held.taken, row)));
                }
                held.taken = row;
            } else if held.first_read == NONE {
                (held.first_read, held.last_read) = (row, row);
            } else {
                self.next[held.last_read as usize] = row;
                held.last_read = row;
            }
        }
        Ok(Ok(()))
    }

    /// Gives the rows of a chain in their order, and adds to `values` how many values it has. Does a removal
    /// end it?
    pub(super) fn walk(&self, start: u32, values: &mut usize, mut give: impl FnMut(u32)) -> bool {
        let mut value = start;
        loop {
            *values += 1;
            let held = &self.values[value as usize];
            if held.insertion != NONE {
                give(held.insertion);
            }
            let mut read = held.first_read;
            while read != NONE {
                give(read);
                read = self.next[read as usize];
            }
            match self.after(value) {
                Some(next) if next == start => return false, // A circle, which has no beginning.
                Some(next) => value = next,
                None => {
                    if held.taken != NONE {
                        give(held.taken);
                    }
                    return held.taken != NONE;
                }
            }
        }
    }

    /// The value that replaced this one.
    fn after(&self, value: u32) -> Option<u32> {
        // A removal has no value.
        let taken = self.values[value as usize].taken;
        self.next.get(taken as usize).copied().filter(|&next| next != NONE)
    }

    /// The insertions before this value and its own, the latest first.
    pub(super) fn back(&self, rows: &[Operation], id: ValueId) -> Vec<u32> {
        let (mut back, mut id) = (Vec::new(), id);
        while let Some(&value) = self.by_id.get(&id)
            && let insertion = self.values[value as usize].insertion
            && insertion != NONE
            && back.len() < self.values.len()
        {
            back.push(insertion);
            id = rows[insertion as usize].result;
        }
        back
    }

    /// A value of a circle, where there is one.
    pub(super) fn unreached(&self) -> u32 {
        let mut reached = vec![false; self.values.len()];
        for &start in &self.starts {
            let mut value = Some(start);
            while let Some(this) = value {
                reached[this as usize] = true;
                value = self.after(this);
            }
        }
        reached.iter().position(|reached| !reached).unwrap_or(0) as u32
    }

    pub(super) fn memory(&self) -> usize {
        self.values.capacity() * size_of::<Held>() + self.by_id.capacity() * 9 + self.next.capacity() * 8
    }
}

/// The one key all operations are on.
#[derive(Default)]
struct Key {
    value: Option<Value>,
    id: Option<ValueId>,
}

impl Key {
    /// Has the operation this key? If it is an insertion, the number of its value, if that has one.
    fn inserts(&mut self, cx: &Context<'_>, op: &Operation) -> Result<Option<Option<ValueId>>, Stop> {
        let stop = |why: &str| Err(Stop::Unsupported(why.into()));
        match op.op() {
            map::INSERT => {
                let Some((key, value)) = cx.symbols.pair(op.arg) else {
                    return stop("an insert without a value");
                };
                if value.is_null() {
                    return stop("null is inserted, which reads as a missing key");
                }
                if self.value.is_none() {
                    (self.value, self.id) = (Some(key.clone()), cx.symbols.find(key));
                }
                if self.value.as_ref() != Some(key) {
                    return stop("the map monitor decides one key");
                }
                Ok(Some(cx.symbols.find(value)))
            }
            map::GET | map::REMOVE => {
                if self.value.is_none() {
                    (self.value, self.id) = (Some(cx.symbols.value(op.arg)), Some(op.arg));
                }
                if self.id == Some(op.arg) { Ok(None) } else { stop("the map monitor decides one key") }
            }
            _ => stop("the map monitor knows insert, get and remove only"),
        }
    }

    /// What the key has at first. Of several entries the last counts, as in the specification.
    fn initial(&self, cx: &Context<'_>) -> Option<Value> {
        let Value::List(items) = &cx.spec.initial else { return None };
        let mut pairs = items.iter().rev().filter_map(Value::as_pair);
        pairs.find(|(key, _)| Some(*key) == self.value.as_ref()).map(|(_, value)| value.clone())
    }
}

fn twice(cx: &Context<'_>, value: ValueId) -> Stop {
    Stop::Unsupported(format!("value {} is inserted twice under one key", cx.symbols.value(value)))
}

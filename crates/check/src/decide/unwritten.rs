//! Results that come from nowhere: a value is seen that nobody can have brought about by then.
//!
//! Where values repeat, engines search, and a search may take long before it comes to an operation that no
//! order explains. But a value that a read shows was in the object at first, or an operation *gave* it: wrote
//! it, put it in, left it behind. That operation took effect before the read did, so it was called before the
//! read returned. If there is none, the history is not linearizable whatever the rest of it is, and the read
//! alone shows it. One pass over the rows tells.
//!
//! It is a test for violations only, and errs on the other side: an operation gives all that it may give in
//! any state (a pending compare-and-set its new value, say), how often a value was given is not asked, and
//! where the values given cannot be listed (an addition that never returned) nothing is said. Texts and lists
//! that grow by `append` are given if they are made of a value that was given and of pieces that were
//! appended.

use linpoint_history::specs::codes::{deque, kv, map, priority_queue, queue, register, set, snapshot, stack};
use linpoint_history::{Builtin, Kind, OpCode, Operation, Symbols, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::counterexample::sentence;
use crate::engine::Violation;
use crate::feed::Feed;
use crate::timeline::OpId;

/// A place in the object (an entry of a map, a cell of a snapshot, null where there is one only) and a value
/// in it.
type Held = (Value, Value);

/// Letters that are looked at for appended texts at most; then nothing is said.
const MOST_LETTERS: usize = 1 << 24;

/// What an operation shows to have been there, and what it leaves behind.
#[derive(Default)]
struct Part {
    needs: Vec<Held>,
    gives: Vec<Held>,
    /// It appends this.
    appends: Option<Value>,
    /// It may leave anything behind.
    is_opaque: bool,
}

/// The first operation, by return, that shows what nobody can have brought about.
pub(super) fn find(spec: &Builtin, symbols: &Symbols, feed: &Feed<'_>) -> Option<(Violation, Operation)> {
    let rows = feed.in_memory()?;
    let mut given = Given::at_first(spec);
    for op in rows.iter().copied().chain(feed.pending.iter().map(|pending| pending.op)) {
        let part = part(spec, symbols, &op);
        if part.is_opaque {
            return None;
        }
        part.gives.into_iter().for_each(|held| given.note(held, op.call));
        given.appended.extend(part.appends);
    }
    given.name_lengths();
    for op in rows {
        let missing = part(spec, symbols, op).needs.into_iter().find(|held| !given.admits(held, op.ret));
        if let Some((_, value)) = missing {
            let what = sentence(spec, symbols, op);
            let reason = format!(
                "{what} is impossible: nothing that was called before it returned can have left {value} there"
            );
            return Some((Violation { at: OpId(0), core: vec![*op], reason }, *op));
        }
    }
    None
}

/// Everything that was given.
#[derive(Default)]
struct Given {
    /// When the first operation that gives it was called.
    since: FxHashMap<Held, i64>,
    appended: FxHashSet<Value>,
    /// The lengths of appended texts, and of texts given.
    piece_lengths: Vec<usize>,
    text_lengths: Vec<usize>,
    letters: usize,
}

impl Given {
    fn at_first(spec: &Builtin) -> Given {
        let mut given = Given::default();
        match (spec.kind, &spec.initial) {
            (Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv, value) => {
                given.note((Value::Null, value.clone()), i64::MIN);
            }
            (Kind::Snapshot, Value::List(cells)) => {
                for (index, cell) in (0..).zip(cells.iter()) {
                    given.note((Value::Int(index), cell.clone()), i64::MIN);
                }
            }
            (Kind::Map, Value::List(entries)) => {
                for (key, value) in entries.iter().filter_map(Value::as_pair) {
                    given.note((key.clone(), value.clone()), i64::MIN);
                }
            }
            (_, Value::List(items)) => {
                items.iter().for_each(|item| given.note((Value::Null, item.clone()), i64::MIN));
            }
            _ => {}
        }
        given
    }

    fn note(&mut self, held: Held, call: i64) {
        let since = self.since.entry(held).or_insert(call);
        *since = call.min(*since);
    }

    /// Gathers which lengths texts have.
    fn name_lengths(&mut self) {
        let length = |value: &Value| match value {
            Value::Str(text) => Some(text.len()),
            _ => None,
        };
        let sorted = |mut lengths: Vec<usize>| {
            lengths.sort_unstable();
            lengths.dedup();
            lengths
        };
        self.piece_lengths = sorted(self.appended.iter().filter_map(length).collect());
        self.text_lengths = sorted(self.since.keys().filter_map(|(_, value)| length(value)).collect());
    }

    /// May this have been there before `end`?
    fn admits(&mut self, held: &Held, end: i64) -> bool {
        if self.since.get(held).is_some_and(|&since| since <= end) {
            return true;
        }
        match &held.1 {
            _ if self.appended.is_empty() => false,
            Value::Str(text) => self.is_made_of_pieces(text, end),
            Value::List(items) => self.is_made_of_items(items, end),
            Value::Null | Value::Bool(_) | Value::Int(_) => false,
        }
    }

    fn has(&self, value: Value, end: i64) -> bool {
        self.since.get(&(Value::Null, value)).is_some_and(|&since| since <= end)
    }

    /// Is it a text that was given, or nothing, followed by texts that were appended?
    fn is_made_of_pieces(&mut self, text: &str, end: i64) -> bool {
        self.letters += text.len() * (self.piece_lengths.len() + 1);
        if self.letters > MOST_LETTERS {
            return true;
        }
        let piece = |from: usize, to: usize| text.get(from..to).map(Value::text);
        // What was missing before the first piece is nothing.
        let mut reached = vec![false; text.len() + 1];
        reached[0] = self.has(Value::Null, end);
        for &length in self.text_lengths.iter().take_while(|length| **length <= text.len()) {
            reached[length] |= piece(0, length).is_some_and(|start| self.has(start, end));
        }
        for from in 0..text.len() {
            if !reached[from] {
                continue;
            }
            for &length in self.piece_lengths.iter().take_while(|length| from + **length <= text.len()) {
                reached[from + length] |=
                    piece(from, from + length).is_some_and(|piece| self.appended.contains(&piece));
            }
        }
        reached[text.len()]
    }

    /// Is it a list that was given, or nothing, followed by items that were appended?
    fn is_made_of_items(&self, items: &[Value], end: i64) -> bool {
        (0..=items.len()).rev().any(|kept| {
            let is_start = self.has(Value::list(items[..kept].iter().cloned()), end)
                || kept == 0 && self.has(Value::Null, end);
            is_start && items[kept..].iter().all(|item| self.appended.contains(item))
        })
    }
}

/// What an operation needs and gives.
fn part(spec: &Builtin, symbols: &Symbols, op: &Operation) -> Part {
    let arg = symbols.value(op.arg);
    let result = (!op.is_pending()).then(|| symbols.value(op.result));
    match spec.kind {
        Kind::Register | Kind::CasRegister | Kind::RmwRegister => of_register(op.op(), arg, result),
        Kind::Kv => of_store(spec, op.op(), arg, result),
        Kind::Queue => of_sequence(op.op() == queue::ENQUEUE, arg, result),
        Kind::Stack => of_sequence(op.op() == stack::PUSH, arg, result),
        Kind::Deque => of_sequence(matches!(op.op(), deque::PUSH_FRONT | deque::PUSH_BACK), arg, result),
        Kind::PriorityQueue | Kind::PriorityQueueMax => match op.op() {
            priority_queue::CHANGE_KEY => of_exchange(&arg, result.as_ref()),
            code => of_sequence(code == priority_queue::INSERT, arg, result),
        },
        Kind::Set | Kind::Multiset | Kind::List => of_bag(spec, op, arg),
        Kind::Map => of_map(op.op(), &arg, result),
        Kind::Snapshot => of_snapshot(op.op(), &arg, result),
        Kind::Counter | Kind::Lock | Kind::RwLock | Kind::Semaphore | Kind::Own => Part::default(),
    }
}

fn held(value: Value) -> Held {
    (Value::Null, value)
}

fn gives(value: Value) -> Part {
    Part { gives: vec![held(value)], ..Part::default() }
}

fn needs(value: Option<Value>) -> Part {
    Part { needs: value.map(held).into_iter().collect(), ..Part::default() }
}

/// One value in place of another, if it was that: compare-and-set, a change of key.
fn of_exchange(arg: &Value, result: Option<&Value>) -> Part {
    match (arg.as_pair(), result) {
        (Some((_, to)), None) => gives(to.clone()),
        (Some((from, to)), Some(Value::Bool(true))) => {
            Part { needs: vec![held(from.clone())], ..gives(to.clone()) }
        }
        _ => Part::default(),
    }
}

fn of_register(op: OpCode, arg: Value, result: Option<Value>) -> Part {
    match op {
        register::WRITE => gives(arg),
        register::READ => needs(result),
        register::CAS => of_exchange(&arg, result.as_ref()),
        register::SWAP => Part { needs: result.map(held).into_iter().collect(), ..gives(arg) },
        _ => match (&arg, result) {
            (Value::Int(n), Some(Value::Int(old))) => {
                Part { needs: vec![held(Value::Int(old))], ..gives(Value::Int(old.wrapping_add(*n))) }
            }
            _ => Part { is_opaque: true, ..Part::default() },
        },
    }
}

fn of_store(spec: &Builtin, op: OpCode, arg: Value, result: Option<Value>) -> Part {
    match op {
        kv::GET => needs(result),
        kv::PUT => gives(arg),
        kv::DELETE => gives(spec.initial.clone()),
        kv::CAS => of_exchange(&arg, result.as_ref()),
        kv::APPEND => Part { appends: Some(arg), ..Part::default() },
        _ => Part { is_opaque: true, ..Part::default() },
    }
}

fn of_sequence(inserts: bool, arg: Value, result: Option<Value>) -> Part {
    match (inserts, result) {
        (true, Some(Value::Bool(false))) => Part::default(),
        (true, _) => gives(arg),
        (false, result) => needs(result.filter(|result| !result.is_null())),
    }
}

fn of_bag(spec: &Builtin, op: &Operation, arg: Value) -> Part {
    let (yes, no) =
        (op.is_pending() || op.result == ValueId::TRUE, !op.is_pending() && op.result == ValueId::FALSE);
    match op.op() {
        // It was there already, or there was no room.
        set::ADD if no && spec.kind == Kind::Set && spec.capacity.is_none() => needs(Some(arg)),
        set::ADD if no => Part::default(),
        set::ADD => gives(arg),
        set::INSERT_PAIR if yes => match arg.as_pair() {
            Some((x, y)) => Part { gives: vec![held(x.clone()), held(y.clone())], ..Part::default() },
            None => Part::default(),
        },
        set::REMOVE | set::CONTAINS if yes && !op.is_pending() => needs(Some(arg)),
        _ => Part::default(),
    }
}

fn of_map(op: OpCode, arg: &Value, result: Option<Value>) -> Part {
    let old = |key: &Value| match &result {
        Some(old) if !old.is_null() => vec![(key.clone(), old.clone())],
        _ => Vec::new(),
    };
    match (op, arg.as_pair()) {
        (map::INSERT, Some((key, value))) => {
            Part { needs: old(key), gives: vec![(key.clone(), value.clone())], ..Part::default() }
        }
        (map::GET | map::REMOVE, _) => Part { needs: old(arg), ..Part::default() },
        _ => Part::default(),
    }
}

fn of_snapshot(op: OpCode, arg: &Value, result: Option<Value>) -> Part {
    match (op, arg.as_pair(), result) {
        (snapshot::WRITE, Some((cell, value)), _) => {
            Part { gives: vec![(cell.clone(), value.clone())], ..Part::default() }
        }
        (snapshot::SCAN, _, Some(Value::List(cells))) => {
            let shown = (0..).map(Value::Int).zip(cells.iter().cloned());
            Part { needs: shown.filter(|(_, value)| !value.is_null()).collect(), ..Part::default() }
        }
        _ => Part::default(),
    }
}

//! The sequential objects once more, written for speed and for nothing else: one operation at a time, in
//! place.
//!
//! The recheck replays every witness through these. They share no code with the engines, and they are
//! compared with the readable specifications of `linpoint-history` by a test. Kinds without a fast form run
//! on the readable one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use linpoint_history::specs::{State, codes};
use linpoint_history::{Builtin, Call, Kind, Operation, Spec, Symbols, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A sequential object in the middle of a replay.
#[derive(Clone, Debug)]
pub enum Replay {
    /// First in, first out.
    Queue(VecDeque<ValueId>),
    /// Last in, first out.
    Stack(Vec<ValueId>),
    /// Least first; priorities that are small integers.
    PriorityQueue(BinaryHeap<Reverse<u32>>),
    /// Greatest first; priorities that are small integers.
    PriorityQueueMax(BinaryHeap<u32>),
    /// A set.
    Set(Members),
    /// Multiset and list.
    Multiset(Bag),
    /// A map, by values, since a key or a value that only stands in a pair has no number.
    Map(FxHashMap<Value, Value>),
    /// Read and write only.
    Register(ValueId),
    /// Everything else: the readable specification. Several states while an unanswered operation leaves them
    /// open.
    Readable(Vec<State>),
}

impl Replay {
    /// The object at the start.
    pub fn new(spec: &Builtin, symbols: &Symbols) -> Replay {
        let plain = spec.capacity.is_none() && !spec.spurious;
        let initial: Option<Vec<ValueId>> = match &spec.initial {
            Value::List(items) => items.iter().map(|item| symbols.find(item)).collect(),
            Value::Null => Some(Vec::new()),
            _ => None,
        };
        match (spec.kind, initial) {
            (Kind::Queue, Some(items)) if plain => Replay::Queue(items.into()),
            (Kind::Stack, Some(items)) if plain => Replay::Stack(items),
            (Kind::PriorityQueue, Some(items)) if plain && are_small(&items) => {
                Replay::PriorityQueue(items.iter().map(|item| Reverse(item.0)).collect())
            }
            (Kind::PriorityQueueMax, Some(items)) if plain && are_small(&items) => {
                Replay::PriorityQueueMax(items.iter().map(|item| item.0).collect())
            }
            (Kind::Set, Some(items)) if plain => {
                let mut members = Members::default();
                items.into_iter().for_each(|item| {
                    members.insert(item);
                });
                Replay::Set(members)
            }
            (Kind::Multiset | Kind::List, Some(items)) if plain => {
                let mut bag = Bag::default();
                items.into_iter().for_each(|item| bag.add(item));
                Replay::Multiset(bag)
            }
            (Kind::Map, _) if plain => match spec.initial() {
                State::Map(entries) => Replay::Map(entries.into_iter().collect()),
                state => Replay::Readable(vec![state]),
            },
            (Kind::Register, _) => match symbols.find(&spec.initial) {
                Some(value) => Replay::Register(value),
                None => Replay::Readable(vec![spec.initial()]),
            },
            _ => Replay::Readable(vec![spec.initial()]),
        }
    }

    /// Lets `op` take effect; `false` where the specification does not allow its result here.
    #[inline]
    pub fn step(&mut self, spec: &Builtin, symbols: &Symbols, op: &Operation) -> bool {
        let (code, arg, result) = (op.op(), op.arg, op.result);
        let pending = op.is_pending();
        match self {
            Replay::Queue(items) => queue(items, op).unwrap_or(false),
            Replay::Stack(items) => match code {
                codes::stack::PUSH => {
                    items.push(arg);
                    true
                }
                _ => answers(pending, result, items.pop()),
            },
            Replay::PriorityQueue(heap) => match least_first(heap, op) {
                Some(allowed) => allowed,
                None => self.leave_fast_form(spec, symbols, op),
            },
            Replay::PriorityQueueMax(heap) => match code {
                codes::priority_queue::INSERT if arg.small().is_some() => {
                    heap.push(arg.0);
                    true
                }
                codes::priority_queue::REMOVE => answers(pending, result, heap.pop().map(ValueId)),
                _ => self.leave_fast_form(spec, symbols, op),
            },
            Replay::Set(items) => set(items, op).unwrap_or(false),
            Replay::Multiset(bag) => multiset(bag, symbols, op),
            Replay::Map(entries) => map(entries, symbols, op),
            Replay::Register(value) => register(value, op).unwrap_or(false),
            Replay::Readable(_) => self.readable(spec, symbols, op),
        }
    }

    /// A priority that is no small integer, or a change of key: go on with the readable specification.
    fn leave_fast_form(&mut self, spec: &Builtin, symbols: &Symbols, op: &Operation) -> bool {
        let values: Vec<u32> = match self {
            Replay::PriorityQueue(heap) => heap.iter().map(|Reverse(v)| *v).collect(),
            Replay::PriorityQueueMax(heap) => heap.iter().copied().collect(),
            _ => Vec::new(),
        };
        let mut bag = BTreeMap::new();
        values.into_iter().for_each(|v| *bag.entry(Value::Int(i64::from(v))).or_insert(0) += 1);
        *self = Replay::Readable(vec![State::Bag(bag)]);
        self.readable(spec, symbols, op)
    }

    fn readable(&mut self, spec: &Builtin, symbols: &Symbols, op: &Operation) -> bool {
        let Replay::Readable(states) = self else { return false };
        let arg = symbols.value(op.arg);
        let call = Call { op: op.op(), process: op.process(), arg: &arg };
        let mut next = Vec::new();
        for state in states.iter() {
            if op.is_pending() {
                spec.step_pending(state, call, &mut next);
            } else if let Some(after) = spec.step(state, call, &symbols.value(op.result))
                && !next.contains(&after)
            {
                next.push(after);
            }
        }
        if op.is_pending() && next.is_empty() {
            return true; // It changes nothing here.
        }
        *states = next;
        !states.is_empty()
    }
}

/// One step of a queue. These functions give `None` where they are not for this operation.
#[inline(always)]
pub(crate) fn queue(items: &mut VecDeque<ValueId>, op: &Operation) -> Option<bool> {
    if op.op() == codes::queue::ENQUEUE {
        items.push_back(op.arg);
        return Some(true);
    }
    Some(answers(op.is_pending(), op.result, items.pop_front()))
}

/// One step of a priority queue, least first.
#[inline(always)]
pub(crate) fn least_first(heap: &mut BinaryHeap<Reverse<u32>>, op: &Operation) -> Option<bool> {
    match op.op() {
        codes::priority_queue::INSERT if op.arg.small().is_some() => {
            heap.push(Reverse(op.arg.0));
            Some(true)
        }
        codes::priority_queue::REMOVE => {
            Some(answers(op.is_pending(), op.result, heap.pop().map(|Reverse(v)| ValueId(v))))
        }
        _ => None,
    }
}

/// One step of a set.
#[inline(always)]
pub(crate) fn set(members: &mut Members, op: &Operation) -> Option<bool> {
    if let Some((word, shift)) = members.word(op.arg) {
        // No branch that depends on the operation: which it is, nobody can guess.
        let (adds, removes) = (op.op() == codes::set::ADD, op.op() == codes::set::REMOVE);
        let present = *word >> shift & 1 == 1;
        let after = (present | adds) & !removes;
        *word = *word & !(1 << shift) | u64::from(after) << shift;
        return Some(op.is_pending() | (op.result == ValueId::from_bool(present ^ adds)));
    }
    let answer = match op.op() {
        codes::set::ADD => members.insert(op.arg),
        codes::set::REMOVE => members.remove(op.arg),
        _ => members.contains(op.arg),
    };
    Some(op.is_pending() || op.result == ValueId::from_bool(answer))
}

/// One step of a register.
#[inline(always)]
pub(crate) fn register(value: &mut ValueId, op: &Operation) -> Option<bool> {
    let writes = op.op() == codes::register::WRITE;
    let allowed = writes | op.is_pending() | (op.result == *value);
    *value = if writes { op.arg } else { *value };
    Some(allowed)
}

/// A set of values: a bit for each small integer, a table for all else.
#[derive(Clone, Debug, Default)]
pub struct Members {
    bits: Vec<u64>,
    others: FxHashSet<ValueId>,
}

impl Members {
    /// Integers below this have a bit.
    const SMALL: u32 = 1 << 26;

    /// The word of a small integer, and the place of its bit.
    #[inline]
    fn word(&mut self, value: ValueId) -> Option<(&mut u64, u32)> {
        let at = (value.0 / 64) as usize;
        if at >= self.bits.len() {
            if value.0 >= Self::SMALL {
                return None;
            }
            self.bits.resize((at + 1).next_power_of_two(), 0);
        }
        self.bits.get_mut(at).map(|word| (word, value.0 % 64))
    }

    /// Adds a value; was it new?
    #[inline]
    fn insert(&mut self, value: ValueId) -> bool {
        if value.0 >= Self::SMALL {
            return self.others.insert(value);
        }
        let word = (value.0 / 64) as usize;
        if word >= self.bits.len() {
            self.bits.resize((word + 1).next_power_of_two(), 0);
        }
        let bit = 1 << (value.0 % 64);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }

    /// Removes a value; was it there?
    #[inline]
    fn remove(&mut self, value: ValueId) -> bool {
        if value.0 >= Self::SMALL {
            return self.others.remove(&value);
        }
        let Some(word) = self.bits.get_mut((value.0 / 64) as usize) else { return false };
        let bit = 1 << (value.0 % 64);
        let known = *word & bit != 0;
        *word &= !bit;
        known
    }

    /// Is a value there?
    #[inline]
    fn contains(&self, value: ValueId) -> bool {
        if value.0 >= Self::SMALL {
            return self.others.contains(&value);
        }
        self.bits.get((value.0 / 64) as usize).is_some_and(|word| word >> (value.0 % 64) & 1 == 1)
    }
}

/// Are all of them integers that are their own numbers?
fn are_small(items: &[ValueId]) -> bool {
    items.iter().all(|item| item.small().is_some())
}

#[inline]
fn answers(pending: bool, result: ValueId, removed: Option<ValueId>) -> bool {
    pending || removed.unwrap_or(ValueId::NULL) == result
}

fn map(entries: &mut FxHashMap<Value, Value>, symbols: &Symbols, op: &Operation) -> bool {
    let arg = || symbols.value(op.arg);
    let answer = match op.op() {
        codes::map::INSERT => {
            let Some((key, value)) = symbols.pair(op.arg) else { return false };
            entries.insert(key.clone(), value.clone()).unwrap_or_default()
        }
        codes::map::GET => entries.get(&arg()).cloned().unwrap_or_default(),
        codes::map::REMOVE => entries.remove(&arg()).unwrap_or_default(),
        codes::map::LEN => Value::Int(entries.len() as i64),
        _ => Value::Bool(entries.is_empty()),
    };
    op.is_pending() || symbols.value(op.result) == answer
}

/// How often each value is in a multiset. A value that only ever stood in a pair has no number; in a stream
/// it may be given one later.
#[derive(Clone, Debug, Default)]
pub struct Bag {
    counts: FxHashMap<ValueId, u32>,
    unnamed: FxHashMap<Value, u32>,
}

impl Bag {
    fn add(&mut self, value: ValueId) {
        *self.counts.entry(value).or_insert(0) += 1;
    }

    /// Adds an item of a pair.
    fn add_item(&mut self, item: &Value, symbols: &Symbols) {
        match symbols.find(item) {
            Some(id) => self.add(id),
            None => *self.unnamed.entry(item.clone()).or_insert(0) += 1,
        }
    }

    /// Counts what went in before the value had its number.
    fn adopt(&mut self, value: ValueId, symbols: &Symbols) {
        if !self.unnamed.is_empty()
            && let Some(count) = self.unnamed.remove(&symbols.value(value))
        {
            *self.counts.entry(value).or_insert(0) += count;
        }
    }

    /// Takes one out; was there one?
    fn remove(&mut self, value: ValueId) -> bool {
        let Some(count) = self.counts.get_mut(&value) else { return false };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&value);
        }
        true
    }
}

fn multiset(bag: &mut Bag, symbols: &Symbols, op: &Operation) -> bool {
    bag.adopt(op.arg, symbols);
    let answer = match op.op() {
        codes::set::ADD => {
            bag.add(op.arg);
            return true;
        }
        codes::set::REMOVE => bag.remove(op.arg),
        codes::set::CONTAINS => bag.counts.contains_key(&op.arg),
        _ => {
            // A pair goes in as a whole, or, with the answer false, not at all.
            if op.is_pending() || op.result == ValueId::TRUE {
                let Some((x, y)) = symbols.pair(op.arg) else { return false };
                [x, y].into_iter().for_each(|item| bag.add_item(item, symbols));
            }
            return true;
        }
    };
    op.is_pending() || op.result == ValueId::from_bool(answer)
}

//! Objects that take a step and take it back, with a fingerprint of what they hold.
//!
//! The guided search goes forward nearly always and back now and then, over histories of a million
//! operations: no state is copied, and none is interned where its object has a plain form.

use std::collections::{BTreeMap, VecDeque};

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, Operation, Symbols, Value, ValueId};
use rustc_hash::FxHashMap;

use crate::metastate::generic::machine::Machine;

/// What one object holds.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// Read and write.
    Register(ValueId),
    /// Queue, stack and deque, front first; the number of the first place, which moves when something comes
    /// or goes at the front.
    Sequence(VecDeque<ValueId>, i64),
    /// Priority queue over small integers, least or greatest first.
    Heap(BTreeMap<u32, u32>),
    /// Set, multiset and list.
    Bag(FxHashMap<ValueId, u32>),
    /// Everything else: a state of the machine.
    Machine(u32),
}

/// What is needed to take a step back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Back {
    /// Nothing changed.
    Nothing,
    /// A value was there, or was taken.
    Value(ValueId),
    /// The machine was in this state.
    Machine(u32),
}

/// All objects of a history, of one specification.
pub(super) struct Objects {
    kind: Kind,
    machine: Machine<Builtin>,
    /// The class of each row whose object runs on the machine.
    classes: Vec<u32>,
    states: Vec<State>,
    /// Of all states together.
    print: u128,
}

const NO_CLASS: u32 = u32::MAX;

impl Objects {
    /// All objects at the start; `object` says of each row which it belongs to.
    pub(super) fn new(
        spec: &Builtin,
        symbols: &Symbols,
        rows: &[Operation],
        object: &[u32],
        count: usize,
    ) -> Objects {
        let mut plain = vec![spec.capacity.is_none() && !spec.spurious; count];
        for (row, &object) in rows.iter().zip(object) {
            plain[object as usize] &= is_plain(spec.kind, row);
        }
        let initial = initial(spec, symbols);
        let mut machine = Machine::new(spec.clone());
        let states: Vec<State> = plain
            .iter()
            .map(|&plain| initial.clone().filter(|_| plain).unwrap_or(State::Machine(0)))
            .collect();
        let mut class = |(row, &object): (&Operation, &u32)| match states[object as usize] {
            State::Machine(_) => machine.class(row, symbols),
            _ => NO_CLASS,
        };
        let classes = rows.iter().zip(object).map(&mut class).collect();
        Objects { kind: spec.kind, machine, classes, states, print: 0 }
    }

    /// A fingerprint of what all objects hold.
    pub(super) fn print(&self) -> u128 {
        self.print
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.machine.bytes()
    }

    /// Can this operation, with its result, change nothing in any state? It takes effect as soon as it fits.
    pub(super) fn only_looks(&self, row: usize, op: &Operation) -> bool {
        if self.classes[row] != NO_CLASS {
            return self.machine.is_read_only(self.classes[row]);
        }
        if op.is_pending() {
            return false;
        }
        match self.kind {
            Kind::Register | Kind::Kv => !writes(self.kind, op),
            Kind::Queue | Kind::Stack | Kind::PriorityQueue | Kind::PriorityQueueMax => {
                op.op() != OPENS && op.result == ValueId::NULL
            }
            Kind::Deque => is_pop(op) && op.result == ValueId::NULL,
            _ => op.op() == codes::set::CONTAINS || op.result == ValueId::FALSE,
        }
    }

    /// Lets an operation take effect in its `way`-th way, of which there are several only where it never
    /// answered; `None` where it cannot.
    pub(super) fn step(&mut self, object: u32, row: usize, op: &Operation, way: usize) -> Option<Back> {
        let salt = u64::from(object) << 32;
        let kind = self.kind;
        match &mut self.states[object as usize] {
            State::Machine(state) => {
                let outcome = self.machine.step(*state, self.classes[row]);
                let after = self.machine.nth_state(outcome, way)?;
                self.print ^= mix(salt, u64::from(*state)) ^ mix(salt, u64::from(after));
                Some(Back::Machine(std::mem::replace(state, after)))
            }
            _ if way > 0 => None,
            State::Register(value) => {
                if !writes(kind, op) {
                    return (op.result == *value && !op.is_pending()).then_some(Back::Nothing);
                }
                self.print ^= mix(salt, u64::from(value.0)) ^ mix(salt, u64::from(op.arg.0));
                Some(Back::Value(std::mem::replace(value, op.arg)))
            }
            State::Sequence(items, first) => {
                let (adds, front) = ends(kind, op);
                if adds {
                    if front {
                        items.push_front(op.arg);
                        *first -= 1;
                        self.print ^= mix(salt ^ *first as u64, u64::from(op.arg.0));
                    } else {
                        let place = *first + items.len() as i64;
                        items.push_back(op.arg);
                        self.print ^= mix(salt ^ place as u64, u64::from(op.arg.0));
                    }
                    return Some(Back::Nothing);
                }
                let next = if front { items.front() } else { items.back() }.copied();
                let allowed = op.is_pending() || op.result == next.unwrap_or(ValueId::NULL);
                let Some(value) = next else { return (allowed && !op.is_pending()).then_some(Back::Nothing) };
                if !allowed {
                    return None;
                }
                let place = if front { *first } else { *first + items.len() as i64 - 1 };
                if front {
                    items.pop_front();
                    *first += 1;
                } else {
                    items.pop_back();
                }
                self.print ^= mix(salt ^ place as u64, u64::from(value.0));
                Some(Back::Value(value))
            }
            State::Heap(items) => {
                if op.op() == codes::priority_queue::INSERT {
                    let count = items.entry(op.arg.0).or_insert(0);
                    *count += 1;
                    self.print ^= mix(salt ^ u64::from(*count), u64::from(op.arg.0));
                    return Some(Back::Nothing);
                }
                let least = kind == Kind::PriorityQueue;
                let next = if least { items.first_entry() } else { items.last_entry() };
                let Some(mut next) = next else {
                    return (op.result == ValueId::NULL && !op.is_pending()).then_some(Back::Nothing);
                };
                let value = ValueId(*next.key());
                if !op.is_pending() && op.result != value {
                    return None;
                }
                self.print ^= mix(salt ^ u64::from(*next.get()), u64::from(value.0));
                *next.get_mut() -= 1;
                if *next.get() == 0 {
                    next.remove();
                }
                Some(Back::Value(value))
            }
            State::Bag(bag) => {
                let before = bag.get(&op.arg).copied().unwrap_or(0);
                let (present, is_set) = (before > 0, kind == Kind::Set);
                let (answer, after) = match op.op() {
                    codes::set::ADD if is_set => (!present, 1),
                    codes::set::ADD => return Some(self.count(object, op.arg, before, before + 1)),
                    codes::set::REMOVE => (present, before.saturating_sub(1)),
                    _ => (present, before),
                };
                if !op.is_pending() && op.result != ValueId::from_bool(answer) {
                    return None;
                }
                Some(self.count(object, op.arg, before, after))
            }
        }
    }

    /// Takes back the last step of an object.
    pub(super) fn back(&mut self, object: u32, op: &Operation, back: Back) {
        let salt = u64::from(object) << 32;
        match (&mut self.states[object as usize], back) {
            (State::Machine(state), Back::Machine(before)) => {
                self.print ^= mix(salt, u64::from(*state)) ^ mix(salt, u64::from(before));
                *state = before;
            }
            (State::Register(value), Back::Value(before)) => {
                self.print ^= mix(salt, u64::from(value.0)) ^ mix(salt, u64::from(before.0));
                *value = before;
            }
            (State::Sequence(items, first), back) => {
                let (adds, front) = ends(self.kind, op);
                let (place, value) = match (adds, front, back) {
                    (true, true, _) => {
                        *first += 1;
                        (*first - 1, items.pop_front().unwrap_or(ValueId::NULL))
                    }
                    (true, false, _) => {
                        let value = items.pop_back().unwrap_or(ValueId::NULL);
                        (*first + items.len() as i64, value)
                    }
                    (false, true, Back::Value(value)) => {
                        items.push_front(value);
                        *first -= 1;
                        (*first, value)
                    }
                    (false, false, Back::Value(value)) => {
                        items.push_back(value);
                        (*first + items.len() as i64 - 1, value)
                    }
                    (false, _, Back::Nothing | Back::Machine(_)) => return,
                };
                self.print ^= mix(salt ^ place as u64, u64::from(value.0));
            }
            (State::Heap(items), back) => {
                let is_insert = op.op() == codes::priority_queue::INSERT;
                let value = match back {
                    Back::Value(value) => value,
                    Back::Nothing | Back::Machine(_) if is_insert => op.arg,
                    Back::Nothing | Back::Machine(_) => return,
                };
                let count = items.entry(value.0).or_insert(0);
                if is_insert {
                    self.print ^= mix(salt ^ u64::from(*count), u64::from(value.0));
                    *count -= 1;
                } else {
                    *count += 1;
                    self.print ^= mix(salt ^ u64::from(*count), u64::from(value.0));
                }
                if *count == 0 {
                    items.remove(&value.0);
                }
            }
            (State::Bag(bag), Back::Value(before)) => {
                let now = bag.get(&op.arg).copied().unwrap_or(0);
                self.count(object, op.arg, now, before.0);
            }
            _ => {}
        }
    }

    fn count(&mut self, object: u32, value: ValueId, before: u32, after: u32) -> Back {
        let State::Bag(bag) = &mut self.states[object as usize] else { return Back::Nothing };
        if before == after {
            return Back::Nothing;
        }
        let salt = u64::from(object) << 32 | u64::from(value.0);
        self.print ^= mix(salt, u64::from(before)) ^ mix(salt, u64::from(after));
        if after == 0 {
            bag.remove(&value);
        } else {
            bag.insert(value, after);
        }
        Back::Value(ValueId(before))
    }
}

/// The operation that inserts, of queue, stack and priority queue.
const OPENS: linpoint_history::OpCode = codes::queue::ENQUEUE;

fn writes(kind: Kind, op: &Operation) -> bool {
    op.op() == if kind == Kind::Kv { codes::kv::PUT } else { codes::register::WRITE }
}

fn is_pop(op: &Operation) -> bool {
    matches!(op.op(), codes::deque::POP_FRONT | codes::deque::POP_BACK)
}

/// Does an operation on a sequence add, and is it at the front?
fn ends(kind: Kind, op: &Operation) -> (bool, bool) {
    match kind {
        Kind::Deque => (!is_pop(op), matches!(op.op(), codes::deque::PUSH_FRONT | codes::deque::POP_FRONT)),
        Kind::Queue => (op.op() == codes::queue::ENQUEUE, op.op() != codes::queue::ENQUEUE),
        _ => (op.op() == codes::stack::PUSH, false),
    }
}

/// Does the plain form of its object know this operation?
fn is_plain(kind: Kind, op: &Operation) -> bool {
    let small = |value: ValueId| value == ValueId::NULL || value.small().is_some();
    match kind {
        Kind::Register | Kind::Queue | Kind::Stack | Kind::Deque => true,
        Kind::Kv => matches!(op.op(), codes::kv::PUT | codes::kv::GET),
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            op.op() != codes::priority_queue::CHANGE_KEY && small(op.arg) && small(op.result)
        }
        Kind::Set => true,
        Kind::Multiset | Kind::List => op.op() != codes::set::INSERT_PAIR,
        _ => false,
    }
}

/// The plain form of an object at the start, if it has one.
fn initial(spec: &Builtin, symbols: &Symbols) -> Option<State> {
    let items: Option<Vec<ValueId>> = match &spec.initial {
        Value::List(items) => items.iter().map(|item| symbols.find(item)).collect(),
        Value::Null => Some(Vec::new()),
        _ => None,
    };
    match spec.kind {
        Kind::Register | Kind::Kv => symbols.find(&spec.initial).map(State::Register),
        Kind::Queue | Kind::Stack | Kind::Deque => Some(State::Sequence(items?.into(), 0)),
        Kind::PriorityQueue | Kind::PriorityQueueMax => {
            let mut heap = BTreeMap::new();
            for item in items? {
                *heap.entry(item.small()?).or_insert(0) += 1;
            }
            Some(State::Heap(heap))
        }
        Kind::Set | Kind::Multiset | Kind::List => {
            let mut bag = FxHashMap::default();
            for item in items? {
                let count = bag.entry(item).or_insert(0);
                *count = if spec.kind == Kind::Set { 1 } else { *count + 1 };
            }
            Some(State::Bag(bag))
        }
        _ => None,
    }
}

/// 128 bits that two different pairs share by chance only.
pub(super) fn mix(a: u64, b: u64) -> u128 {
    let half = |seed: u64| {
        let mut x =
            a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_add(seed).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        for _ in 0..2 {
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x = (x ^ x >> 31).wrapping_add(seed);
        }
        x
    };
    u128::from(half(0x243f_6a88_85a3_08d3)) << 64 | u128::from(half(0x1319_8a2e_0370_7344))
}

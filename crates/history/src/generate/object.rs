//! Native objects for the generator: the same behaviour as [`Builtin::outcomes`] describes, without cloning
//! states.
//!
//! [`Object::step`] decides at an operation's point what the operation is, applies it and gives its answer.
//! Where an operation is not to take effect (it never answers), it is only named. Ids of small integers
//! compare as the integers do, and the generator inserts no other values, so priorities are compared by id.

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use super::{Plan, Values};
use crate::operation::{OpCode, ProcessId};
use crate::rng::Rng;
use crate::specs::{Builtin, Kind, codes};
use crate::symbols::{Symbols, ValueId};
use crate::value::Value;

/// Operation, argument, result.
pub(super) type Step = (OpCode, ValueId, ValueId);

/// Where arguments come from.
pub(super) struct Draw {
    values: Values,
    /// Distinct values handed out so far.
    used: u32,
    /// The first distinct value; past everything the object starts with.
    base: u32,
    /// Distinct priorities are scrambled below this power of two.
    scramble_bits: Option<u32>,
    add_share: f64,
    empties: f64,
    rare: f64,
    cells: u64,
}

impl Draw {
    pub(super) fn new(plan: &Plan, symbols: &Symbols) -> Draw {
        let priorities = matches!(plan.spec.kind, Kind::PriorityQueue | Kind::PriorityQueueMax);
        let bits = (2 * plan.operations + 2).next_power_of_two().trailing_zeros();
        Draw {
            values: plan.values,
            used: 0,
            base: 1 + largest(&plan.spec.initial, symbols),
            scramble_bits: priorities.then_some(bits.min(31)),
            add_share: plan.add_share,
            empties: plan.empties,
            rare: plan.rare,
            cells: u64::from(plan.processes).clamp(2, 8),
        }
    }

    /// A value to insert or write.
    fn value(&mut self, rng: &mut Rng) -> ValueId {
        match self.values {
            Values::Repeated(n) => ValueId(rng.below(u64::from(n)) as u32),
            Values::Distinct => {
                self.used += 1;
                let n = self.used - 1;
                ValueId(self.base + self.scramble_bits.map_or(n, |bits| scramble(n, bits)))
            }
        }
    }

    /// A value that was perhaps inserted before.
    fn some_value(&self, rng: &mut Rng) -> ValueId {
        match self.values {
            Values::Repeated(n) => ValueId(rng.below(u64::from(n)) as u32),
            Values::Distinct => ValueId(self.base + rng.below(u64::from(self.used) + 1) as u32),
        }
    }

    fn map_keys(&self) -> u64 {
        if self.values == Values::Distinct { 64 } else { 16 }
    }
}

/// A one-to-one map of the numbers below `2^bits`: odd multiplication and xor with the upper half, twice.
fn scramble(n: u32, bits: u32) -> u32 {
    let mask = ((1u64 << bits) - 1) as u32;
    let mix = |n: u32| {
        let n = n.wrapping_mul(0x9E37_79B1) & mask;
        n ^ (n >> (bits / 2 + 1))
    };
    mix(mix(n & mask))
}

/// The largest integer anywhere in a value, if it is a small one.
fn largest(value: &Value, symbols: &Symbols) -> u32 {
    match value {
        Value::List(items) => items.iter().map(|item| largest(item, symbols)).max().unwrap_or(0),
        value => symbols.find(value).and_then(ValueId::small).unwrap_or(0).min(1 << 30),
    }
}

/// An object that is run.
pub(super) struct Object {
    spec: Builtin,
    state: State,
    /// Removals so far, and how many found nothing.
    removals: (u64, u64),
}

enum State {
    Register(ValueId),
    Sequence(VecDeque<ValueId>),
    Heap(BTreeMap<ValueId, u32>, usize),
    Bag(Bag),
    Map(FxHashMap<ValueId, ValueId>),
    Counter(i64),
    Holders { shares: BTreeMap<ProcessId, u32>, writer: Option<ProcessId> },
    Cells(Vec<ValueId>),
}

/// Elements with counts, and a list of those present so that one can be picked.
#[derive(Default)]
struct Bag {
    /// How often each is there, and its place among the present ones.
    counts: FxHashMap<ValueId, (u32, u32)>,
    present: Vec<ValueId>,
    size: usize,
}

impl Bag {
    fn contains(&self, item: ValueId) -> bool {
        self.counts.contains_key(&item)
    }

    fn insert(&mut self, item: ValueId) {
        self.size += 1;
        let place = self.present.len() as u32;
        let entry = self.counts.entry(item).or_insert((0, place));
        entry.0 += 1;
        if entry.0 == 1 {
            self.present.push(item);
        }
    }

    fn remove(&mut self, item: ValueId) {
        let Some((count, place)) = self.counts.get_mut(&item) else { return };
        self.size -= 1;
        *count -= 1;
        if *count > 0 {
            return;
        }
        let place = *place;
        self.counts.remove(&item);
        self.present.swap_remove(place as usize);
        if let Some(moved) = self.present.get(place as usize) {
            self.counts.entry(*moved).and_modify(|(_, p)| *p = place);
        }
    }
}

impl Object {
    pub(super) fn new(spec: &Builtin, symbols: &mut Symbols) -> Object {
        let contents: Vec<Value> = match &spec.initial {
            Value::List(items) => items.to_vec(),
            _ => Vec::new(),
        };
        let mut ids = || contents.iter().map(|v| symbols.intern(v)).collect::<Vec<_>>();
        let state = match spec.kind {
            Kind::Register | Kind::CasRegister | Kind::RmwRegister | Kind::Kv => {
                State::Register(symbols.intern(&spec.initial))
            }
            Kind::Queue | Kind::Stack | Kind::Deque => State::Sequence(ids().into()),
            Kind::PriorityQueue | Kind::PriorityQueueMax => {
                let (mut heap, ids) = (BTreeMap::new(), ids());
                ids.iter().for_each(|id| *heap.entry(*id).or_insert(0) += 1);
                State::Heap(heap, ids.len())
            }
            Kind::Set | Kind::Multiset | Kind::List => {
                let mut bag = Bag::default();
                for id in ids() {
                    if spec.kind != Kind::Set || !bag.contains(id) {
                        bag.insert(id);
                    }
                }
                State::Bag(bag)
            }
            Kind::Map => {
                let pairs = contents.iter().filter_map(Value::as_pair);
                State::Map(pairs.map(|(k, v)| (symbols.intern(k), symbols.intern(v))).collect())
            }
            Kind::Counter => State::Counter(spec.initial.as_int().unwrap_or(0)),
            Kind::Lock | Kind::RwLock | Kind::Semaphore => {
                State::Holders { shares: BTreeMap::new(), writer: None }
            }
            Kind::Snapshot => State::Cells(ids()),
            Kind::Own => unreachable!("no plan has it"),
        };
        Object { spec: spec.clone(), state, removals: (0, 0) }
    }

    /// One operation takes effect; or, without `effect`, is only chosen.
    pub(super) fn step(
        &mut self,
        draw: &mut Draw,
        rng: &mut Rng,
        process: ProcessId,
        effect: bool,
        symbols: &mut Symbols,
    ) -> Step {
        match self.spec.kind {
            Kind::Register | Kind::CasRegister | Kind::RmwRegister => {
                self.register(draw, rng, effect, symbols)
            }
            Kind::Kv => self.kv(draw, rng, effect, symbols),
            Kind::Queue | Kind::Stack | Kind::Deque => self.sequence(draw, rng, effect),
            Kind::PriorityQueue | Kind::PriorityQueueMax => self.heap(draw, rng, effect, symbols),
            Kind::Set => self.set(draw, rng, effect),
            Kind::Multiset | Kind::List => self.multiset(draw, rng, effect, symbols),
            Kind::Map => self.map(draw, rng, effect, symbols),
            Kind::Counter => self.counter(draw, rng, effect, symbols),
            Kind::Lock | Kind::Semaphore => self.lock(process, effect, rng),
            Kind::RwLock => self.rw_lock(process, effect, rng),
            Kind::Snapshot => self.snapshot(draw, rng, effect, symbols),
            Kind::Own => unreachable!("no plan has it"),
        }
    }

    fn register(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::register::*;
        let State::Register(value) = &mut self.state else { unreachable!("a register holds a value") };
        if !rng.chance(draw.add_share) {
            return (READ, ValueId::NULL, *value);
        }
        let op = match self.spec.kind {
            Kind::Register => WRITE,
            Kind::CasRegister => *rng.pick(&[WRITE, CAS]),
            _ => *rng.pick(&[WRITE, CAS, SWAP, FETCH_ADD]),
        };
        let old = *value;
        let (arg, result, new) = match op {
            CAS => cas(old, draw, rng, symbols),
            FETCH_ADD => match symbols.int(old) {
                // Additions by one would meet distinct values soon: leap past them all.
                Some(n) if draw.values == Values::Distinct => {
                    let to = draw.value(rng);
                    (symbols.intern_int(i64::from(to.0) - n), old, to)
                }
                Some(n) => (ValueId(1), old, symbols.intern_int(n + 1)),
                None => return (READ, ValueId::NULL, old),
            },
            WRITE => {
                let new = draw.value(rng);
                (new, ValueId::NULL, new)
            }
            _ => {
                let new = draw.value(rng);
                (new, old, new)
            }
        };
        if effect {
            *value = new;
        }
        (op, arg, result)
    }

    fn kv(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::kv::*;
        let missing = symbols.intern(&self.spec.initial);
        let State::Register(value) = &mut self.state else { unreachable!("a key holds a value") };
        let old = *value;
        if rng.chance(draw.rare) {
            let op = *rng.pick(&[APPEND, DELETE, CAS]);
            let (arg, result, new) = match op {
                CAS => cas(old, draw, rng, symbols),
                APPEND => {
                    let item = draw.value(rng);
                    match appended(&symbols.value(old), item) {
                        Some(list) => (item, ValueId::NULL, symbols.intern(&list)),
                        None => return (GET, ValueId::NULL, old),
                    }
                }
                _ => (ValueId::NULL, ValueId::NULL, missing),
            };
            if effect {
                *value = new;
            }
            return (op, arg, result);
        }
        if !rng.chance(draw.add_share) {
            return (GET, ValueId::NULL, old);
        }
        let new = draw.value(rng);
        if effect {
            *value = new;
        }
        (PUT, new, ValueId::NULL)
    }

    fn full(&self, size: usize, rng: &mut Rng) -> bool {
        self.spec.capacity.is_some_and(|capacity| size >= capacity || self.spec.spurious && rng.chance(0.02))
    }

    /// What an insertion answers.
    fn inserted(&self, full: bool) -> ValueId {
        if self.spec.answers_insertions() { ValueId::from_bool(!full) } else { ValueId::NULL }
    }

    /// Shall a collection of this size be inserted into next?
    fn wants_insertion(&mut self, size: usize, draw: &Draw, rng: &mut Rng) -> bool {
        let (removals, empty) = self.removals;
        let due = draw.empties * (removals as f64 + 1.0) >= empty as f64 + 1.0;
        let insert = match (due, size) {
            (false, 0) => draw.add_share > 0.0,
            // Due but not empty: drain.
            (true, 1..) => rng.chance(draw.add_share / 2.0),
            (true, 0) => false,
            (false, _) => rng.chance(draw.add_share),
        };
        if !insert {
            self.removals = (removals + 1, empty + u64::from(size == 0));
        }
        insert
    }

    fn sequence(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool) -> Step {
        let State::Sequence(items) = &self.state else { unreachable!("a sequence") };
        let size = items.len();
        let (deque, stack) = (self.spec.kind == Kind::Deque, self.spec.kind == Kind::Stack);
        let insert = self.wants_insertion(size, draw, rng);
        // Only a deque uses its front to insert, and only a stack never uses it to remove.
        let front = if deque { rng.chance(0.5) } else { !insert && !stack };
        let op = match (deque, insert) {
            (true, true) => OpCode(u8::from(!front)),
            (true, false) => OpCode(2 + u8::from(!front)),
            (false, insert) => OpCode(u8::from(!insert)),
        };
        if insert {
            let (arg, full) = (draw.value(rng), self.full(size, rng));
            if let (State::Sequence(items), true, false) = (&mut self.state, effect, full) {
                if front { items.push_front(arg) } else { items.push_back(arg) }
            }
            return (op, arg, self.inserted(full));
        }
        let State::Sequence(items) = &mut self.state else { unreachable!("a sequence") };
        let spurious = self.spec.spurious && rng.chance(0.02);
        let removed = match (effect && !spurious, front) {
            (false, _) => None,
            (true, true) => items.pop_front(),
            (true, false) => items.pop_back(),
        };
        (op, ValueId::NULL, removed.unwrap_or(ValueId::NULL))
    }

    fn heap(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::priority_queue::*;
        let State::Heap(_, size) = self.state else { unreachable!("a heap") };
        if rng.chance(draw.rare) {
            let from = draw.some_value(rng);
            let to = draw.value(rng);
            let State::Heap(heap, _) = &mut self.state else { unreachable!("a heap") };
            let present = heap.contains_key(&from);
            if present && effect {
                take(heap, from);
                *heap.entry(to).or_insert(0) += 1;
            }
            return (CHANGE_KEY, pair(symbols, from, to), ValueId::from_bool(present));
        }
        if self.wants_insertion(size, draw, rng) {
            let (arg, full) = (draw.value(rng), self.full(size, rng));
            if let (State::Heap(heap, size), true, false) = (&mut self.state, effect, full) {
                *heap.entry(arg).or_insert(0) += 1;
                *size += 1;
            }
            return (INSERT, arg, self.inserted(full));
        }
        let spurious = self.spec.spurious && rng.chance(0.02);
        let State::Heap(heap, size) = &mut self.state else { unreachable!("a heap") };
        let ends = if self.spec.kind == Kind::PriorityQueueMax {
            heap.last_key_value()
        } else {
            heap.first_key_value()
        };
        let first = ends.map(|(id, _)| *id).filter(|_| effect && !spurious);
        if let Some(first) = first {
            take(heap, first);
            *size -= 1;
        }
        (REMOVE, ValueId::NULL, first.unwrap_or(ValueId::NULL))
    }

    /// Which of insert (0), remove (1), look (2), and whether it shall be about an element that is there.
    fn by_value(&mut self, draw: &Draw, rng: &mut Rng) -> (u8, bool) {
        let pick = rng.unit();
        let op = if pick < draw.add_share {
            0
        } else if pick < 2.0 * draw.add_share {
            1
        } else {
            2
        };
        let miss = if op == 1 { draw.empties } else { 0.5 };
        (op, !rng.chance(miss))
    }

    fn element(bag: &Bag, there: bool, draw: &Draw, rng: &mut Rng) -> ValueId {
        if there && !bag.present.is_empty() { *rng.pick(&bag.present) } else { draw.some_value(rng) }
    }

    fn set(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool) -> Step {
        use codes::set::*;
        let (op, there) = self.by_value(draw, rng);
        let State::Bag(bag) = &self.state else { unreachable!("a bag") };
        let arg = if op == 0 { draw.value(rng) } else { Self::element(bag, there, draw, rng) };
        let (present, size) = (bag.contains(arg), bag.size);
        let full = op == 0 && !present && self.full(size, rng);
        let State::Bag(bag) = &mut self.state else { unreachable!("a bag") };
        let code = [ADD, REMOVE, CONTAINS][usize::from(op)];
        let answer = if code == ADD { !present && !full } else { present };
        match code {
            ADD if effect && answer => bag.insert(arg),
            REMOVE if effect && answer => bag.remove(arg),
            _ => {}
        }
        (code, arg, ValueId::from_bool(answer))
    }

    fn multiset(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::set::*;
        if self.spec.kind == Kind::Multiset && rng.chance(draw.rare) {
            let State::Bag(bag) = &self.state else { unreachable!("a bag") };
            let has_room = self.spec.capacity.is_none_or(|capacity| bag.size + 2 <= capacity);
            let (x, y, done) = (draw.value(rng), draw.value(rng), rng.chance(0.75) && has_room);
            if let (State::Bag(bag), true, true) = (&mut self.state, effect, done) {
                bag.insert(x);
                bag.insert(y);
            }
            return (INSERT_PAIR, pair(symbols, x, y), ValueId::from_bool(done));
        }
        let (op, there) = self.by_value(draw, rng);
        let State::Bag(bag) = &self.state else { unreachable!("a bag") };
        if op == 0 {
            let (arg, full) = (draw.value(rng), self.full(bag.size, rng));
            if let (State::Bag(bag), true, false) = (&mut self.state, effect, full) {
                bag.insert(arg);
            }
            return (ADD, arg, self.inserted(full));
        }
        let arg = Self::element(bag, there, draw, rng);
        let present = bag.contains(arg);
        if let (State::Bag(bag), true, 1) = (&mut self.state, effect, op) {
            bag.remove(arg);
        }
        (if op == 1 { REMOVE } else { CONTAINS }, arg, ValueId::from_bool(present))
    }

    fn map(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::map::*;
        let State::Map(map) = &mut self.state else { unreachable!("a map") };
        if rng.chance(draw.rare) {
            return match rng.chance(0.5) {
                true => (LEN, ValueId::NULL, ValueId(map.len() as u32)),
                false => (IS_EMPTY, ValueId::NULL, ValueId::from_bool(map.is_empty())),
            };
        }
        let key = ValueId(rng.below(draw.map_keys()) as u32);
        let old = map.get(&key).copied().unwrap_or(ValueId::NULL);
        let pick = rng.unit();
        if pick < draw.add_share {
            let new = draw.value(rng);
            if effect {
                map.insert(key, new);
            }
            return (INSERT, pair(symbols, key, new), old);
        }
        if pick >= 2.0 * draw.add_share {
            return (GET, key, old);
        }
        if effect {
            map.remove(&key);
        }
        (REMOVE, key, old)
    }

    fn counter(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::counter::*;
        let State::Counter(count) = &mut self.state else { unreachable!("a counter") };
        if !rng.chance(draw.add_share) {
            return (READ, ValueId::NULL, symbols.intern_int(*count));
        }
        let (op, n) = if rng.chance(0.8) { (INCREMENT, 1) } else { (ADD, 1 + rng.below(5)) };
        if effect {
            *count += n as i64;
        }
        (op, if op == ADD { ValueId(n as u32) } else { ValueId::NULL }, ValueId::NULL)
    }

    fn lock(&mut self, process: ProcessId, effect: bool, rng: &mut Rng) -> Step {
        use codes::lock::*;
        let permits = if self.spec.kind == Kind::Lock { 1 } else { self.spec.capacity.unwrap_or(1) };
        let State::Holders { shares, .. } = &mut self.state else { unreachable!("a lock") };
        let holds = shares.contains_key(&process);
        let taken = shares.values().sum::<u32>() as usize;
        // A process that holds it mostly gives it back; one that does not mostly asks for it.
        let release = rng.chance(if holds { 0.9 } else { 0.05 });
        let done = if release { holds } else { taken < permits };
        if done && effect {
            share(shares, process, release);
        }
        (if release { RELEASE } else { ACQUIRE }, ValueId::NULL, answer(done))
    }

    fn rw_lock(&mut self, process: ProcessId, effect: bool, rng: &mut Rng) -> Step {
        use codes::rw_lock::*;
        let State::Holders { shares, writer } = &mut self.state else { unreachable!("a lock") };
        let (reads, writes) = (shares.contains_key(&process), *writer == Some(process));
        let op = match (reads, writes) {
            _ if rng.chance(0.05) => OpCode(rng.below(4) as u8),
            (true, _) => READ_UNLOCK,
            (_, true) => WRITE_UNLOCK,
            _ if rng.chance(0.7) => READ_LOCK,
            _ => WRITE_LOCK,
        };
        let done = match op {
            READ_LOCK => writer.is_none(),
            READ_UNLOCK => reads,
            WRITE_LOCK => writer.is_none() && shares.is_empty(),
            _ => writes,
        };
        if done && effect {
            match op {
                READ_LOCK | READ_UNLOCK => share(shares, process, op == READ_UNLOCK),
                WRITE_LOCK => *writer = Some(process),
                _ => *writer = None,
            }
        }
        (op, ValueId::NULL, answer(done))
    }

    fn snapshot(&mut self, draw: &mut Draw, rng: &mut Rng, effect: bool, symbols: &mut Symbols) -> Step {
        use codes::snapshot::*;
        let State::Cells(cells) = &mut self.state else { unreachable!("cells") };
        if cells.len() < draw.cells as usize {
            cells.resize(draw.cells as usize, ValueId::NULL);
        }
        if !rng.chance(draw.add_share) {
            let seen = Value::list(cells.iter().map(|id| symbols.value(*id)).collect::<Vec<_>>());
            return (SCAN, ValueId::NULL, symbols.intern(&seen));
        }
        let (index, value) = (rng.below(cells.len() as u64), draw.value(rng));
        if effect {
            cells[index as usize] = value;
        }
        (WRITE, pair(symbols, ValueId(index as u32), value), ValueId::NULL)
    }
}

/// A compare-and-set that mostly succeeds: argument, result, value after it.
fn cas(old: ValueId, draw: &mut Draw, rng: &mut Rng, symbols: &mut Symbols) -> (ValueId, ValueId, ValueId) {
    let from = if rng.chance(0.7) { old } else { draw.some_value(rng) };
    let to = draw.value(rng);
    let done = from == old;
    (pair(symbols, from, to), ValueId::from_bool(done), if done { to } else { old })
}

/// A list with one more item, while it is short.
fn appended(old: &Value, item: ValueId) -> Option<Value> {
    let item = Value::Int(i64::from(item.0));
    match old {
        Value::Null => Some(Value::list([item])),
        Value::List(items) if items.len() < 8 => Some(Value::list(items.iter().cloned().chain([item]))),
        _ => None,
    }
}

fn pair(symbols: &mut Symbols, a: ValueId, b: ValueId) -> ValueId {
    let pair = Value::list([symbols.value(a), symbols.value(b)]);
    symbols.intern(&pair)
}

fn take(heap: &mut BTreeMap<ValueId, u32>, item: ValueId) {
    if let Some(count) = heap.get_mut(&item) {
        *count -= 1;
        if *count == 0 {
            heap.remove(&item);
        }
    }
}

fn share(shares: &mut BTreeMap<ProcessId, u32>, process: ProcessId, release: bool) {
    let count = shares.entry(process).or_insert(0);
    *count = if release { *count - 1 } else { *count + 1 };
    if *count == 0 {
        shares.remove(&process);
    }
}

/// What a lock answers: null is "done".
fn answer(done: bool) -> ValueId {
    if done { ValueId::NULL } else { ValueId::FALSE }
}

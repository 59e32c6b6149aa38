//! All metastates at one moment, and the two event functions.

use std::sync::Arc;

use linpoint_history::{Call, History, Operation, Spec, Value};
use rustc_hash::FxHashMap;

use super::{Knowledge, Pair, Statistics, Switches};

/// More metastates than allowed.
#[derive(Clone, Copy, Debug)]
pub struct Full;

/// An operation in a sequence of completed ones: a row, or one that stands for a changed key (numbered after
/// the rows).
type Entry = u32;

#[derive(Clone, Debug)]
struct Metastate {
    /// Operations that took effect, in order, after those of the definite part.
    completed: Vec<Entry>,
    /// Operations of the definite part that were undone here.
    undone: Vec<Entry>,
    /// Rows that have started and not taken effect, in order.
    waiting: Vec<u32>,
    state: u32,
    /// Exclusive or over both parts, each with its own half of the bits.
    hash: u64,
}

/// See the module's text.
pub struct Universe<'a, S: Spec> {
    spec: &'a S,
    rows: &'a [Operation],
    /// Argument and result of each row, then of each operation made for a changed key.
    values: Vec<(Value, Value)>,
    /// The row an entry takes its name and process from.
    sources: Vec<u32>,
    made: FxHashMap<(u32, Value), Entry>,
    switches: Switches,
    states: Vec<Arc<S::State>>,
    state_ids: FxHashMap<Arc<S::State>, u32>,
    definite: Vec<Entry>,
    metastates: Vec<Metastate>,
    open: usize,
    pub(super) statistics: Statistics,
}

impl<'a, S: Spec + Knowledge> Universe<'a, S> {
    pub(super) fn new(spec: &'a S, history: &'a History, switches: Switches) -> Universe<'a, S> {
        let symbols = &history.symbols;
        let values = history.operations.iter().map(|op| (symbols.value(op.arg), symbols.value(op.result)));
        let initial = Arc::new(spec.initial());
        Universe {
            spec,
            rows: &history.operations,
            values: values.collect(),
            sources: (0..history.operations.len() as u32).collect(),
            made: FxHashMap::default(),
            switches,
            states: vec![initial.clone()],
            state_ids: FxHashMap::from_iter([(initial, 0)]),
            definite: Vec::new(),
            metastates: vec![Metastate {
                completed: vec![],
                undone: vec![],
                waiting: vec![],
                state: 0,
                hash: 0,
            }],
            open: 0,
            statistics: Statistics::default(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.metastates.is_empty()
    }

    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// The start of a row: it waits, or takes effect at once, and then whatever else can.
    pub(super) fn start(&mut self, row: usize) -> Result<(), Full> {
        self.open += 1;
        for metastate in &mut self.metastates {
            metastate.waiting.push(row as u32);
            metastate.hash ^= waiting_bits(row as u32);
        }
        let seeds = std::mem::take(&mut self.metastates);
        let mut kept = self.closure(seeds)?;
        self.drop_implied(&mut kept);
        self.settle(kept);
        Ok(())
    }

    /// The end of a row: only metastates in which it took effect are left.
    pub(super) fn end(&mut self, row: usize) -> Result<(), Full> {
        self.open -= 1;
        let mut kept = std::mem::take(&mut self.metastates);
        if self.switches.implied {
            kept = self.closure(kept)?; // Those that were not kept count too.
        }
        kept.retain(|metastate| !metastate.waiting.contains(&(row as u32)));
        self.drop_implied(&mut kept);
        self.settle(kept);
        self.collect_states();
        Ok(())
    }

    /// All that letting waiting operations take effect leads to, those given included.
    fn closure(&mut self, seeds: Vec<Metastate>) -> Result<Vec<Metastate>, Full> {
        let mut all = Set::new(self.switches);
        for seed in seeds {
            all.insert(seed, &mut self.statistics);
        }
        let mut next = 0;
        while next < all.items.len() {
            if all.items.len() > self.switches.most {
                return Err(Full);
            }
            for at in 0..all.items[next].waiting.len() {
                let row = all.items[next].waiting[at];
                for after in self.effect(&all.items[next].clone(), row) {
                    all.insert(after, &mut self.statistics);
                }
            }
            next += 1;
        }
        self.statistics.most_held = self.statistics.most_held.max(all.items.len());
        Ok(all.items)
    }

    /// The metastates after a waiting row takes effect.
    fn effect(&mut self, before: &Metastate, row: u32) -> Vec<Metastate> {
        let op = &self.rows[row as usize];
        let state = self.states[before.state as usize].clone();
        let (arg, result) = &self.values[row as usize];
        let call = Call { op: op.op(), process: op.process(), arg };
        let mut next = Vec::new();
        if op.is_pending() {
            self.spec.step_pending(&state, call, &mut next);
        } else {
            next.extend(self.spec.step(&state, call, result));
        }
        next.into_iter().map(|state| self.after(before, row, state)).collect()
    }

    fn after(&mut self, before: &Metastate, row: u32, state: S::State) -> Metastate {
        let mut after = before.clone();
        after.waiting.retain(|&waiting| waiting != row);
        after.hash ^= waiting_bits(row);
        let unchanged = state == *self.states[before.state as usize];
        after.state = self.intern(state);
        let pending = self.rows[row as usize].is_pending();
        if self.switches.redundant && unchanged && !pending {
            return after;
        }
        if !pending && self.pair_up(&mut after, row) {
            return after;
        }
        self.complete(&mut after, row);
        after
    }

    fn complete(&mut self, metastate: &mut Metastate, entry: Entry) {
        metastate.hash ^= completed_bits(entry);
        metastate.completed.push(entry);
        if self.switches.permutable {
            let mut at = metastate.completed.len() - 1;
            while at > 0
                && metastate.completed[at - 1] > metastate.completed[at]
                && self.commute(metastate.completed[at - 1], metastate.completed[at])
            {
                metastate.completed.swap(at - 1, at);
                at -= 1;
            }
        }
    }

    /// Takes a redundant pair out of the sequence, or replaces a semi-redundant one; `false`: there is none.
    fn pair_up(&mut self, metastate: &mut Metastate, row: u32) -> bool {
        let held = self.definite.iter().chain(&metastate.completed).copied();
        let mut candidates: Vec<Entry> = held.filter(|entry| !metastate.undone.contains(entry)).collect();
        if self.spec.pairs_with_last() {
            candidates.reverse();
        }
        for first in candidates {
            let replacement = match self.spec.pair(self.operation(first), self.operation(row)) {
                Pair::Redundant if self.switches.redundant => None,
                Pair::SemiRedundant(value) if self.switches.semi_redundant => Some(value),
                _ => continue,
            };
            match metastate.completed.iter().position(|&entry| entry == first) {
                Some(at) => {
                    metastate.completed.remove(at);
                    metastate.hash ^= completed_bits(first);
                }
                None => {
                    let at = metastate.undone.partition_point(|&entry| entry < first);
                    metastate.undone.insert(at, first);
                    metastate.hash ^= completed_bits(!first);
                }
            }
            if let Some(value) = replacement {
                let made = self.make(first, row, value);
                self.complete(metastate, made);
            }
            return true;
        }
        false
    }

    /// An operation like `first` with another argument, made at `row`'s time.
    fn make(&mut self, first: Entry, row: u32, value: Value) -> Entry {
        let next = self.values.len() as Entry;
        let source = self.sources[first as usize];
        let result = self.values[first as usize].1.clone();
        *self.made.entry((row, value.clone())).or_insert_with(|| {
            self.values.push((value, result));
            self.sources.push(source);
            next
        })
    }

    fn operation(&self, entry: Entry) -> (Call<'_>, &Value) {
        let row = &self.rows[self.sources[entry as usize] as usize];
        let (arg, result) = &self.values[entry as usize];
        (Call { op: row.op(), process: row.process(), arg }, result)
    }

    fn commute(&self, a: Entry, b: Entry) -> bool {
        let pending = |entry: Entry| self.rows[self.sources[entry as usize] as usize].is_pending();
        !pending(a) && !pending(b) && self.spec.commutes(self.operation(a), self.operation(b))
    }

    /// Drops what a waiting operation that can always take effect leads to.
    fn drop_implied(&mut self, metastates: &mut Vec<Metastate>) {
        if !self.switches.implied {
            return;
        }
        let mut all = Set::new(self.switches);
        for metastate in metastates.drain(..) {
            all.insert(metastate, &mut self.statistics);
        }
        let mut implied = vec![false; all.items.len()];
        for index in 0..all.items.len() {
            let here = all.items[index].clone();
            for &row in &here.waiting {
                let (call, result) = self.operation(row);
                if self.rows[row as usize].is_pending() || !self.spec.is_always_applicable(call, result) {
                    continue;
                }
                for after in self.effect(&here, row) {
                    if let Some(found) = all.find(&after, &mut self.statistics) {
                        implied[found] = true;
                    }
                }
            }
        }
        let mut implied = implied.into_iter();
        metastates.extend(all.items.into_iter().filter(|_| !implied.next().unwrap_or(false)));
    }

    /// The metastates after an event, their common part set aside, counted.
    fn settle(&mut self, metastates: Vec<Metastate>) {
        self.metastates = metastates;
        if self.switches.definite {
            self.set_aside();
        }
        let entries: usize = self.metastates.iter().map(|m| m.completed.len() + m.undone.len()).sum();
        let statistics = &mut self.statistics;
        statistics.events += 1;
        statistics.sum += self.metastates.len() as u64;
        statistics.most = statistics.most.max(self.metastates.len());
        statistics.most_entries = statistics.most_entries.max(entries + self.definite.len());
    }

    /// Moves what all sequences have in common to the definite part: a beginning or, where order does not
    /// count, any operation. What all of them undid leaves it.
    fn set_aside(&mut self) {
        let Some((first, rest)) = self.metastates.split_first() else { return };
        let mut shared = first.completed.clone();
        for other in rest {
            if self.switches.permutable {
                shared.retain(|entry| other.completed.contains(entry));
            } else {
                let same = other.completed.iter().zip(&shared).take_while(|(a, b)| a == b).count();
                shared.truncate(same);
            }
        }
        let mut undone = first.undone.clone();
        undone.retain(|entry| rest.iter().all(|other| other.undone.contains(entry)));
        self.definite.retain(|entry| !undone.contains(entry));
        for metastate in &mut self.metastates {
            metastate.completed.retain(|entry| !shared.contains(entry));
            metastate.undone.retain(|entry| !undone.contains(entry));
            shared.iter().for_each(|&entry| metastate.hash ^= completed_bits(entry));
            undone.iter().for_each(|&entry| metastate.hash ^= completed_bits(!entry));
        }
        self.definite.extend(shared);
    }

    fn intern(&mut self, state: S::State) -> u32 {
        if let Some(&id) = self.state_ids.get(&state) {
            return id;
        }
        let state = Arc::new(state);
        self.states.push(state.clone());
        self.state_ids.insert(state, self.states.len() as u32 - 1);
        self.states.len() as u32 - 1
    }

    /// Forgets states no metastate is in.
    fn collect_states(&mut self) {
        if self.states.len() < 4096 + 2 * self.metastates.len() {
            return;
        }
        let old = std::mem::take(&mut self.states);
        self.state_ids.clear();
        let mut metastates = std::mem::take(&mut self.metastates);
        for metastate in &mut metastates {
            metastate.state = self.intern((*old[metastate.state as usize]).clone());
        }
        self.metastates = metastates;
    }
}

/// Metastates without duplicates: equal operations, or equal states where that is switched on.
struct Set {
    items: Vec<Metastate>,
    by_hash: FxHashMap<u64, Vec<u32>>,
    switches: Switches,
}

impl Set {
    fn new(switches: Switches) -> Set {
        Set { items: Vec::new(), by_hash: FxHashMap::default(), switches }
    }

    fn insert(&mut self, item: Metastate, statistics: &mut Statistics) {
        if self.find(&item, statistics).is_none() {
            if self.switches.hashing {
                let key = self.key(&item);
                self.by_hash.entry(key).or_default().push(self.items.len() as u32);
            }
            self.items.push(item);
        }
    }

    fn find(&self, item: &Metastate, statistics: &mut Statistics) -> Option<usize> {
        let mut same = |index: usize| {
            statistics.comparisons += 1;
            let other = &self.items[index];
            other.waiting == item.waiting
                && match self.switches.equivalent {
                    true => other.state == item.state,
                    false => {
                        other.completed == item.completed
                            && other.undone == item.undone
                            && other.state == item.state
                    }
                }
        };
        if self.switches.hashing {
            let candidates = self.by_hash.get(&self.key(item))?;
            return candidates.iter().map(|&index| index as usize).find(|&index| same(index));
        }
        (0..self.items.len()).find(|&index| same(index))
    }

    fn key(&self, item: &Metastate) -> u64 {
        match self.switches.equivalent {
            true => item.hash & 0xFFFF_FFFF | u64::from(item.state) << 32,
            false => item.hash,
        }
    }
}

fn mix(number: u32) -> u32 {
    let mut bits = number.wrapping_add(0x9E37_79B9).wrapping_mul(0x85EB_CA6B);
    bits ^= bits >> 13;
    bits = bits.wrapping_mul(0xC2B2_AE35);
    bits ^ bits >> 16
}

fn waiting_bits(row: u32) -> u64 {
    u64::from(mix(row))
}

fn completed_bits(entry: Entry) -> u64 {
    u64::from(mix(entry)) << 32
}

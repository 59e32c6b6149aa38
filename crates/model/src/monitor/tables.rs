//! Sets of configurations by number, and what each event makes of them.

use rustc_hash::FxHashMap;

use super::set::Set;
use super::{MonitorId, Refused, Settled};

/// A set, and what happens to it, or the order its threads are put in.
type Key = (MonitorId, u64);

/// Sets and what was worked out about them. Numbers start where those of the sets that all know end.
#[derive(Clone, Default)]
pub(super) struct Tables {
    sets: Vec<Met>,
    /// The places of sets, where their hashes say; the size is a power of two.
    slots: Vec<u32>,
    after: FxHashMap<Key, Result<MonitorId, Refused>>,
    settled: FxHashMap<Key, Settled>,
    /// About how many bytes the sets take.
    held: usize,
    /// The number of the state that is looked at.
    pub looking_at: u32,
}

/// A set that has a number.
#[derive(Clone)]
struct Met {
    set: Set,
    hash: u64,
    /// The state at which it was first met.
    first: u32,
}

const EMPTY: u32 = u32::MAX;

impl Tables {
    #[inline]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    #[inline]
    pub fn set(&self, index: usize) -> &Set {
        &self.sets[index].set
    }

    /// What an event makes of a set, if that is known.
    #[inline]
    pub fn after(&self, key: &Key) -> Option<Result<MonitorId, Refused>> {
        self.after.get(key).copied()
    }

    pub fn remember(&mut self, key: Key, found: Result<MonitorId, Refused>) {
        self.after.insert(key, found);
    }

    /// A set with threads in an order and data named, if that is known.
    #[inline]
    pub fn settled(&self, key: &Key) -> Option<&Settled> {
        self.settled.get(key)
    }

    pub fn remember_settled(&mut self, key: Key, found: Settled) {
        self.settled.insert(key, found);
    }

    /// The place of a set with this hash, if it is there.
    pub fn find(&self, set: &Set, hash: u64) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let place = self.slots[at] as usize;
            let met = self.sets.get(place)?;
            if met.hash == hash && met.set == *set {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a set that is not there; its place.
    pub fn add(&mut self, set: &Set, hash: u64) -> usize {
        self.push(Met { set: set.clone(), hash, first: self.looking_at })
    }

    fn push(&mut self, met: Met) -> usize {
        if (self.sets.len() + 1) * 2 > self.slots.len() {
            let size = (self.slots.len() * 2).max(1 << 8);
            self.slots = vec![EMPTY; size];
            for place in 0..self.sets.len() {
                self.enter(place, self.sets[place].hash);
            }
        }
        let place = self.sets.len();
        self.held += met.set.memory();
        self.enter(place, met.hash);
        self.sets.push(met);
        place
    }

    fn enter(&mut self, place: usize, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = place as u32;
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        self.held + self.slots.capacity() * 4 + self.after.capacity() * 32 + self.settled.capacity() * 48
    }

    /// Takes in what workers found besides these sets: new sets are numbered in the order in which one worker
    /// would have met them. The new numbers of each worker's sets.
    ///
    /// A state is looked at by one worker, and each worker looks at states in their order. So of all that
    /// found a set, the one that found it at the first state found it there in the same order among the sets
    /// first found there as one worker alone would have.
    pub fn merge(&mut self, mut found: Vec<Tables>) -> Vec<Vec<MonitorId>> {
        let before = self.len();
        let mut met: Vec<(u32, usize, usize)> = Vec::new();
        for (worker, tables) in found.iter().enumerate() {
            met.extend(tables.sets.iter().enumerate().map(|(index, set)| (set.first, worker, index)));
        }
        met.sort_unstable();
        let mut numbers: Vec<Vec<MonitorId>> = found.iter().map(|tables| vec![0; tables.len()]).collect();
        for (first, worker, index) in met {
            let Met { set, hash, .. } = &mut found[worker].sets[index];
            let place = match self.find(set, *hash) {
                Some(place) => place,
                None => self.push(Met { set: std::mem::take(set), hash: *hash, first }),
            };
            numbers[worker][index] = place as MonitorId;
        }
        for (tables, numbers) in found.into_iter().zip(&numbers) {
            let number = |id: MonitorId| match (id as usize).checked_sub(before) {
                None => id,
                Some(index) => numbers[index],
            };
            for ((at, event), after) in tables.after {
                self.after.insert((number(at), event), after.map(number));
            }
            for ((at, order), settled) in tables.settled {
                self.settled.insert((number(at), order), Settled { id: number(settled.id), ..settled });
            }
        }
        numbers
    }
}

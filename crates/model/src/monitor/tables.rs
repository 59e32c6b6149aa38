//! Sets of configurations by number, and what each event makes of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::configurations::Set;
use super::{MonitorId, Refused, Settled};

/// A set, and what happens to it, or the order its threads are put in.
type Key = (MonitorId, u64);

/// Sets and what was worked out about them. Numbers start where those of the sets that all know end.
#[derive(Clone, Default)]
pub(super) struct Tables {
    sets: Vec<Arc<Set>>,
    /// The state at which each was first met.
    first: Vec<u32>,
    ids: FxHashMap<Arc<Set>, MonitorId>,
    after: FxHashMap<Key, Result<MonitorId, Refused>>,
    settled: FxHashMap<Key, Settled>,
    /// About how many bytes the sets take.
    held: usize,
    /// The number of the state that is looked at.
    pub looking_at: u32,
}

impl Tables {
    #[inline]
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    pub fn set(&self, index: usize) -> Arc<Set> {
        Arc::clone(&self.sets[index])
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

    /// The number of a set, if it is known.
    pub fn id(&self, set: &Set) -> Option<MonitorId> {
        self.ids.get(set).copied()
    }

    /// The number of a set that may be new; so many have numbers elsewhere.
    pub fn number(&mut self, set: Set, elsewhere: usize) -> MonitorId {
        if let Some(id) = self.id(&set) {
            return id;
        }
        self.add(Arc::new(set), elsewhere)
    }

    fn add(&mut self, set: Arc<Set>, elsewhere: usize) -> MonitorId {
        let id = (elsewhere + self.sets.len()) as MonitorId;
        self.held += set.memory();
        self.sets.push(Arc::clone(&set));
        self.first.push(self.looking_at);
        self.ids.insert(set, id);
        id
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        self.held + self.after.capacity() * 32 + self.settled.capacity() * 48
    }

    /// Takes in what workers found besides these sets: new sets are numbered in the order in which one worker would have met them. The new numbers of each worker's sets.
    ///
    /// A state is looked at by one worker, and each worker looks at states in their order. So of all that found a set, the one that found it at the first state found it there in the same
    /// order among the sets first found there as one worker alone would have.
    pub fn merge(&mut self, found: Vec<Tables>) -> Vec<Vec<MonitorId>> {
        let before = self.len();
        let mut met: Vec<(u32, usize, usize)> = Vec::new();
        for (worker, tables) in found.iter().enumerate() {
            met.extend(tables.first.iter().enumerate().map(|(index, first)| (*first, worker, index)));
        }
        met.sort_unstable();
        let mut numbers: Vec<Vec<MonitorId>> = found.iter().map(|tables| vec![0; tables.len()]).collect();
        for (_, worker, index) in met {
            let set = &found[worker].sets[index];
            numbers[worker][index] = match self.id(set) {
                Some(id) => id,
                None => self.add(Arc::clone(set), 0),
            };
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

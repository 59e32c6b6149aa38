//! What steps lead to from a state of the program, worked out once.
//!
//! A state of the search is a state of the program and the monitor's set of explanations. What steps a
//! program can take, and what calls and returns they bring, does not depend on the explanations; and there
//! are a few times to ten times fewer states of the program. So the steps from one are taken once
//! ([`Fast`](crate::fast::Fast)) and recorded: the events in the order in which the monitor was told of them,
//! and the states where steps end. For every other set of explanations the events are told to the monitor
//! again, and the ends are known.
//!
//! An event is told to what an earlier one made of the first set: sets on the way are *slots*, numbered from 0.
//!
//! Data gets its names from what the monitor says. Where each piece that is handed out is new, the names come
//! before the state (`pack.rs`): states of the program have their values numbered as they are met, steps are
//! taken with these, and events are put into the names of the state at hand. Elsewhere a call chooses among
//! values by their names, and states of the program have these in them; one where steps end is kept with
//! threads and records in order, and what it is called under the names that a set gives is worked out once as
//! well.
//!
//! This is a memory and nothing else: nothing is lost if it is forgotten, and it is when it grows beyond a
//! bound.

use linpoint_lang::program::OpId;
use rustc_hash::FxHashMap;

use crate::data::{Classes, Naming, Nibbles};
use crate::monitor::{Event, Monitor, Places};
use crate::store::hash;

/// A state of the program, by number.
pub(crate) type ProgramId = u32;

/// What the monitor is told: the slot that it is told to. What comes of it is in the next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub slot: u32,
    pub event: Event,
    /// Whose event.
    pub op: OpId,
    /// The values in it that have other names elsewhere: fifteen at each.
    pub values: Nibbles,
}

/// Where a step ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The explanations.
    pub slot: u32,
    /// The program's state, with threads and records in order.
    pub program: ProgramId,
    /// Which threads came to which places.
    pub places: Places,
    /// Did any change places?
    pub moved: bool,
    /// Is data to be renamed?
    pub renames: bool,
    /// Whose step it was.
    pub thread: u8,
    /// The values in it in the order of the walk, by what they are called before they are renamed; and how
    /// many.
    pub met: Nibbles,
    pub count: u8,
    /// How many values are in use.
    pub fresh: u8,
}

impl End {
    /// Do values have their names already, if the monitor says this of them?
    #[inline]
    pub fn is_named(&self, classes: Classes) -> bool {
        let mut naming = Naming::new(classes);
        (1..=self.count).map(|at| self.met.get(at)).all(|value| naming.name(value) == value)
            && naming.count() == self.fresh
    }
}

/// What is known about the steps from a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    Nothing,
    /// The slow way must look at it.
    Unusual,
    /// Where what the monitor is told begins and ends, and where the ends of steps do; and how many values
    /// are handed out on some way at most.
    Steps {
        told: (u32, u32),
        ends: (u32, u32),
        new: u8,
    },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    end: u32,
    hash: u32,
    known: Known,
}

#[derive(Default)]
pub(crate) struct Programs {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The numbers of states, where their hashes say; the size is a power of two.
    slots: Vec<u32>,
    told: Vec<Told>,
    ends: Vec<End>,
    named: FxHashMap<(ProgramId, Classes), ProgramId>,
    events: FxHashMap<(Event, OpId, Nibbles), Event>,
    most: usize,
    is_large: bool,
}

const EMPTY: u32 = u32::MAX;
/// So many bytes are enough.
const MOST_BYTES: usize = 256 << 20;

impl Programs {
    /// Nothing is known; beyond so many bytes what is known is forgotten.
    pub fn within(bytes: usize) -> Programs {
        Programs { most: bytes.min(MOST_BYTES), ..Programs::default() }
    }

    /// Forgets everything if it is too much.
    #[inline]
    pub fn stay_small(&mut self) {
        if self.is_large {
            *self = Programs::within(self.most);
        }
    }

    /// About how many bytes it takes.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
            + self.entries.capacity() * size_of::<Entry>()
            + self.slots.capacity() * 4
            + self.told.capacity() * size_of::<Told>()
            + self.ends.capacity() * size_of::<End>()
            + self.named.capacity() * 32
            + self.events.capacity() * 48
    }

    #[inline]
    pub fn get(&self, id: ProgramId) -> &[u8] {
        let Entry { start, end, .. } = self.entries[id as usize];
        &self.bytes[start as usize..end as usize]
    }

    /// The number of a state.
    #[inline]
    pub fn number(&mut self, bytes: &[u8]) -> ProgramId {
        let hash = hash(bytes);
        if self.slots.is_empty() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(entry) = self.entries.get(self.slots[at] as usize) {
            if entry.hash == hash && self.bytes[entry.start as usize..entry.end as usize] == *bytes {
                return self.slots[at];
            }
            at = (at + 1) & mask;
        }
        self.add(bytes, hash, at)
    }

    fn add(&mut self, bytes: &[u8], hash: u32, at: usize) -> ProgramId {
        let id = self.entries.len() as ProgramId;
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.entries.push(Entry { start, end: self.bytes.len() as u32, hash, known: Known::Nothing });
        self.slots[at] = id;
        if self.entries.len() * 2 > self.slots.len() {
            self.grow();
        }
        self.is_large = id % 64 == 63 && self.memory() > self.most || self.is_large;
        id
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY; (self.slots.len() * 2).max(1 << 10)];
        let mask = self.slots.len() - 1;
        for (id, entry) in self.entries.iter().enumerate() {
            let mut at = entry.hash as usize & mask;
            while self.slots[at] != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = id as u32;
        }
    }

    /// What is known about the steps from a state.
    #[inline]
    pub fn known(&self, id: ProgramId) -> Known {
        self.entries[id as usize].known
    }

    /// Remembers what steps lead to; that the slow way must look, if nothing is given.
    pub fn remember(&mut self, id: ProgramId, ways: Option<(&[Told], &[End], u8)>) {
        self.entries[id as usize].known = match ways {
            None => Known::Unusual,
            Some((told, ends, new)) => {
                let before = (self.told.len() as u32, self.ends.len() as u32);
                self.told.extend_from_slice(told);
                self.ends.extend_from_slice(ends);
                let (told, ends) = (self.told.len() as u32, self.ends.len() as u32);
                Known::Steps { told: (before.0, told), ends: (before.1, ends), new }
            }
        };
    }

    #[inline]
    pub fn told(&self, at: u32) -> Told {
        self.told[at as usize]
    }

    #[inline]
    pub fn end(&self, at: u32) -> End {
        self.ends[at as usize]
    }

    /// The state with data named, if that was worked out.
    #[inline]
    pub fn named(&self, id: ProgramId, classes: Classes) -> Option<ProgramId> {
        self.named.get(&(id, classes)).copied()
    }

    /// What the monitor is told where values have these names.
    #[inline]
    pub fn event(&mut self, told: Told, names: Nibbles, monitor: &Monitor<'_>) -> Event {
        let some = Nibbles(names.0 & told.values.0);
        if some == Nibbles::default() {
            return told.event;
        }
        let Told { event, op, .. } = told;
        *self.events.entry((event, op, some)).or_insert_with(|| monitor.renamed(event, op, some))
    }

    pub fn remember_named(&mut self, id: ProgramId, classes: Classes, named: ProgramId) {
        self.named.insert((id, classes), named);
    }
}

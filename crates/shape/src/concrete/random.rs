//! Concrete states thrown together, reachable or not: what steps must be right for, whatever the heap.
//!
//! A state is random but for what a structure takes for granted of the states it stands for: values are
//! distinct, a private record is known to one thread, the reference is a list, and the list of a set is
//! sorted between its least and its greatest record.

use std::collections::{BTreeMap, BTreeSet};

use linpoint_history::rng::Rng;
use linpoint_lang::interp::State;
use linpoint_lang::program::{NONE, RecordId, Type, Word};

use crate::concrete::{Concrete, Open, Reference, World};
use crate::layout::{Object, Role};
use crate::structure::{Effect, SEEN_FIRST, SEEN_SECOND};

/// What chance decides in a state.
#[derive(Clone, Debug)]
pub struct Dice(Rng);

impl Dice {
    /// The same seed makes the same states.
    pub fn new(seed: u64) -> Dice {
        Dice(Rng::new(seed))
    }

    /// A number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.0.bits() % count as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())]) }
    }

    fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
        all
    }
}

/// More records than these are not made.
const MOST_CELLS: usize = 6;

/// The steps of a random way.
const MOST_STEPS: usize = 60;

impl World<'_, '_> {
    /// A state of the threads of this world. Of programs with offers or freed memory, whose states are less
    /// free, one that is near a run.
    pub fn random(&self, dice: &mut Dice) -> Concrete {
        if self.layout.offer_kind != 0 || self.layout.freed != 0 {
            let steps = dice.below(MOST_STEPS);
            let mut from = self.wander(steps, dice);
            if !dice.one_in(3) {
                self.spoil(&mut from, dice);
            }
            return from;
        }
        let mut from = self.initial();
        let owners = self.heap(&mut from, dice);
        let inserted = self.reference(&mut from, &owners, dice);
        self.shared(&mut from, &owners, dice);
        let mut taken = BTreeSet::new();
        for thread in 0..self.machine.threads {
            if !dice.one_in(4) {
                self.operation(&mut from, thread, &owners, &inserted, &mut taken, dice);
            }
        }
        self.locks(&mut from, dice);
        // What is right now was noted, by whoever made it so.
        self.note(&mut from);
        from
    }

    /// Is each value in one record only? By values the two sides of a state know each other.
    pub fn is_distinct(&self, state: &Concrete) -> bool {
        let values: Vec<Word> = (0..self.machine.cells(&state.state))
            .filter_map(|cell| self.value(&state.state, cell))
            .filter(|value| *value != 0)
            .collect();
        values.iter().collect::<BTreeSet<_>>().len() == values.len() && !self.holds_no_value(state)
    }

    /// Was the value that records start with read, where several have it? Which of them it is of, values do
    /// not tell.
    fn holds_no_value(&self, from: &Concrete) -> bool {
        let without =
            (0..self.machine.cells(&from.state)).filter(|cell| self.value(&from.state, *cell) == Some(0));
        let read = |thread: usize| {
            let Some(open) = &from.open[thread] else { return false };
            let locals = &self.layout.program.operations[open.op].locals;
            (0..locals.len()).any(|local| {
                let data = match &locals[local].ty {
                    Type::Data => true,
                    Type::Option(inner) => **inner == Type::Data,
                    _ => false,
                };
                data && self.machine.local(&from.state, thread, local) == 0
            })
        };
        without.count() > 1 && (0..self.machine.threads).any(read)
    }

    /// Does a thread's operation concern this key? Of other objects than sets, always.
    pub fn concerns(&self, state: &Concrete, thread: usize, key: Word) -> bool {
        self.layout.object != Object::Set
            || state.open[thread].as_ref().is_none_or(|open| open.argument == key)
    }

    fn start_of(&self, cell: usize) -> usize {
        self.machine.heap_start() + cell * self.machine.cell_width()
    }

    /// Records with random contents: whose each is, if it is private.
    fn heap(&self, from: &mut Concrete, dice: &mut Dice) -> Vec<Option<usize>> {
        let layout = self.layout;
        let first = match layout.object {
            Object::Stack => 0,
            Object::Queue => 1,
            Object::Set => 2,
        };
        let more = if layout.program.records.is_empty() { 0 } else { dice.below(MOST_CELLS - first + 1) };
        let count = first + more;
        let width = self.machine.cell_width();
        from.state.words.resize(self.start_of(count), 0);
        let mut owners: Vec<Option<usize>> = vec![None; count];
        for (cell, owner) in owners.iter_mut().enumerate().skip(first) {
            let record = match layout.key {
                Some((record, _)) => record,
                None => dice.below(layout.program.records.len()),
            };
            let start = self.start_of(cell);
            from.state.words[start..start + width].fill(0);
            from.state.words[start] = record as Word + 1;
            if dice.one_in(3) {
                *owner = Some(dice.below(self.machine.threads));
                from.private.insert(cell);
            }
            for (field, slot) in layout.program.records[record].fields.iter().enumerate() {
                from.state.words[start + 1 + field] = match &slot.ty {
                    Type::Data => 10 + cell as Word,
                    Type::Bool => dice.below(2) as Word,
                    Type::Lock => NONE,
                    Type::Int => *self.range.start() + dice.below(self.range.clone().count()) as Word,
                    _ => 0,
                };
            }
        }
        for cell in 0..count {
            let free = layout.object != Object::Set || cell >= first;
            let record = self.machine.cell(&from.state, cell).0;
            let link =
                layout.link[record].map(|field| &layout.program.records[record].fields[usize::from(field)]);
            if let Some(at) = self.link_at(&from.state, cell).filter(|_| free)
                && let Some(Type::Pointer(kind)) = link.map(|link| &link.ty)
            {
                from.state.words[at] = self.pointer(&from.state, &owners, owners[cell], *kind, dice);
            }
        }
        if layout.object == Object::Set {
            self.list(from, &owners, dice);
        }
        from.fresh = 100;
        owners
    }

    fn link_at(&self, state: &State, cell: usize) -> Option<usize> {
        let record = self.machine.cell(state, cell).0;
        self.layout.link[record].map(|field| self.start_of(cell) + 1 + usize::from(field))
    }

    /// `null`, a record of this kind that is known to all, or one of the thread's own.
    fn pointer(
        &self,
        state: &State,
        owners: &[Option<usize>],
        thread: Option<usize>,
        kind: RecordId,
        dice: &mut Dice,
    ) -> Word {
        let known: Vec<usize> = (0..owners.len())
            .filter(|&cell| owners[cell].is_none() || owners[cell] == thread)
            .filter(|&cell| self.machine.cell(state, cell).0 == kind.index())
            .collect();
        if dice.one_in(4) { 0 } else { dice.of(&known).map_or(0, |cell| cell as Word + 1) }
    }

    /// Some of the records in one list, sorted, from the head to the last.
    fn list(&self, from: &mut Concrete, owners: &[Option<usize>], dice: &mut Dice) {
        let Some((_, key)) = self.layout.key else { return };
        let head = self.layout.head.and_then(|head| self.layout.global_bit[head]);
        let of = |cell: usize| self.machine.cell(&from.state, cell).2[usize::from(key)];
        // The initial code made the least and the greatest.
        let (least, last) = if of(0) < of(1) { (0, 1) } else { (1, 0) };
        let mut members: BTreeMap<Word, usize> = BTreeMap::new();
        for (cell, owner) in owners.iter().enumerate().skip(2) {
            if owner.is_none() && dice.one_in(2) {
                members.insert(of(cell), cell);
            }
        }
        if head.is_none() {
            return;
        }
        let chain: Vec<usize> = [least].into_iter().chain(members.into_values()).chain([last]).collect();
        for pair in chain.windows(2) {
            if let Some(at) = self.link_at(&from.state, pair[0]) {
                from.state.words[at] = pair[1] as Word + 1;
            }
        }
        if let Some(at) = self.link_at(&from.state, last) {
            from.state.words[at] = 0;
        }
    }

    /// The reference, and the values that it gave away.
    fn reference(&self, from: &mut Concrete, owners: &[Option<usize>], dice: &mut Dice) -> Vec<Word> {
        let mut reference = Reference::default();
        let values: Vec<Word> = (0..owners.len())
            .filter(|&cell| owners[cell].is_none())
            .filter_map(|cell| self.value(&from.state, cell))
            .filter(|value| *value != 0)
            .collect();
        let mut inserted: Vec<Word> = values.into_iter().filter(|_| !dice.one_in(3)).collect();
        inserted = dice.shuffled(inserted);
        let gone;
        match self.layout.object {
            Object::Stack => {
                let inside = dice.below(inserted.len() + 1);
                for (place, value) in inserted.iter().enumerate() {
                    let below = if place < inside {
                        inserted[..inside].get(place + 1).copied()
                    } else if dice.one_in(3) {
                        None
                    } else {
                        dice.of(&inserted)
                    };
                    reference.below.insert(*value, below);
                }
                reference.top = inserted[..inside].first().copied();
                gone = inserted[inside..].to_vec();
            }
            Object::Queue => {
                reference.taken = dice.below(inserted.len() + 1);
                gone = inserted[..reference.taken].to_vec();
            }
            Object::Set => {
                reference.members = self.range.clone().filter(|_| dice.one_in(2)).collect();
                gone = Vec::new();
            }
        }
        reference.inserted = inserted;
        from.reference = reference;
        gone
    }

    fn shared(&self, from: &mut Concrete, owners: &[Option<usize>], dice: &mut Dice) {
        for (index, global) in self.layout.program.globals.iter().enumerate() {
            let slots = self.machine.shared_slots();
            let Some((at, slot)) = slots.iter().find(|(_, slot)| std::ptr::eq(*slot, &global.slots[0]))
            else {
                continue;
            };
            if self.layout.constant_global[index] || global.ghost {
                continue;
            }
            from.state.words[*at] = match &slot.ty {
                Type::Pointer(kind) => self.pointer(&from.state, owners, None, *kind, dice),
                Type::Bool => dice.below(2) as Word,
                Type::Lock if dice.one_in(2) => dice.below(self.machine.threads) as Word,
                _ => continue,
            };
        }
    }

    /// A thread somewhere in an operation.
    fn operation(
        &self,
        from: &mut Concrete,
        thread: usize,
        owners: &[Option<usize>],
        gone: &[Word],
        taken: &mut BTreeSet<Word>,
        dice: &mut Dice,
    ) {
        let layout = self.layout;
        let program = layout.program;
        let op = dice.below(layout.roles.len());
        let places: Vec<usize> =
            (0..program.nodes.len()).filter(|&node| program.nodes[node].op.index() == op).collect();
        let Some(pc) = dice.of(&places) else { return };
        let mut open = Open { op, argument: 0, effect: Effect::Open, answer: 0, seen: 0 };
        let either = [Effect::Open, Effect::Open, Effect::True, Effect::False];
        let mut seen = 0;
        match layout.roles[op] {
            Role::Insert => {
                // Its argument is in no record yet, in one of its own, or in one that others know.
                let mine = |cell: &usize| owners[*cell].is_none() || owners[*cell] == Some(thread);
                let values: Vec<Word> = (0..owners.len())
                    .filter(mine)
                    .filter_map(|cell| self.value(&from.state, cell))
                    .filter(|value| *value != 0 && !taken.contains(value))
                    .collect();
                let fresh = 100 + thread as Word;
                open.argument = if dice.one_in(4) { fresh } else { dice.of(&values).unwrap_or(fresh) };
                taken.insert(open.argument);
                if from.reference.inserted.contains(&open.argument) {
                    open.effect = Effect::Done;
                }
            }
            Role::Take => {
                open.effect = [Effect::Open, Effect::Empty, Effect::Gave][dice.below(3)];
                match dice.of(gone) {
                    Some(value) => open.answer = value,
                    None if open.effect == Effect::Gave => open.effect = Effect::Open,
                    None => {}
                }
                seen = SEEN_FIRST;
            }
            role => {
                open.argument = *self.range.start() + dice.below(self.range.clone().count()) as Word;
                open.effect = either[dice.below(either.len())];
                seen = match role {
                    Role::Add => SEEN_FIRST,
                    Role::Remove => SEEN_SECOND,
                    _ => SEEN_FIRST | SEEN_SECOND,
                };
            }
        }
        if open.effect == Effect::Open {
            open.seen = seen & dice.below(4) as u8;
        }
        let frame = self.machine.frame_range(thread).start;
        from.state.words[frame] = pc as Word;
        for (local, slot) in program.operations[op].locals.iter().enumerate() {
            let own: Vec<Word> = (0..owners.len())
                .filter(|&cell| owners[cell].is_none() || owners[cell] == Some(thread))
                .filter_map(|cell| self.value(&from.state, cell))
                .collect();
            from.state.words[frame + 1 + local] = match &slot.ty {
                _ if local < program.operations[op].params => open.argument,
                Type::Pointer(kind) => self.pointer(&from.state, owners, Some(thread), *kind, dice),
                Type::Bool => dice.below(2) as Word,
                Type::Option(_) if dice.one_in(3) => NONE,
                Type::Data | Type::Option(_) => match dice.of(&own) {
                    Some(value) => value,
                    None => continue,
                },
                Type::Int => {
                    // The least and the greatest key too.
                    *self.range.start() - 1 + dice.below(self.range.clone().count() + 2) as Word
                }
                _ => continue,
            };
        }
        from.open[thread] = Some(open);
    }

    /// Locks of records, held by threads that still use a pointer to them.
    fn locks(&self, from: &mut Concrete, dice: &mut Dice) {
        for thread in 0..self.machine.threads {
            let (Some(open), Some(pc)) = (&from.open[thread], self.machine.pc(&from.state, thread)) else {
                continue;
            };
            let locals = &self.layout.program.operations[open.op].locals;
            let live = &self.layout.live[pc.index()];
            let pointers: Vec<Word> = (0..locals.len())
                .filter(|&local| live[local] && matches!(locals[local].ty, Type::Pointer(_)))
                .map(|local| self.machine.local(&from.state, thread, local))
                .filter(|word| *word > 0)
                .collect();
            for pointer in pointers {
                let cell = pointer as usize - 1;
                let record = self.machine.cell(&from.state, cell).0;
                let fields = &self.layout.program.records[record].fields;
                for field in (0..fields.len()).filter(|&field| fields[field].ty == Type::Lock) {
                    let at = self.start_of(cell) + 1 + field;
                    if from.state.words[at] == NONE && dice.one_in(3) {
                        from.state.words[at] = thread as Word;
                    }
                }
            }
        }
    }

    /// What a thread of a state runs: its operation's edges, if any.
    pub fn edges(&self, from: &Concrete, thread: usize) -> usize {
        self.machine.pc(&from.state, thread).map_or(0, |pc| self.layout.program.node(pc).edges.len())
    }
}

//! The same semantics on concrete states, slow and obvious: the oracle of the tests.
//!
//! A concrete state is the interpreter's, with the reference beside it as plain values. Each inserted value
//! is new, so a record and its counterpart in the reference know each other by their value.
//! [`World::seen_by`] is what a structure should say about a state: the abstraction function. The tests walk
//! through concrete states in every order of steps and ask of each whether the analysis covers it. Nothing
//! here is shared with the abstract steps but the layout of masks.

mod random;
mod seen;
mod wander;

pub use random::Dice;

use std::collections::{BTreeMap, BTreeSet};

use linpoint_lang::interp::{Choices, Event, Machine, Outcome, State};
use linpoint_lang::program::{Action, Expr, MarkKind, NONE, NodeId, OpId, Place, Type, Word};

use crate::exec::{Point, Points};
use crate::layout::{Layout, Object, Role};
use crate::structure::{Effect, SEEN_FIRST, SEEN_SECOND};

/// The reference, as values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Reference {
    /// What was ever inserted, in order; of a queue, after its dummy, whose value is 0.
    inserted: Vec<Word>,
    /// How many of them a queue gave back.
    taken: usize,
    /// What lies below each value of a stack.
    below: BTreeMap<Word, Option<Word>>,
    top: Option<Word>,
    /// The elements of a set.
    members: BTreeSet<Word>,
}

/// An open operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Open {
    op: usize,
    argument: Word,
    effect: Effect,
    /// What the reference gave.
    answer: Word,
    /// Answers without effect that were right: "empty" or "inside", and "not inside".
    seen: u8,
}

/// A state of the program and of the reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Concrete {
    state: State,
    reference: Reference,
    open: Vec<Option<Open>>,
    private: BTreeSet<usize>,
    /// Records that their makers did not link in yet, where places are used again.
    owned: BTreeMap<usize, usize>,
    /// Live offers and whose they are.
    offers: BTreeMap<usize, usize>,
    /// Values that were taken as offers, and the offers: they were never in the list.
    met: BTreeMap<Word, usize>,
    /// Locks of records that a thread kept when an operation of its returned, and the thread. A structure
    /// shows a thread at rest without locks, and knows no more of these.
    kept: BTreeMap<(usize, usize), usize>,
    calls: Vec<u8>,
    fresh: Word,
}

/// A program, a number of threads and of calls each.
#[derive(Debug)]
pub struct World<'a, 'p> {
    layout: &'a Layout<'p>,
    points: &'a Points,
    machine: Machine<'p>,
    most_calls: u8,
    range: std::ops::RangeInclusive<Word>,
}

impl<'a, 'p> World<'a, 'p> {
    /// So many threads, each with so many calls.
    pub fn new(layout: &'a Layout<'p>, points: &'a Points, threads: usize, most_calls: u8) -> World<'a, 'p> {
        let machine = Machine::new(layout.program, threads);
        let range = match &layout.range {
            Some((lo, hi)) => machine.constant(lo)..=machine.constant(hi),
            None => 0..=0,
        };
        World { layout, points, machine, most_calls, range }
    }

    /// The keys that operations may be called with.
    pub fn keys(&self) -> std::ops::RangeInclusive<Word> {
        self.range.clone()
    }

    /// The initial state.
    pub fn initial(&self) -> Concrete {
        let state = self.machine.initial().expect("the initial code runs");
        Concrete {
            state,
            reference: Reference::default(),
            open: vec![None; self.machine.threads],
            private: BTreeSet::new(),
            owned: BTreeMap::new(),
            offers: BTreeMap::new(),
            met: BTreeMap::new(),
            kept: BTreeMap::new(),
            calls: vec![0; self.machine.threads],
            fresh: 0,
        }
    }

    /// Every state that one step of one thread leads to; an error is a message.
    pub fn successors(&self, from: &Concrete) -> Result<Vec<Concrete>, String> {
        let mut out = Vec::new();
        for thread in 0..self.machine.threads {
            if from.open[thread].is_some() {
                self.steps(from, thread, &mut out)?;
            } else if from.calls[thread] < self.most_calls {
                for op in 0..self.layout.roles.len() {
                    for argument in self.range.clone() {
                        out.push(self.call(from, thread, op, argument));
                    }
                }
            }
        }
        Ok(out)
    }

    fn call(&self, from: &Concrete, thread: usize, op: usize, key: Word) -> Concrete {
        let mut next = from.clone();
        next.calls[thread] += 1;
        let argument = match self.layout.roles[op] {
            Role::Insert => {
                next.fresh += 1;
                next.fresh
            }
            _ => key,
        };
        let args: &[Word] = if self.layout.roles[op] == Role::Take { &[] } else { &[argument] };
        self.machine.call(&mut next.state, thread, OpId(op as u16), args);
        next.open[thread] = Some(Open { op, argument, effect: Effect::Open, answer: 0, seen: 0 });
        self.note(&mut next);
        next
    }

    fn steps(&self, from: &Concrete, thread: usize, out: &mut Vec<Concrete>) -> Result<(), String> {
        let pc = self.machine.pc(&from.state, thread).expect("it runs an operation");
        for edge in 0..self.layout.program.node(pc).edges.len() {
            out.extend(self.edge(from, thread, edge)?);
        }
        Ok(())
    }

    /// Every state that one edge of a thread that runs an operation leads to.
    ///
    /// # Errors
    /// What goes wrong.
    pub fn edge(&self, from: &Concrete, thread: usize, edge: usize) -> Result<Vec<Concrete>, String> {
        let pc = self.machine.pc(&from.state, thread).expect("it runs an operation");
        let mut choices = Choices::default();
        let mut out = Vec::new();
        loop {
            let mut next = from.clone();
            let mut events = Vec::new();
            let outcome = self
                .machine
                .step(&mut next.state, thread, edge, &mut choices, &mut events)
                .map_err(|error| error.to_string())?;
            if outcome != Outcome::Disabled {
                next.kept.retain(|(cell, field), holder| {
                    self.machine.cell(&next.state, *cell).2[*field] == *holder as Word
                });
                self.made(from, &mut next, (thread, pc, edge), &events);
                self.publish(from, &mut next);
                self.offers(from, &mut next, thread);
                self.marks(&mut next, thread, (pc.0, edge as u16), &from.state, &events)?;
                if let Outcome::Returned(words) = outcome {
                    self.check(&next, thread, &words)?;
                    next.open[thread] = None;
                    let kept: Vec<_> = self.locks_of(&next, thread).collect();
                    next.kept.extend(kept.into_iter().map(|lock| (lock, thread)));
                }
                out.push(next);
            }
            if !choices.next() {
                return Ok(out);
            }
        }
    }

    /// The locks of records that a thread holds: their records and fields.
    fn locks_of<'s>(&'s self, of: &'s Concrete, thread: usize) -> impl Iterator<Item = (usize, usize)> + 's {
        (0..self.machine.cells(&of.state)).flat_map(move |cell| {
            let (record, _, fields) = self.machine.cell(&of.state, cell);
            let held = move |field: usize| self.layout.held_field(0, record, field as u16).is_some();
            let all = fields.iter().enumerate().filter(move |(_, word)| **word == thread as Word);
            all.filter(move |(field, _)| held(*field)).map(move |(field, _)| (cell, field))
        })
    }

    fn marks(
        &self,
        next: &mut Concrete,
        thread: usize,
        at: (u16, u16),
        before: &State,
        events: &[Event],
    ) -> Result<(), String> {
        match self.points {
            Points::Given => {
                for event in events {
                    if let Event::Point(point) = event
                        && point.kind == MarkKind::Lin
                    {
                        if point.thread != thread {
                            self.meet(next, point.thread);
                        }
                        self.take_effect(next, point.thread)?;
                    }
                }
            }
            Points::At(list) => {
                for (_, _, point) in list.iter().filter(|(node, edge, _)| (*node, *edge) == at) {
                    match point {
                        Point::Own => self.take_effect(next, thread)?,
                        Point::Help(bit) => self.help(next, *bit),
                        Point::Meet(local) => {
                            let offer = self.machine.local(before, thread, usize::from(*local));
                            let cell = usize::try_from(offer - 1).ok();
                            let Some(&owner) = cell.and_then(|cell| next.offers.get(&cell)) else {
                                return Err("an offer that is not live is taken".into());
                            };
                            self.meet(next, owner);
                            self.take_effect(next, owner)?;
                            self.take_effect(next, thread)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// What others can reach from now on.
    fn publish(&self, from: &Concrete, next: &mut Concrete) {
        let cells = self.machine.cells(&next.state);
        let reused =
            |cell: &usize| self.layout.program.records[self.machine.cell(&next.state, *cell).0].freed;
        let fresh = self.machine.cells(&from.state)..cells;
        next.private.extend(fresh.filter(|cell| !reused(cell)));
        let mut shown: Vec<Word> = Vec::new();
        for (at, slot) in self.machine.shared_slots() {
            if matches!(slot.ty, Type::Pointer(_)) {
                shown.push(next.state.words[at]);
            }
        }
        for cell in (0..cells).filter(|cell| !next.private.contains(cell)) {
            shown.extend(self.link(&next.state, cell));
        }
        self.show(next, shown);
    }

    /// What these pointers lead to is known to all.
    fn show(&self, next: &mut Concrete, mut shown: Vec<Word>) {
        while let Some(pointer) = shown.pop() {
            if pointer > 0 && next.private.remove(&(pointer as usize - 1)) {
                shown.extend(self.link(&next.state, pointer as usize - 1));
            }
        }
    }

    /// Who made which record, where places are used again: until a shared pointer or the link of a record
    /// that is not such a one is made to lead to it.
    fn made(
        &self,
        from: &Concrete,
        next: &mut Concrete,
        (thread, pc, edge): (usize, NodeId, usize),
        events: &[Event],
    ) {
        if self.layout.freed == 0 {
            return;
        }
        let again = events.iter().filter_map(|event| match event {
            Event::Reuse(cell) => Some(*cell),
            Event::Point(_) | Event::Claim(_) | Event::Acted { .. } => None,
        });
        for cell in (self.machine.cells(&from.state)..self.machine.cells(&next.state)).chain(again) {
            if self.layout.program.records[self.machine.cell(&next.state, cell).0].freed {
                next.owned.insert(cell, thread);
            }
        }
        let mut shown: Vec<usize> = Vec::new();
        for (at, slot) in self.machine.shared_slots() {
            if matches!(slot.ty, Type::Pointer(_)) {
                shown.push(next.state.words[at] as usize);
            }
        }
        for cell in 0..self.machine.cells(&from.state) {
            let link = self.link(&next.state, cell);
            let written =
                link != self.link(&from.state, cell) || self.writes_link(from, thread, pc, edge, cell);
            if written && !next.owned.contains_key(&cell) && !next.private.contains(&cell) {
                shown.extend(link.map(|link| link as usize));
            }
        }
        let state = &next.state;
        next.owned.retain(|cell, _| !shown.contains(&(cell + 1)) && !self.machine.cell(state, *cell).1);
    }

    /// Does a step write the link of a record through one of its locals, if only what is there already?
    fn writes_link(&self, from: &Concrete, thread: usize, pc: NodeId, edge: usize, cell: usize) -> bool {
        self.layout.program.node(pc).edges[edge].actions.iter().any(|action| match action {
            Action::Assign(Place::Field(pointer, record, field), _) => {
                self.layout.is_link(record.index(), *field)
                    && matches!(pointer.as_ref(), Expr::Read(Place::Local(local))
                        if self.machine.local(&from.state, thread, local.index()) as usize == cell + 1)
            }
            _ => false,
        })
    }

    /// Offers that are live from now on, and those that their owner took back.
    fn offers(&self, from: &Concrete, next: &mut Concrete, thread: usize) {
        let Some(open) = &next.open[thread] else { return };
        if self.layout.roles[open.op] != Role::Insert || open.effect != Effect::Open {
            return;
        }
        let argument = open.argument;
        for cell in self.machine.cells(&from.state)..self.machine.cells(&next.state) {
            let record = self.machine.cell(&next.state, cell).0;
            if self.layout.is_offer(record) && self.value(&next.state, cell) == Some(argument) {
                next.offers.retain(|_, owner| *owner != thread);
                next.offers.insert(cell, thread);
            }
        }
        let shown = |state: &State, cell: usize| {
            let mut slots = self.machine.shared_slots().into_iter();
            slots
                .any(|(at, slot)| matches!(slot.ty, Type::Pointer(_)) && state.words[at] as usize == cell + 1)
        };
        let state = &next.state;
        next.offers
            .retain(|cell, owner| *owner != thread || !shown(&from.state, *cell) || shown(state, *cell));
    }

    /// The value of an offer is taken.
    fn meet(&self, next: &mut Concrete, owner: usize) {
        let offer = next.offers.iter().find(|(_, of)| **of == owner);
        if let (Some(open), Some((cell, _))) = (&next.open[owner], offer) {
            next.met.insert(open.argument, *cell);
        }
    }

    fn link(&self, state: &State, cell: usize) -> Option<Word> {
        let (record, _, fields) = self.machine.cell(state, cell);
        self.layout.link[record].map(|field| fields[usize::from(field)])
    }

    fn value(&self, state: &State, cell: usize) -> Option<Word> {
        let (record, _, fields) = self.machine.cell(state, cell);
        self.layout.value_field(record).map(|field| fields[usize::from(field)])
    }

    fn cell_of(&self, state: &State, value: Word) -> Option<usize> {
        (0..self.machine.cells(state)).find(|&cell| {
            self.value(state, cell) == Some(value) && !self.layout.is_offer(self.machine.cell(state, cell).0)
        })
    }

    /// The record that a value was taken from.
    fn place_of(&self, from: &Concrete, value: Word) -> Option<usize> {
        from.met.get(&value).copied().or_else(|| self.cell_of(&from.state, value))
    }

    fn take_effect(&self, next: &mut Concrete, thread: usize) -> Result<(), String> {
        let Some(open) = next.open[thread].clone() else { return Err("a point of nobody".into()) };
        if open.effect != Effect::Open {
            return Err("a second point".into());
        }
        let role = self.layout.roles[open.op];
        let reference = &mut next.reference;
        let (effect, answer) = match role {
            Role::Insert => {
                self.insert(next, open.argument);
                (Effect::Done, 0)
            }
            Role::Take => match self.front(reference) {
                None => (Effect::Empty, 0),
                Some(value) => {
                    match self.layout.object {
                        Object::Stack => reference.top = reference.below[&value],
                        _ => reference.taken += 1,
                    }
                    (Effect::Gave, value)
                }
            },
            role => {
                let answer = match role {
                    Role::Add => reference.members.insert(open.argument),
                    Role::Remove => reference.members.remove(&open.argument),
                    _ => reference.members.contains(&open.argument),
                };
                (if answer { Effect::True } else { Effect::False }, 0)
            }
        };
        next.offers.retain(|_, owner| *owner != thread);
        if let Some(open) = &mut next.open[thread] {
            (open.effect, open.answer, open.seen) = (effect, answer, 0);
        }
        self.note(next);
        Ok(())
    }

    fn help(&self, next: &mut Concrete, bit: u32) {
        let index =
            self.layout.global_bit.iter().position(|found| *found == Some(bit)).expect("a shared pointer");
        let slot = &self.layout.program.globals[index].slots[0];
        let slots = self.machine.shared_slots();
        let (at, _) = slots.iter().find(|(_, found)| std::ptr::eq(*found, slot)).expect("it has a place");
        let pointer = next.state.words[*at];
        if pointer > 0
            && let Some(value) = self.value(&next.state, pointer as usize - 1)
            && value != 0
            && !next.reference.inserted.contains(&value)
        {
            self.insert(next, value);
            self.note(next);
        }
    }

    fn insert(&self, next: &mut Concrete, value: Word) {
        next.reference.inserted.push(value);
        next.reference.below.insert(value, next.reference.top);
        next.reference.top = Some(value);
        if let Some(cell) = self.place_of(next, value) {
            // The reference is for all to see.
            next.owned.remove(&cell);
            self.show(next, vec![cell as Word + 1]);
        }
    }

    fn front(&self, reference: &Reference) -> Option<Word> {
        match self.layout.object {
            Object::Stack => reference.top,
            _ => reference.inserted.get(reference.taken).copied(),
        }
    }

    /// Open operations remember what they could answer now.
    fn note(&self, next: &mut Concrete) {
        let empty = self.front(&next.reference).is_none();
        for open in next.open.iter_mut().flatten().filter(|open| open.effect == Effect::Open) {
            let inside = next.reference.members.contains(&open.argument);
            open.seen |= match self.layout.roles[open.op] {
                Role::Take if empty => SEEN_FIRST,
                Role::Add if inside => SEEN_FIRST,
                Role::Remove if !inside => SEEN_SECOND,
                Role::Contains => {
                    if inside {
                        SEEN_FIRST
                    } else {
                        SEEN_SECOND
                    }
                }
                _ => 0,
            };
        }
    }

    fn check(&self, next: &Concrete, thread: usize, words: &[Word]) -> Result<(), String> {
        let Some(open) = &next.open[thread] else { return Err("a return of nobody".into()) };
        let seen = |bit: u8| open.effect == Effect::Open && open.seen & bit != 0;
        let right = match self.layout.roles[open.op] {
            Role::Insert => open.effect == Effect::Done || next.reference.inserted.contains(&open.argument),
            Role::Take if words == [NONE] => open.effect == Effect::Empty || seen(SEEN_FIRST),
            Role::Take => open.effect == Effect::Gave && words == [open.answer],
            role => {
                let answer = words != [0];
                match (open.effect, role) {
                    (Effect::True, _) => answer,
                    (Effect::False, _) => !answer,
                    (_, Role::Contains) => seen(if answer { SEEN_FIRST } else { SEEN_SECOND }),
                    (_, Role::Add) => !answer && seen(SEEN_FIRST),
                    _ => !answer && seen(SEEN_SECOND),
                }
            }
        };
        if right {
            Ok(())
        } else {
            Err(format!("thread {thread} returns {words:?}, which the points do not explain"))
        }
    }
}

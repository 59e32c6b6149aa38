//! The same semantics on concrete states, slow and obvious: the oracle of the tests.
//!
//! A concrete state is the interpreter's, with the reference beside it as plain values. Each inserted value is new, so a record and its counterpart in the reference know each other
//! by their value. [`World::seen_by`] is what a structure should say about a state: the abstraction function. The tests walk through concrete states in every order of
//! steps and ask of each whether the analysis covers it. Nothing here is shared with the abstract steps but the layout of masks.

use std::collections::{BTreeMap, BTreeSet};

use linpoint_lang::interp::{Choices, Event, Machine, Outcome, State};
use linpoint_lang::program::{MarkKind, NONE, OpId, Type, UNSET, Word};

use crate::exec::{Point, Points};
use crate::layout::{Class, Layout, Mask, Object, Role, STRANGER, Scalar, class};
use crate::structure::{Effect, Node, SEEN_FIRST, SEEN_SECOND, Structure, TRACKED, Thread};

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
            let mut choices = Choices::default();
            loop {
                let mut next = from.clone();
                let mut events = Vec::new();
                let outcome = self
                    .machine
                    .step(&mut next.state, thread, edge, &mut choices, &mut events)
                    .map_err(|error| error.to_string())?;
                if outcome != Outcome::Disabled {
                    self.publish(from, &mut next);
                    self.marks(&mut next, thread, (pc.0, edge as u16), &events)?;
                    if let Outcome::Returned(words) = outcome {
                        self.check(&next, thread, &words)?;
                        next.open[thread] = None;
                    }
                    out.push(next);
                }
                if !choices.next() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn marks(
        &self,
        next: &mut Concrete,
        thread: usize,
        at: (u16, u16),
        events: &[Event],
    ) -> Result<(), String> {
        match self.points {
            Points::Given => {
                for event in events {
                    if let Event::Point(point) = event
                        && point.kind == MarkKind::Lin
                    {
                        self.take_effect(next, point.thread)?;
                    }
                }
            }
            Points::At(list) => {
                for (_, _, point) in list.iter().filter(|(node, edge, _)| (*node, *edge) == at) {
                    match point {
                        Point::Own => self.take_effect(next, thread)?,
                        Point::Help(bit) => self.help(next, *bit),
                    }
                }
            }
        }
        Ok(())
    }

    /// What others can reach from now on.
    fn publish(&self, from: &Concrete, next: &mut Concrete) {
        let cells = self.machine.cells(&next.state);
        next.private.extend(self.machine.cells(&from.state)..cells);
        let mut shown: Vec<Word> = Vec::new();
        for (at, slot) in self.machine.shared_slots() {
            if matches!(slot.ty, Type::Pointer(_)) {
                shown.push(next.state.words[at]);
            }
        }
        for cell in (0..cells).filter(|cell| !next.private.contains(cell)) {
            shown.extend(self.link(&next.state, cell));
        }
        while let Some(pointer) = shown.pop() {
            if pointer > 0 && next.private.remove(&(pointer as usize - 1)) {
                shown.extend(self.link(&next.state, pointer as usize - 1));
            }
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
        (0..self.machine.cells(state)).find(|&cell| self.value(state, cell) == Some(value))
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
        if let Some(cell) = self.cell_of(&next.state, value) {
            next.private.remove(&cell);
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

    /// What a structure that shows these threads says about a state, with one key tracked. It is canonical.
    pub fn seen_by(&self, from: &Concrete, threads: &[usize], key: Word) -> Structure {
        let layout = self.layout;
        let state = &from.state;
        let mut s = Structure {
            threads: vec![Thread::AT_REST; threads.len()],
            globals: 0,
            nodes: vec![Node { mask: 0, row: 0, other: 0, many: false }],
        };
        for cell in 0..self.machine.cells(state) {
            s.nodes.push(self.node(from, cell, key));
        }
        self.globals(from, threads, key, &mut s);
        for (place, &thread) in threads.iter().enumerate() {
            self.thread(from, place, thread, key, &mut s);
        }
        s.canon(layout).expect("a concrete state is not contradictory");
        s
    }

    fn node(&self, from: &Concrete, cell: usize, key: Word) -> Node {
        let layout = self.layout;
        let (record, _, fields) = self.machine.cell(&from.state, cell);
        let mut node = Node { mask: layout.record_kind[record], row: 1, other: 0, many: false };
        if let Some(link) = self.link(&from.state, cell) {
            node.row = 1 << link;
        }
        for (field, word) in fields.iter().enumerate() {
            if *word != 0 {
                node.mask |= layout.bool_bit[record][field].unwrap_or(0);
            }
            if layout.key == Some((record, field as u16)) {
                node.mask = layout.with_class(node.mask, self.class(*word, key));
            }
        }
        if from.private.contains(&cell) {
            node.mask |= layout.private;
        }
        if layout.object == Object::Set {
            return node;
        }
        let value = self.value(&from.state, cell).unwrap_or(0);
        let dummy = layout.object == Object::Queue && value == 0;
        if !dummy && !from.reference.inserted.contains(&value) {
            node.mask |= layout.uncorrelated;
            return node;
        }
        let next = match layout.object {
            Object::Stack => from.reference.below[&value],
            _ => {
                let place = if dummy {
                    0
                } else {
                    1 + from.reference.inserted.iter().position(|v| *v == value).expect("found")
                };
                from.reference.inserted.get(place).copied()
            }
        };
        let other: u32 =
            1 << next.map_or(0, |value| self.cell_of(&from.state, value).expect("its record") + 1);
        if other != node.row {
            node.mask |= layout.nonuniform;
            node.other = other;
        }
        node
    }

    fn class(&self, word: Word, key: Word) -> Class {
        match word {
            word if word < *self.range.start() => class::MIN,
            word if word > *self.range.end() => class::MAX,
            word if word < key => class::LESS,
            word if word > key => class::MORE,
            _ => class::SAME,
        }
    }

    fn globals(&self, from: &Concrete, threads: &[usize], key: Word, s: &mut Structure) {
        let layout = self.layout;
        let slots = self.machine.shared_slots();
        for (index, global) in layout.program.globals.iter().enumerate() {
            let Some((at, _)) = slots.iter().find(|(_, slot)| std::ptr::eq(*slot, &global.slots[0])) else {
                continue;
            };
            let word = from.state.words[*at];
            if let Some(bit) = layout.global_bit[index] {
                s.nodes[word as usize].mask |= 1 << bit;
            }
            match layout.global_scalar[index] {
                Some((shift, Scalar::Bool)) => s.globals |= (1 + word as u64) << shift,
                Some((shift, Scalar::Lock)) if word != NONE => {
                    let holder = threads.iter().position(|thread| *thread == word as usize);
                    s.globals |= holder.map_or(STRANGER, |place| place as u64 + 1) << shift;
                }
                _ => {}
            }
        }
        let first: Mask = 1 << layout.first;
        let second: Mask = 1 << layout.second;
        let place = |value: Option<Word>| {
            value.map_or(0, |value| self.cell_of(&from.state, value).expect("its record") + 1)
        };
        match layout.object {
            Object::Stack => {
                let top = place(from.reference.top);
                s.nodes[top].mask |= first;
            }
            Object::Queue => {
                let reference = &from.reference;
                let head = if reference.taken == 0 { 0 } else { reference.inserted[reference.taken - 1] };
                let tail = reference.inserted.last().copied().unwrap_or(0);
                let (head, tail) = (place(Some(head)), place(Some(tail)));
                s.nodes[head].mask |= first;
                s.nodes[tail].mask |= second;
            }
            Object::Set => {
                if from.reference.members.contains(&key) {
                    s.globals |= layout.member;
                }
                let head = layout.head.and_then(|head| layout.global_bit[head]).expect("a list has a head");
                let mut at = s.named(1 << head).expect("the head leads somewhere");
                let (mut below, mut same) = (at, 0);
                while at != 0 {
                    s.nodes[at].mask |= layout.listed;
                    match layout.class_of(s.nodes[at].mask) {
                        class::MIN | class::LESS => below = at,
                        class::SAME => same = at,
                        _ => {}
                    }
                    at = s.nodes[at].row.trailing_zeros() as usize;
                }
                s.nodes[below].mask |= first;
                s.nodes[same].mask |= second;
            }
        }
    }

    fn thread(&self, from: &Concrete, place: usize, thread: usize, key: Word, s: &mut Structure) {
        let layout = self.layout;
        let (Some(open), Some(pc)) = (&from.open[thread], self.machine.pc(&from.state, thread)) else {
            return;
        };
        let mut new = Thread { pc: pc.0, effect: open.effect, seen: open.seen, scalars: 0 };
        if !matches!(layout.roles[open.op], Role::Insert | Role::Take) {
            let tracked = open.argument == key;
            new.seen = if tracked { open.seen | TRACKED } else { 0 };
            if !tracked {
                new.effect = Effect::Open;
            }
        }
        let live = &layout.live[pc.index()];
        for (local, slot) in layout.program.operations[open.op].locals.iter().enumerate() {
            let word = self.machine.local(&from.state, thread, local);
            if word == UNSET || !live[local] {
                continue;
            }
            if let Some(bit) = layout.local_bit[open.op][local] {
                let node = match slot.ty {
                    Type::Pointer(_) => Some(word as usize),
                    _ if word == NONE => Some(0),
                    _ => self.cell_of(&from.state, word).map(|cell| cell + 1),
                };
                if let Some(node) = node {
                    s.nodes[node].mask |= layout.bit(place, bit);
                }
            }
            match layout.scalar[open.op][local] {
                Some((shift, Scalar::Bool)) => new.scalars |= (1 + u64::from(word != 0)) << shift,
                Some((shift, Scalar::Key)) => new.scalars |= u64::from(self.class(word, key)) << shift,
                _ => {}
            }
        }
        let keeps =
            open.effect == Effect::Open || self.points.help() || live.first().copied().unwrap_or(false);
        if layout.roles[open.op] == Role::Insert
            && keeps
            && let Some(cell) = self.cell_of(&from.state, open.argument)
        {
            s.nodes[cell + 1].mask |= layout.bit(place, layout.argument);
        }
        if open.effect == Effect::Gave
            && let Some(cell) = self.cell_of(&from.state, open.answer)
        {
            s.nodes[cell + 1].mask |= layout.bit(place, layout.answer);
        }
        for cell in 0..self.machine.cells(&from.state) {
            let (record, _, fields) = self.machine.cell(&from.state, cell);
            let slots = &layout.program.records[record].fields;
            let held = |(slot, word): (&linpoint_lang::program::Slot, &Word)| {
                slot.ty == Type::Lock && *word == thread as Word
            };
            if slots.iter().zip(fields).any(held) {
                s.nodes[cell + 1].mask |= layout.bit(place, layout.held);
            }
        }
        s.threads[place] = new;
    }
}

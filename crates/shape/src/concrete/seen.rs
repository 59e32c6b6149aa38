//! The abstraction function: what a structure should say about a concrete state.

use linpoint_lang::interp::State;
use linpoint_lang::program::{NONE, Type, UNSET, Word};

use crate::concrete::{Concrete, Reference, World};
use crate::layout::{Class, Mask, Object, Role, STRANGER, Scalar, class};
use crate::structure::{Effect, Node, Structure, TRACKED, Thread};

impl World<'_, '_> {
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
        if layout.is_offer(record) {
            if from.offers.contains_key(&cell) {
                node.mask |= layout.uncorrelated;
            }
            return node;
        }
        if self.machine.cell(&from.state, cell).1 {
            node.mask |= layout.freed;
        }
        if from.owned.contains_key(&cell) {
            node.mask |= layout.owned;
        }
        let value = self.value(&from.state, cell).unwrap_or(0);
        if from.met.contains_key(&value) {
            node.mask |= layout.uncorrelated;
            return node;
        }
        // The record that the initial code made; others may have no value either.
        let dummy = layout.object == Object::Queue && cell == 0 && value == 0;
        if !dummy && !from.reference.inserted.contains(&value) {
            node.mask |= layout.uncorrelated;
            return node;
        }
        if layout.gone != 0 && !self.inside(&from.reference, value) {
            node.mask |= layout.gone;
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

    /// Is a value, or the dummy, still in the reference?
    fn inside(&self, reference: &Reference, value: Word) -> bool {
        if self.layout.object == Object::Queue {
            let place =
                reference.inserted.iter().position(|other| *other == value).map_or(0, |place| place + 1);
            return place >= reference.taken;
        }
        let mut at = reference.top;
        while let Some(found) = at {
            if found == value {
                return true;
            }
            at = reference.below[&found];
        }
        false
    }

    /// What a version is now.
    fn version(&self, state: &State, version: u8) -> Option<Word> {
        let index = self.layout.version.iter().position(|found| *found == Some(version))?;
        let slot = &self.layout.program.globals[index].slots[0];
        let slots = self.machine.shared_slots();
        let (at, _) = slots.iter().find(|(_, found)| std::ptr::eq(*found, slot))?;
        Some(state.words[*at])
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
                // A chain, whatever a program made of it: not more than there are records.
                for _ in 0..s.nodes.len() {
                    if at == 0 {
                        break;
                    }
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
        // Values whose places hold others by now.
        let mut lost: Vec<(Word, Mask)> = Vec::new();
        for (local, slot) in layout.program.operations[open.op].locals.iter().enumerate() {
            let word = self.machine.local(&from.state, thread, local);
            if word == UNSET || !live[local] {
                continue;
            }
            if let Some(bit) = layout.local_bit[open.op][local] {
                let node = match slot.ty {
                    Type::Pointer(_) => Some(word as usize),
                    _ if word == NONE => Some(0),
                    _ => self.place_of(from, word).map(|cell| cell + 1).or_else(|| {
                        lost.push((word, layout.bit(place, bit)));
                        None
                    }),
                };
                if let Some(node) = node {
                    s.nodes[node].mask |= layout.bit(place, bit);
                }
            }
            match layout.scalar[open.op][local] {
                Some((shift, Scalar::Bool)) => new.scalars |= (1 + u64::from(word != 0)) << shift,
                Some((shift, Scalar::Key)) => new.scalars |= u64::from(self.class(word, key)) << shift,
                Some((shift, Scalar::Version(version))) => {
                    let now = self.version(&from.state, version) == Some(word);
                    new.scalars |= if now { 1 } else { 2 } << shift;
                }
                _ => {}
            }
        }
        let keeps =
            open.effect == Effect::Open || self.points.help() || live.first().copied().unwrap_or(false);
        if layout.roles[open.op] == Role::Insert && keeps {
            let bit = layout.bit(place, layout.argument);
            match self.cell_of(&from.state, open.argument) {
                Some(cell) => s.nodes[cell + 1].mask |= bit,
                // It took effect in another's step, and its record holds another value by now.
                None if from.reference.inserted.contains(&open.argument) => lost.push((open.argument, bit)),
                None => {}
            }
        }
        if let Some((cell, _)) = from.offers.iter().find(|(_, owner)| **owner == thread) {
            s.nodes[cell + 1].mask |= layout.bit(place, layout.offer);
        }
        if open.effect == Effect::Gave {
            match self.place_of(from, open.answer) {
                Some(cell) => s.nodes[cell + 1].mask |= layout.bit(place, layout.answer),
                None => lost.push((open.answer, layout.bit(place, layout.answer))),
            }
        }
        for (cell, _) in from.owned.iter().filter(|(_, maker)| **maker == thread) {
            s.nodes[cell + 1].mask |= layout.bit(place, layout.mine);
        }
        lost.sort_unstable();
        for same in lost.chunk_by(|a, b| a.0 == b.0).filter(|_| layout.freed != 0) {
            let mask = same.iter().fold(layout.private, |mask, (_, bit)| mask | bit);
            s.nodes.push(Node { mask, row: 1, other: 0, many: false });
        }
        for (cell, field) in self.locks_of(from, thread).filter(|lock| !from.kept.contains_key(lock)) {
            let (record, ..) = self.machine.cell(&from.state, cell);
            s.nodes[cell + 1].mask |= layout.held_field(place, record, field as u16).unwrap_or(0);
        }
        s.threads[place] = new;
    }
}

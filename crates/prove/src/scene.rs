//! What a countermodel looks like: the two processes, the slots in play, before and after.

use crate::graph::Point;
use crate::obligation::{Question, Scene};
use crate::symbol::Key;
use crate::term::{Node, Term};
use crate::worker::{Model, Worker};
use crate::world::{Cell, Frame, Memory, Store, World};

/// A state that breaks an obligation, in numbers.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Symbolic sizes.
    pub sizes: Vec<i64>,
    /// The process that takes the step.
    pub p: Option<Shown>,
    /// The other one.
    pub q: Option<Shown>,
    /// Shared slots that are in play.
    pub slots: Vec<ShownSlot>,
    /// The numbers of the goals that fail.
    pub failing: Vec<usize>,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Who.
    pub pid: i64,
    /// Where.
    pub at: Point,
    /// Where it comes to.
    pub to: Option<Point>,
    /// Locals before and after, by number.
    pub locals: Vec<(i64, i64)>,
}

/// A shared slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSlot {
    /// The variable, or none for a field.
    pub global: Option<usize>,
    /// The kind of record, for a field.
    pub record: Option<usize>,
    /// The slot or field.
    pub slot: usize,
    /// The index or record.
    pub index: Option<i64>,
    /// Before and after.
    pub value: (i64, i64),
}

/// A shared slot in formulas: variable or kind of record, slot, index, values.
struct Seen {
    global: Option<usize>,
    record: Option<usize>,
    slot: usize,
    index: Option<Term>,
    value: (Term, Term),
}

/// The shared slots that a question is about.
fn seen(world: &mut World<'_>, scene: &Scene, q: Option<&(Frame, Point)>) -> Vec<Seen> {
    let (before, after) = (&scene.memory.0, &scene.memory.1);
    let mut indices: Vec<Term> = Vec::new();
    let mut add = |memory: &Memory| {
        for cell in memory.globals.iter().flatten() {
            if let Cell::Array(store) = cell {
                indices.extend(store.writes.iter().map(|(index, _)| *index));
            }
        }
    };
    add(after);
    for frame in [Some(&scene.p.0), Some(&scene.p.1), q.map(|(frame, _)| frame)].into_iter().flatten() {
        let numbers = frame.locals.iter().filter(|local| world.terms.sort(**local) == crate::term::Sort::Int);
        indices.extend(numbers.copied());
    }
    for number in [1, 2] {
        indices.push(world.terms.constant(Key::Witness(number), "k", crate::term::Sort::Int));
    }
    indices
        .retain(|index| !world.terms.has_bound(*index) && !matches!(world.terms.node(*index), Node::Ite(..)));
    indices.sort_unstable();
    indices.dedup();
    indices.truncate(16);
    let mut seen = Vec::new();
    for (number, (old, new)) in before.globals.iter().zip(&after.globals).enumerate() {
        for slot in 0..old.len() {
            let base = |index, value| Seen { global: Some(number), record: None, slot, index, value };
            match (&old[slot], &new[slot]) {
                (Cell::Scalar(old), Cell::Scalar(new)) => seen.push(base(None, (*old, *new))),
                (Cell::Array(old), Cell::Array(new)) => {
                    for index in &indices {
                        let value = (world.read(old, *index), world.read(new, *index));
                        seen.push(base(Some(*index), value));
                    }
                }
                _ => {}
            }
        }
    }
    let fields = |old: &[Vec<Store>], new: &[Vec<Store>]| -> Vec<(usize, usize, Store, Store)> {
        let mut list = Vec::new();
        for (record, (old, new)) in old.iter().zip(new).enumerate() {
            for (field, (old, new)) in old.iter().zip(new).enumerate() {
                list.push((record, field, old.clone(), new.clone()));
            }
        }
        list
    };
    let pointers = world
        .program
        .operations
        .iter()
        .flat_map(|op| &op.locals)
        .any(|local| matches!(local.ty, linpoint_lang::program::Type::Pointer(_)));
    for (record, slot, old, new) in fields(&before.fields, &after.fields) {
        for index in indices.iter().filter(|_| pointers) {
            let value = (world.read(&old, *index), world.read(&new, *index));
            seen.push(Seen { global: None, record: Some(record), slot, index: Some(*index), value });
        }
    }
    seen
}

/// Every term whose value a picture needs.
pub fn terms_of(world: &mut World<'_>, scene: &Scene, q: Option<&(Frame, Point)>) -> Vec<Term> {
    let mut wanted: Vec<Term> = (0..world.program.sizes.len()).map(|size| world.size(size)).collect();
    for frame in [Some(&scene.p.0), Some(&scene.p.1), q.map(|(frame, _)| frame)].into_iter().flatten() {
        wanted.push(frame.pid);
        wanted.extend(&frame.locals);
    }
    for slot in seen(world, scene, q) {
        wanted.extend(slot.index);
        wanted.extend([slot.value.0, slot.value.1]);
    }
    wanted.retain(|term| !world.terms.has_bound(*term) && !world.terms.is_quantified(*term));
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// The picture of a model.
pub fn picture(
    worker: &mut Worker<'_, '_>,
    question: &Question,
    model: &Model,
    q: Option<&(Frame, Point)>,
) -> Picture {
    let scene = &question.scene;
    let value =
        |term: Term| model.values.iter().find(|(known, _)| *known == term).map_or(0, |(_, value)| *value);
    let sizes: Vec<Term> =
        (0..worker.subject.program.sizes.len()).map(|size| worker.world.size(size)).collect();
    let locals =
        |old: &[Term], new: &[Term]| old.iter().zip(new).map(|(a, b)| (value(*a), value(*b))).collect();
    let mut slots: Vec<ShownSlot> = Vec::new();
    for slot in seen(&mut worker.world, scene, q) {
        let shown = ShownSlot {
            global: slot.global,
            record: slot.record,
            slot: slot.slot,
            index: slot.index.map(value),
            value: (value(slot.value.0), value(slot.value.1)),
        };
        if !slots.contains(&shown) {
            slots.push(shown);
        }
    }
    Picture {
        sizes: sizes.into_iter().map(value).collect(),
        p: Some(Shown {
            pid: value(scene.p.0.pid),
            at: scene.p_at.0,
            to: scene.p_at.1,
            locals: locals(&scene.p.0.locals, &scene.p.1.locals),
        }),
        q: q.map(|(frame, at)| Shown {
            pid: value(frame.pid),
            at: *at,
            to: None,
            locals: locals(&frame.locals, &frame.locals),
        }),
        slots,
        failing: model.failing.clone(),
    }
}

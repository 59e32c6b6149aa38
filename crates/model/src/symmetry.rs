//! Threads that have the same to do are interchangeable: they are put in the order of their frames.
//!
//! A renaming of such threads gives a state with the same futures, unless somebody calls a thread by its name
//! ([`names_threads`]). So any choice of one is sound; the order by frames is not always the same for two
//! states that could be renamed into one another (pointers are compared only with null, and so is data that
//! is always new, whose names are given later), which costs states, not soundness.

use std::cmp::Ordering;

use linpoint_lang::Program;
use linpoint_lang::interp::Machine;
use linpoint_lang::program::{Action, NONE, Slot, SpecSource, Type, UNSET, Word};

use crate::client::Workload;
use crate::data::{Data, is_data};
use crate::pack::Full;

/// Which thread comes to each place.
pub(crate) type Order = [usize; 16];

pub(crate) struct Symmetry {
    /// Is each thread one of its own?
    pub distinct: bool,
    /// For each thread, the first that has the same to do.
    class: Vec<usize>,
    /// Where thread numbers are: shared words, locals of each operation, fields of each kind of record.
    shared: Vec<usize>,
    locals: Vec<Vec<usize>>,
    fields: Vec<Vec<usize>>,
    /// Locals of each operation that hold pointers, thread numbers or data that is always new: only compared
    /// with null or none.
    vague: Vec<Vec<bool>>,
}

impl Symmetry {
    pub fn new(machine: &Machine<'_>, workload: &Workload, by_thread: bool, data: Option<&Data>) -> Symmetry {
        let first = |thread: usize| {
            let same = (0..thread).find(|other| workload.threads[*other] == workload.threads[thread]);
            if by_thread { thread } else { same.unwrap_or(thread) }
        };
        let program = machine.program;
        let threads_in = |slots: &[Slot]| (0..slots.len()).filter(|&i| names_thread(&slots[i].ty)).collect();
        let operations = || program.operations.iter();
        let new_data = data.is_some_and(|data| data.distinct);
        let is_vague = |ty: &Type| names_thread(ty) || is_pointer(ty) || new_data && is_data(ty);
        let vague = |slots: &[Slot]| slots.iter().map(|slot| is_vague(&slot.ty)).collect();
        Symmetry {
            distinct: by_thread,
            class: (0..machine.threads).map(first).collect(),
            shared: machine
                .shared_slots()
                .into_iter()
                .filter(|(_, slot)| names_thread(&slot.ty))
                .map(|(at, _)| at)
                .collect(),
            locals: operations().map(|op| threads_in(&op.locals)).collect(),
            fields: program.records.iter().map(|record| threads_in(&record.fields)).collect(),
            vague: operations().map(|op| vague(&op.locals)).collect(),
        }
    }

    /// Puts interchangeable threads in order; says which thread came to each place, if any changed.
    pub fn sort(&self, machine: &Machine<'_>, full: &mut Full) -> Option<Order> {
        let threads = machine.threads;
        if (1..threads).all(|t| self.class[t] == t) {
            return None;
        }
        // Thread `order[i]` comes to place i. Few threads: insertion.
        let mut order: Order = [0; 16];
        for (i, place) in order.iter_mut().enumerate() {
            *place = i;
        }
        let mut sorted = true;
        for end in 1..threads {
            let mut at = end;
            while let Some(before) = (0..at).rev().find(|&b| self.class[b] == self.class[at]) {
                if self.compare(machine, full, order[before], order[at]) != Ordering::Greater {
                    break;
                }
                order.swap(before, at);
                sorted = false;
                at = before;
            }
        }
        if sorted {
            return None;
        }
        self.apply(machine, full, &order[..threads]);
        Some(order)
    }

    fn compare(&self, machine: &Machine<'_>, full: &Full, a: usize, b: usize) -> Ordering {
        let (x, y) = (&full.state.words[machine.frame_range(a)], &full.state.words[machine.frame_range(b)]);
        let first = (full.made[a], x[0]).cmp(&(full.made[b], y[0]));
        if first != Ordering::Equal || x[0] < 0 {
            return first;
        }
        let vague = &self.vague[machine.program.nodes[x[0] as usize].op.index()];
        for (local, vague) in vague.iter().enumerate() {
            let (p, q) = (x[1 + local], y[1 + local]);
            let known = |word: Word| word == 0 || word == NONE || word == UNSET;
            let order = match vague {
                true => known(p).cmp(&known(q)),
                false => p.cmp(&q),
            };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Thread `order[i]` comes to place i, but for the monitor.
    pub fn apply(&self, machine: &Machine<'_>, full: &mut Full, order: &[usize]) {
        let old = full.state.words.clone();
        let made = full.made.clone();
        let mut place = [0 as Word; 16];
        for (new, was) in order.iter().enumerate() {
            full.made[new] = made[*was];
            full.state.words[machine.frame_range(new)].copy_from_slice(&old[machine.frame_range(*was)]);
            place[*was] = new as Word;
        }
        let words = &mut full.state.words;
        let rename = |word: &mut Word| {
            if *word >= 0 && (*word as usize) < order.len() {
                *word = place[*word as usize];
            }
        };
        self.shared.iter().for_each(|at| rename(&mut words[*at]));
        for thread in 0..machine.threads {
            let frame = machine.frame_range(thread).start;
            let pc = words[frame];
            if pc >= 0 {
                let op = machine.program.nodes[pc as usize].op.index();
                self.locals[op].iter().for_each(|local| rename(&mut words[frame + 1 + local]));
            }
        }
        for cell in words[machine.heap_start()..].chunks_exact_mut(machine.cell_width()) {
            let record = cell[0].unsigned_abs() as usize - 1;
            self.fields[record].iter().for_each(|field| rename(&mut cell[1 + field]));
        }
    }
}

/// Are there threads with names that no renaming of a state can follow? A `new` that leaves a field as the
/// first thread; calls and results with threads in them; a specification that keeps threads in its state.
pub(crate) fn names_threads(program: &Program) -> bool {
    let told = program.operations.iter().any(|op| {
        let params = op.locals[..op.params].iter().map(|slot| &slot.ty);
        params.chain(&op.result.parts).any(names_thread)
    });
    let kept = match &program.spec {
        SpecSource::Nothing | SpecSource::Builtin(_) => false,
        SpecSource::Block(block) => {
            let shared = block.globals.iter().flat_map(|global| &global.slots);
            let mut slots = shared.chain(block.records.iter().flat_map(|record| &record.fields));
            slots.any(|slot| names_thread(&slot.ty))
        }
    };
    let mut actions = program.nodes.iter().flat_map(|node| &node.edges).flat_map(|edge| &edge.actions);
    let by_default = actions.any(|action| match action {
        Action::New { record, fields, .. } => {
            let mut left = program.records[record.index()].fields.iter().enumerate();
            left.any(|(at, slot)| {
                slot.ty == Type::Thread && fields.iter().all(|(field, _)| usize::from(*field) != at)
            })
        }
        _ => false,
    });
    told || kept || by_default
}

pub(crate) fn names_thread(ty: &Type) -> bool {
    match ty {
        Type::Thread | Type::Lock => true,
        Type::Option(inner) => names_thread(inner),
        _ => false,
    }
}

pub(crate) fn is_pointer(ty: &Type) -> bool {
    match ty {
        Type::Pointer(_) => true,
        Type::Option(inner) => is_pointer(inner),
        _ => false,
    }
}

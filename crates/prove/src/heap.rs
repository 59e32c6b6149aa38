//! Pointers lead to records: what is known of them in programs that free nothing.
//!
//! A pointer of a kind of record that the program never frees is null or leads to a record that was made,
//! wherever it is: in a shared variable, in a field of a record that was made, or in a local that still
//! matters. So what `new` makes is none of them. This is an invariant like any other: it is shown of the
//! initial memory and of every step (`obligation.rs`). Another process keeps its part of it because no step
//! ever takes a record of such a kind out of use.

use linpoint_lang::program::{RecordId, Type};

use crate::context::Subject;
use crate::graph::Point;
use crate::term::Term;
use crate::world::{Cell, Frame, Memory, World};

impl<'p> Subject<'p> {
    /// The kind of record that a pointer of this type leads to, if records of the kind are never freed.
    fn kept_kind(&self, ty: &Type) -> Option<RecordId> {
        match ty {
            Type::Pointer(record) if !self.program.records[record.index()].freed => Some(*record),
            _ => None,
        }
    }

    /// It is null, or leads to a record that was made.
    fn leads_somewhere(
        &self,
        world: &mut World<'p>,
        record: RecordId,
        pointer: Term,
        memory: &Memory,
    ) -> Term {
        let zero = world.terms.int(0);
        let null = world.terms.eq(pointer, zero);
        let made = world.read(&memory.alive[record.index()], pointer);
        world.terms.or([null, made])
    }

    /// Of shared variables, and of fields of records that were made.
    pub fn pointers_of_memory(&self, world: &mut World<'p>, memory: &Memory) -> Vec<Term> {
        let mut known = Vec::new();
        for (global, cells) in self.program.globals.iter().zip(&memory.globals) {
            for (slot, cell) in global.slots.iter().zip(cells) {
                let Some(record) = self.kept_kind(&slot.ty) else { continue };
                known.push(match cell {
                    Cell::Scalar(pointer) => self.leads_somewhere(world, record, *pointer, memory),
                    Cell::Array(store) => {
                        let depth = world.depth;
                        world.depth += 1;
                        let bound = world.terms.bound(depth);
                        let pointer = world.read(store, bound);
                        let body = self.leads_somewhere(world, record, pointer, memory);
                        world.depth = depth;
                        world.terms.forall(depth, body)
                    }
                });
            }
        }
        for (kind, (record, stores)) in self.program.records.iter().zip(&memory.fields).enumerate() {
            for (slot, store) in record.fields.iter().zip(stores) {
                let Some(to) = self.kept_kind(&slot.ty) else { continue };
                let depth = world.depth;
                world.depth += 1;
                let bound = world.terms.bound(depth);
                let made = world.read(&memory.alive[kind], bound);
                let pointer = world.read(store, bound);
                let leads = self.leads_somewhere(world, to, pointer, memory);
                let body = world.terms.implies(made, leads);
                world.depth = depth;
                known.push(world.terms.forall(depth, body));
            }
        }
        known
    }

    /// Of the locals of a process that still matter.
    pub fn pointers_of_frame(
        &self,
        world: &mut World<'p>,
        point: Point,
        frame: &Frame,
        memory: &Memory,
    ) -> Vec<Term> {
        let Some(op) = self.op(point) else { return Vec::new() };
        // Where an operation starts, its locals have no values yet.
        if self.graph.entries.contains(&point) {
            return Vec::new();
        }
        let operation = self.program.operation(op);
        let live = &self.live[self.graph.place(point).node.index()];
        let mut known = Vec::new();
        for (index, slot) in operation.locals.iter().enumerate().skip(operation.params) {
            if let (Some(record), true) = (self.kept_kind(&slot.ty), live[index]) {
                known.push(self.leads_somewhere(world, record, frame.locals[index], memory));
            }
        }
        known
    }
}

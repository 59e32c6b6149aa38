//! Which bit says what: shared names, kinds, locals, scalars.

use std::collections::BTreeSet;

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Action, Exit, Expr, Operation, Place, Slot, Type};

use crate::layout::{Layout, LocalBit, Mask, Object, Refusal, Role, Scalar};

impl Layout<'_> {
    /// Shared numbers that only ever grow by one, from what they are.
    pub(super) fn find_versions(&mut self) {
        let program = self.program;
        let operations = program.operations.len();
        let mut count = 0;
        for (index, global) in program.globals.iter().enumerate() {
            let plain = global.length.is_none() && global.slots.len() == 1 && !global.ghost;
            if !plain || global.slots[0].ty != Type::Int || global.slots[0].bounds.is_some() {
                continue;
            }
            let own = program.nodes.iter().filter(|node| node.op.index() < operations);
            let mut actions = own.flat_map(|node| &node.edges).flat_map(|edge| &edge.actions);
            let grows = |action: &Action| match action {
                Action::Assign(Place::Global(g, _), e) if g.index() == index => matches!(e,
                    Expr::Binary(BinOp::Add, a, b) if matches!(a.as_ref(), Expr::Read(_)) && matches!(b.as_ref(), Expr::Const(1))),
                _ => true,
            };
            if self.object != Object::Set && count < 4 && actions.all(grows) {
                self.version[index] = Some(count);
                count += 1;
            }
        }
    }

    /// The version that a local of an operation is read from, if that is all it is.
    fn version_of(&self, op: usize, local: usize) -> Option<u8> {
        let mut found = None;
        for node in self.program.nodes.iter().filter(|node| node.op.index() == op) {
            for action in node.edges.iter().flat_map(|edge| &edge.actions) {
                match action {
                    Action::Assign(Place::Local(l), e) if l.index() == local => {
                        let Expr::Read(Place::Global(global, _)) = e else { return None };
                        let version = self.version[global.index()]?;
                        if found.is_some_and(|other| other != version) {
                            return None;
                        }
                        found = Some(version);
                    }
                    Action::Choose(l, ..) if l.index() == local => return None,
                    _ => {}
                }
            }
        }
        found
    }

    /// The slots of a program that operations write.
    pub(super) fn find_constants(&mut self) {
        let program = self.program;
        let operations = program.operations.len();
        for (index, record) in program.records.iter().enumerate().filter(|(_, record)| record.freed) {
            // What is in a place changes when it is used again.
            self.constant_field[index] = vec![false; record.fields.len()];
        }
        for node in program.nodes.iter().filter(|node| node.op.index() < operations) {
            for action in node.edges.iter().flat_map(|edge| &edge.actions) {
                let (Action::Assign(place, _) | Action::Lock(place) | Action::Unlock(place)) = action else {
                    continue;
                };
                match place {
                    Place::Field(_, record, field) => {
                        self.constant_field[record.index()][usize::from(*field)] = false;
                    }
                    Place::Global(global, _) | Place::Element(global, ..) => {
                        self.constant_global[global.index()] = false;
                    }
                    Place::Local(_) => {}
                }
            }
        }
    }

    pub(super) fn place_globals(&mut self) -> Result<(), Refusal> {
        let mut next = 0;
        for global in &self.program.globals {
            let mut bit = None;
            let mut scalar = None;
            if !global.ghost {
                if global.length.is_some() || global.slots.len() != 1 || global.record.is_some() {
                    return Err(format!("`{}` is an array or a record in place", global.name));
                }
                match &global.slots[0].ty {
                    Type::Pointer(_) => {
                        bit = Some(self.shared_names.len() as u32);
                        self.shared_names.push(global.name.clone());
                    }
                    Type::Bool => {
                        scalar = Some((next, Scalar::Bool));
                        next += 2;
                    }
                    Type::Lock => {
                        scalar = Some((next, Scalar::Lock));
                        next += 4;
                    }
                    _ => {}
                }
            }
            self.global_bit.push(bit);
            self.global_scalar.push(scalar);
        }
        if next > 60 {
            return Err("too many shared scalars".into());
        }
        self.first = self.shared_names.len() as u32;
        let names: &[&str] = match self.object {
            Object::Stack => &["top of the reference"],
            Object::Queue => &["head of the reference", "tail of the reference"],
            Object::Set => &["last below the key", "at the key"],
        };
        self.shared_names.extend(names.iter().map(|name| (*name).to_owned()));
        self.second = self.first + names.len() as u32 - 1;
        self.shared = (1 << self.shared_names.len()) - 1;
        Ok(())
    }

    pub(super) fn place_kinds(&mut self) -> Result<(), Refusal> {
        let mut next = self.shared_names.len() as u32;
        let mut take = |count: u32| {
            next += count;
            next - count
        };
        self.uncorrelated = 1 << take(1);
        self.nonuniform = 1 << take(1);
        self.private = 1 << take(1);
        self.listed = 1 << take(1);
        self.beyond = 1 << take(1);
        self.class_shift = take(3);
        if self.program.records.iter().any(|record| record.freed) {
            if self.object == Object::Set {
                return Err("memory of a set is given back with `free`".into());
            }
            if self.program.records.iter().any(|record| record.freed && !record.pooled) {
                return Err("memory that does not stay with the program is given back with `free`".into());
            }
            self.freed = 1 << take(1);
            self.owned = 1 << take(1);
            self.gone = 1 << take(1);
        }
        let mut read = fields_read(self.program);
        // What a list goes through links, whether it is walked through or not.
        read.extend(self.program.annotations.lists.iter().map(|list| (list.record.index(), list.via)));
        for (index, record) in self.program.records.iter().enumerate() {
            let offers = self.object != Object::Set && makes_offers(self.program, index);
            self.record_kind.push(if index == 0 && !offers { 0 } else { 1 << take(1) });
            if offers {
                self.offer_kind |= self.record_kind[index];
            }
            self.records |= self.record_kind[index];
            let mut bits = Vec::new();
            let mut link = None;
            for (number, field) in record.fields.iter().enumerate() {
                let mut bit = None;
                match &field.ty {
                    _ if field.ghost => {}
                    Type::Bool => bit = Some(1 << take(1)),
                    // Where it leads nobody ever finds out.
                    Type::Pointer(_) if !read.contains(&(index, number as u16)) => {}
                    Type::Pointer(_) if link.is_none() => link = Some(number as u16),
                    Type::Pointer(_) => return Err(format!("`{}` has two links", record.name)),
                    Type::Option(inner) if matches!(**inner, Type::Pointer(_)) => {
                        return Err(format!("`{}.{}` is an optional pointer", record.name, field.name));
                    }
                    _ => {}
                }
                bits.push(bit);
            }
            self.bool_bit.push(bits);
            self.link.push(link);
        }
        self.threads_from = next;
        if next > 64 {
            return Err("too many shared names and kinds".into());
        }
        self.kinds = (((1 as Mask) << next) - 1) & !self.shared & !self.beyond;
        if self.object == Object::Set {
            let lists = &self.program.annotations.lists;
            let [list] = lists.as_slice() else {
                return Err("a set needs one `track list … via … sorted by …`".into());
            };
            let Some(key) = list.sorted else {
                return Err("the list of a set must be sorted by its key".into());
            };
            if self.link[list.record.index()] != Some(list.via) {
                return Err("the list goes through another field than the link".into());
            }
            if !self.constant_global[list.head.index()] {
                return Err("the head of the list is written by operations".into());
            }
            self.key = Some((list.record.index(), key));
            self.head = Some(list.head.index());
        }
        Ok(())
    }

    pub(super) fn place_locals(&mut self) -> Result<(), Refusal> {
        let mut fixed = 2;
        if self.offer_kind != 0 {
            self.offer = LocalBit(fixed);
            fixed += 1;
        }
        if self.freed != 0 {
            self.mine = LocalBit(fixed);
            fixed += 1;
        }
        self.locks = LocalBit(fixed);
        self.place_locks();
        fixed += self.most_locks;
        let is_data = |op: &Operation, index: usize| {
            index >= op.params
                && match &op.locals[index].ty {
                    Type::Data => true,
                    Type::Option(inner) => **inner == Type::Data,
                    _ => false,
                }
                && !op.locals[index].ghost
        };
        if self.freed != 0 {
            // Names of values have bits of their own: what they are is known whoever's they are.
            let most = |op: &Operation| (0..op.locals.len()).filter(|&index| is_data(op, index)).count();
            let count = self.program.operations.iter().map(most).max().unwrap_or(0) as u32;
            self.data_locals = (fixed, fixed + count);
            fixed += count;
        }
        let mut widest = fixed;
        for operation in &self.program.operations {
            let (mut next, mut shift) = (fixed, 0);
            let (mut bits, mut scalars) = (Vec::new(), Vec::new());
            let (op, mut data) = (self.local_bit.len(), self.data_locals.0);
            for (index, local) in operation.locals.iter().enumerate() {
                let (mut bit, mut scalar) = (None, None);
                match &local.ty {
                    _ if local.ghost => {}
                    _ if self.freed != 0 && is_data(operation, index) => {
                        bits.push(Some(LocalBit(data)));
                        scalars.push(None);
                        data += 1;
                        continue;
                    }
                    Type::Pointer(_) => bit = Some(LocalBit(next)),
                    Type::Data if index >= operation.params => bit = Some(LocalBit(next)),
                    Type::Option(inner) if **inner == Type::Data && index >= operation.params => {
                        bit = Some(LocalBit(next))
                    }
                    Type::Bool => {
                        scalar = Some((shift, Scalar::Bool));
                        shift += 2;
                    }
                    Type::Int if self.object == Object::Set => {
                        scalar = Some((shift, Scalar::Key));
                        shift += 3;
                    }
                    Type::Int if self.version_of(op, index).is_some() => {
                        scalar = self.version_of(op, index).map(|version| (shift, Scalar::Version(version)));
                        shift += 2;
                    }
                    _ => {}
                }
                next += u32::from(bit.is_some());
                bits.push(bit);
                scalars.push(scalar);
            }
            if shift > 64 {
                return Err(format!("`{}` has too many scalars", operation.name));
            }
            widest = widest.max(next);
            self.local_bit.push(bits);
            self.scalar.push(scalars);
        }
        self.width = widest;
        if self.most_threads() < 2 {
            return Err("too many pointer variables".into());
        }
        Ok(())
    }

    /// A bit for each lock field of a record; a node is one record, so records share the bits.
    fn place_locks(&mut self) {
        for record in &self.program.records {
            let mut count = 0;
            let bit = |field: &Slot| {
                let lock = field.ty == Type::Lock;
                count += u32::from(lock);
                lock.then(|| count - 1)
            };
            self.lock_bit.push(record.fields.iter().map(bit).collect());
            self.most_locks = self.most_locks.max(count);
        }
    }

    /// What arguments there are, and that they stay what they are.
    pub(super) fn arguments(&mut self) -> Result<(), Refusal> {
        for (index, operation) in self.program.operations.iter().enumerate() {
            let params = &operation.locals[..operation.params];
            let fits = match self.roles[index] {
                Role::Insert => {
                    params.len() == 1 && params[0].ty == Type::Data && operation.result.parts.is_empty()
                }
                Role::Take => {
                    params.is_empty() && operation.result.parts.len() == 1 && !operation.result.tuple
                }
                _ => params.len() == 1 && params[0].ty == Type::Int && operation.result.parts == [Type::Bool],
            };
            if !fits {
                return Err(format!(
                    "`{}` has other arguments or results than the reference",
                    operation.name
                ));
            }
            let writes = |action: &Action| {
                matches!(action, Action::Assign(Place::Local(l), _) | Action::New { local: l, .. } | Action::Choose(l, ..)
                    if l.index() < operation.params)
            };
            let own = self.program.nodes.iter().filter(|node| node.op.index() == index);
            if own.flat_map(|node| &node.edges).flat_map(|edge| &edge.actions).any(writes) {
                return Err(format!("`{}` changes its argument", operation.name));
            }
            if self.object == Object::Set {
                let Some(bounds) = &params[0].bounds else {
                    return Err(format!("the argument of `{}` has no range", operation.name));
                };
                match &self.range {
                    None => self.range = Some(bounds.clone()),
                    Some(range) if range == bounds => {}
                    Some(_) => return Err("operations have arguments of different ranges".into()),
                }
            }
        }
        Ok(())
    }

    pub(super) fn find_visible(&mut self) {
        let touches = |e: &Expr| {
            let mut found = false;
            e.places(&mut |place| {
                found |= matches!(place, Place::Global(global, _) if !self.constant_global[global.index()]);
            });
            found
        };
        let visible = |node: &linpoint_lang::program::Node| {
            node.edges.iter().any(|edge| match edge.actions.first() {
                Some(Action::Assume(e) | Action::Assign(Place::Local(_), e)) => touches(e),
                Some(Action::Assign(Place::Global(global, _), _)) => {
                    !self.program.globals[global.index()].ghost
                }
                Some(Action::Lock(_) | Action::Unlock(_)) => true,
                _ => false,
            })
        };
        self.surely_visible = self.program.nodes.iter().map(visible).collect();
    }
}

/// The fields of records that operations read: in code, in conditions of points, and in what they return.
fn fields_read(program: &Program) -> BTreeSet<(usize, u16)> {
    let mut found = BTreeSet::new();
    let mut see = |place: &Place| {
        if let Place::Field(_, record, field) = place {
            found.insert((record.index(), *field));
        }
    };
    let own = program.nodes.iter().filter(|node| node.op.index() < program.operations.len());
    for edge in own.flat_map(|node| &node.edges) {
        if let Exit::Return(values) = &edge.exit {
            values.iter().for_each(|e| e.places(&mut see));
        }
        for action in &edge.actions {
            match action {
                Action::Assume(e) | Action::Assert(e, _) | Action::Free(e) => e.places(&mut see),
                Action::Assign(place, e) => {
                    e.places(&mut see);
                    place.inner(&mut see);
                }
                Action::Choose(_, lo, hi) => {
                    lo.places(&mut see);
                    hi.places(&mut see);
                }
                Action::Prophecy(_, resolved) => resolved.iter().for_each(|e| e.places(&mut see)),
                Action::New { fields, .. } => fields.iter().for_each(|(_, e)| e.places(&mut see)),
                Action::Lock(place) | Action::Unlock(place) => place.inner(&mut see),
                Action::Mark(mark) => mark.when.iter().chain(&mark.of).for_each(|e| e.places(&mut see)),
                Action::Claim(_) => {}
            }
        }
    }
    found
}

/// Does a record have a value and no link, beside others that have a link?
fn makes_offers(program: &Program, record: usize) -> bool {
    let has = |record: usize, wanted: &dyn Fn(&Type) -> bool| {
        program.records[record].fields.iter().any(|field| !field.ghost && wanted(&field.ty))
    };
    let link = |record: usize| has(record, &|ty| matches!(ty, Type::Pointer(_)));
    has(record, &|ty| *ty == Type::Data) && !link(record) && (0..program.records.len()).any(link)
}

//! What steps write: variables, fields, new records, locks.

use linpoint_lang::program::{Expr, NONE, Place, Type};

use crate::exec::{Alarm, Done, Exec, Stop, Val, width};
use crate::layout::{Class, Object, Role, Scalar, class};
use crate::structure::Node;

impl Exec<'_, '_> {
    pub(crate) fn assign(&mut self, place: &Place, e: &Expr) -> Done<()> {
        let layout = self.layout;
        let op = linpoint_lang::program::OpId(layout.op_at(self.me().pc) as u16);
        let Some(slot) = layout.program.slot(op, place) else {
            return self.unsupported("a place without a slot");
        };
        if slot.ghost
            || matches!(place, Place::Global(g, _) | Place::Element(g, ..) if layout.program.globals[g.index()].ghost)
        {
            return Ok(());
        }
        let value = self.eval(e)?;
        if slot.bounds.is_some() {
            return self.unsupported("an assignment to a bounded variable");
        }
        match place {
            Place::Local(local) => {
                let value = match value {
                    Val::Word(_)
                        if layout.scalar[op.index()][local.index()]
                            .is_some_and(|(_, s)| s == Scalar::Key) =>
                    {
                        self.constant_key(e)
                    }
                    value => value,
                };
                self.set_local(local.index(), value)
            }
            Place::Global(global, _) => {
                self.touch()?;
                let index = global.index();
                if let Some(bit) = layout.global_bit[index] {
                    let node = self.pointer(value)?;
                    let before = self.s.named(1 << bit);
                    self.effect |= before != Some(node);
                    self.s.move_name(1 << bit, node);
                    let mine = layout.bit(self.thread, layout.offer);
                    if layout.offer_kind != 0
                        && before.is_some_and(|old| self.is(old, mine) && !self.is(old, layout.shared))
                    {
                        self.withdraw();
                    }
                    self.publish(node)?;
                } else if let Some((shift, Scalar::Bool)) = layout.global_scalar[index] {
                    let value = self.truth(value);
                    self.effect = true;
                    self.s.globals = self.s.globals & !(3 << shift) | (1 + u64::from(value)) << shift;
                } else if let Some(version) = layout.version[index] {
                    if value != Val::Grown(version) {
                        return self.unsupported("a counter that may be set to what it was before");
                    }
                    self.grow(version);
                }
                Ok(())
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                self.set_field(node, record.index(), *field, value, e)
            }
            Place::Element(..) => self.unsupported("arrays"),
        }
    }

    pub(crate) fn set_local(&mut self, local: usize, value: Val) -> Done<()> {
        let layout = self.layout;
        let op = layout.op_at(self.me().pc);
        if let Some(bit) = layout.local_bit[op][local] {
            let bit = layout.bit(self.thread, bit);
            if matches!(layout.program.operations[op].locals[local].ty, Type::Pointer(_)) {
                let node = self.pointer(value)?;
                self.s.move_name(bit, node);
                return Ok(());
            }
            match value {
                Val::Data(node) => self.s.move_name(bit, node),
                Val::Word(NONE) => self.s.move_name(bit, 0),
                _ => self.s.clear(bit),
            }
        } else if let Some((shift, scalar)) = layout.scalar[op][local] {
            let code = match (scalar, value) {
                (Scalar::Bool, value) => 1 + u64::from(self.truth(value)),
                (Scalar::Version(_), Val::Version(_, now)) => {
                    if now {
                        1
                    } else {
                        2
                    }
                }
                (Scalar::Version(_), _) => 0,
                (_, Val::Key(class, _)) => u64::from(class),
                _ => 0,
            };
            let mine = self.mine();
            mine.scalars = mine.scalars & !(width(scalar) << shift) | code << shift;
        }
        Ok(())
    }

    fn set_field(&mut self, node: usize, record: usize, field: u16, value: Val, e: &Expr) -> Done<()> {
        if node == 0 {
            return Err(Stop::Wrong(Alarm::NullDereference));
        }
        let layout = self.layout;
        self.usable(node, record)?;
        let private = self.is(node, layout.private);
        if !private {
            self.touch()?;
        }
        match &layout.program.records[record].fields[usize::from(field)].ty {
            Type::Pointer(_) if layout.is_link(record, field) => {
                let to = self.pointer(value)?;
                self.set_link(node, to)
            }
            Type::Bool => {
                let bit = layout.bool_bit[record][usize::from(field)].unwrap_or(0);
                let mask = &mut self.s.nodes[node].mask;
                let before = *mask;
                let value = match value {
                    Val::Bool(b) => b,
                    Val::Word(word) => word != 0,
                    _ => self.choices.pick(2) == 1,
                };
                *mask = if value { *mask | bit } else { *mask & !bit };
                self.effect |= before != *mask && !private;
                Ok(())
            }
            Type::Data => {
                let mine = self.is(node, layout.owned)
                    && self.is(node, layout.makers(1) << (self.thread as u32 * layout.width));
                if !private && !mine {
                    return self.unsupported("data is written to a record that others can reach");
                }
                if layout.value_field(record) != Some(field) {
                    return Ok(());
                }
                if mine {
                    self.effect = true;
                    if self.is(node, layout.bit(self.thread, layout.argument)) {
                        return self.unsupported("the record of an argument is given other data");
                    }
                    self.detach(node)?;
                    return self.place_argument(node, value, e);
                }
                // What was read from the record before is not its value any more.
                let bits = layout.thread_bits(self.thread);
                let op = layout.op_at(self.me().pc);
                let mut stale = layout.bit(self.thread, layout.argument);
                for (local, bit) in layout.local_bit[op].iter().enumerate() {
                    let pointer = matches!(layout.program.operations[op].locals[local].ty, Type::Pointer(_));
                    if let (Some(bit), false) = (bit, pointer) {
                        stale |= layout.bit(self.thread, *bit);
                    }
                }
                if self.s.nodes[node].mask & layout.bit(self.thread, layout.argument) != 0 {
                    return self.unsupported("the record of an argument is given other data");
                }
                self.s.nodes[node].mask &= !(stale & bits);
                let mine = layout.bit(self.thread, layout.offer);
                if layout.offer_kind != 0 && self.is(node, mine) {
                    self.withdraw();
                }
                self.place_argument(node, value, e)
            }
            Type::Int if layout.key == Some((record, field)) => {
                if !private {
                    return self.unsupported("a key is changed in a record that others can reach");
                }
                let class = self.class(value, e);
                self.s.nodes[node].mask = layout.with_class(self.s.nodes[node].mask, class);
                Ok(())
            }
            Type::Lock => self.unsupported("a lock is assigned"),
            _ => Ok(()),
        }
    }

    /// Where a key stands that is written to a record. Each node has one class: a key that is not followed
    /// may be of any.
    fn class(&mut self, value: Val, e: &Expr) -> Class {
        match self.key(value, e).0 {
            class::ANY => [class::MIN, class::LESS, class::SAME, class::MORE, class::MAX][self.pick(5)],
            known => known,
        }
    }

    fn set_link(&mut self, node: usize, to: usize) -> Done<()> {
        let layout = self.layout;
        let private = self.is(node, layout.private);
        if layout.object == Object::Set && !private {
            return self.set_list_link(node, to);
        }
        let found = &mut self.s.nodes[node];
        let alone = layout.uncorrelated | layout.nonuniform | layout.gone;
        if layout.object != Object::Set && found.mask & alone == 0 {
            found.other = found.row;
            found.mask |= layout.nonuniform;
        }
        found.row = 1 << to;
        self.reunite(node)?;
        if !private {
            self.effect = true;
            self.shown_by(node, to)?;
        }
        self.tidy()
    }

    /// A record that others may reach leads to another one. If it is one that its maker did not link in yet,
    /// others reach it only by pointers from before; what it leads to is linked in only with it, if that is
    /// of the same sort.
    fn shown_by(&mut self, node: usize, to: usize) -> Done<()> {
        let owned = self.layout.owned;
        if self.is(node, owned) && self.is(to, owned) { Ok(()) } else { self.publish(to) }
    }

    /// Others can reach a record from now on, and what it leads to.
    pub(crate) fn publish(&mut self, node: usize) -> Done<()> {
        if self.is(node, self.layout.owned) {
            return self.hand_over(node);
        }
        let private = self.layout.private;
        if !self.is(node, private) {
            return Ok(());
        }
        if self.s.nodes[node].many {
            return self.unsupported("a chain of records is made before others can reach it");
        }
        self.s.nodes[node].mask &= !private;
        let mut rest = self.s.nodes[node].row;
        while rest != 0 {
            let next = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if self.is(next, private) && !self.s.nodes[node].row.is_power_of_two() {
                return self.unsupported("a chain of records is made before others can reach it");
            }
            self.publish(next)?;
        }
        Ok(())
    }

    pub(crate) fn allocate(&mut self, local: usize, record: usize, given: &[(u16, Expr)]) -> Done<()> {
        let layout = self.layout;
        let kind = &layout.program.records[record];
        let mut values = Vec::with_capacity(given.len());
        for (field, e) in given {
            let value = if kind.fields[usize::from(*field)].ghost { Val::Any } else { self.eval(e)? };
            values.push((*field, value, e));
        }
        let mut node =
            Node { mask: layout.record_kind[record] | layout.private, row: 1, other: 0, many: false };
        if layout.object != Object::Set && !layout.is_offer(record) {
            node.mask |= layout.uncorrelated;
        }
        for (field, slot) in kind.fields.iter().enumerate() {
            if slot.ghost {
                continue;
            }
            let found = values.iter().find(|(number, ..)| usize::from(*number) == field);
            let (value, e) = match found {
                Some((_, value, e)) => (*value, *e),
                None => (self.eval(&slot.init)?, &slot.init),
            };
            match &slot.ty {
                _ if slot.bounds.is_some() && found.is_some() => return self.unsupported("a bounded field"),
                Type::Bool => {
                    let bit = layout.bool_bit[record][field].unwrap_or(0);
                    node.mask |= if self.truth(value) { bit } else { 0 };
                }
                Type::Pointer(_) if layout.is_link(record, field as u16) => {
                    node.row = 1 << self.pointer(value)?
                }
                Type::Int if layout.key == Some((record, field as u16)) => {
                    node.mask = layout.with_class(node.mask, self.class(value, e));
                }
                _ => {}
            }
        }
        let new = if kind.freed { self.take_place(record, node)? } else { self.push(node)? };
        if kind.freed && self.s.nodes[new].row.is_power_of_two() {
            self.shown_by(new, self.s.nodes[new].row.trailing_zeros() as usize)?;
        }
        self.set_local(local, Val::Node(new))?;
        if let Some(field) = layout.value_field(record)
            && let Some((_, value, e)) = values.iter().find(|(number, ..)| *number == field)
        {
            self.place_argument(new, *value, e)?;
        }
        if self.points.help() && self.s.nodes[new].mask & layout.bit(self.thread, layout.argument) == 0 {
            return self.unsupported("a record without the operation's argument, where others help");
        }
        Ok(())
    }

    /// A record gets the operation's argument: from now on it is the one that takes effect.
    fn place_argument(&mut self, node: usize, value: Val, e: &Expr) -> Done<()> {
        let layout = self.layout;
        let op = layout.op_at(self.me().pc);
        let own = matches!(e, Expr::Read(Place::Local(local)) if local.index() == 0)
            && layout.roles[op] == Role::Insert;
        if !own {
            return Ok(());
        }
        if self.is(node, layout.offer_kind) {
            return self.offer(node);
        }
        let bit = layout.bit(self.thread, layout.argument);
        if self.points.help() && value != Val::Argument {
            return self.unsupported("two records with one argument, where others help");
        }
        self.s.move_name(bit, node);
        Ok(())
    }

    /// Does a thread shown hold the lock in this field?
    pub(crate) fn is_locked(&self, node: usize, record: usize, field: u16) -> bool {
        let held = |thread| self.layout.held_field(thread, record, field);
        (0..self.s.threads.len()).filter_map(held).any(|bit| self.is(node, bit))
    }

    pub(crate) fn lock(&mut self, place: &Place) -> Done<()> {
        self.touch()?;
        let layout = self.layout;
        match place {
            Place::Global(global, _) => {
                let Some((shift, _)) = layout.global_scalar[global.index()] else {
                    return self.unsupported("a lock that is not followed");
                };
                if self.s.globals >> shift & 15 != 0 {
                    return Err(Stop::Disabled);
                }
                self.s.globals |= (self.thread as u64 + 1) << shift;
                self.effect = true;
                Ok(())
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                self.reach(node, record.index(), *field)?;
                let Some(bit) = layout.held_field(self.thread, record.index(), *field) else {
                    return self.unsupported("a lock that is not followed");
                };
                // Locks of threads that are not shown are not known: the step may be taken.
                if self.is_locked(node, record.index(), *field) {
                    return Err(Stop::Disabled);
                }
                self.s.nodes[node].mask |= bit;
                Ok(())
            }
            _ => self.unsupported("a lock that is not followed"),
        }
    }

    pub(crate) fn unlock(&mut self, place: &Place) -> Done<()> {
        self.touch()?;
        let layout = self.layout;
        match place {
            Place::Global(global, _) => {
                let Some((shift, _)) = layout.global_scalar[global.index()] else {
                    return self.unsupported("a lock that is not followed");
                };
                if self.s.globals >> shift & 15 != self.thread as u64 + 1 {
                    return Err(Stop::Wrong(Alarm::NotHeld));
                }
                self.s.globals &= !(15 << shift);
                self.effect = true;
                Ok(())
            }
            Place::Field(pointer, record, field) => {
                let pointer = self.eval(pointer)?;
                let node = self.pointer(pointer)?;
                self.reach(node, record.index(), *field)?;
                let Some(bit) = layout.held_field(self.thread, record.index(), *field) else {
                    return self.unsupported("a lock that is not followed");
                };
                if !self.is(node, bit) {
                    return Err(Stop::Wrong(Alarm::NotHeld));
                }
                self.s.nodes[node].mask &= !bit;
                Ok(())
            }
            _ => self.unsupported("a lock that is not followed"),
        }
    }
}

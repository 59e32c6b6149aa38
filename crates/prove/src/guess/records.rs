//! Guesses about linked records.
//!
//! For pointer locals v, w at a place:
//!
//! - v is null, is not; a field of v is null, `none`, `me`, a constant, a local, the result;
//!
//! for a shared pointer p: it is never null; it is null when another variable is `none`; a field of it is a
//! constant, or a variable;
//!
//! and for a ghost array a of pointers with a shared number l, which together say what is linked and in which
//! order (a\[1\] to a\[l\], or a\[0\] to a\[l - 1\]):
//!
//! - a\[0\] is null; a\[l\] is a shared pointer; of every element: it is not null, a field of it is a
//!   constant, or leads to the element before.
//!
//! Who owns a record is a field too: a ghost of type `thread?` that is `me` while nobody else can see the
//! record, and `none` after. Then that two processes work on different records need not be said.

use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Expr, GlobalId, LocalId, NONE, Place, RecordId, Slot, Type, UNBOUNDED};

use super::{Guesser, binary, constant, eq, implies, is_owner, local, ne, plain};

/// The element of an array.
fn element(array: GlobalId, index: Expr) -> Expr {
    Expr::Read(Place::Element(array, Box::new(index), 0))
}

fn field(pointer: &Expr, record: RecordId, number: usize) -> Expr {
    Expr::Read(Place::Field(Box::new(pointer.clone()), record, number as u16))
}

impl Guesser<'_> {
    /// Kinds of records that are never freed: of others nobody knows whether they are still there.
    fn kind(&self, ty: &Type) -> Option<RecordId> {
        match ty {
            Type::Pointer(record) if !self.program.records[record.index()].freed => Some(*record),
            _ => None,
        }
    }

    /// What a field may be, whoever looks at it.
    fn constants_of(&self, slot: &Slot, value: &Expr) -> Vec<Expr> {
        match &slot.ty {
            Type::Bool => vec![value.clone(), Expr::Not(Box::new(value.clone()))],
            Type::Enum(_) => (0..self.variants(&slot.ty)).map(|c| eq(value.clone(), constant(c))).collect(),
            Type::Pointer(_) => vec![eq(value.clone(), constant(0))],
            Type::Option(_) => vec![eq(value.clone(), constant(NONE))],
            _ => Vec::new(),
        }
    }

    /// What may hold always of shared pointers: never null; null when another variable is `none`, and else
    /// the variable is in a field of the record.
    fn pointers(&self) -> Vec<Expr> {
        let mut guesses = Vec::new();
        for (kind, of) in self.program.records.iter().enumerate() {
            let ty = Type::Pointer(RecordId(kind as u16));
            let Some(record) = self.kind(&ty) else { continue };
            for pointer in self.scalars(|other| *other == ty) {
                let some = ne(pointer.clone(), constant(0));
                guesses.push(some.clone());
                for (number, slot) in of.fields.iter().enumerate() {
                    let value = field(&pointer, record, number);
                    guesses.extend(
                        self.constants_of(slot, &value).into_iter().map(|is| implies(some.clone(), is)),
                    );
                    for variable in self.scalars(|other| plain(other) == plain(&slot.ty)) {
                        guesses.push(implies(some.clone(), eq(value.clone(), variable)));
                    }
                }
                for variable in self.scalars(|other| matches!(other, Type::Option(_))) {
                    guesses.push(eq(some.clone(), ne(variable, constant(NONE))));
                }
            }
        }
        guesses
    }

    /// What may hold always of arrays of pointers.
    pub(super) fn linked(&self) -> Vec<Expr> {
        let mut guesses = self.pointers();
        let lengths = self.integers();
        for (number, global) in self.program.globals.iter().enumerate() {
            let array = GlobalId(number as u16);
            let (Some(Expr::Const(UNBOUNDED)), [slot]) = (&global.length, global.slots.as_slice()) else {
                continue;
            };
            let Some(record) = self.kind(&slot.ty) else { continue };
            guesses.push(eq(element(array, constant(0)), constant(0)));
            for length in &lengths {
                for pointer in self.scalars(|ty| *ty == slot.ty) {
                    guesses.push(eq(element(array, length.clone()), pointer));
                }
                for first in [0, 1] {
                    let end = binary(BinOp::Add, length.clone(), constant(first));
                    let end = if first == 0 { length.clone() } else { end };
                    self.elements(array, record, (first, &end), &mut guesses);
                }
            }
        }
        guesses
    }

    /// What may hold of every element of a range.
    fn elements(
        &self,
        array: GlobalId,
        record: RecordId,
        (first, end): (i32, &Expr),
        guesses: &mut Vec<Expr>,
    ) {
        let n = local(self.bound);
        let every = |body: Expr| Expr::Quantified {
            all: true,
            local: self.bound,
            lo: Box::new(constant(first)),
            hi: Box::new(end.clone()),
            body: Box::new(body),
        };
        let this = element(array, n.clone());
        guesses.push(every(ne(this.clone(), constant(0))));
        for (number, slot) in self.program.records[record.index()].fields.iter().enumerate() {
            let value = field(&this, record, number);
            guesses.extend(self.constants_of(slot, &value).into_iter().map(every));
            if slot.ty == Type::Pointer(record) {
                let before = binary(BinOp::Sub, n.clone(), constant(1));
                guesses.push(every(eq(value, element(array, before))));
            }
        }
    }

    /// What may hold of the pointers of a process at a place.
    pub(super) fn records_at(&self, locals: &[(LocalId, &Slot)], result: &[(LocalId, &Type)]) -> Vec<Expr> {
        let mut guesses = Vec::new();
        for (id, slot) in locals {
            let Some(record) = self.kind(&slot.ty) else { continue };
            let pointer = local(*id);
            guesses.push(eq(pointer.clone(), constant(0)));
            guesses.push(ne(pointer.clone(), constant(0)));
            for (number, of) in self.program.records[record.index()].fields.iter().enumerate() {
                let value = field(&pointer, record, number);
                let mut bodies = self.constants_of(of, &value);
                if is_owner(&of.ty) {
                    bodies.push(eq(value.clone(), Expr::Me));
                }
                let same = locals.iter().filter(|(_, other)| {
                    plain(&other.ty) == plain(&of.ty) && !matches!(of.ty, Type::Bool | Type::Enum(_))
                });
                bodies.extend(same.map(|(other, _)| eq(value.clone(), local(*other))));
                let same = result.iter().filter(|(_, ty)| plain(ty) == plain(&of.ty));
                bodies.extend(same.map(|(part, _)| eq(value.clone(), local(*part))));
                let some = ne(pointer.clone(), constant(0));
                guesses.extend(bodies.into_iter().map(|body| implies(some.clone(), body)));
            }
        }
        guesses
    }
}

//! Places: locals, shared variables, elements, fields.

use super::{Item, Local, Lowerer, Ty};
use crate::ast::{self, ExprKind, Name};
use crate::diagnostic::code;
use crate::near;
use crate::program::{Action, Expr, LocalId, Place, RecordId, Slot, Type};
use crate::span::Span;

/// More local variables than this in one operation are refused: numbers from here on have other meanings to
/// engines.
const MAX_LOCALS: usize = 10_000;

/// A place, and what is known about what it holds.
pub(super) struct Found {
    pub place: Place,
    pub ty: Ty,
    pub ghost: bool,
}

/// A record or an array before a field or an element of it is named.
enum Base {
    /// A shared variable that is a record.
    Record(crate::program::GlobalId, RecordId),
    /// An element of a shared array of records.
    Element(crate::program::GlobalId, Expr, RecordId),
    /// What a pointer points to.
    Pointer(Expr, RecordId),
}

impl Lowerer<'_> {
    pub(super) fn find_local(&self, name: &str) -> Option<LocalId> {
        self.frames.last()?.scopes.iter().rev().find_map(|scope| scope.get(name).copied())
    }

    pub(super) fn new_local(&mut self, name: &str, ty: Option<Type>, ghost: bool, span: Span) -> LocalId {
        if self.locals.len() >= MAX_LOCALS {
            self.overflow(span, "this operation has too many local variables");
            // Nobody will run it.
            return LocalId((MAX_LOCALS - 1) as u16);
        }
        let id = LocalId(self.locals.len() as u16);
        self.locals.push(Local { name: name.to_owned(), ty, bounds: None, ghost, span });
        id
    }

    /// A local that the source does not name.
    pub(super) fn temporary(&mut self, ty: Option<Type>, span: Span) -> LocalId {
        self.new_local("", ty, self.ghost, span)
    }

    /// A new local that the source names; the innermost scope of the routine knows it.
    pub(super) fn declare_local(&mut self, name: &Name, ty: Option<Type>, ghost: bool) -> LocalId {
        if let Some((_, first)) = self.items.get(&name.text) {
            let diagnostic = crate::diagnostic::Diagnostic::error(
                code::TWICE,
                name.span,
                format!("`{}` is declared twice", name.text),
            )
            .also(*first, "the object declares it here")
            .help("use another name for the local variable");
            self.complain(diagnostic);
        }
        let id = self.new_local(&name.text, ty, ghost, name.span);
        if let Some(scope) = self.frames.last_mut().and_then(|frame| frame.scopes.first_mut()) {
            scope.insert(name.text.clone(), id);
        }
        id
    }

    pub(super) fn local_ty(&self, id: LocalId) -> Ty {
        match &self.locals[id.index()] {
            Local { ty: Some(ty), .. } => Ty::Known(ty.clone()),
            // What was not understood lost its name.
            Local { name, .. } if name.is_empty() => Ty::Error,
            _ => Ty::Null,
        }
    }

    /// The place an expression names, or a complaint.
    pub(super) fn place(&mut self, expr: &ast::Expr) -> Option<Found> {
        match &expr.kind {
            ExprKind::Name(name) => self.named_place(name, expr.span),
            ExprKind::Field(base, field) => {
                let base = self.base(base)?;
                let record = match &base {
                    Base::Record(_, r) | Base::Element(_, _, r) | Base::Pointer(_, r) => *r,
                };
                let (index, slot) = self.field(record, field)?;
                let place = match base {
                    Base::Record(global, _) => Place::Global(global, index),
                    Base::Element(global, at, _) => Place::Element(global, Box::new(at), index),
                    Base::Pointer(pointer, _) => Place::Field(Box::new(pointer), record, index),
                };
                let ghost = slot.ghost
                    || matches!(&place, Place::Global(g, _) | Place::Element(g, ..) if self.globals[g.index()].ghost);
                Some(Found { place, ty: Ty::Known(slot.ty), ghost })
            }
            ExprKind::Index(base, index) => {
                let (global, at) = self.element(base, index)?;
                let (record, ghost) =
                    (self.globals[global.index()].record, self.globals[global.index()].ghost);
                if let Some(record) = record {
                    let name = self.records[record.index()].name.clone();
                    let fields = self.field_names(record);
                    self.error(
                        code::KIND,
                        expr.span,
                        format!("this is a whole `{name}`"),
                        format!("name one of its fields: {fields}"),
                    );
                    return None;
                }
                let slot = self.globals[global.index()].slots[0].clone();
                let place = Place::Element(global, Box::new(at), 0);
                Some(Found { place, ty: Ty::Known(slot.ty), ghost })
            }
            _ => {
                self.error(
                    code::KIND,
                    expr.span,
                    "this is not a place",
                    "name a variable, a field such as `x.next`, or an element such as `m[i].val`",
                );
                None
            }
        }
    }

    fn named_place(&mut self, name: &str, span: Span) -> Option<Found> {
        if let Some(id) = self.find_local(name) {
            let ghost = self.locals[id.index()].ghost;
            return Some(Found { place: Place::Local(id), ty: self.local_ty(id), ghost });
        }
        match self.items.get(name).copied() {
            Some((Item::Global(global), _)) => {
                let (length, record, ghost) = {
                    let g = &self.globals[global.index()];
                    (g.length.is_some(), g.record, g.ghost)
                };
                if length {
                    let help = format!("name an element: `{name}[i]`");
                    self.error(code::KIND, span, format!("`{name}` is an array"), help);
                    return None;
                }
                if let Some(record) = record {
                    let fields = self.field_names(record);
                    self.error(
                        code::KIND,
                        span,
                        format!("`{name}` is a whole record"),
                        format!("name one of its fields: {fields}"),
                    );
                    return None;
                }
                let slot = self.globals[global.index()].slots[0].clone();
                let place = Place::Global(global, 0);
                Some(Found { place, ty: Ty::Known(slot.ty), ghost })
            }
            Some(_) => {
                self.error(code::KIND, span, format!("`{name}` is not a variable"), "name a variable");
                None
            }
            None => {
                self.unknown("variable", name, span, &[]);
                None
            }
        }
    }

    /// `m[i]`: the array, and an index that touches nothing shared.
    fn element(&mut self, base: &ast::Expr, index: &ast::Expr) -> Option<(crate::program::GlobalId, Expr)> {
        let global = match &base.kind {
            ExprKind::Name(name) if self.find_local(name).is_none() => match self.items.get(name).copied() {
                Some((Item::Global(global), _)) if self.globals[global.index()].length.is_some() => {
                    Some(global)
                }
                Some(_) => None,
                None => {
                    self.unknown("array", name, base.span, &[]);
                    return None;
                }
            },
            _ => None,
        };
        let Some(global) = global else {
            self.error(code::KIND, base.span, "this is not an array", "only shared arrays have elements");
            return None;
        };
        let (at, ty) = self.expr(index, Some(&Type::Int));
        self.expect(&Type::Int, &ty, index.span);
        let at = self.settled(at, &ty, index.span);
        Some((global, at))
    }

    fn base(&mut self, expr: &ast::Expr) -> Option<Base> {
        if let ExprKind::Name(name) = &expr.kind
            && self.find_local(name).is_none()
            && let Some((Item::Global(global), _)) = self.items.get(name).copied()
            && self.globals[global.index()].length.is_none()
            && let Some(record) = self.globals[global.index()].record
        {
            return Some(Base::Record(global, record));
        }
        if let ExprKind::Index(array, index) = &expr.kind
            && let ExprKind::Name(name) = &array.kind
            && let Some((Item::Global(global), _)) = self.items.get(name).copied()
            && let Some(record) = self.globals[global.index()].record
        {
            let (global, at) = self.element(array, index)?;
            return Some(Base::Element(global, at, record));
        }
        let (pointer, ty) = self.expr(expr, None);
        match &ty {
            Ty::Known(Type::Pointer(record)) => {
                let record = *record;
                let pointer = self.settled(pointer, &ty, expr.span);
                Some(Base::Pointer(pointer, record))
            }
            Ty::Error => None,
            Ty::Null => {
                self.error(
                    code::UNTYPED,
                    expr.span,
                    "it is not known yet what this points to",
                    "declare it with its type: `var x: *Node = null`",
                );
                None
            }
            other => {
                let found = self.show(other);
                self.error(
                    code::TYPE,
                    expr.span,
                    format!("{found} has no fields"),
                    "only pointers to records, and records, have fields",
                );
                None
            }
        }
    }

    pub(super) fn field(&mut self, record: RecordId, field: &Name) -> Option<(u16, Slot)> {
        let found = self.records[record.index()].fields.iter().position(|slot| slot.name == field.text);
        match found {
            Some(index) => Some((index as u16, self.records[record.index()].fields[index].clone())),
            None => {
                let name = self.records[record.index()].name.clone();
                let known: Vec<String> =
                    self.records[record.index()].fields.iter().map(|slot| slot.name.clone()).collect();
                let near = near::did_you_mean(&field.text, known.iter().map(String::as_str));
                let help =
                    if near.is_empty() { format!("it has {}", self.field_names(record)) } else { near };
                self.error(
                    code::UNKNOWN,
                    field.span,
                    format!("`{name}` has no field `{}`", field.text),
                    help,
                );
                None
            }
        }
    }

    fn field_names(&self, record: RecordId) -> String {
        let names: Vec<String> =
            self.records[record.index()].fields.iter().map(|slot| format!("`{}`", slot.name)).collect();
        names.join(", ")
    }

    /// The same value with no shared read left in it: outside an atomic step, it is read by a step of its own
    /// first.
    pub(super) fn settled(&mut self, expr: Expr, ty: &Ty, span: Span) -> Expr {
        self.settled_before(expr, ty, span, false)
    }

    /// The same with what comes after it in mind: inside an atomic step a read may wait until all of the
    /// expression is looked at, unless something is done first (`acts`).
    pub(super) fn settled_before(&mut self, expr: Expr, ty: &Ty, span: Span, acts: bool) -> Expr {
        let may_wait = self.pure || self.atomic > 0 && !acts;
        if may_wait || expr.shared_reads() == 0 {
            return expr;
        }
        let ty = match ty {
            Ty::Known(ty) => Some(ty.clone()),
            _ => None,
        };
        let local = self.temporary(ty, span);
        self.step(vec![Action::Assign(Place::Local(local), expr)], span);
        Expr::Read(Place::Local(local))
    }

    /// The same place, named without a shared read if something is done before it is touched.
    pub(super) fn settled_place(&mut self, place: Place, span: Span, acts: bool) -> Place {
        match place {
            Place::Local(_) | Place::Global(..) => place,
            Place::Element(global, at, slot) => {
                let at = self.settled_before(*at, &Ty::Known(Type::Int), span, acts);
                Place::Element(global, Box::new(at), slot)
            }
            Place::Field(pointer, record, slot) => {
                let ty = Ty::Known(Type::Pointer(record));
                let pointer = self.settled_before(*pointer, &ty, span, acts);
                Place::Field(Box::new(pointer), record, slot)
            }
        }
    }

    /// The value of a place, checked for ghosts.
    pub(super) fn read(&mut self, found: Found, span: Span) -> (Expr, Ty) {
        if found.ghost && !self.ghost && !self.pure {
            self.error(
                code::GHOST,
                span,
                "the program reads a ghost",
                "ghosts are for proofs only: read it in an annotation, in `@ghost { … }`, or into another ghost",
            );
        }
        (Expr::Read(found.place), found.ty)
    }
}

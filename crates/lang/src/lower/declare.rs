//! What an object declares: records, enums, constants, sizes, shared variables.

use super::{ConstType, Item, Lowerer, Ty};
use crate::ast::{self, ExprKind, FieldDecl, Member, MemberKind, Name, TypeExpr, TypeKind};
use crate::diagnostic::{Diagnostic, code};
use crate::near;
use crate::program::{
    Enum, EnumId, Expr, Global, GlobalId, NONE, Record, RecordId, ResultType, Size, SizeId, Slot, Type,
    UNBOUNDED, Word,
};
use crate::span::Span;

/// Names that calls have already.
pub(super) const BUILTINS: &[&str] =
    &["cas", "dcas", "swap", "fetch_add", "lock", "unlock", "try_lock", "free", "some", "unwrap"];

/// Names that types have already.
const TYPES: &[&str] = &["data", "int", "bool", "thread", "lock"];

impl<'a> Lowerer<'a> {
    pub(super) fn declare(&mut self, members: &'a [Member]) {
        // Names first: records may point to one another, and code may stand before what it uses.
        for member in members {
            match &member.kind {
                MemberKind::Struct { pooled, name, .. } => {
                    let id = RecordId(self.records.len() as u16);
                    self.records.push(Record {
                        name: name.text.clone(),
                        fields: Vec::new(),
                        pooled: *pooled,
                        freed: false,
                    });
                    self.item(name, Item::Record(id));
                }
                MemberKind::Enum { name, variants } => {
                    let id = EnumId(self.enums.len() as u16);
                    let names = variants.iter().map(|v| v.text.clone()).collect();
                    self.enums.push(Enum { name: name.text.clone(), variants: names });
                    self.item(name, Item::Enum(id));
                    for (index, variant) in variants.iter().enumerate() {
                        self.item(variant, Item::Variant(id, index as Word));
                    }
                    if variants.is_empty() {
                        self.error(
                            code::TYPE,
                            name.span,
                            "an enum needs a variant",
                            "add one: `enum E { a, b }`",
                        );
                    }
                }
                MemberKind::Const { name, value } => {
                    let (value, ty) = self.constant(value).unwrap_or((0, ConstType::Int));
                    self.item(name, Item::Const(value, ty));
                }
                MemberKind::Size { name, value } => {
                    let id = SizeId(self.sizes.len() as u16);
                    let usual = match self.constant(value) {
                        Some((n, ConstType::Int)) if (0..=1000).contains(&n) => n,
                        Some(_) => {
                            self.error(code::CONSTANT, value.span, "a size is a number from 0 to 1000", "");
                            0
                        }
                        None => 0,
                    };
                    self.sizes.push(Size { name: name.text.clone(), usual });
                    self.item(name, Item::Size(id));
                }
                MemberKind::Routine(routine) => self.item(&routine.name, Item::Routine(routine)),
                _ => {}
            }
        }
        for member in members {
            if let MemberKind::Struct { name, fields, .. } = &member.kind {
                let Some((Item::Record(id), _)) = self.items.get(&name.text).copied() else { continue };
                let slots = self.fields(fields);
                self.records[id.index()].fields = slots;
            }
        }
        for member in members {
            if let MemberKind::Shared { ghost, name, ty, init } = &member.kind {
                let global = self.global(*ghost, name, ty, init.as_ref(), member.span);
                let id = GlobalId(self.globals.len() as u16);
                self.globals.push(global);
                self.item(name, Item::Global(id));
            }
        }
    }

    fn item(&mut self, name: &Name, item: Item<'a>) {
        if BUILTINS.contains(&name.text.as_str())
            && matches!(item, Item::Routine(r) if r.kind != ast::RoutineKind::Op)
        {
            self.error(code::TWICE, name.span, format!("`{}` is built in", name.text), "use another name");
        }
        if TYPES.contains(&name.text.as_str()) && matches!(item, Item::Record(_) | Item::Enum(_)) {
            self.error(
                code::TWICE,
                name.span,
                format!("`{}` is a type already", name.text),
                "use another name",
            );
        }
        if let Some((_, first)) = self.items.get(&name.text) {
            let diagnostic =
                Diagnostic::error(code::TWICE, name.span, format!("`{}` is declared twice", name.text))
                    .also(*first, "the first is here")
                    .help("give one of them another name");
            return self.complain(diagnostic);
        }
        self.items.insert(name.text.clone(), (item, name.span));
    }

    fn fields(&mut self, fields: &[FieldDecl]) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::new();
        for field in fields {
            if slots.iter().any(|slot| slot.name == field.name.text) {
                let message = format!("two fields are called `{}`", field.name.text);
                self.error(code::TWICE, field.name.span, message, "give one of them another name");
            }
            let slot = self.slot(field.ghost, &field.name, &field.ty, field.init.as_ref());
            slots.push(slot);
        }
        slots
    }

    fn slot(&mut self, ghost: bool, name: &Name, ty: &TypeExpr, init: Option<&ast::Expr>) -> Slot {
        let (ty, bounds) = self.scalar(ty);
        let init = match init {
            Some(init) => self.initial_value(init, &ty),
            None => bounds.as_ref().map_or_else(|| default_of(&ty), |(lo, _)| lo.clone()),
        };
        Slot { name: name.text.clone(), ty, bounds, ghost, init, span: name.span }
    }

    fn global(
        &mut self,
        ghost: bool,
        name: &Name,
        ty: &TypeExpr,
        init: Option<&ast::Expr>,
        span: Span,
    ) -> Global {
        let (element, length) = match &ty.kind {
            TypeKind::Array(element, length) => (&**element, Some(self.length(length))),
            TypeKind::Unbounded(element) => {
                if !ghost {
                    self.error(
                        code::TYPE,
                        ty.span,
                        "an array of the program has a length",
                        "say how many elements there are: `[T; N]`; only a `ghost` is as long as it takes",
                    );
                }
                (&**element, Some(Expr::Const(UNBOUNDED)))
            }
            _ => (ty, None),
        };
        let record = match &element.kind {
            TypeKind::Named(n) => match self.items.get(n) {
                Some((Item::Record(id), _)) => Some(*id),
                _ => None,
            },
            _ => None,
        };
        let slots = match record {
            Some(id) => {
                if let Some(init) = init {
                    self.error(
                        code::CONSTANT,
                        init.span,
                        "the fields of a record start as the record says",
                        "give the fields their values in the `struct`, or in `init { … }`",
                    );
                }
                self.records[id.index()].fields.clone()
            }
            None => vec![self.slot(ghost, name, element, init)],
        };
        Global { name: name.text.clone(), length, slots, record, ghost, span }
    }

    fn length(&mut self, length: &ast::Expr) -> Expr {
        let lowered = self.initial_value(length, &Type::Int);
        if let Expr::Const(n) = lowered
            && !(0..=1000).contains(&n)
        {
            self.error(code::CONSTANT, length.span, "an array has 0 to 1000 elements", "");
        }
        lowered
    }

    /// A type whose values fit a slot.
    pub(super) fn scalar(&mut self, ty: &TypeExpr) -> (Type, Option<(Expr, Expr)>) {
        match &ty.kind {
            TypeKind::Named(name) => (self.named_type(name, ty.span), None),
            TypeKind::Range(range) => {
                let lo = self.initial_value(&range.lo, &Type::Int);
                let mut hi = self.initial_value(&range.hi, &Type::Int);
                if !range.inclusive {
                    hi = match hi {
                        Expr::Const(n) => Expr::Const(n - 1),
                        hi => Expr::Binary(ast::BinOp::Sub, Box::new(hi), Box::new(Expr::Const(1))),
                    };
                }
                if let (Expr::Const(a), Expr::Const(b)) = (&lo, &hi)
                    && a > b
                {
                    self.error(code::TYPE, ty.span, "this range is empty", "the first number comes first");
                }
                (Type::Int, Some((lo, hi)))
            }
            TypeKind::Pointer(name) => match self.items.get(&name.text) {
                Some((Item::Record(id), _)) => (Type::Pointer(*id), None),
                _ => {
                    self.unknown("record", &name.text, name.span, &[]);
                    (Type::Int, None)
                }
            },
            TypeKind::Option(inner) => {
                let (ty, _) = self.scalar(inner);
                // A record's name instead of a pointer was told; a pointer is what is meant, and that is null
                // by itself.
                if matches!((&inner.kind, &ty), (TypeKind::Named(_), Type::Pointer(_))) {
                    return (ty, None);
                }
                (self.option(ty, inner.span), None)
            }
            TypeKind::Array(..) | TypeKind::Unbounded(_) => {
                self.error(
                    code::TYPE,
                    ty.span,
                    "only shared variables are arrays",
                    "declare it with `shared`",
                );
                (Type::Int, None)
            }
            TypeKind::Tuple(_) => {
                self.error(
                    code::TYPE,
                    ty.span,
                    "only the result of an operation has several parts",
                    "use several variables, or a record",
                );
                (Type::Int, None)
            }
        }
    }

    /// An option of a type, unless one word would then stand for two values: `none` is a single word.
    fn option(&mut self, ty: Type, span: Span) -> Type {
        let what = match ty {
            Type::Option(_) => "an option",
            Type::Lock => "a lock",
            Type::Data | Type::Int | Type::Bool | Type::Thread | Type::Enum(_) | Type::Pointer(_) => {
                return Type::Option(Box::new(ty));
            }
        };
        let help = "`none` could not be told from what is inside: use a truth value beside it, or an enum";
        self.error(code::TYPE, span, format!("an option of {what}"), help);
        Type::Option(Box::new(Type::Int))
    }

    fn named_type(&mut self, name: &str, span: Span) -> Type {
        match name {
            "data" => Type::Data,
            "int" => Type::Int,
            "bool" => Type::Bool,
            "thread" => Type::Thread,
            "lock" => Type::Lock,
            _ => match self.items.get(name) {
                Some((Item::Enum(id), _)) => Type::Enum(*id),
                Some((Item::Record(id), _)) => {
                    let id = *id;
                    let help = format!("write `*{name}` for a pointer; only shared variables are records");
                    self.error(code::TYPE, span, format!("`{name}` is a record"), help);
                    Type::Pointer(id)
                }
                _ => {
                    self.unknown("type", name, span, TYPES);
                    Type::Int
                }
            },
        }
    }

    /// The result of an operation.
    pub(super) fn result_type(&mut self, ty: Option<&TypeExpr>) -> ResultType {
        let Some(ty) = ty else { return ResultType { parts: vec![], optional: false, tuple: false } };
        let (inner, optional) = match &ty.kind {
            TypeKind::Option(inner) => (&**inner, true),
            _ => (ty, false),
        };
        let (parts, tuple) = match &inner.kind {
            TypeKind::Tuple(items) => {
                if items.len() < 2 {
                    self.error(
                        code::TYPE,
                        inner.span,
                        "a tuple of fewer than two parts",
                        "write the type without parentheses, or leave the result out",
                    );
                }
                (items.iter().map(|item| self.scalar(item).0).collect(), true)
            }
            _ => {
                let ty = self.scalar(inner).0;
                if optional {
                    self.option(ty.clone(), inner.span);
                }
                (vec![ty], false)
            }
        };
        ResultType { parts, optional, tuple }
    }

    /// The ranges of the parts of a result.
    pub(super) fn result_bounds(&mut self, ty: Option<&TypeExpr>) -> Vec<Option<(Expr, Expr)>> {
        let Some(ty) = ty else { return Vec::new() };
        let inner = match &ty.kind {
            TypeKind::Option(inner) => &**inner,
            _ => ty,
        };
        match &inner.kind {
            TypeKind::Tuple(items) => items.iter().map(|item| self.scalar(item).1).collect(),
            _ => vec![self.scalar(inner).1],
        }
    }

    /// A value that is known before the run.
    pub(super) fn initial_value(&mut self, value: &ast::Expr, ty: &Type) -> Expr {
        let (pure, ghost) = (std::mem::replace(&mut self.pure, true), self.ghost);
        let (lowered, found) = self.expr(value, Some(ty));
        (self.pure, self.ghost) = (pure, ghost);
        self.expect(ty, &found, value.span);
        let mut constant = true;
        lowered.places(&mut |_| constant = false);
        if !constant || has_me(&lowered) {
            self.error(
                code::CONSTANT,
                value.span,
                "this must be known before the run",
                "use numbers, constants and sizes; what must be computed belongs in `init { … }`",
            );
            return Expr::Const(0);
        }
        fold(lowered)
    }

    /// A number or a truth value, from numbers and constants.
    fn constant(&mut self, value: &ast::Expr) -> Option<(Word, ConstType)> {
        match &value.kind {
            ExprKind::Bool(b) => return Some((Word::from(*b), ConstType::Bool)),
            ExprKind::Name(name) => {
                if let Some((Item::Const(n, ty), _)) = self.items.get(name) {
                    return Some((*n, *ty));
                }
                let known: Vec<&str> = self.items.keys().map(String::as_str).collect();
                let help = near::did_you_mean(name, known);
                self.error(code::UNKNOWN, value.span, format!("unknown constant `{name}`"), help);
                return None;
            }
            _ => {}
        }
        match self.initial_value(value, &Type::Int) {
            Expr::Const(n) => Some((n, ConstType::Int)),
            _ => {
                self.error(code::CONSTANT, value.span, "this must be a number", "");
                None
            }
        }
    }

    /// Complains unless a value of type `found` may be put into a slot of type `wanted`.
    pub(super) fn expect(&mut self, wanted: &Type, found: &Ty, span: Span) {
        if fits(wanted, found) {
            return;
        }
        let (w, f) = (self.show_type(wanted), self.show(found));
        let help = match (wanted, found) {
            (_, Ty::Unit) => "this call has no result".to_owned(),
            (_, Ty::None) => "only an option can be `none`: write the type with `?`".to_owned(),
            (_, Ty::Null) => "only a pointer can be `null`".to_owned(),
            (inner, Ty::Known(Type::Option(o))) if **o == *inner => {
                "test it with `== none`, then take its value with `unwrap(…)`".to_owned()
            }
            (Type::Data, Ty::Known(Type::Int)) => {
                "`data` is opaque: it comes from arguments and is only compared; use `int` if numbers matter"
                    .to_owned()
            }
            (Type::Lock, _) => "locks are changed by `lock`, `unlock` and `try_lock` only".to_owned(),
            _ => format!("use a value of type {w}"),
        };
        let diagnostic = Diagnostic::error(code::TYPE, span, format!("expected {w}, found {f}"))
            .note(format!("this is {f}"))
            .help(help);
        self.complain(diagnostic);
    }
}

/// May a value of type `found` be put into a slot of type `wanted`?
pub(super) fn fits(wanted: &Type, found: &Ty) -> bool {
    match (wanted, found) {
        (_, Ty::Error) | (Type::Pointer(_), Ty::Null) | (Type::Option(_), Ty::None) => true,
        (Type::Option(inner), Ty::Null) => matches!(**inner, Type::Pointer(_)),
        (Type::Lock, _) => false,
        (wanted, Ty::Known(found)) if wanted == found => true,
        (Type::Option(inner), Ty::Known(found)) => **inner == *found,
        _ => false,
    }
}

/// What a slot starts with if nothing is said.
pub(super) fn default_of(ty: &Type) -> Expr {
    Expr::Const(match ty {
        Type::Option(_) | Type::Lock => NONE,
        _ => 0,
    })
}

fn has_me(expr: &Expr) -> bool {
    match expr {
        Expr::Me => true,
        Expr::Not(e) | Expr::Neg(e) | Expr::Unwrap(e) => has_me(e),
        Expr::Binary(_, a, b) => has_me(a) || has_me(b),
        _ => false,
    }
}

/// Numbers put together, where there are no sizes in between.
fn fold(expr: Expr) -> Expr {
    match expr {
        Expr::Neg(e) => match fold(*e) {
            Expr::Const(n) => Expr::Const(-n),
            e => Expr::Neg(Box::new(e)),
        },
        Expr::Binary(op, a, b) => match (op, fold(*a), fold(*b)) {
            (ast::BinOp::Add, Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_add(b)),
            (ast::BinOp::Sub, Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_sub(b)),
            (ast::BinOp::Mul, Expr::Const(a), Expr::Const(b)) => Expr::Const(a.saturating_mul(b)),
            (op, a, b) => Expr::Binary(op, Box::new(a), Box::new(b)),
        },
        expr => expr,
    }
}

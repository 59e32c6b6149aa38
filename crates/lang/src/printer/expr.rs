//! Expressions and types, with no more parentheses than needed.

use crate::ast::{BinOp, Expr, ExprKind, Range, TypeExpr, TypeKind};

/// An expression as text.
pub fn print_expr(expr: &Expr) -> String {
    at_level(expr, 0)
}

/// A type as text.
pub fn print_type(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Named(name) => name.clone(),
        TypeKind::Range(r) => range(r),
        TypeKind::Pointer(name) => format!("*{}", name.text),
        TypeKind::Option(inner) => format!("{}?", print_type(inner)),
        TypeKind::Unbounded(element) => format!("[{}]", print_type(element)),
        TypeKind::Array(element, length) => format!("[{}; {}]", print_type(element), print_expr(length)),
        TypeKind::Tuple(items) => format!("({})", commas(items, print_type)),
    }
}

/// `lo..hi`
pub(super) fn range(range: &Range) -> String {
    let sign = if range.inclusive { "..=" } else { ".." };
    let sum = BinOp::Add.level();
    format!("{}{sign}{}", at_level(&range.lo, sum), at_level(&range.hi, sum))
}

/// How strongly what is outermost binds; 7 is unary, 8 what a dot may follow.
fn level(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary(op, ..) => op.level(),
        ExprKind::Quantified { .. } | ExprKind::Choose(_) => 0,
        ExprKind::Not(_) | ExprKind::Neg(_) => 7,
        ExprKind::Int(n) if *n < 0 => 7,
        _ => 8,
    }
}

/// In parentheses, if it binds less than `least`.
fn at_level(expr: &Expr, least: u8) -> String {
    let text = plain(expr);
    if level(expr) < least { format!("({text})") } else { text }
}

fn plain(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Null => "null".to_owned(),
        ExprKind::None => "none".to_owned(),
        ExprKind::Me => "me".to_owned(),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Field(base, field) => format!("{}.{}", at_level(base, 8), field.text),
        ExprKind::Index(base, index) => format!("{}[{}]", at_level(base, 8), print_expr(index)),
        ExprKind::Call(name, args) => format!("{}({})", name.text, commas(args, print_expr)),
        ExprKind::New(name, fields) if fields.is_empty() => format!("new {}", name.text),
        ExprKind::New(name, fields) => {
            let fields = commas(fields, |(field, value)| format!("{}: {}", field.text, print_expr(value)));
            format!("new {} {{ {fields} }}", name.text)
        }
        ExprKind::Not(inner) => format!("!{}", at_level(inner, 7)),
        // `-3` is a number; the negation of 3 keeps its parentheses.
        ExprKind::Neg(inner) => match inner.kind {
            ExprKind::Int(n) if n >= 0 => format!("-({n})"),
            _ => format!("-{}", at_level(inner, 7)),
        },
        ExprKind::Binary(op, left, right) => {
            let (l, r) = match op {
                BinOp::Implies => (op.level() + 1, op.level()),
                // Comparisons do not chain.
                _ if op.level() == BinOp::Eq.level() => (op.level() + 1, op.level() + 1),
                _ => (op.level(), op.level() + 1),
            };
            format!("{} {} {}", at_level(left, l), op.sign(), at_level(right, r))
        }
        ExprKind::Quantified { all, var, range: over, body } => {
            let word = if *all { "all" } else { "any" };
            format!("{word} {} in {}: {}", var.text, range(over), print_expr(body))
        }
        ExprKind::Tuple(items) => format!("({})", commas(items, print_expr)),
        ExprKind::Choose(over) => format!("choose {}", range(over)),
    }
}

pub(super) fn commas<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Is there a `new` without fields in it?
pub(super) fn has_bare_new(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::New(_, fields) => fields.is_empty(),
        ExprKind::Not(e) | ExprKind::Neg(e) | ExprKind::Field(e, _) => has_bare_new(e),
        ExprKind::Binary(_, a, b) | ExprKind::Index(a, b) => has_bare_new(a) || has_bare_new(b),
        ExprKind::Choose(range) => has_bare_new(&range.hi),
        ExprKind::Quantified { body, .. } => has_bare_new(body),
        _ => false,
    }
}

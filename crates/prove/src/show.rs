//! Facts as a person would write them.

use linpoint_lang::Program;
use linpoint_lang::ast::BinOp;
use linpoint_lang::program::{Expr, GlobalId, LocalId, NONE, OpId, Place, Type};

use crate::world::{INPUT, RESULT};

/// An expression as a person would write it. `op` says whose locals it has.
pub fn show(program: &Program, op: Option<OpId>, e: &Expr) -> String {
    let name = |id: LocalId| {
        let known = op.and_then(|op| program.operation(op).locals.get(id.index()));
        match known {
            Some(slot) if !slot.name.is_empty() => slot.name.clone(),
            _ if id.0 >= RESULT => "result".into(),
            _ if id.0 >= INPUT => format!("{} at the call", input(program, op, id.0 - INPUT)),
            Some(_) => format!("v{}", id.0),
            None => "n".into(),
        }
    };
    let place = |place: &Place| match place {
        Place::Local(id) => name(*id),
        Place::Global(global, slot) => field(program, *global, String::new(), *slot),
        Place::Element(global, index, slot) => {
            field(program, *global, format!("[{}]", show(program, op, index)), *slot)
        }
        Place::Field(pointer, record, slot) => {
            format!(
                "{}.{}",
                show(program, op, pointer),
                program.records[record.index()].fields[usize::from(*slot)].name
            )
        }
    };
    match e {
        Expr::Const(NONE) => "none".into(),
        Expr::Const(word) => word.to_string(),
        Expr::Size(size) => program.sizes[size.index()].name.clone(),
        Expr::Me => "me".into(),
        Expr::Read(read) => place(read),
        Expr::Not(e) if matches!(**e, Expr::Binary(..)) => format!("!({})", show(program, op, e)),
        Expr::Not(e) => format!("!{}", wrapped(program, op, e)),
        Expr::Neg(e) => format!("-{}", wrapped(program, op, e)),
        Expr::Binary(operator, a, b) => {
            let b = match (&**b, shown_type(program, op, a)) {
                (Expr::Const(word), Some(Type::Enum(id))) if *word >= 0 => {
                    program.enums[id.index()].variants.get(*word as usize).cloned().unwrap_or_default()
                }
                (Expr::Const(0), Some(Type::Pointer(_))) => "null".into(),
                (Expr::Const(word @ (0 | 1)), Some(Type::Bool)) => (*word != 0).to_string(),
                _ => wrapped(program, op, b),
            };
            format!("{} {} {b}", wrapped(program, op, a), operator.sign())
        }
        Expr::Quantified { all, local, lo, hi, body } => format!(
            "{} {} in {}..{}: {}",
            if *all { "all" } else { "any" },
            name(*local),
            show(program, op, lo),
            show(program, op, hi),
            show(program, op, body)
        ),
        Expr::Unwrap(e) => format!("unwrap({})", show(program, op, e)),
        Expr::Term(number) => format!("term {number}"),
    }
}

/// The name of a parameter.
fn input(program: &Program, op: Option<OpId>, number: u16) -> &str {
    let found = op.and_then(|op| program.operation(op).locals.get(usize::from(number)));
    found.map_or("what was given", |slot| &slot.name)
}

fn field(program: &Program, global: GlobalId, index: String, slot: u16) -> String {
    let global = &program.globals[global.index()];
    match global.record {
        Some(_) => format!("{}{index}.{}", global.name, global.slots[usize::from(slot)].name),
        None => format!("{}{index}", global.name),
    }
}

fn wrapped(program: &Program, op: Option<OpId>, e: &Expr) -> String {
    match e {
        Expr::Binary(BinOp::And | BinOp::Or | BinOp::Implies, ..) | Expr::Quantified { .. } => {
            format!("({})", show(program, op, e))
        }
        _ => show(program, op, e),
    }
}

fn shown_type<'p>(program: &'p Program, op: Option<OpId>, e: &Expr) -> Option<&'p Type> {
    match e {
        Expr::Read(place @ (Place::Global(..) | Place::Element(..) | Place::Field(..))) => {
            program.slot(op.unwrap_or(OpId(0)), place).map(|slot| &slot.ty)
        }
        Expr::Read(place) => program.slot(op?, place).map(|slot| &slot.ty),
        _ => None,
    }
}

//! The structure of the initial state: the program's own initial code is run, and what it leaves is
//! abstracted.

use linpoint_lang::interp::Machine;
use linpoint_lang::program::{Expr, Place, Type};

use crate::layout::{Layout, Object, Scalar, class};
use crate::structure::{Node, Structure, Thread};

/// The initial structure with so many threads at rest; or why there is none.
pub fn initial(layout: &Layout<'_>, threads: usize) -> Result<Structure, String> {
    let program = layout.program;
    let machine = Machine::new(program, 1);
    let state = machine.initial().map_err(|error| format!("the initial code fails: {error}"))?;
    let mut s = Structure {
        threads: vec![Thread::AT_REST; threads],
        globals: 0,
        nodes: vec![Node { mask: 0, row: 0, other: 0, many: false }],
    };
    for cell in 0..machine.cells(&state) {
        let (record, _, fields) = machine.cell(&state, cell);
        let mut node = Node { mask: layout.record_kind[record], row: 1, other: 0, many: false };
        for (field, word) in fields.iter().enumerate() {
            if layout.is_link(record, field as u16) {
                node.row = 1_u32.checked_shl(*word as u32).ok_or("the initial state has too many records")?;
            }
            if let Some(bit) = layout.bool_bit[record][field].filter(|_| *word != 0) {
                node.mask |= bit;
            }
            if program.records[record].fields[field].ty == Type::Lock && *word != linpoint_lang::program::NONE
            {
                return Err("a lock is held in the initial state".into());
            }
        }
        s.nodes.push(node);
    }
    if s.nodes.len() > crate::structure::MOST_NODES {
        return Err("the initial state has too many records".into());
    }
    let slots = machine.shared_slots();
    for (index, global) in program.globals.iter().enumerate() {
        let Some((at, _)) = slots.iter().find(|(_, slot)| std::ptr::eq(*slot, &global.slots[0])) else {
            continue;
        };
        let word = machine.shared(&state)[*at];
        if let Some(bit) = layout.global_bit[index] {
            s.nodes[word as usize].mask |= 1 << bit;
        }
        match layout.global_scalar[index] {
            Some((shift, Scalar::Bool)) => s.globals |= (1 + u64::from(word != 0)) << shift,
            Some((_, Scalar::Lock)) if word != linpoint_lang::program::NONE => {
                return Err("a lock is held in the initial state".into());
            }
            _ => {}
        }
    }
    match layout.object {
        Object::Stack => empty_stack(layout, &mut s)?,
        Object::Queue => empty_queue(layout, &mut s)?,
        Object::Set => empty_list(layout, &mut s)?,
    }
    s.canon(layout).map_err(|_| "the initial state is contradictory".to_owned())?;
    Ok(s)
}

fn empty_stack(layout: &Layout<'_>, s: &mut Structure) -> Result<(), String> {
    if s.nodes.len() > 1 {
        return Err("a stack that starts with records has no reference here".into());
    }
    s.nodes[0].mask |= 1 << layout.first;
    Ok(())
}

/// One dummy, which is the reference's dummy too.
fn empty_queue(layout: &Layout<'_>, s: &mut Structure) -> Result<(), String> {
    if s.nodes.len() != 2 || s.nodes[1].row != 1 {
        return Err("a queue that does not start with one dummy record has no reference here".into());
    }
    s.nodes[1].mask |= 1 << layout.first | 1 << layout.second;
    Ok(())
}

/// Two records: the least key and the greatest.
fn empty_list(layout: &Layout<'_>, s: &mut Structure) -> Result<(), String> {
    let odd = || {
        Err("a set that does not start with a record of the least and one of the greatest key has no reference here".to_owned())
    };
    let (Some(head), Some((record, key))) =
        (layout.head.and_then(|head| layout.global_bit[head]), layout.key)
    else {
        return odd();
    };
    let Some(first) = s.named(1 << head) else { return odd() };
    if s.nodes.len() != 3 || first == 0 || !s.nodes[first].row.is_power_of_two() {
        return odd();
    }
    let last = s.nodes[first].row.trailing_zeros() as usize;
    if last == 0 || last == first || s.nodes[last].row != 1 {
        return odd();
    }
    // Which keys they have is known from the code, for every size; the run has only one.
    let keys = initial_keys(layout, record, key);
    if !matches!(keys.as_slice(), [a, b] if a.min(b) == &class::MIN && a.max(b) == &class::MAX) {
        return odd();
    }
    let machine = Machine::new(layout.program, 1);
    let state = machine.initial().map_err(|error| error.to_string())?;
    let word = |node: usize| machine.cell(&state, node - 1).2[usize::from(key)];
    if word(first) >= word(last) {
        return odd();
    }
    s.nodes[first].mask =
        layout.with_class(s.nodes[first].mask, class::MIN) | layout.listed | 1 << layout.first;
    s.nodes[last].mask = layout.with_class(s.nodes[last].mask, class::MAX) | layout.listed;
    s.nodes[0].mask |= 1 << layout.second;
    Ok(())
}

/// The classes of the keys that the initial code gives, one a `new`.
fn initial_keys(layout: &Layout<'_>, record: usize, key: u16) -> Vec<u8> {
    use linpoint_lang::program::Action;
    let program = layout.program;
    let operations = program.operations.len();
    let mut keys = Vec::new();
    for node in program.nodes.iter().filter(|node| node.op.index() >= operations) {
        for action in node.edges.iter().flat_map(|edge| &edge.actions) {
            match action {
                Action::New { record: r, fields, .. } if r.index() == record => {
                    let given: Option<&Expr> = fields.iter().find(|(field, _)| *field == key).map(|(_, e)| e);
                    let default = &program.records[record].fields[usize::from(key)].init;
                    keys.push(layout.class_of_constant(given.unwrap_or(default)));
                }
                // A key that is changed afterwards is not known.
                Action::Assign(Place::Field(_, r, field), _) if (r.index(), *field) == (record, key) => {
                    keys.push(class::ANY)
                }
                _ => {}
            }
        }
    }
    keys
}

//! Memory as text: shared variables, and the records that can be reached from them, as nodes and pointers.
//! What changed since the step before has a star.
//!
//! A pointer is an arrow to a node, which is drawn where it is met first: `top → #2[val 2] → #1[val 1] →
//! null`. A kind of record with several pointers has them inside: `#1[val 1, left → #2, right null]`. Where
//! there are many variables, only those that changed are shown.

use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{NONE, Program, Slot, Type, UNSET, Word};

/// With more variables than this, those that did not change are left out.
const MANY: usize = 6;

/// All of it, in one line.
pub fn memory(machine: &Machine<'_>, state: &State, before: Option<&State>) -> String {
    let mut drawing =
        Drawing { machine, state, before, drawn: vec![false; machine.cells(state)], open: Vec::new() };
    let mut parts = Vec::new();
    let slots = machine.shared_slots();
    let many = before.is_some() && slots.iter().filter(|(_, slot)| !slot.ghost).count() > MANY;
    for ((at, slot), name) in slots.into_iter().zip(names(machine)) {
        let changed = before.is_some_and(|before| before.words[at] != state.words[at]);
        let left_out = many && !changed && cell_of(slot, state.words[at]).is_none();
        if slot.ghost || left_out {
            continue;
        }
        parts.push(format!("{name}{} {}", star(changed), drawing.value(slot, state.words[at])));
    }
    while let Some(cell) = drawing.open.pop() {
        if !drawing.drawn[cell] {
            parts.push(drawing.node(cell));
        }
    }
    parts.join("  ")
}

fn star(changed: bool) -> &'static str {
    if changed { "*" } else { "" }
}

/// The names of shared slots, as a program writes them.
pub fn names(machine: &Machine<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for global in &machine.program.globals {
        let elements = global.length.as_ref().map_or(1, |length| machine.constant(length).max(0));
        for element in 0..elements {
            for slot in &global.slots {
                let index = if global.length.is_some() { format!("[{element}]") } else { String::new() };
                let field = if global.record.is_some() { format!(".{}", slot.name) } else { String::new() };
                names.push(format!("{}{index}{field}", global.name));
            }
        }
    }
    names
}

struct Drawing<'d, 'p> {
    machine: &'d Machine<'p>,
    state: &'d State,
    before: Option<&'d State>,
    drawn: Vec<bool>,
    /// Nodes that are pointed to and not drawn.
    open: Vec<usize>,
}

impl Drawing<'_, '_> {
    fn value(&mut self, slot: &Slot, value: Word) -> String {
        match cell_of(slot, value) {
            Some(cell) if !self.drawn[cell] => format!("→ {}", self.node(cell)),
            Some(cell) => format!("→ #{}", cell + 1),
            None => word(self.machine.program, &slot.ty, value),
        }
    }

    /// A node, and what comes after it where one pointer leads on.
    fn node(&mut self, cell: usize) -> String {
        self.drawn[cell] = true;
        let (record, freed, fields) = self.machine.cell(self.state, cell);
        let old = self.before.filter(|before| cell < self.machine.cells(before));
        let changed = self.before.is_some()
            && old.is_none_or(|old| self.machine.cell(old, cell) != (record, freed, fields));
        let slots = &self.machine.program.records[record].fields;
        let pointers: Vec<usize> = (0..slots.len()).filter(|&i| is_pointer(&slots[i].ty)).collect();
        let mut inside = Vec::new();
        for (index, (slot, value)) in slots.iter().zip(fields).enumerate() {
            let follows = pointers.len() == 1 && pointers[0] == index;
            if slot.ghost || follows {
                continue;
            }
            let shown = match cell_of(slot, *value) {
                // Drawn on its own.
                Some(cell) => {
                    self.open.push(cell);
                    format!("→ #{}", cell + 1)
                }
                None => word(self.machine.program, &slot.ty, *value),
            };
            inside.push(format!("{} {shown}", slot.name));
        }
        let freed = if freed { " freed" } else { "" };
        let mut node = format!("#{}{}{freed}[{}]", cell + 1, star(changed), inside.join(", "));
        if let [pointer] = pointers[..] {
            let value = fields[pointer];
            match cell_of(&slots[pointer], value) {
                Some(next) if !self.drawn[next] => node.push_str(&format!(" → {}", self.node(next))),
                Some(next) => node.push_str(&format!(" → #{}", next + 1)),
                None => {
                    node.push_str(&format!(" → {}", word(self.machine.program, &slots[pointer].ty, value)))
                }
            }
        }
        node
    }
}

fn is_pointer(ty: &Type) -> bool {
    match ty {
        Type::Pointer(_) => true,
        Type::Option(inner) => is_pointer(inner),
        _ => false,
    }
}

/// The cell that a value points to.
pub fn cell_of(slot: &Slot, value: Word) -> Option<usize> {
    (is_pointer(&slot.ty) && value > 0).then(|| value as usize - 1)
}

/// A word as a program writes it.
pub fn word(program: &Program, ty: &Type, word: Word) -> String {
    match ty {
        Type::Lock if word == NONE => "free".into(),
        _ if word == NONE => "none".into(),
        _ if word == UNSET => "unset".into(),
        Type::Lock | Type::Thread => format!("thread {word}"),
        Type::Bool => (word != 0).to_string(),
        Type::Enum(id) => program.enums[id.index()].variants.get(word as usize).cloned().unwrap_or_default(),
        Type::Pointer(_) if word == 0 => "null".into(),
        Type::Pointer(_) => format!("→ #{word}"),
        Type::Option(inner) => self::word(program, inner, word),
        _ => word.to_string(),
    }
}

//! A state of the interpreter as view data: shared variables, locals of running threads, and the records they
//! lead to.

use linpoint_lang::interp::{Machine, State};
use linpoint_lang::program::{Slot, UNSET, Word};
use linpoint_report::view::{Memory, Node, Variable};

use crate::explore::memory::{cell_of, names, word};

/// The memory of a state. A local's name has its thread after a dot: `t·1`.
pub fn memory(machine: &Machine<'_>, state: &State) -> Memory {
    let mut drawing = Drawing { machine, open: Vec::new() };
    let mut variables = Vec::new();
    for ((at, slot), name) in machine.shared_slots().into_iter().zip(names(machine)) {
        if !slot.ghost {
            variables.push(drawing.variable(name, slot, state.words[at]));
        }
    }
    for thread in 0..machine.threads {
        let Some(pc) = machine.pc(state, thread) else { continue };
        let operation = machine.program.operation(machine.program.node(pc).op);
        for (local, slot) in operation.locals.iter().enumerate() {
            let value = machine.local(state, thread, local);
            if !slot.name.is_empty() && !slot.ghost && value != UNSET {
                variables.push(drawing.variable(format!("{}·{thread}", slot.name), slot, value));
            }
        }
    }
    let mut nodes = Vec::new();
    let mut drawn = vec![false; machine.cells(state)];
    let mut next = 0;
    while let Some(&cell) = drawing.open.get(next) {
        next += 1;
        if cell >= drawn.len() || std::mem::replace(&mut drawn[cell], true) {
            continue;
        }
        let (record, freed, values) = machine.cell(state, cell);
        let kind = &machine.program.records[record];
        let fields = kind.fields.iter().zip(values).filter(|(slot, _)| !slot.ghost);
        let fields = fields.map(|(slot, value)| drawing.variable(slot.name.clone(), slot, *value)).collect();
        nodes.push(Node { id: cell + 1, kind: kind.name.clone(), fields, freed });
    }
    nodes.sort_by_key(|node| node.id);
    Memory { variables, nodes }
}

struct Drawing<'d, 'p> {
    machine: &'d Machine<'p>,
    /// Cells that are pointed to.
    open: Vec<usize>,
}

impl Drawing<'_, '_> {
    fn variable(&mut self, name: String, slot: &Slot, value: Word) -> Variable {
        let to = cell_of(slot, value);
        self.open.extend(to);
        let shown = match to {
            Some(cell) => format!("#{}", cell + 1),
            None => word(self.machine.program, &slot.ty, value),
        };
        Variable { name, value: shown, to: to.map(|cell| cell + 1) }
    }
}

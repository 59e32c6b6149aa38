//! Sets to which a value is added once: what looks for the value and finds it comes between its addition and
//! its removal.
//!
//! So the removal may not come while something is missing that found the value, nor the addition while
//! something is missing that did not find it and precedes the removal, by stamps or in a process; or that did
//! not find it at all, where there is no removal.

use linpoint_history::specs::codes;
use linpoint_history::{Builtin, Kind, Operation, Symbols, Value, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's text.
pub(super) struct Members {
    /// The group of each row: its object and value.
    group: Vec<u32>,
    groups: Vec<Group>,
    done: Vec<bool>,
}

#[derive(Clone, Default)]
struct Group {
    additions: u32,
    removals: u32,
    removal: u32,
    /// Missing operations that found the value.
    found: u32,
    /// Operations that did not.
    missed: Vec<u32>,
    is_odd: bool,
}

impl Group {
    fn is_usable(&self) -> bool {
        self.additions == 1 && self.removals <= 1 && !self.is_odd
    }
}

/// What an operation means for its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Adds,
    Removes,
    Finds,
    Misses,
    Nothing,
    Odd,
}

impl Members {
    /// What is known of a history of sets; nothing for other objects.
    pub(super) fn new(
        spec: &Builtin,
        symbols: &Symbols,
        rows: &[Operation],
        object: &[u32],
    ) -> Option<Members> {
        let is_plain = spec.capacity.is_none() && !spec.spurious;
        if !is_plain || !matches!(spec.kind, Kind::Set | Kind::Multiset | Kind::List) {
            return None;
        }
        let initial: FxHashSet<ValueId> = match &spec.initial {
            Value::List(items) => items.iter().filter_map(|item| symbols.find(item)).collect(),
            _ => FxHashSet::default(),
        };
        let mut known: FxHashMap<(u32, ValueId), u32> = FxHashMap::default();
        let mut members = Members { group: Vec::new(), groups: Vec::new(), done: vec![false; rows.len()] };
        for (index, (row, &object)) in rows.iter().zip(object).enumerate() {
            let group = *known.entry((object, row.arg)).or_insert_with(|| {
                let is_odd = initial.contains(&row.arg);
                members.groups.push(Group { is_odd, ..Group::default() });
                members.groups.len() as u32 - 1
            });
            members.group.push(group);
            let group = &mut members.groups[group as usize];
            match role(spec.kind, row) {
                Role::Adds => group.additions += 1,
                Role::Removes => (group.removals, group.removal) = (group.removals + 1, index as u32),
                Role::Finds => group.found += 1,
                Role::Misses => group.missed.push(index as u32),
                Role::Nothing => {}
                Role::Odd => group.is_odd = true,
            }
        }
        // A pair goes into two groups at once.
        if rows.iter().any(|row| row.op() == codes::set::INSERT_PAIR) {
            return None;
        }
        Some(members)
    }

    /// May this operation come next?
    pub(super) fn admits(&self, kind: Kind, rows: &[Operation], row: u32) -> bool {
        let group = &self.groups[self.group[row as usize] as usize];
        if !group.is_usable() {
            return true;
        }
        match role(kind, &rows[row as usize]) {
            Role::Removes => group.found == 0,
            Role::Adds => !group.missed.iter().any(|&other| {
                let (other_row, removal) = (&rows[other as usize], &rows[group.removal as usize]);
                let same = other_row.process() == removal.process() && other < group.removal;
                !self.done[other as usize] && (group.removals == 0 || other_row.ret < removal.call || same)
            }),
            Role::Finds | Role::Misses | Role::Nothing | Role::Odd => true,
        }
    }

    /// An operation takes effect, or is taken back.
    pub(super) fn note(&mut self, kind: Kind, rows: &[Operation], row: u32, is_done: bool) {
        self.done[row as usize] = is_done;
        let group = &mut self.groups[self.group[row as usize] as usize];
        if role(kind, &rows[row as usize]) == Role::Finds {
            group.found = if is_done { group.found.saturating_sub(1) } else { group.found + 1 };
        }
    }
}

fn role(kind: Kind, op: &Operation) -> Role {
    let answered = op.result == ValueId::TRUE;
    match op.op() {
        codes::set::CONTAINS if op.is_pending() => Role::Nothing,
        codes::set::CONTAINS => {
            if answered {
                Role::Finds
            } else {
                Role::Misses
            }
        }
        codes::set::ADD if op.is_pending() || kind != Kind::Set || answered => Role::Adds,
        codes::set::ADD => Role::Finds,
        codes::set::REMOVE if op.is_pending() => Role::Odd,
        codes::set::REMOVE => {
            if answered {
                Role::Removes
            } else {
                Role::Misses
            }
        }
        _ => Role::Odd,
    }
}

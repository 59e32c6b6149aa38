//! What the ends of a history tell about its beginning: elements of a queue or a stack leave in an order that
//! is known, up to overlaps, and so it is known in which order they must have come.
//!
//! A search that goes forward notices only when an element leaves that it went in at the wrong place, and by
//! then all that happened in between would have to be tried again. Given which removal takes what which
//! insertion put in, a wrong place is noticed at once:
//!
//! - *Queue.* b may not go in while some a is still to go in whose removal returned before the removal of b
//!   was called: a would stand behind b and leave before it.
//! - *Stack.* b may not go on top of some a whose removal returned before the removal of b was called.
//!
//! What nobody removes leaves after everything else. What is ruled out so has no continuation, as long as the
//! matching is the one there is.

use linpoint_history::Kind;

use super::links::Calls;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Foresight {
    kind: Kind,
    roles: Vec<Role>,
    /// Of a queue: the insertions still to come that somebody removes, by the return of their removal.
    to_come: Calls,
    /// Of a stack: what is inside, each with the first return of a removal of it and of all below.
    inside: Vec<(u32, u32)>,
    /// Of a stack: what was removed, to be put back.
    removed: Vec<Option<(u32, u32)>>,
}

/// What an operation does to the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It puts something in, which is removed by nobody, or by an operation called after `from` returns that
    /// returns as number `to`.
    Inserts {
        /// The first gap of the removal; `u32::MAX`: nobody removes it.
        from: u32,
        /// The return of the removal; `u32::MAX`: it never returns, or there is none.
        to: u32,
    },
    /// It takes something out.
    Removes,
    /// It leaves everything as it is.
    Looks,
}

impl Foresight {
    /// From the roles of all operations of a queue or a stack, by number.
    pub fn new(kind: Kind, roles: Vec<Role>) -> Foresight {
        let to = |op: &u32| match roles[*op as usize] {
            Role::Inserts { from, to } if from != u32::MAX => Some(to),
            _ => None,
        };
        let mut removed: Vec<u32> = (0..roles.len() as u32).filter(|op| to(op).is_some()).collect();
        removed.sort_by_key(to);
        let to_come = Calls::in_order(roles.len() as u32, &removed);
        Foresight { kind, roles, to_come, inside: Vec::new(), removed: Vec::new() }
    }

    /// May this operation come next?
    pub(crate) fn admits(&self, op: u32) -> bool {
        let Role::Inserts { from, .. } = self.roles[op as usize] else { return true };
        match self.kind {
            Kind::Queue => self.to_come.first().is_none_or(|first| {
                first == op || !matches!(self.roles[first as usize], Role::Inserts { to, .. } if to < from)
            }),
            _ => self.inside.last().is_none_or(|&(_, to)| to >= from),
        }
    }

    /// An operation takes effect.
    pub(crate) fn done(&mut self, op: u32) {
        match (self.kind, self.roles[op as usize]) {
            (_, Role::Looks) | (Kind::Queue, Role::Removes) => {}
            (Kind::Queue, Role::Inserts { from, .. }) => {
                if from != u32::MAX {
                    self.to_come.remove(op);
                }
            }
            (_, Role::Inserts { to, .. }) => {
                let least = self.inside.last().map_or(to, |below| below.1.min(to));
                self.inside.push((op, least));
            }
            // What was there at first is not listed.
            (_, Role::Removes) => self.removed.push(self.inside.pop()),
        }
    }

    /// The last operation that took effect is taken back.
    pub(crate) fn undone(&mut self, op: u32) {
        match (self.kind, self.roles[op as usize]) {
            (_, Role::Looks) | (Kind::Queue, Role::Removes) => {}
            (Kind::Queue, Role::Inserts { from, .. }) => {
                if from != u32::MAX {
                    self.to_come.put_back(op);
                }
            }
            (_, Role::Inserts { .. }) => drop(self.inside.pop()),
            (_, Role::Removes) => self.inside.extend(self.removed.pop().flatten()),
        }
    }
}

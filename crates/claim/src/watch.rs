//! Which terms watch which variable.
//!
//! A list of watches a variable, threaded through one vector, so that an access finds exactly the terms it
//! may concern, a determined term leaves all its lists in constant time each, and no memory is asked for once
//! the vector has grown.

use rustc_hash::FxHashMap;

use crate::VarId;

pub(crate) const NONE: u32 = u32::MAX;

/// What an access to a watched variable means to the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The term asks for the value of the variable.
    Value,
    /// The variable occurs in the term's condition, in this place.
    Condition(u32),
    /// Both. One watch, because a write that makes the condition true is not itself before that.
    Both(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub claim: u32,
    pub term: u32,
    pub role: Role,
    variable: VarId,
    previous: u32,
    /// The next watch of the same variable.
    pub next: u32,
    /// The next watch of the same term; of a free place, the next free one.
    sibling: u32,
}

#[derive(Default)]
pub(crate) struct Watches {
    heads: FxHashMap<VarId, u32>,
    nodes: Vec<Watch>,
    /// First free place, plus one.
    free: u32,
}

impl Watches {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The first watch of a variable, or [`NONE`].
    #[inline]
    pub fn head(&self, variable: VarId) -> u32 {
        self.heads.get(&variable).copied().unwrap_or(NONE)
    }

    #[inline]
    pub fn get(&self, watch: u32) -> Watch {
        self.nodes[watch as usize]
    }

    /// Adds a watch in front of the term's chain that begins at `sibling`; returns the new beginning.
    pub fn add(&mut self, variable: VarId, claim: u32, term: u32, role: Role, sibling: u32) -> u32 {
        let next = self.head(variable);
        let node = Watch { claim, term, role, variable, previous: NONE, next, sibling };
        let place = if self.free == 0 {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        } else {
            let place = self.free - 1;
            self.free = self.nodes[place as usize].sibling;
            self.nodes[place as usize] = node;
            place
        };
        if next != NONE {
            self.nodes[next as usize].previous = place;
        }
        self.heads.insert(variable, place);
        place
    }

    /// Removes all watches of a term's chain.
    pub fn remove_chain(&mut self, mut watch: u32) {
        while watch != NONE {
            let Watch { variable, previous, next, sibling, .. } = self.nodes[watch as usize];
            if next != NONE {
                self.nodes[next as usize].previous = previous;
            }
            if previous != NONE {
                self.nodes[previous as usize].next = next;
            } else if next != NONE {
                self.heads.insert(variable, next);
            } else {
                self.heads.remove(&variable);
            }
            self.nodes[watch as usize].sibling = self.free;
            self.free = watch + 1;
            watch = sibling;
        }
    }

    pub fn clear(&mut self) {
        self.heads.clear();
        self.nodes.clear();
        self.free = 0;
    }
}

//! An abstract state: nodes with masks and rows of possible targets, and what threads are at.
//!
//! # Meaning
//!
//! A structure stands for every concrete state in which each record that somebody can reach is mapped to a
//! node such that
//! - node 0 stands for `null`;
//! - a record's mask is exactly its node's: the variables that point to it, and its kind;
//! - a node with a name (a pointer's bit) stands for exactly one record (node 0 aside), one without for
//!   **zero or more**;
//! - the link of a record leads to a record (or `null`) whose node is in the `row` of its own node; its link
//!   in the reference to one in `other` if the node is nonuniform, and to the same record as its own link if
//!   it is neither nonuniform nor uncorrelated.
//!
//! A row is the set of possible targets. Links are functions, so "certainly" is a row with one bit. In
//! [`Structure::canon`] nodes that no name leads to are dropped (garbage collection), nodes without names and
//! with equal masks become one, and nodes are sorted by mask. At most one nameless node a kind is left, so
//! there are finitely many structures.

use crate::layout::{Layout, LocalBit, Mask};

/// More nodes than this do not fit a row.
pub const MOST_NODES: usize = 32;

/// The place of a thread that runs no operation.
pub const IDLE: u16 = u16::MAX;

/// The place of a thread that stands for any: see `interference`.
pub const PROBE: u16 = u16::MAX - 1;

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// Names and kind.
    pub mask: Mask,
    /// Where its link may lead.
    pub row: u32,
    /// Where its link in the reference may lead, if the node is nonuniform.
    pub other: u32,
    /// Does it stand for any number of records?
    pub many: bool,
}

/// Where an operation stands with the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// It took no effect yet.
    Open,
    /// It took effect, and gives nothing back.
    Done,
    /// It took effect; the answer is the value of the node with the answer's bit.
    Gave,
    /// It took effect and found nothing.
    Empty,
    /// It took effect with true.
    True,
    /// It took effect with false.
    False,
}

/// An answer without effect that was right at some moment since the call: "empty", or "it is in it".
pub const SEEN_FIRST: u8 = 1;
/// The same: "it is not in it".
pub const SEEN_SECOND: u8 = 2;
/// The operation is about the tracked key.
pub const TRACKED: u8 = 4;
/// Noted by a probe: the offer of the thread was taken.
pub const TAKEN: u8 = 8;
/// Noted by a probe: the first version grew; further ones have the bits above.
pub const GROWN: u8 = 16;

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread {
    /// Where it is.
    pub pc: u16,
    /// Where its operation stands.
    pub effect: Effect,
    /// What was right since its call.
    pub seen: u8,
    /// Truth values and classes of keys.
    pub scalars: u64,
}

impl Thread {
    /// One that runs no operation.
    pub const AT_REST: Thread = Thread { pc: IDLE, effect: Effect::Open, seen: 0, scalars: 0 };
}

/// An abstract state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Structure {
    /// The threads shown.
    pub threads: Vec<Thread>,
    /// Shared scalars.
    pub globals: u64,
    /// The nodes; the first is `null`.
    pub nodes: Vec<Node>,
}

/// A structure that stands for no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

impl Structure {
    /// The node with a name.
    pub fn named(&self, bit: Mask) -> Option<usize> {
        self.nodes.iter().position(|node| node.mask & bit != 0)
    }

    /// Becomes what another is, in the room that it has.
    pub(crate) fn copy(&mut self, other: &Structure) {
        self.threads.clone_from(&other.threads);
        self.nodes.clone_from(&other.nodes);
        self.globals = other.globals;
    }

    /// Moves a name; it may have been nowhere.
    pub fn move_name(&mut self, bit: Mask, to: usize) {
        self.clear(bit);
        self.nodes[to].mask |= bit;
    }

    /// Takes bits off every node.
    pub fn clear(&mut self, bits: Mask) {
        for node in &mut self.nodes {
            node.mask &= !bits;
        }
    }

    /// One record taken out of a nameless node. `None` if there are too many nodes.
    pub fn materialise(&mut self, node: usize) -> Option<usize> {
        let new = self.nodes.len();
        if new == MOST_NODES {
            return None;
        }
        let copy = Node { many: false, ..self.nodes[node] };
        self.nodes.push(copy);
        for other in &mut self.nodes {
            other.row |= (other.row >> node & 1) << new;
            other.other |= (other.other >> node & 1) << new;
        }
        Some(new)
    }

    /// Brings the structure into its one form. Fails if some named node has nowhere to lead.
    pub fn canon(&mut self, layout: &Layout<'_>) -> Result<(), Contradiction> {
        let naming = layout.naming(self.threads.len());
        let makers = layout.makers(self.threads.len());
        if makers != 0 {
            // Who made a record that no variable leads to does not matter.
            for node in self.nodes.iter_mut().filter(|node| node.mask & naming == 0) {
                node.mask &= !makers;
            }
        }
        let mut keep = self.reachable(naming);
        self.drop_empty(&mut keep, naming)?;
        let mut order = [0_u8; MOST_NODES];
        let mut count = 0;
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if keep >> index & 1 == 1 {
                // Few nodes, most of them in order: each goes down to its place.
                let mut place = count;
                while place > 0 && self.nodes[usize::from(order[place - 1])].mask > node.mask {
                    order[place] = order[place - 1];
                    place -= 1;
                }
                order[place] = index as u8;
                count += 1;
            }
        }
        let mut number = [0_u8; MOST_NODES];
        let mut nodes: Vec<Node> = Vec::with_capacity(count + 1);
        nodes.push(self.nodes[0]);
        for old in order[..count].iter().map(|old| usize::from(*old)) {
            let node = self.nodes[old];
            let nameless = node.mask & naming == 0;
            let last = nodes.len() - 1;
            if nameless && last > 0 && nodes[last].mask == node.mask {
                nodes[last].row |= node.row;
                nodes[last].other |= node.other;
            } else {
                nodes.push(Node { many: nameless, ..node });
            }
            number[old] = (nodes.len() - 1) as u8;
        }
        let renumber = |row: u32| {
            let mut new = 0;
            let mut rest = row & keep;
            while rest != 0 {
                new |= 1 << number[rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
            new
        };
        for node in &mut nodes {
            node.row = renumber(node.row);
            node.other = renumber(node.other);
        }
        nodes[0] = Node { mask: nodes[0].mask & naming, row: 0, other: 0, many: false };
        self.nodes = nodes;
        Ok(())
    }

    /// The nodes that names lead to.
    fn reachable(&self, naming: Mask) -> u32 {
        let mut seen: u32 = 1;
        for (index, node) in self.nodes.iter().enumerate() {
            seen |= u32::from(node.mask & naming != 0) << index;
        }
        let mut open = seen;
        while open != 0 {
            let node = &self.nodes[open.trailing_zeros() as usize];
            open &= open - 1;
            let fresh = (node.row | node.other) & !seen;
            seen |= fresh;
            open |= fresh;
        }
        seen
    }

    /// A nameless node that leads nowhere stands for nothing.
    fn drop_empty(&self, keep: &mut u32, naming: Mask) -> Result<(), Contradiction> {
        loop {
            let mut changed = false;
            for (index, node) in self.nodes.iter().enumerate().skip(1) {
                if *keep >> index & 1 == 1 && node.row & *keep == 0 {
                    if node.mask & naming != 0 {
                        return Err(Contradiction);
                    }
                    *keep &= !(1 << index);
                    changed = true;
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    /// Do the same names lie together in two canonical structures? Rows and nameless nodes aside.
    pub(crate) fn same_names(&self, other: &Structure) -> bool {
        // Named nodes stand in order of their masks in both.
        let names = |s: &'_ Structure, from: usize| {
            s.nodes[from..].iter().position(|node| !node.many).map_or(s.nodes.len(), |place| from + place)
        };
        let (mut a, mut b) = (0, 0);
        loop {
            match (self.nodes.get(a), other.nodes.get(b)) {
                (Some(mine), Some(theirs)) if mine.mask == theirs.mask => {}
                (None, None) => return true,
                _ => return false,
            }
            (a, b) = (names(self, a + 1), names(other, b + 1));
        }
    }

    /// Makes this stand for what `more` stands for, too; both are canonical and have one skeleton. Says
    /// whether that is more than before; `None` if there are too many nodes.
    pub fn join(&mut self, more: &Structure) -> Option<bool> {
        let same = self.nodes.len() == more.nodes.len()
            && self.nodes.iter().zip(&more.nodes).all(|(a, b)| a.mask == b.mask);
        if same {
            let mut grown = false;
            for (node, new) in self.nodes.iter_mut().zip(&more.nodes) {
                grown |= new.row & !node.row != 0 || new.other & !node.other != 0;
                node.row |= new.row;
                node.other |= new.other;
            }
            return Some(grown);
        }
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len() + 2);
        nodes.push(self.nodes[0]);
        let key = |node: &Node| node.mask;
        let (mut mine, mut theirs) = ([0_u8; MOST_NODES], [0_u8; MOST_NODES]);
        let (mut a, mut b) = (1, 1);
        while a < self.nodes.len() || b < more.nodes.len() {
            let left = self.nodes.get(a).map(key);
            let right = more.nodes.get(b).map(key);
            let take_left = left.is_some_and(|left| right.is_none_or(|right| left <= right));
            let take_right = right.is_some_and(|right| left.is_none_or(|left| right <= left));
            nodes.push(if take_left { self.nodes[a] } else { more.nodes[b] });
            if take_left {
                mine[a] = (nodes.len() - 1) as u8;
                a += 1;
            }
            if take_right {
                theirs[b] = (nodes.len() - 1) as u8;
                b += 1;
            }
        }
        if nodes.len() > MOST_NODES {
            return None;
        }
        let renumber = |row: u32, number: &[u8; MOST_NODES]| {
            let (mut new, mut rest) = (0, row);
            while rest != 0 {
                new |= 1_u32 << number[rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
            new
        };
        let mut rows = vec![(0_u32, 0_u32); nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            let at = usize::from(mine[index]);
            rows[at] = (renumber(node.row, &mine), renumber(node.other, &mine));
        }
        let mut grown = nodes.len() > self.nodes.len();
        for (index, node) in more.nodes.iter().enumerate() {
            let (row, other) = (renumber(node.row, &theirs), renumber(node.other, &theirs));
            let at = &mut rows[usize::from(theirs[index])];
            grown |= row & !at.0 != 0 || other & !at.1 != 0;
            at.0 |= row;
            at.1 |= other;
        }
        for (node, (row, other)) in nodes.iter_mut().zip(rows) {
            node.row = row;
            node.other = other;
        }
        self.nodes = nodes;
        Some(grown)
    }

    /// Does this stand for everything that `less` stands for? Both are canonical.
    pub fn covers(&self, less: &Structure) -> bool {
        if self.threads != less.threads || self.globals != less.globals || !self.same_names(less) {
            return false;
        }
        // Each node of the other is one of mine, both in order of their masks; and its links are.
        let mut mine = [0_u8; MOST_NODES];
        let mut at = 0;
        for (index, node) in less.nodes.iter().enumerate().skip(1) {
            let Some(place) = self.nodes[at + 1..].iter().position(|found| found.mask == node.mask) else {
                return false;
            };
            at += 1 + place;
            mine[index] = at as u8;
        }
        let within = |row: u32, allowed: u32| {
            let mut rest = row;
            while rest != 0 {
                if allowed >> mine[rest.trailing_zeros() as usize] & 1 == 0 {
                    return false;
                }
                rest &= rest - 1;
            }
            true
        };
        less.nodes.iter().zip(mine).all(|(node, place)| {
            let found = &self.nodes[usize::from(place)];
            within(node.row, found.row) && within(node.other, found.other)
        })
    }

    /// The node that a thread's variable points to.
    pub fn local(&self, layout: &Layout<'_>, thread: usize, bit: LocalBit) -> Option<usize> {
        self.named(layout.bit(thread, bit))
    }
}

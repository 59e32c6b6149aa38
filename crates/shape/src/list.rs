//! Sorted lists, cut at the tracked key.
//!
//! A node is *listed* if the head leads to it. The list is: nodes below the key, at most one at the key,
//! nodes above it, the last node. Two ghost names cut it: the last node below the key (`first`), and the node
//! at the key, or `null` (`second`). Sortedness is not assumed: a link of a listed node may only be changed
//! in one of two ways, and the classes of the keys involved are compared each time.
//! - **Insert:** to a node that is not listed, whose own link leads to where the link led, and whose class
//!   fits between the two.
//! - **Unlink:** to a listed node further on; the nodes jumped over leave the list.
//!
//! Everything else stops the analysis. So in every concrete state the list is a chain, unshared, without
//! cycles, in the order of the classes; a structure that says otherwise stands for nothing. [`coerce`] takes
//! out of rows what cannot be. (Reachability, sharing and order of Amit 2007, table A.5, are these kinds and
//! names.)

use crate::exec::{Done, Exec, Stop};
use crate::layout::{Layout, class};
use crate::structure::{Contradiction, Structure};

/// Nodes that one step may take out of the list.
const MOST_UNLINKED: usize = 3;

impl Exec<'_, '_> {
    /// A link of a record that others can reach is changed.
    pub(crate) fn set_list_link(&mut self, node: usize, to: usize) -> Done<()> {
        let layout = self.layout;
        let listed = layout.listed;
        if !self.is(node, listed) {
            // Out of the list: nobody depends on where it leads.
            self.s.nodes[node].row = 1 << to;
            self.effect = true;
            self.publish(to)?;
            return self.tidy();
        }
        let after = self.target(node)?;
        if after == to {
            return Ok(());
        }
        self.effect = true;
        if to != 0 && !self.is(to, listed) {
            self.link_in(node, to, after)
        } else if to != 0 {
            self.unlink(node, after, to)
        } else {
            other_change()
        }
    }

    fn link_in(&mut self, before: usize, new: usize, after: usize) -> Done<()> {
        let layout = self.layout;
        if self.target(new)? != after {
            return other_change();
        }
        let of = |exec: &Self, node: usize| layout.class_of(exec.s.nodes[node].mask);
        let (low, mid, high) = (of(self, before), of(self, new), of(self, after));
        let fits = match mid {
            class::LESS => low <= class::LESS && high >= class::LESS,
            class::SAME => low <= class::LESS && high >= class::MORE,
            class::MORE => low <= class::MORE && high >= class::MORE,
            _ => false,
        };
        if !fits || low == class::ANY || high == class::ANY {
            return Err(Stop::Unsupported("a record may be linked where its key does not belong".into()));
        }
        self.publish(new)?;
        self.s.nodes[before].row = 1 << new;
        self.s.nodes[new].mask |= layout.listed;
        if mid == class::LESS && high > class::LESS {
            self.s.move_name(1 << layout.first, new);
        }
        if mid == class::SAME {
            self.s.move_name(1 << layout.second, new);
        }
        self.tidy()
    }

    fn unlink(&mut self, before: usize, from: usize, to: usize) -> Done<()> {
        let layout = self.layout;
        let mut gone = Vec::new();
        let mut at = from;
        while at != to {
            let last = layout.class_of(self.s.nodes[at].mask) == class::MAX;
            if at == 0 || gone.len() == MOST_UNLINKED || last {
                return other_change();
            }
            gone.push(at);
            at = self.target(at)?;
        }
        self.s.nodes[before].row = 1 << to;
        for node in gone {
            self.s.nodes[node].mask &= !layout.listed;
            if self.is(node, 1 << layout.first) {
                self.s.move_name(1 << layout.first, before);
            }
            if self.is(node, 1 << layout.second) {
                self.s.move_name(1 << layout.second, 0);
            }
        }
        self.tidy()
    }
}

fn other_change() -> Done<()> {
    Err(Stop::Unsupported(
        "a link of the list may be changed in another way than by linking in and unlinking".into(),
    ))
}

/// Takes out of rows what no sorted list has. Fails if the structure stands for nothing.
pub(crate) fn coerce(layout: &Layout<'_>, s: &mut Structure) -> Result<(), Contradiction> {
    let Some(head) = layout.head.and_then(|head| layout.global_bit[head]).and_then(|bit| s.named(1 << bit))
    else {
        return Ok(());
    };
    let at_key = s.named(1 << layout.second).unwrap_or(0);
    let mut below: u32 = 0;
    let mut above: u32 = 0;
    let (mut listed, mut dead): (u32, u32) = (0, 0);
    for (index, node) in s.nodes.iter().enumerate().skip(1) {
        if node.mask & layout.listed == 0 {
            continue;
        }
        let class = layout.class_of(node.mask);
        if class == class::SAME && index != at_key {
            // The listed node at the key is the one with the name.
            if !node.many {
                return Err(Contradiction);
            }
            dead |= 1 << index;
            continue;
        }
        listed |= 1 << index;
        match class {
            class::MIN | class::LESS => below |= 1 << index,
            class::MORE | class::MAX => above |= 1 << index,
            class::SAME => {}
            _ => return Err(Contradiction),
        }
    }
    let fresh_targets = !(1_u32 << head);
    for index in 1..s.nodes.len() {
        if listed >> index & 1 == 0 {
            continue;
        }
        let node = &s.nodes[index];
        let allowed = match layout.class_of(node.mask) {
            _ if node.mask >> layout.first & 1 == 1 => {
                if at_key == 0 {
                    above
                } else {
                    1 << at_key
                }
            }
            class::MIN | class::LESS => below,
            class::MAX => 1,
            _ => above,
        };
        let allowed = allowed & fresh_targets & !if node.many { 0 } else { 1 << index };
        s.nodes[index].row &= allowed;
    }
    if dead != 0 {
        for node in &mut s.nodes {
            node.row &= !dead;
        }
    }
    settle(s, head, listed)
}

/// Lists are unshared, and every listed node is reached from the head.
fn settle(s: &mut Structure, head: usize, mut listed: u32) -> Result<(), Contradiction> {
    loop {
        let mut changed = false;
        // A certain successor is nobody else's.
        for index in 1..s.nodes.len() {
            let node = s.nodes[index];
            if listed >> index & 1 == 0 || node.many || !node.row.is_power_of_two() {
                continue;
            }
            let target = node.row.trailing_zeros() as usize;
            if target == 0 || s.nodes[target].many {
                continue;
            }
            for other in 1..s.nodes.len() {
                if other != index && listed >> other & 1 == 1 && s.nodes[other].row & node.row != 0 {
                    s.nodes[other].row &= !node.row;
                    changed = true;
                }
            }
        }
        let (mut seen, mut open): (u32, u32) = (1 << head, 1 << head);
        while open != 0 {
            let next = s.nodes[open.trailing_zeros() as usize].row & listed & !seen;
            open = open & (open - 1) | next;
            seen |= next;
        }
        for index in 1..s.nodes.len() {
            if listed >> index & 1 == 0 {
                continue;
            }
            let nowhere = s.nodes[index].row == 0 || seen >> index & 1 == 0;
            if nowhere && !s.nodes[index].many {
                return Err(Contradiction);
            }
            if nowhere {
                // A nameless node that cannot be: it stands for nothing.
                listed &= !(1 << index);
                for node in &mut s.nodes {
                    changed |= node.row >> index & 1 == 1;
                    node.row &= !(1 << index);
                }
                s.nodes[index].row = 0;
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

//! Configurations, and pools of them in which none covers another.
//!
//! A configuration stands for a *set* of ways to explain the past: one state, and for each open operation
//! that changes the state one of three: it took effect (`done`), it did not, or either (`optional`): every
//! subset of the optional ones is possible. Operations that only look are `served` or not.

use super::mask::Mask;

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Config<M> {
    /// The state.
    pub state: u32,
    /// Open operations that took effect.
    pub done: M,
    /// Open operations that may or may not have taken effect.
    pub optional: M,
    /// Open read-only operations that have their place.
    pub served: M,
}

impl<M: Mask> Config<M> {
    /// Can every continuation of `other` be had from here? Then `other` need not be kept.
    #[inline]
    pub fn covers(&self, other: &Config<M>) -> bool {
        self.state == other.state
            && self.done.within(&other.done)
            && other.served.within(&self.served)
            && other.done.within_union(&self.done, &self.optional)
            && other.optional.within_union(&self.done, &self.optional)
    }
}

/// A configuration on its way: where it came from.
#[derive(Clone, Debug)]
pub struct Node<M> {
    /// What it is.
    pub config: Config<M>,
    /// The configuration, of those before the return, that it comes from.
    pub origin: u32,
    /// The node it is one step from; [`Node::NONE`]: it is its origin.
    pub from: u32,
    /// The slot of the operation that took effect in the step; [`Node::NONE`]: none did.
    pub slot: u32,
    /// Operations hidden before the step.
    pub hidden: M,
    /// Read-only operations served by the step.
    pub fresh: M,
    /// Was the returning operation optional, and is it now taken as done?
    pub settles: bool,
    /// Not covered by another.
    pub alive: bool,
    /// The next node with the same state.
    pub(super) next: u32,
}

impl<M: Mask> Node<M> {
    /// No node, no slot.
    pub const NONE: u32 = u32::MAX;

    /// A node that is its origin.
    pub fn root(config: Config<M>, origin: u32) -> Node<M> {
        Node {
            config,
            origin,
            from: Self::NONE,
            slot: Self::NONE,
            hidden: M::default(),
            fresh: M::default(),
            settles: false,
            alive: true,
            next: Self::NONE,
        }
    }
}

/// Nodes, found by state.
#[derive(Clone, Debug)]
pub struct Pool<M> {
    /// All nodes ever put in, covered ones too.
    pub nodes: Vec<Node<M>>,
    heads: Vec<(u32, u32)>,
    epoch: u32,
}

impl<M: Mask> Pool<M> {
    /// Nothing in it.
    pub fn new() -> Pool<M> {
        Pool { nodes: Vec::new(), heads: Vec::new(), epoch: 1 }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.epoch = self.epoch.wrapping_add(1);
        if self.epoch == 0 {
            self.heads.clear();
            self.epoch = 1;
        }
    }

    /// Puts a node in, unless one in it covers it; those it covers are dead from then on. Gives how many
    /// nodes it was compared with.
    #[inline]
    pub fn insert(&mut self, mut node: Node<M>) -> u32 {
        let state = node.config.state as usize;
        if state >= self.heads.len() {
            self.heads.resize(state + 1, (0, 0));
        }
        let head = if self.heads[state].0 == self.epoch { self.heads[state].1 } else { Node::<M>::NONE };
        let mut at = head;
        let mut compared = 0;
        while at != Node::<M>::NONE {
            compared += 1;
            let other = &mut self.nodes[at as usize];
            if other.alive {
                if other.config.covers(&node.config) {
                    return compared;
                }
                if node.config.covers(&other.config) {
                    other.alive = false;
                }
            }
            at = other.next;
        }
        node.next = head;
        self.heads[state] = (self.epoch, self.nodes.len() as u32);
        self.nodes.push(node);
        compared
    }

    /// Bytes held, but for what masks hold elsewhere.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<M>>() + self.heads.capacity() * 8
    }

    /// The nodes with this state, dead ones too.
    #[inline]
    pub fn with_state(&self, state: u32) -> impl Iterator<Item = usize> + '_ {
        let mut at = match self.heads.get(state as usize) {
            Some(&(epoch, head)) if epoch == self.epoch => head,
            _ => Node::<M>::NONE,
        };
        std::iter::from_fn(move || {
            let here = at;
            if here == Node::<M>::NONE {
                return None;
            }
            at = self.nodes[here as usize].next;
            Some(here as usize)
        })
    }
}

//! How each configuration came about: a tree of steps, its common part written to the witness, its dead
//! branches collected.
//!
//! Every configuration points at a node; the way from the root to it is the order of operations it stands
//! for. One kind of entry looks back: an operation *hidden* before a step was not said to have taken effect,
//! only that it may have (see `docs/soundness.md`); when it returns unseen it is *settled*, and its place is
//! the latest one where it was hidden.
//!
//! A collection keeps what some configuration can reach. What all of them share, from the root on, goes to
//! the witness, as far as no hidden place in it may still be wanted.

use rustc_hash::FxHashMap;

use crate::timeline::OpId;

/// What happened at one point of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The operation took effect.
    Effect(OpId),
    /// The operation may have taken effect here, unseen.
    Hidden(OpId),
    /// The operation did take effect at the latest place where it was hidden.
    Settled(OpId),
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    start: u32,
    len: u32,
}

/// The tree. Node 0 is its root; parents come before children.
#[derive(Clone, Debug)]
pub struct Paths {
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    due: usize,
}

impl Paths {
    const ROOT: Node = Node { parent: 0, start: 0, len: 0 };

    /// Only the root.
    pub fn new() -> Paths {
        Paths { nodes: vec![Self::ROOT], entries: Vec::new(), due: 4096 }
    }

    /// A node after `parent`.
    pub fn push(&mut self, parent: u32, entries: impl IntoIterator<Item = Entry>) -> u32 {
        let start = self.entries.len() as u32;
        self.entries.extend(entries);
        self.nodes.push(Node { parent, start, len: self.entries.len() as u32 - start });
        (self.nodes.len() - 1) as u32
    }

    /// Is a collection worth its cost?
    pub fn is_due(&self) -> bool {
        self.nodes.len() > self.due
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.entries.capacity() * size_of::<Entry>()
    }

    /// Writes all of the way to `tip` to `order`.
    pub fn write(&self, tip: u32, order: &mut Vec<OpId>) {
        self.write_nodes(&self.way(tip, 0), order);
    }

    /// Collects. `tips` are the nodes configurations point at, with the completed operations that are hidden
    /// in each; they get new numbers. Gives the operations whose hidden places kept the common part from
    /// being written.
    pub fn collect(&mut self, tips: &mut [(&mut u32, Vec<OpId>)], order: &mut Vec<OpId>) -> Vec<OpId> {
        let mut children = vec![0u32; self.nodes.len()];
        let mut live = vec![false; self.nodes.len()];
        let mut is_tip = vec![false; self.nodes.len()];
        live[0] = true;
        for (tip, _) in tips.iter() {
            is_tip[**tip as usize] = true;
            let mut node = **tip;
            while !live[node as usize] {
                live[node as usize] = true;
                node = self.nodes[node as usize].parent;
            }
        }
        for index in (1..self.nodes.len()).filter(|&i| live[i]) {
            children[self.nodes[index].parent as usize] += 1;
        }
        let mut shared = 0;
        for index in (1..self.nodes.len()).filter(|&i| live[i]) {
            if self.nodes[index].parent == shared {
                if children[shared as usize] != 1 || is_tip[shared as usize] {
                    break;
                }
                shared = index as u32;
            }
        }
        let (end, wanted) = self.settled_end(shared, tips);
        let way = self.way(end, 0);
        self.write_nodes(&way, order);
        for &node in &way {
            live[node as usize] = false;
        }
        self.compact(&live, tips);
        wanted
    }

    /// The last node of the common way (which ends at `shared`) after which nothing looks back into it.
    fn settled_end(&self, shared: u32, tips: &[(&mut u32, Vec<OpId>)]) -> (u32, Vec<OpId>) {
        let mut wanted: Vec<OpId> = Vec::new();
        for (tip, hidden) in tips {
            let mut here = hidden.clone();
            for &node in self.way(**tip, shared).iter().rev() {
                self.look_back(node, &mut here);
            }
            wanted.extend(here.iter().filter(|op| !wanted.contains(op)).copied().collect::<Vec<_>>());
        }
        let all = wanted.clone();
        let mut end = shared;
        while end != 0 && !wanted.is_empty() {
            self.look_back(end, &mut wanted);
            end = self.nodes[end as usize].parent;
        }
        (end, all)
    }

    fn look_back(&self, node: u32, wanted: &mut Vec<OpId>) {
        for entry in self.entries_of(node).iter().rev() {
            match entry {
                Entry::Effect(_) => {}
                Entry::Settled(op) if !wanted.contains(op) => wanted.push(*op),
                Entry::Settled(_) => {}
                Entry::Hidden(op) => wanted.retain(|w| w != op),
            }
        }
    }

    fn entries_of(&self, node: u32) -> &[Entry] {
        let node = &self.nodes[node as usize];
        &self.entries[node.start as usize..(node.start + node.len) as usize]
    }

    /// The nodes after `from` on the way to `to`, in order.
    fn way(&self, to: u32, from: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut node = to;
        while node != from && node != 0 {
            way.push(node);
            node = self.nodes[node as usize].parent;
        }
        way.reverse();
        way
    }

    fn write_nodes(&self, way: &[u32], order: &mut Vec<OpId>) {
        let mut places: Vec<Option<OpId>> = Vec::new();
        let mut hidden: FxHashMap<OpId, usize> = FxHashMap::default();
        for &node in way {
            for entry in self.entries_of(node) {
                match *entry {
                    Entry::Effect(op) => places.push(Some(op)),
                    Entry::Hidden(op) => {
                        hidden.insert(op, places.len());
                        places.push(None);
                    }
                    Entry::Settled(op) => places[hidden[&op]] = Some(op),
                }
            }
        }
        order.extend(places.into_iter().flatten());
    }

    fn compact(&mut self, live: &[bool], tips: &mut [(&mut u32, Vec<OpId>)]) {
        let mut number = vec![0u32; self.nodes.len()];
        let mut nodes = vec![Self::ROOT];
        let mut entries = Vec::new();
        for index in (1..self.nodes.len()).filter(|&i| live[i]) {
            let start = entries.len() as u32;
            entries.extend_from_slice(self.entries_of(index as u32));
            let parent = number[self.nodes[index].parent as usize];
            number[index] = nodes.len() as u32;
            nodes.push(Node { parent, start, len: entries.len() as u32 - start });
        }
        for (tip, _) in tips {
            **tip = number[**tip as usize];
        }
        self.due = 2 * nodes.len() + 4096;
        self.nodes = nodes;
        self.entries = entries;
    }
}

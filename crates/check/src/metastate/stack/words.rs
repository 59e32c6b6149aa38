//! Sets of possible contents, as hash-consed graphs read from the top.
//!
//! A *word* is one possible contents of the stack. A node stands for a set of words of one length: each edge
//! is a top element and leads to the node of what may lie below it. Equal sets are equal nodes (the graph is
//! a minimal deterministic automaton, built bottom up), so pushing is one new node, popping follows an edge,
//! and uniting two sets stops where they meet. What lies deep is shared by everything above it and is never
//! looked at.
//!
//! An element carries a *stamp*: roughly, when it was pushed (see [`super::step`] for what the numbers mean).
//! Stamps never grow from the top down. Of two edges that differ in the stamp alone the later one is kept: it
//! allows more.
//!
//! Nothing here recurses over the depth of a stack, which may be a million.

use rustc_hash::FxHashMap;

use super::cache::Cache;
use crate::engine::{Budget, Stop};
use crate::metastate::meter::Meter;

/// A set of words: the number of a node.
pub type Node = u32;

/// The set that holds only the empty word.
pub const EMPTY: Node = 0;
/// No word at all. Not a node.
pub const NONE: Node = u32::MAX;

/// A top element and what may lie below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The element.
    pub value: u32,
    /// When it was pushed.
    pub stamp: u32,
    /// What may lie below.
    pub below: Node,
}

/// Where edges of a node lie, and their hash.
#[derive(Clone, Copy, Debug)]
struct Head {
    start: u32,
    len: u32,
    hash: u32,
    single: bool,
}

/// All nodes of one engine.
#[derive(Clone, Debug)]
pub struct Words {
    heads: Vec<Head>,
    edges: Vec<Edge>,
    /// Open addressing over the hashes of nodes; zero is a free place (the empty word needs none).
    table: Vec<Node>,
    unions: Cache,
    inclusions: Cache,
    pub(super) insertions: FxHashMap<(Node, u32, u32), Node>,
    pub(super) scratch: Vec<Edge>,
    frames: Vec<Frame>,
    meter: Meter,
}

/// A union that waits for the union of two of its children.
#[derive(Clone, Copy, Debug)]
struct Frame {
    nodes: (Node, Node),
    at: (u32, u32),
    out: u32,
}

impl Default for Words {
    fn default() -> Words {
        Words {
            heads: vec![Head { start: 0, len: 0, hash: 0, single: true }],
            edges: Vec::new(),
            table: vec![0; 64],
            unions: Cache::new(),
            inclusions: Cache::new(),
            insertions: FxHashMap::default(),
            scratch: Vec::new(),
            frames: Vec::new(),
            meter: Meter::default(),
        }
    }
}

impl Words {
    /// The edges of a node, by value and stamp.
    #[inline]
    pub fn edges(&self, node: Node) -> &[Edge] {
        let head = self.heads[node as usize];
        &self.edges[head.start as usize..(head.start + head.len) as usize]
    }

    /// From now on this budget counts.
    pub fn start(&mut self, budget: &Budget) {
        self.meter.start(budget);
    }

    /// The limit that was reached, if one was: then sets made since are wrong.
    pub fn stop(&self) -> Result<(), Stop> {
        self.meter.stop()
    }

    /// Some steps were taken; is it time to give up?
    #[inline]
    pub fn is_over(&mut self, steps: usize) -> bool {
        let bytes = self.heads.len() * 64;
        self.meter.is_over(steps, || bytes)
    }

    /// Is there one word only?
    pub fn is_single(&self, node: Node) -> bool {
        self.heads[node as usize].single
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.heads.capacity() * size_of::<Head>()
            + self.edges.capacity() * size_of::<Edge>()
            + self.table.capacity() * 4
            + self.unions.memory()
            + self.inclusions.memory()
            + self.insertions.capacity() * 17
    }

    /// Every word of `below` with one more element on top.
    pub fn push(&mut self, value: u32, stamp: u32, below: Node) -> Node {
        let start = self.scratch.len();
        self.scratch.push(Edge { value, stamp, below });
        self.intern(start)
    }

    /// What is left of the words with `value` on top, stamped below `limit`, when it is taken away.
    pub fn pop(&mut self, node: Node, value: u32, limit: u32) -> Node {
        let edges = self.edges(node);
        let mut at = edges.partition_point(|e| e.value < value);
        let mut left = NONE;
        while let Some(&edge) = self.edges(node).get(at)
            && edge.value == value
            && edge.stamp < limit
        {
            left = self.union(left, edge.below);
            at += 1;
        }
        left
    }

    /// The words whose top is not `value`.
    pub fn without_top(&mut self, node: Node, value: u32) -> Node {
        let edges = self.edges(node);
        let (low, high) =
            (edges.partition_point(|e| e.value < value), edges.partition_point(|e| e.value <= value));
        if low == high {
            return node;
        }
        let head = self.heads[node as usize];
        let (start, low, high) = (head.start as usize, low, high);
        let out = self.scratch.len();
        self.scratch.extend_from_slice(&self.edges[start..start + low]);
        self.scratch.extend_from_slice(&self.edges[start + high..start + head.len as usize]);
        self.intern(out)
    }

    /// All words of both, which have equal length.
    pub fn union(&mut self, a: Node, b: Node) -> Node {
        if a == b || b == NONE {
            return a;
        }
        if a == NONE {
            return b;
        }
        if let Some(known) = self.unions.get(a.min(b), a.max(b)) {
            return known;
        }
        let bottom = self.frames.len();
        self.frames.push(Frame { nodes: (a, b), at: (0, 0), out: self.scratch.len() as u32 });
        let mut result = NONE;
        while self.frames.len() > bottom {
            if self.is_over(4) {
                self.scratch.truncate(self.frames[bottom].out as usize);
                self.frames.truncate(bottom);
                return a;
            }
            if let Some(child) = self.merge_on() {
                self.frames.push(Frame { nodes: child, at: (0, 0), out: self.scratch.len() as u32 });
                continue;
            }
            let Some(frame) = self.frames.pop() else { break };
            result = self.intern(frame.out as usize);
            self.unions.put(frame.nodes.0.min(frame.nodes.1), frame.nodes.0.max(frame.nodes.1), result);
        }
        result
    }

    /// Goes on with the topmost union until it is done or needs the union of two children first.
    fn merge_on(&mut self) -> Option<(Node, Node)> {
        let top = self.frames.len() - 1;
        let Frame { nodes: (a, b), at: (mut i, mut j), .. } = self.frames[top];
        let (x, y) = (self.heads[a as usize], self.heads[b as usize]);
        let needed = loop {
            let left = (i < x.len).then(|| self.edges[(x.start + i) as usize]);
            let right = (j < y.len).then(|| self.edges[(y.start + j) as usize]);
            let edge = match (left, right) {
                (None, None) => break None,
                (Some(l), None) => (l, 1, 0),
                (None, Some(r)) => (r, 0, 1),
                (Some(l), Some(r)) => match (l.value, l.stamp).cmp(&(r.value, r.stamp)) {
                    std::cmp::Ordering::Less => (l, 1, 0),
                    std::cmp::Ordering::Greater => (r, 0, 1),
                    std::cmp::Ordering::Equal if l.below == r.below => (l, 1, 1),
                    std::cmp::Ordering::Equal => {
                        let (p, q) = (l.below.min(r.below), l.below.max(r.below));
                        match self.unions.get(p, q) {
                            Some(below) => (Edge { below, ..l }, 1, 1),
                            None => break Some((p, q)),
                        }
                    }
                },
            };
            self.scratch.push(edge.0);
            (i, j) = (i + edge.1, j + edge.2);
        };
        self.frames[top].at = (i, j);
        needed
    }

    /// Is every word of `a` also one of `b`, with stamps at least as late? May answer no where deep words
    /// differ.
    pub fn included(&mut self, a: Node, b: Node) -> bool {
        self.included_within(a, b, 64)
    }

    fn included_within(&mut self, a: Node, b: Node, depth: u32) -> bool {
        if a == b {
            return true;
        }
        if a == EMPTY || b == EMPTY || depth == 0 || self.is_over(4) {
            return false;
        }
        if let Some(known) = self.inclusions.get(a, b) {
            return known == 1;
        }
        let (x, y) = (self.heads[a as usize], self.heads[b as usize]);
        let mut j = 0;
        let mut all = true;
        for i in 0..x.len {
            let edge = self.edges[(x.start + i) as usize];
            while j < y.len && {
                let other = self.edges[(y.start + j) as usize];
                (other.value, other.stamp) < (edge.value, edge.stamp)
            } {
                j += 1;
            }
            let mut found = false;
            let mut at = j;
            while at < y.len && !found {
                let other = self.edges[(y.start + at) as usize];
                if other.value != edge.value {
                    break;
                }
                found = self.included_within(edge.below, other.below, depth - 1);
                at += 1;
            }
            if !found {
                all = false;
                break;
            }
        }
        self.inclusions.put(a, b, u32::from(all));
        all
    }

    /// The node with the edges in the scratch space from `start` on, which are sorted; takes them away.
    pub(super) fn intern(&mut self, start: usize) -> Node {
        self.drop_earlier_twins(start);
        if self.scratch.len() == start {
            return NONE;
        }
        let hash = hash(&self.scratch[start..]);
        let mask = self.table.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let node = self.table[place];
            if node == 0 {
                break;
            }
            if self.heads[node as usize].hash == hash && self.edges(node) == &self.scratch[start..] {
                self.scratch.truncate(start);
                return node;
            }
            place = (place + 1) & mask;
        }
        let node = self.heads.len() as Node;
        let edges = &self.scratch[start..];
        let single = edges.len() == 1 && self.heads[edges[0].below as usize].single;
        self.heads.push(Head { start: self.edges.len() as u32, len: edges.len() as u32, hash, single });
        self.edges.extend_from_slice(&self.scratch[start..]);
        self.scratch.truncate(start);
        self.table[place] = node;
        if self.heads.len() * 2 > self.table.len() {
            self.rehash(self.table.len() * 2);
        }
        node
    }

    /// Drops edges that lead nowhere a later edge with the same value does not lead to as well.
    fn drop_earlier_twins(&mut self, start: usize) {
        let mut at = start;
        while at + 1 < self.scratch.len() {
            let edge = self.scratch[at];
            let mut other = at + 1;
            let mut dropped = false;
            while !dropped && other < self.scratch.len() && self.scratch[other].value == edge.value {
                dropped = self.included(edge.below, self.scratch[other].below);
                other += 1;
            }
            if dropped {
                self.scratch.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn rehash(&mut self, size: usize) {
        self.table.clear();
        self.table.resize(size, 0);
        for node in 1..self.heads.len() {
            let mut place = self.heads[node].hash as usize & (size - 1);
            while self.table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = node as Node;
        }
        self.unions.fit(size);
        self.inclusions.fit(size);
    }

    /// Keeps what `live` marks and what lies below it. Gives the new number of each node.
    pub fn collect(&mut self, mut live: Vec<bool>) -> Vec<Node> {
        live.resize(self.heads.len(), false);
        live[EMPTY as usize] = true;
        for node in (1..self.heads.len()).rev() {
            if live[node] {
                let head = self.heads[node];
                for edge in &self.edges[head.start as usize..(head.start + head.len) as usize] {
                    live[edge.below as usize] = true;
                }
            }
        }
        let mut moved = vec![NONE; self.heads.len()];
        let (mut heads, mut edges) = (Vec::new(), Vec::new());
        for (node, head) in self.heads.iter().enumerate().filter(|(node, _)| live[*node]) {
            moved[node] = heads.len() as Node;
            let start = edges.len();
            let old = &self.edges[head.start as usize..(head.start + head.len) as usize];
            edges.extend(old.iter().map(|e| Edge { below: moved[e.below as usize], ..*e }));
            let hash = if node == 0 { 0 } else { hash(&edges[start..]) };
            heads.push(Head { start: start as u32, hash, ..*head });
        }
        (self.heads, self.edges) = (heads, edges);
        self.unions.clear();
        self.inclusions.clear();
        self.insertions = FxHashMap::default();
        let size = (self.heads.len() * 4).next_power_of_two().max(64);
        self.rehash(size);
        moved
    }
}

fn hash(edges: &[Edge]) -> u32 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut h = edges.len() as u64;
    for e in edges {
        h = (h ^ (u64::from(e.value) << 32 | u64::from(e.below))).wrapping_mul(K).rotate_left(29);
        h = (h ^ u64::from(e.stamp)).wrapping_mul(K).rotate_left(31);
    }
    (h ^ h >> 32) as u32
}

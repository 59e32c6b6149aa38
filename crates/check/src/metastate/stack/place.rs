//! Operations on all words of a set down to the elements pushed before some call: placing a push that
//! returns, letting a stamp fade, choosing words.
//!
//! Stamps never grow from the top down, so each stops at the first element stamped too early, and what lies
//! below stays as it is. Each node is handled once, children first, with a list of what is still to do in
//! place of recursion.

use super::words::{Edge, NONE, Node, Words};

/// How to place a push that returns among the elements pushed since its call.
#[derive(Clone, Copy, Debug)]
pub struct Insertion {
    /// The element.
    pub value: u32,
    /// It may go below elements with at least this stamp.
    pub from: u32,
    /// The stamp `from` means nothing afterwards and becomes this one (possibly the same).
    pub fade: u32,
    /// The stamp of an element pushed now.
    pub now: u32,
    /// Tells insertions with different numbers apart, until the next [`Words::forget_insertions`].
    pub kind: u32,
}

impl Words {
    /// Makes earlier [`Insertion::kind`]s void.
    pub fn forget_insertions(&mut self) {
        self.insertions.clear();
    }

    /// Places an element at every height it may have: on top, or just below an element stamped `from` or
    /// later.
    pub fn insert(&mut self, node: Node, how: Insertion) -> Node {
        self.transform(node, how.now, how)
    }

    /// Lets the stamp `from` fade, and places nothing.
    pub fn fade(&mut self, node: Node, how: Insertion) -> Node {
        if how.from == how.fade { node } else { self.transform(node, FADE_ONLY, how) }
    }

    /// The words with an element stamped `fade` or later, but before `from`.
    pub fn between(&mut self, node: Node, how: Insertion) -> Node {
        self.transform(node, BETWEEN, how)
    }

    /// All of the above; `stamp` is that of the element if it is put on top of `node`.
    fn transform(&mut self, node: Node, stamp: u32, how: Insertion) -> Node {
        let mut work = vec![(node, stamp)];
        while let Some(&(node, stamp)) = work.last() {
            if self.is_over(4) {
                return node;
            }
            if self.insertions.contains_key(&(node, stamp, how.kind)) {
                work.pop();
                continue;
            }
            let waiting = work.len();
            if stamp < BETWEEN
                && how.from != how.fade
                && !self.insertions.contains_key(&(node, FADE_ONLY, how.kind))
            {
                work.push((node, FADE_ONLY));
            }
            for edge in self.edges(node) {
                if edge.stamp >= how.from {
                    let next = (edge.below, if stamp >= BETWEEN { stamp } else { how.faded(edge.stamp) });
                    if !self.insertions.contains_key(&(next.0, next.1, how.kind)) {
                        work.push(next);
                    }
                }
            }
            if work.len() == waiting {
                let made = self.transformed(node, stamp, how);
                self.insertions.insert((node, stamp, how.kind), made);
                work.pop();
            }
        }
        self.insertions[&(node, stamp, how.kind)]
    }

    /// One node of a transformation whose children are done.
    fn transformed(&mut self, node: Node, stamp: u32, how: Insertion) -> Node {
        if stamp == BETWEEN {
            return self.kept_between(node, how);
        }
        let mut edges: Vec<Edge> = Vec::with_capacity(self.edges(node).len() + 1);
        let fading = stamp == FADE_ONLY;
        if !fading {
            let below =
                if how.from == how.fade { node } else { self.insertions[&(node, FADE_ONLY, how.kind)] };
            edges.push(Edge { value: how.value, stamp, below });
        }
        for edge in self.edges(node) {
            if edge.stamp >= how.from {
                let after = how.faded(edge.stamp);
                let below = self.insertions[&(edge.below, if fading { FADE_ONLY } else { after }, how.kind)];
                edges.push(Edge { stamp: after, below, ..*edge });
            } else if fading {
                edges.push(*edge);
            }
        }
        if fading && edges.as_slice() == self.edges(node) {
            return node;
        }
        edges.sort_unstable();
        let out = self.scratch.len();
        for edge in edges {
            match self.scratch[out..].last().copied() {
                Some(last) if (last.value, last.stamp) == (edge.value, edge.stamp) => {
                    let below = self.union(last.below, edge.below);
                    if let Some(last) = self.scratch.last_mut() {
                        last.below = below;
                    }
                }
                _ => self.scratch.push(edge),
            }
        }
        self.intern(out)
    }

    fn kept_between(&mut self, node: Node, how: Insertion) -> Node {
        let out = self.scratch.len();
        for at in 0..self.edges(node).len() {
            let edge = self.edges(node)[at];
            if edge.stamp >= how.from {
                let below = self.insertions[&(edge.below, BETWEEN, how.kind)];
                if below != NONE {
                    self.scratch.push(Edge { below, ..edge });
                }
            } else if edge.stamp >= how.fade {
                self.scratch.push(edge);
            }
        }
        self.intern(out)
    }
}

/// In place of a stamp: nothing is placed.
const FADE_ONLY: u32 = u32::MAX;
/// In place of a stamp: words are chosen.
const BETWEEN: u32 = u32::MAX - 1;

impl Insertion {
    fn faded(&self, stamp: u32) -> u32 {
        if stamp == self.from { self.fade } else { stamp }
    }
}

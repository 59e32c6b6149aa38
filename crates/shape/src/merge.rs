//! Two views of one state put together again: every way in which the two heaps can be one.
//!
//! A view is what one thread can reach: from shared variables and its own locals. In a state, each record is seen by the first thread, by the second, or by both; what
//! only others see matters to neither. So each record of the state has an image in the first view, or none, and an image in the second, or none; the images have one kind. Merging goes through
//! - `null` and nodes with shared names: seen by both, paired by their shared names;
//! - nodes with local names of the second: each is a node with a local name of the first, or one of the first's nameless nodes, or *beyond* what the first sees. A private node is always
//!   beyond; a listed one never, since the head leads to it;
//! - nodes with local names of the first that were not paired: nameless in the second, or beyond what it sees;
//! - nameless nodes of the first; nameless nodes of the second beyond the first.
//!
//! A link leads to where both views allow it. What the first sees leads only to what the first sees.

use crate::layout::{Layout, Mask, Object, STRANGER, Scalar};
use crate::list::coerce;
use crate::structure::{MOST_NODES, Node, Structure};

/// A node of the merged structure and what it is in either view.
#[derive(Clone, Copy, Debug)]
struct Joint {
    mask: Mask,
    many: bool,
    /// Its possible images in the first view; none: the first cannot see it.
    first: u32,
    /// Its possible images in the second view.
    second: u32,
    /// Does the second see it for certain?
    seen: bool,
}

/// Calls `see` with every merged structure of two threads; false if one would have too many nodes.
pub(crate) fn merge(
    layout: &Layout<'_>,
    a: &Structure,
    b: &Structure,
    see: &mut impl FnMut(Structure),
) -> bool {
    let Some(globals) = merge_globals(layout, a.globals, b.globals) else { return true };
    let own = layout.thread_bits(0);
    let shift = |mask: Mask| (mask & own) << layout.width;
    let both = layout.shared | layout.kinds;
    let naming = layout.naming(1);
    let mut fixed = Vec::with_capacity(MOST_NODES);
    let mask = a.nodes[0].mask & (naming | own) | shift(b.nodes[0].mask);
    fixed.push(Joint { mask, many: false, first: 1, second: 1, seen: true });
    let mut left_a: Vec<usize> = Vec::new();
    let mut used_b: u32 = 1;
    for (index, node) in a.nodes.iter().enumerate().skip(1) {
        if node.mask & layout.shared != 0 {
            let Some(other) = b.nodes.iter().skip(1).position(|other| other.mask & both == node.mask & both)
            else {
                return true;
            };
            let other = other + 1;
            let Some(mask) = pair(layout, node.mask, b.nodes[other].mask) else { return true };
            used_b |= 1 << other;
            fixed.push(Joint { mask, many: false, first: 1 << index, second: 1 << other, seen: true });
        } else if node.mask & naming != 0 {
            left_a.push(index);
        }
    }
    let mut left_b = Vec::new();
    for (index, node) in b.nodes.iter().enumerate() {
        if used_b >> index & 1 == 1 {
            continue;
        }
        if node.mask & layout.shared != 0 {
            return true;
        }
        if node.mask & naming != 0 {
            left_b.push(index);
        }
    }
    let mut work = Work { layout, a, b, globals, naming, fits: true };
    work.place(&mut fixed, &left_b, &mut left_a, see);
    work.fits
}

/// The mask of a record with these two images; `None` if both threads would hold its lock, or have made it for an offer.
fn pair(layout: &Layout<'_>, a: Mask, b: Mask) -> Option<Mask> {
    let mut one = layout.bit(0, layout.held);
    if layout.offer_kind != 0 {
        one |= layout.bit(0, layout.offer);
    }
    if layout.freed != 0 {
        // No record has two makers, and the reference gives it to one operation only.
        one |= layout.bit(0, layout.mine) | layout.bit(0, layout.answer);
    }
    if a & b & one != 0 {
        return None;
    }
    Some(a | (b & layout.thread_bits(0)) << layout.width)
}

/// Locks: free for both, held by one of the two, or by a stranger.
fn merge_globals(layout: &Layout<'_>, a: u64, b: u64) -> Option<u64> {
    let (mut locks, mut merged) = (0, 0);
    for (shift, scalar) in layout.global_scalar.iter().flatten() {
        if *scalar != Scalar::Lock {
            continue;
        }
        locks |= 15 << shift;
        let holder = match (a >> shift & 15, b >> shift & 15) {
            (0, 0) => 0,
            (1, STRANGER) => 1,
            (STRANGER, 1) => 2,
            (STRANGER, STRANGER) => STRANGER,
            _ => return None,
        };
        merged |= holder << shift;
    }
    (a & !locks == b & !locks).then_some(a & !locks | merged)
}

struct Work<'a, 'p> {
    layout: &'a Layout<'p>,
    a: &'a Structure,
    b: &'a Structure,
    globals: u64,
    naming: Mask,
    fits: bool,
}

impl Work<'_, '_> {
    /// Goes through what each local name of the second may be.
    fn place(
        &mut self,
        nodes: &mut Vec<Joint>,
        left_b: &[usize],
        left_a: &mut Vec<usize>,
        see: &mut impl FnMut(Structure),
    ) {
        let layout = self.layout;
        let Some((&index, rest)) = left_b.split_first() else {
            self.finish(nodes, left_a, see);
            return;
        };
        let node = self.b.nodes[index];
        let kind = node.mask & layout.kinds;
        let private = kind & layout.private != 0;
        if !private {
            for at in 0..left_a.len() {
                let first = left_a[at];
                if self.a.nodes[first].mask & layout.kinds != kind {
                    continue;
                }
                let Some(mask) = pair(layout, self.a.nodes[first].mask, node.mask) else { continue };
                left_a.remove(at);
                nodes.push(Joint { mask, many: false, first: 1 << first, second: 1 << index, seen: true });
                self.place(nodes, rest, left_a, see);
                nodes.pop();
                left_a.insert(at, first);
            }
            for first in 1..self.a.nodes.len() {
                let found = self.a.nodes[first];
                if found.mask & self.naming != 0 || found.mask & layout.kinds != kind {
                    continue;
                }
                let Some(mask) = pair(layout, found.mask, node.mask) else { continue };
                nodes.push(Joint { mask, many: false, first: 1 << first, second: 1 << index, seen: true });
                self.place(nodes, rest, left_a, see);
                nodes.pop();
            }
        }
        if kind & layout.listed == 0 {
            let mask = kind | layout.beyond | (node.mask & layout.thread_bits(0)) << layout.width;
            nodes.push(Joint { mask, many: false, first: 0, second: 1 << index, seen: true });
            self.place(nodes, rest, left_a, see);
            nodes.pop();
        }
    }

    /// The nameless nodes of the second with a kind.
    fn nameless_b(&self, kind: Mask) -> u32 {
        if kind & self.layout.private != 0 {
            return 0;
        }
        let mut found = 0;
        for (index, node) in self.b.nodes.iter().enumerate().skip(1) {
            if node.mask & self.naming == 0 && node.mask & self.layout.kinds == kind {
                found |= 1 << index;
            }
        }
        found
    }

    fn finish(&mut self, nodes: &[Joint], left_a: &[usize], see: &mut impl FnMut(Structure)) {
        let layout = self.layout;
        let mut nodes = nodes.to_vec();
        for &index in left_a {
            let mask = self.a.nodes[index].mask;
            let second = self.nameless_b(mask & layout.kinds);
            let seen = mask & layout.listed != 0;
            if seen && second == 0 {
                return;
            }
            nodes.push(Joint { mask, many: false, first: 1 << index, second, seen });
        }
        for (index, node) in self.a.nodes.iter().enumerate().skip(1) {
            if node.mask & self.naming == 0 {
                let second = self.nameless_b(node.mask & layout.kinds);
                let seen = node.mask & layout.listed != 0;
                if seen && second == 0 {
                    continue;
                }
                nodes.push(Joint { mask: node.mask, many: true, first: 1 << index, second, seen });
            }
        }
        for (index, node) in self.b.nodes.iter().enumerate().skip(1) {
            if node.mask & self.naming == 0 && node.mask & layout.listed == 0 {
                let mask = node.mask & layout.kinds | layout.beyond;
                nodes.push(Joint { mask, many: true, first: 0, second: 1 << index, seen: true });
            }
        }
        if nodes.len() > MOST_NODES {
            self.fits = false;
            return;
        }
        if let Some(s) = self.rows(&nodes) {
            see(s);
        }
    }

    fn rows(&self, nodes: &[Joint]) -> Option<Structure> {
        let layout = self.layout;
        let mut merged = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let mut new = Node { mask: node.mask, row: 0, other: 0, many: node.many };
            if index > 0 {
                new.row = self.row(nodes, node, |node| node.row);
                if new.row == 0 && !node.many {
                    return None;
                }
                if node.mask & layout.nonuniform != 0 {
                    new.other = self.row(nodes, node, |node| node.other);
                    if new.other == 0 && !node.many {
                        return None;
                    }
                }
            }
            merged.push(new);
        }
        let threads = vec![self.a.threads[0], self.b.threads[0]];
        let mut s = Structure { threads, globals: self.globals, nodes: merged };
        if layout.object == Object::Set {
            coerce(layout, &mut s).ok()?;
        }
        if layout.gone != 0 {
            crate::memory::coerce(layout, &mut s).ok()?;
        }
        Some(s)
    }

    /// Where both views allow a link to lead.
    fn row(&self, nodes: &[Joint], node: &Joint, of: impl Fn(&Node) -> u32) -> u32 {
        let union = |s: &Structure, images: u32| {
            let (mut row, mut rest) = (0, images);
            while rest != 0 {
                row |= of(&s.nodes[rest.trailing_zeros() as usize]);
                rest &= rest - 1;
            }
            row
        };
        let first = union(self.a, node.first);
        let second = union(self.b, node.second);
        let mut row = 0;
        for (index, to) in nodes.iter().enumerate() {
            let by_first = node.first == 0 || first & to.first != 0;
            let by_second = !node.seen || second & to.second != 0;
            if by_first && by_second {
                row |= 1 << index;
            }
        }
        row
    }
}

/// What the first of two threads sees. The structure is not canonical yet.
pub(crate) fn project(layout: &Layout<'_>, s: &mut Structure) {
    s.clear(layout.thread_bits(1) | layout.beyond);
    s.threads.truncate(1);
    for (shift, scalar) in layout.global_scalar.iter().flatten() {
        if *scalar == Scalar::Lock && s.globals >> shift & 15 == 2 {
            s.globals |= STRANGER << shift;
        }
    }
}

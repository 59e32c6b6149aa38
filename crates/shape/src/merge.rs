//! Two views of one state put together again: every way in which the two heaps can be one.
//!
//! A view is what one thread can reach: from shared variables and its own locals. In a state, each record is
//! seen by the first thread, by the second, or by both; what only others see matters to neither. So each
//! record of the state has an image in the first view, or none, and an image in the second, or none; the
//! images have one kind. Merging goes through
//! - `null` and nodes with shared names: seen by both, paired by their shared names;
//! - nodes with local names of the second: each is a node with a local name of the first, or one of the
//!   first's nameless nodes, or *beyond* what the first sees. A private node is always beyond; a listed one
//!   never, since the head leads to it;
//! - nodes with local names of the first that were not paired: nameless in the second, or beyond what it
//!   sees;
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
    see: &mut impl FnMut(&Structure),
) -> bool {
    let Some(globals) = merge_globals(layout, a.globals, b.globals) else { return true };
    let own = layout.thread_bits(0);
    let shift = |mask: Mask| (mask & own) << layout.width;
    let both = layout.shared | layout.kinds;
    let naming = layout.naming(1);
    let mut fixed = Vec::with_capacity(MOST_NODES);
    let mask = a.nodes[0].mask & (naming | own) | shift(b.nodes[0].mask);
    fixed.push(Joint { mask, many: false, first: 1, second: 1, seen: true });
    let mut left_a: u32 = 0;
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
            left_a |= 1 << index;
        }
    }
    let mut left_b: u32 = 0;
    for (index, node) in b.nodes.iter().enumerate() {
        if used_b >> index & 1 == 1 {
            continue;
        }
        if node.mask & layout.shared != 0 {
            return true;
        }
        if node.mask & naming != 0 {
            left_b |= 1 << index;
        }
    }
    let threads = vec![a.threads[0], b.threads[0]];
    let merged = Structure { threads, globals, nodes: Vec::with_capacity(MOST_NODES) };
    let mut work = Work { layout, a, b, naming, nodes: fixed, merged, fits: true };
    work.place(left_b, left_a, see);
    work.fits
}

/// The mask of a record with these two images; `None` if both threads would hold its lock, or have made it
/// for an offer.
fn pair(layout: &Layout<'_>, a: Mask, b: Mask) -> Option<Mask> {
    let mut one = layout.held(0);
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
    naming: Mask,
    /// The nodes placed so far.
    nodes: Vec<Joint>,
    /// Room for what is merged.
    merged: Structure,
    fits: bool,
}

impl Work<'_, '_> {
    /// Goes through what each local name of the second may be; the nodes of either that are left are bits.
    fn place(&mut self, left_b: u32, left_a: u32, see: &mut impl FnMut(&Structure)) {
        let layout = self.layout;
        if left_b == 0 {
            let placed = self.nodes.len();
            self.finish(left_a, see);
            self.nodes.truncate(placed);
            return;
        }
        let index = left_b.trailing_zeros();
        let rest = left_b & (left_b - 1);
        let node = self.b.nodes[index as usize];
        let kind = node.mask & layout.kinds;
        let second = 1 << index;
        if kind & layout.private == 0 {
            for first in 1..self.a.nodes.len() {
                let found = self.a.nodes[first].mask;
                let free = left_a >> first & 1 == 1 || found & self.naming == 0;
                if !free || found & layout.kinds != kind {
                    continue;
                }
                let Some(mask) = pair(layout, found, node.mask) else { continue };
                self.nodes.push(Joint { mask, many: false, first: 1 << first, second, seen: true });
                self.place(rest, left_a & !(1 << first), see);
                self.nodes.pop();
            }
        }
        if kind & layout.listed == 0 {
            let mask = kind | layout.beyond | (node.mask & layout.thread_bits(0)) << layout.width;
            self.nodes.push(Joint { mask, many: false, first: 0, second, seen: true });
            self.place(rest, left_a, see);
            self.nodes.pop();
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

    fn finish(&mut self, left_a: u32, see: &mut impl FnMut(&Structure)) {
        let layout = self.layout;
        for index in (1..self.a.nodes.len()).filter(|index| left_a >> index & 1 == 1) {
            let mask = self.a.nodes[index].mask;
            let second = self.nameless_b(mask & layout.kinds);
            let seen = mask & layout.listed != 0;
            if seen && second == 0 {
                return;
            }
            self.nodes.push(Joint { mask, many: false, first: 1 << index, second, seen });
        }
        for (index, node) in self.a.nodes.iter().enumerate().skip(1) {
            if node.mask & self.naming == 0 {
                let second = self.nameless_b(node.mask & layout.kinds);
                let seen = node.mask & layout.listed != 0;
                if seen && second == 0 {
                    continue;
                }
                self.nodes.push(Joint { mask: node.mask, many: true, first: 1 << index, second, seen });
            }
        }
        for (index, node) in self.b.nodes.iter().enumerate().skip(1) {
            if node.mask & self.naming == 0 && node.mask & layout.listed == 0 {
                let mask = node.mask & layout.kinds | layout.beyond;
                self.nodes.push(Joint { mask, many: true, first: 0, second: 1 << index, seen: true });
            }
        }
        if self.nodes.len() > MOST_NODES {
            self.fits = false;
            return;
        }
        if self.rows() {
            see(&self.merged);
        }
    }

    /// Links of what is merged; false if it stands for nothing.
    fn rows(&mut self) -> bool {
        let layout = self.layout;
        // What each node of either view is in the merged structure.
        let (mut of_a, mut of_b) = ([0_u32; MOST_NODES], [0_u32; MOST_NODES]);
        for (index, node) in self.nodes.iter().enumerate() {
            bits(node.first, |image| of_a[image] |= 1 << index);
            bits(node.second, |image| of_b[image] |= 1 << index);
        }
        self.merged.nodes.clear();
        for (index, node) in self.nodes.iter().enumerate() {
            let mut new = Node { mask: node.mask, row: 0, other: 0, many: node.many };
            if index > 0 {
                new.row = self.row(node, &of_a, &of_b, |node| node.row);
                if new.row == 0 && !node.many {
                    return false;
                }
                if node.mask & layout.nonuniform != 0 {
                    new.other = self.row(node, &of_a, &of_b, |node| node.other);
                    // Its two links differ.
                    let one =
                        new.row.is_power_of_two() && !self.nodes[new.row.trailing_zeros() as usize].many;
                    if !node.many && (new.other == 0 || one && new.row == new.other) {
                        return false;
                    }
                }
            }
            self.merged.nodes.push(new);
        }
        if layout.object == Object::Set && coerce(layout, &mut self.merged).is_err() {
            return false;
        }
        layout.gone == 0 || crate::memory::coerce(layout, &mut self.merged).is_ok()
    }

    /// Where both views allow a link to lead.
    fn row(&self, node: &Joint, of_a: &Images, of_b: &Images, of: impl Fn(&Node) -> u32) -> u32 {
        let targets = |s: &Structure, images: u32, of_s: &Images| {
            let mut row = 0;
            bits(images, |image| bits(of(&s.nodes[image]), |target| row |= of_s[target]));
            row
        };
        // A set of all nodes where a view says nothing.
        let all = u32::MAX >> (MOST_NODES - self.nodes.len());
        let first = if node.first == 0 { all } else { targets(self.a, node.first, of_a) };
        let second = if node.seen { targets(self.b, node.second, of_b) } else { all };
        first & second
    }
}

/// The nodes of a merged structure that each node of a view is.
type Images = [u32; MOST_NODES];

/// Each bit of a set.
fn bits(set: u32, mut see: impl FnMut(usize)) {
    let mut rest = set;
    while rest != 0 {
        see(rest.trailing_zeros() as usize);
        rest &= rest - 1;
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

//! Back from the end: one way through the configurations, return by return.
//!
//! The forward pass keeps sets; a witness needs one member. Given the contents after a return and the
//! configurations before it, this module finds contents before it and the steps between. What is asked of an
//! element besides its value is only that it was pushed late enough for what was put below it afterwards
//! ([`Letter::pushed_from`]).
//!
//! Membership of the contents in a set is remembered per (prefix of the contents, node), so the deep part is
//! walked once.

use rustc_hash::FxHashMap;

use super::open::{Kind, Open, Row, bits};
use super::step::Config;
use super::words::{Edge, Node, Words};

/// An element of the contents on the path.
#[derive(Clone, Copy, Debug)]
struct Letter {
    value: u32,
    /// It must have been pushed with at least this stamp.
    pushed_from: u32,
    /// Names this element together with all below it.
    cell: u32,
}

/// What happened at a return, in order: `pops` (slots, or [`WILD`]), then `last`.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Other pops that took effect first.
    pub pops: Vec<u8>,
    /// The returning operation itself.
    pub last: Last,
}

/// Stands for a pending pop among slots.
pub const WILD: u8 = 64;

/// How the returning operation took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// It had taken effect already.
    Earlier,
    /// It takes effect now, on top.
    Now,
    /// A push that took effect just before the element at this height (from 0) was pushed.
    Below(usize),
    /// A pop, together with the push in this slot, at one instant.
    With(u8),
}

/// The contents at one moment of the path, and what is done.
#[derive(Clone, Debug, Default)]
pub struct Path {
    letters: Vec<Letter>,
    done: u64,
    wild: u32,
    cells: u32,
    known: FxHashMap<(u32, Node), bool>,
    trail: Vec<(Node, usize, usize)>,
}

impl Path {
    /// Starts at some member of a configuration.
    pub fn ending_in(words: &Words, config: Config) -> Path {
        let mut path = Path { done: config.done, wild: config.wild, ..Path::default() };
        let mut node = config.words;
        let mut values = Vec::new();
        while let Some(edge) = words.edges(node).first() {
            values.push(edge.value);
            node = edge.below;
        }
        values.into_iter().rev().for_each(|value| path.put(value, 0));
        path
    }

    /// How many elements there are.
    pub fn height(&self) -> usize {
        self.letters.len()
    }

    /// Nodes got new numbers.
    pub fn forget_nodes(&mut self) {
        self.known = FxHashMap::default();
    }

    /// Goes back over the calls of a gap, of which `empties` were served if the stack was empty.
    pub fn before_calls(&mut self, empties: u64) {
        if self.letters.is_empty() {
            self.done &= !empties;
        }
    }

    /// Goes back over the return of `row`, which is open in `open`, to one of the configurations `before`.
    pub fn before_return(
        &mut self,
        words: &Words,
        open: &Open,
        row: Row,
        before: &[Config],
    ) -> Option<Choice> {
        let bit = 1u64 << row.slot;
        let at = |done: u64, wild: u32| before.iter().find(|c| c.done == done && c.wild == wild);
        if let Some(config) = at(self.done | bit, self.wild)
            && self.accepts(words, config.words, self.height())
        {
            self.done |= bit;
            return Some(Choice { pops: Vec::new(), last: Last::Earlier });
        }
        match row.kind {
            Kind::Push => {
                if let Some(config) = at(self.done, self.wild)
                    && let Some(choice) = self.take_out(words, row, config.words)
                {
                    return Some(choice);
                }
                self.letters.pop().filter(|letter| letter.value == row.value)?;
                self.undo_pops(words, open, row, before)
            }
            Kind::Pop => {
                for slot in bits(open.pushes & self.done).filter(|&s| open.row(s).value == row.value) {
                    if let Some(config) = at(self.done & !(1 << slot), self.wild)
                        && self.accepts(words, config.words, self.height())
                    {
                        self.done &= !(1 << slot);
                        return Some(Choice { pops: Vec::new(), last: Last::With(slot as u8) });
                    }
                }
                self.undo_pops(words, open, row, before)
            }
            Kind::Empty if self.letters.is_empty() => self.undo_pops(words, open, row, before),
            Kind::Empty | Kind::Wild => None,
        }
    }

    /// Finds where in the contents the returning push went, and takes it out.
    fn take_out(&mut self, words: &Words, row: Row, node: Node) -> Option<Choice> {
        let mut above: Vec<Letter> = Vec::new();
        // Where the elements above may lead, if all were pushed since the call.
        let mut nodes = vec![node];
        while !nodes.is_empty()
            && let Some(letter) = self.letters.pop()
        {
            let height = self.letters.len();
            if letter.value == row.value {
                let needs = letter.pushed_from.max(row.stamp());
                for other in above.iter().rev() {
                    self.put(other.value, other.pushed_from.max(needs));
                }
                if self.accepts(words, node, self.height()) {
                    let last = if above.is_empty() { Last::Now } else { Last::Below(height) };
                    return Some(Choice { pops: Vec::new(), last });
                }
                self.letters.truncate(height);
            }
            above.push(letter);
            let fits = |e: &&Edge| e.value == letter.value && e.stamp >= row.stamp();
            let next = nodes.iter().flat_map(|&node| words.edges(node).iter().filter(fits).map(|e| e.below));
            nodes = next.collect();
            nodes.sort_unstable();
            nodes.dedup();
        }
        self.letters.extend(above.into_iter().rev());
        None
    }

    /// The contents are what was left when some open pops had been run (and then `row`, if it is a pop).
    /// Finds which.
    fn undo_pops(&mut self, words: &Words, open: &Open, row: Row, before: &[Config]) -> Option<Choice> {
        let emptied = self.letters.is_empty();
        for config in before {
            let ran = self.done & !config.done;
            let served = if emptied { open.empties } else { 0 };
            if config.done & !self.done != 0
                || config.done >> row.slot & 1 == 1
                || ran & !(open.pops | served) != 0
                || config.wild > self.wild
            {
                continue;
            }
            let mut popped = Vec::new();
            let wild = self.wild - config.wild;
            let last = (row.kind == Kind::Pop).then_some(row.value);
            if self.find_pops(words, open, config.words, (ran & open.pops, wild), last, &mut popped) {
                for &(_, value) in popped.iter().rev() {
                    self.put(value, 0);
                }
                (self.done, self.wild) = (config.done, config.wild);
                let kept = popped.len() - usize::from(last.is_some());
                let pops = popped[..kept].iter().map(|&(slot, _)| slot).collect();
                return Some(Choice { pops, last: Last::Now });
            }
        }
        None
    }

    /// Runs the pops in `left` (and that many pending ones), then takes `last`, so that the contents remain.
    fn find_pops(
        &mut self,
        words: &Words,
        open: &Open,
        node: Node,
        left: (u64, u32),
        last: Option<u32>,
        popped: &mut Vec<(u8, u32)>,
    ) -> bool {
        if left == (0, 0) {
            let Some(value) = last else { return self.accepts(words, node, self.height()) };
            for edge in words.edges(node).iter().filter(|e| e.value == value) {
                if self.accepts(words, edge.below, self.height()) {
                    popped.push((WILD, value));
                    return true;
                }
            }
            return false;
        }
        for edge in words.edges(node) {
            for slot in bits(left.0).filter(|&slot| open.row(slot).value == edge.value) {
                popped.push((slot as u8, edge.value));
                if self.find_pops(words, open, edge.below, (left.0 & !(1 << slot), left.1), last, popped) {
                    return true;
                }
                popped.pop();
            }
            if left.1 > 0 {
                popped.push((WILD, edge.value));
                if self.find_pops(words, open, edge.below, (left.0, left.1 - 1), last, popped) {
                    return true;
                }
                popped.pop();
            }
        }
        false
    }

    fn put(&mut self, value: u32, pushed_from: u32) {
        self.cells += 1;
        self.letters.push(Letter { value, pushed_from, cell: self.cells });
    }

    /// Are the lowest `height` elements a word of `node`?
    fn accepts(&mut self, words: &Words, node: Node, height: usize) -> bool {
        self.trail.clear();
        self.trail.push((node, height, 0));
        while let Some(&(node, height, from)) = self.trail.last() {
            let Some(letter) = height.checked_sub(1).map(|at| self.letters[at]) else { break };
            match self.known.get(&(letter.cell, node)) {
                Some(true) => break,
                Some(false) => {
                    self.trail.pop();
                    continue;
                }
                None => {}
            }
            let fits = |e: &Edge| e.value == letter.value && e.stamp >= letter.pushed_from;
            let edges = words.edges(node);
            match (from..edges.len()).find(|&at| fits(&edges[at])) {
                Some(at) => {
                    if let Some(top) = self.trail.last_mut() {
                        top.2 = at + 1;
                    }
                    self.trail.push((edges[at].below, height - 1, 0));
                }
                None => {
                    self.known.insert((letter.cell, node), false);
                    self.trail.pop();
                }
            }
        }
        for &(node, height, _) in self.trail.iter().filter(|t| t.1 > 0) {
            self.known.insert((self.letters[height - 1].cell, node), true);
        }
        !self.trail.is_empty()
    }
}

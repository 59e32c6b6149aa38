//! One return: every configuration either had the operation already, or runs open operations that end in it,
//! or dies.
//!
//! A configuration is a set of open operations that took effect ([`Config::done`], and how many pending pops)
//! with the set of possible contents. Everything is as lazy as can be:
//!
//! - An open push is *not* in the contents before it returns. Until then it may have happened at any moment
//!   since its call: just before any element that was pushed since then and still lies there (each carries
//!   the stamp of its push), or on top. All these places are filled in at its return. It is used early only
//!   together with the returning pop that takes it, at one instant.
//! - Open pops are run before a returning pop to uncover its value, before a returning empty pop to empty the
//!   stack, and before a returning push x only if they reach below all elements pushed since x's call: else x
//!   could have been put lower and the pops be run later.
//! - A pop that found the stack empty is done as soon as some configuration is empty.
//!
//! Stamps: the call of push x in gap g has the stamp g + 1. An element's stamp is the latest call before its
//! push among the pushes that are open and not used up; what lies between two such calls is alike. When a
//! push returns or is used, its stamp *fades* into the one before it, so equal futures are equal words.

use super::open::{Kind, Open, Row, bits};
use super::place::Insertion;
use super::words::{EMPTY, NONE, Node, Words};

/// Ways to explain the past that differ in the contents only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Open operations that took effect, by slot.
    pub done: u64,
    /// How many pending pops took effect.
    pub wild: u32,
    /// The possible contents.
    pub words: Node,
}

impl Config {
    /// What tells configurations apart.
    pub(super) fn key(&self) -> (u64, u32) {
        (self.done, self.wild)
    }
}

/// Takes configurations over calls and returns.
#[derive(Clone, Debug, Default)]
pub struct Stepper {
    /// Configurations on the way, by how many pops they have run.
    levels: Vec<Vec<Config>>,
    /// The pairs of stamps met in this step.
    kinds: Vec<(u32, u32)>,
    /// Where the step leads.
    pub(super) out: Vec<Config>,
    /// Configurations in which the returning operation has not taken effect.
    spare: Vec<Config>,
}

impl Stepper {
    /// After calls: empty pops take effect where the stack is empty.
    pub fn serve(&mut self, open: &Open, configs: &mut Vec<Config>) {
        if open.empties == 0 || !configs.iter().any(|c| c.words == EMPTY && open.empties & !c.done != 0) {
            return;
        }
        for config in configs.iter_mut().filter(|c| c.words == EMPTY) {
            config.done |= open.empties;
        }
        configs.sort_unstable_by_key(Config::key);
        configs.dedup_by_key(|c| c.key());
    }

    /// The return of `row`, which is still open.
    pub fn step(&mut self, words: &mut Words, open: &Open, row: Row, configs: &mut Vec<Config>) {
        let bit = 1u64 << row.slot;
        self.out.clear();
        self.spare.clear();
        for config in configs.iter() {
            if config.done & bit != 0 {
                self.out.push(Config { done: config.done & !bit, ..*config });
            } else {
                self.spare.push(*config);
            }
        }
        if !self.spare.is_empty() {
            words.forget_insertions();
            self.kinds.clear();
            match row.kind {
                Kind::Push => self.push(words, open, row),
                Kind::Pop => self.pop(words, open, row),
                Kind::Empty | Kind::Wild => self.empty(words, open),
            }
        }
        for config in &mut self.out {
            config.done |= if config.words == EMPTY { open.empties } else { 0 };
            config.done &= !bit;
        }
        merge(words, &mut self.out);
        configs.clear();
        if self.out.len() < 2 {
            configs.extend_from_slice(&self.out);
            return;
        }
        words.forget_insertions();
        self.kinds.clear();
        let mut still_open = open.clone();
        still_open.close(row);
        for at in 0..self.out.len() {
            if words.is_over(4) {
                return;
            }
            if !self.is_needless(words, &still_open, self.out[at]) {
                configs.push(self.out[at]);
            }
        }
    }

    fn push(&mut self, words: &mut Words, open: &Open, row: Row) {
        let bit = 1u64 << row.slot;
        for at in 0..self.spare.len() {
            if words.is_over(4) {
                return;
            }
            let config = self.spare[at];
            let how = self.insertion(open, row, config.done | bit);
            let placed = words.insert(config.words, how);
            self.out.push(Config { words: placed, ..config });
        }
        self.start(open);
        let mut level = 0;
        while level < self.levels.len() {
            merge(words, &mut self.levels[level]);
            for at in 0..self.levels[level].len() {
                if words.is_over(4) {
                    return;
                }
                let config = self.levels[level][at];
                if config.words == EMPTY {
                    continue;
                }
                let how = self.insertion(open, row, config.done | bit);
                let limit = row.stamp().max(how.now);
                self.pops_of(words, open, config, None, limit, |words, after, deep| {
                    let served = after.done & open.empties != config.done & open.empties;
                    let below = if served { after.words } else { deep };
                    (below != NONE).then(|| {
                        let below = words.fade(below, how);
                        Config { words: words.push(row.value, how.now, below), ..after }
                    })
                });
            }
            level += 1;
        }
    }

    fn pop(&mut self, words: &mut Words, open: &Open, row: Row) {
        for at in 0..self.spare.len() {
            if words.is_over(4) {
                return;
            }
            let config = self.spare[at];
            let rest = words.without_top(config.words, row.value);
            if config.words != EMPTY && rest == NONE {
                continue;
            }
            let rest = if config.words == EMPTY { EMPTY } else { rest };
            let partners = partners(open, row.value, config.done);
            for slot in bits(partners) {
                let push = *open.row(slot);
                let done = config.done | 1 << slot;
                let mut left = rest;
                let rivals = bits(partners).map(|other| open.row(other)).filter(|other| other.id < push.id);
                if let Some(nearest) = rivals.map(Row::stamp).max() {
                    let mut how = self.insertion(open, push, done);
                    (how.fade, how.kind) = (nearest, self.kind(push.stamp(), nearest));
                    left = words.between(left, how);
                    if left == NONE {
                        continue;
                    }
                }
                if open.pending >> slot & 1 == 0 {
                    let how = self.insertion(open, push, done);
                    left = words.fade(left, how);
                }
                self.out.push(Config { done, words: left, ..config });
            }
        }
        self.start(open);
        let mut level = 0;
        while level < self.levels.len() {
            merge(words, &mut self.levels[level]);
            for at in 0..self.levels[level].len() {
                if words.is_over(4) {
                    return;
                }
                let config = self.levels[level][at];
                let left = words.pop(config.words, row.value, u32::MAX);
                if left != NONE {
                    self.out.push(Config { words: left, ..config });
                }
                if config.words != EMPTY {
                    self.pops_of(words, open, config, Some(row.value), 0, |_, _, _| None);
                }
            }
            level += 1;
        }
    }

    fn empty(&mut self, words: &mut Words, open: &Open) {
        self.start(open);
        let mut level = 0;
        while level < self.levels.len() {
            merge(words, &mut self.levels[level]);
            for at in 0..self.levels[level].len() {
                if words.is_over(4) {
                    return;
                }
                let config = self.levels[level][at];
                if config.words == EMPTY {
                    self.out.push(config);
                } else {
                    self.pops_of(words, open, config, None, 0, |_, _, _| None);
                }
            }
            level += 1;
        }
    }

    /// Sorts the waiting configurations by how many pops they have run.
    fn start(&mut self, open: &Open) {
        self.levels.iter_mut().for_each(Vec::clear);
        for &config in &self.spare {
            put(&mut self.levels, open, config);
        }
    }

    /// Runs each pop that may come next in `config`. `emit` is shown the outcome, and the part of it where
    /// the popped element was stamped below `limit`, and may make a configuration for the result of the step.
    fn pops_of(
        &mut self,
        words: &mut Words,
        open: &Open,
        config: Config,
        value: Option<u32>,
        limit: u32,
        mut emit: impl FnMut(&mut Words, Config, Node) -> Option<Config>,
    ) {
        let mut run = |words: &mut Words, done: u64, wild: u32, left: Node, deep: Node| {
            let served = if left == EMPTY { open.empties } else { 0 };
            let after = Config { done: done | served, wild, words: left };
            self.out.extend(emit(words, after, deep));
            put(&mut self.levels, open, after);
        };
        for pop in open.next_pops(config.done, value) {
            let left = words.pop(config.words, pop.value, u32::MAX);
            if left != NONE {
                let deep = if limit == 0 { NONE } else { words.pop(config.words, pop.value, limit) };
                run(words, config.done | 1 << pop.slot, config.wild, left, deep);
            }
        }
        if config.wild == open.wild {
            return;
        }
        let (mut left, mut deep) = (NONE, NONE);
        for at in 0..words.edges(config.words).len() {
            let edge = words.edges(config.words)[at];
            let named = bits(open.pops & !config.done).any(|slot| open.row(slot).value == edge.value);
            if !named && value != Some(edge.value) {
                left = words.union(left, edge.below);
                if edge.stamp < limit {
                    deep = words.union(deep, edge.below);
                }
            }
        }
        if left != NONE {
            run(words, config.done, config.wild + 1, left, deep);
        }
    }

    /// How a push is placed, in configurations that have then done `done`.
    pub(super) fn insertion(&mut self, open: &Open, push: Row, done: u64) -> Insertion {
        let from = push.stamp();
        let fade = open.floating(done).filter(|&stamp| stamp <= from).max().unwrap_or(0);
        let now = latest(open, done);
        Insertion { value: push.value, from, fade, now, kind: self.kind(from, fade) }
    }

    /// A number for each pair of stamps met in one step.
    fn kind(&mut self, from: u32, fade: u32) -> u32 {
        let known = self.kinds.iter().position(|&kind| kind == (from, fade));
        known.unwrap_or_else(|| {
            self.kinds.push((from, fade));
            self.kinds.len() - 1
        }) as u32
    }
}

/// The stamp of an element pushed now.
fn latest(open: &Open, done: u64) -> u32 {
    open.floating(done).max().unwrap_or(0)
}

/// The open pushes of `value` that a pop may use at once. Of two, using the one that returns first and was
/// called last is better; if neither is both, both are tried.
fn partners(open: &Open, value: u32, done: u64) -> u64 {
    let all = bits(open.pushes & !done).filter(|&slot| open.row(slot).value == value);
    let free = all.fold(0u64, |set, slot| set | 1 << slot);
    let better = |a: u32, b: u32| {
        let (x, y) = (open.row(a), open.row(b));
        let called = |r: &Row| if open.pending >> r.slot & 1 == 1 { 0 } else { r.earliest };
        x.id.latest() <= y.id.latest()
            && called(x) >= called(y)
            && (x.id.latest(), called(y), a) < (y.id.latest(), called(x), b)
    };
    bits(free)
        .filter(|&slot| !bits(free).any(|other| other != slot && better(other, slot)))
        .fold(0, |set, slot| set | 1 << slot)
}

fn put(levels: &mut Vec<Vec<Config>>, open: &Open, config: Config) {
    let level = ((config.done & open.pops).count_ones() + config.wild) as usize;
    if levels.len() <= level {
        levels.resize(level + 1, Vec::new());
    }
    levels[level].push(config);
}

/// Unites configurations that differ in the contents only.
fn merge(words: &mut Words, configs: &mut Vec<Config>) {
    if configs.len() < 2 {
        return;
    }
    configs.sort_unstable_by_key(|c| (c.key(), c.words));
    let mut kept = 0;
    for at in 1..configs.len() {
        if configs[at].key() == configs[kept].key() {
            configs[kept].words = words.union(configs[kept].words, configs[at].words);
        } else {
            kept += 1;
            configs[kept] = configs[at];
        }
    }
    configs.truncate(kept + 1);
}

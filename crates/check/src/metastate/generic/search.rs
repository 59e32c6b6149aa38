//! One return after another: which configurations explain it?
//!
//! At the return of f, a configuration in which f took effect goes on as it is. Any other must let some open
//! operations take effect and then f. This searches those sequences breadth first; nodes covered by others
//! are not followed. The rules, and why they lose nothing, are in `docs/soundness.md` under "Generic engine".

use linpoint_history::{Operation, Spec, Symbols};

use super::machine::{Machine, REFUSED};
use super::mask::{Mask, Wide, slots};
use super::paths::{Entry, Paths};
use super::pool::{Config, Node, Pool};
use crate::engine::{Budget, Stop};
use crate::timeline::OpId;

/// An operation called and not returned.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Its class.
    pub class: u32,
    /// Its slot, among those that change the state or among those that only look.
    pub slot: u32,
    /// Which it is.
    pub id: OpId,
}

/// How wide the search got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Width {
    /// The most configurations kept after a return.
    pub most: usize,
    /// The sum of configurations kept over all returns.
    pub sum: u64,
    /// Returns explained.
    pub returns: u64,
    /// Nodes looked at.
    pub nodes: u64,
}

/// All configurations after the last return, and the operations open now.
#[derive(Debug)]
pub struct Search<S: Spec, M: Mask> {
    pub(super) machine: Machine<S>,
    configs: Vec<Config<M>>,
    tips: Vec<u32>,
    /// Open operations that may change the state, by class and then by return.
    writers: Vec<Open>,
    /// Open operations that only look.
    readers: Vec<Open>,
    writer_slots: Free,
    reader_slots: Free,
    /// Optional operations whose hidden place is so long ago that it should be renewed.
    renew: M,
    paths: Paths,
    front: Pool<M>,
    found: Pool<M>,
    hiding_states: Vec<u32>,
    /// Steps and comparisons since the clock was last looked at.
    work: u32,
    pub(super) width: Width,
}

#[derive(Clone, Debug, Default)]
struct Free {
    free: Vec<u32>,
    used: u32,
}

impl Free {
    fn get(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }

    fn next(&self) -> usize {
        self.free.last().map_or(self.used as usize, |&slot| slot as usize)
    }
}

/// A set of hidden operations is looked at state by state; past this many states it is not made larger.
const HIDING_STATES: usize = 24;

/// So much work between two looks at the clock: some milliseconds. A comparison counts one, a step more,
/// since it may make a large state.
const WORK: u32 = 1 << 14;
const STEP: u32 = 16;

impl<S: Spec, M: Mask> Search<S, M> {
    /// Before the first operation.
    pub fn new(spec: S) -> Search<S, M> {
        Search {
            machine: Machine::new(spec),
            configs: vec![Config::default()],
            tips: vec![0],
            writers: Vec::new(),
            readers: Vec::new(),
            writer_slots: Free::default(),
            reader_slots: Free::default(),
            renew: M::default(),
            paths: Paths::new(),
            front: Pool::new(),
            found: Pool::new(),
            hiding_states: Vec::new(),
            work: 0,
            width: Width::default(),
        }
    }

    /// Is there room for another open operation?
    pub fn has_room(&self) -> bool {
        self.writer_slots.next() < M::SLOTS && self.reader_slots.next() < M::SLOTS
    }

    /// An operation is called.
    pub fn call(&mut self, id: OpId, row: &Operation, symbols: &Symbols) {
        let class = self.machine.class(row, symbols);
        if self.machine.is_read_only(class) {
            if id.as_pending().is_some() {
                return; // It never answered and changed nothing: nothing to explain.
            }
            let slot = self.reader_slots.get();
            self.readers.push(Open { class, slot, id });
            for (config, tip) in self.configs.iter_mut().zip(&mut self.tips) {
                if self.machine.step(config.state, class) != REFUSED {
                    config.served.put(slot as usize);
                    *tip = self.paths.push(*tip, [Entry::Effect(id)]);
                }
            }
            return;
        }
        let open = Open { class, slot: self.writer_slots.get(), id };
        let at = self.writers.partition_point(|w| (w.class, w.id.latest(), w.id) < (class, id.latest(), id));
        self.writers.insert(at, open);
        if id.as_pending().is_some() {
            self.configs.iter_mut().for_each(|config| config.optional.put(open.slot as usize));
        }
    }

    /// An operation returns. `false`: no configuration explains it.
    pub fn explain(&mut self, id: OpId, budget: &Budget) -> Result<bool, Stop> {
        self.front.clear();
        self.found.clear();
        let looked = match self.readers.iter().position(|r| r.id == id) {
            Some(at) => self.explain_reader(at, budget)?,
            None => match self.writers.iter().position(|w| w.id == id) {
                Some(at) => self.explain_writer(at, budget)?,
                None => return Ok(true),
            },
        };
        self.width.nodes += looked as u64;
        self.drop_implied(budget)?;
        if self.found.nodes.is_empty() {
            return Ok(false);
        }
        self.keep_found(id);
        self.width.returns += 1;
        self.width.sum += self.configs.len() as u64;
        self.width.most = self.width.most.max(self.configs.len());
        Ok(true)
    }

    fn explain_reader(&mut self, at: usize, budget: &Budget) -> Result<usize, Stop> {
        let slot = self.readers[at].slot as usize;
        for (index, config) in self.configs.iter().enumerate() {
            let node = Node::root(config.clone(), index as u32);
            if config.served.has(slot) {
                self.found.insert(node)
            } else {
                self.front.insert(node)
            };
        }
        let mut next = 0;
        while next < self.front.nodes.len() {
            if self.front.nodes[next].alive {
                self.expand(next, u32::MAX, budget, |search, child| {
                    let pool =
                        if child.config.served.has(slot) { &mut search.found } else { &mut search.front };
                    search.work += pool.insert(child);
                })?;
            }
            next += 1;
        }
        for node in &mut self.found.nodes {
            node.config.served.take(slot);
        }
        self.reader_slots.free.push(slot as u32);
        self.readers.swap_remove(at);
        Ok(next)
    }

    fn explain_writer(&mut self, at: usize, budget: &Budget) -> Result<usize, Stop> {
        let f = self.writers[at];
        let slot = f.slot as usize;
        for (index, config) in self.configs.iter().enumerate() {
            let mut node = Node::root(config.clone(), index as u32);
            if config.done.has(slot) {
                node.config.done.take(slot);
                self.found.insert(node);
                continue;
            }
            if config.optional.has(slot) {
                node.config.optional.take(slot);
                self.found.insert(Node { settles: true, ..node.clone() });
            }
            self.front.insert(node);
        }
        // The bit of f is left out from here on: it is not done in `front` and done in all of `found`.
        self.writers.remove(at);
        self.renew.take(slot);
        let mut next = 0;
        while next < self.front.nodes.len() {
            if self.front.nodes[next].alive {
                self.step(next, f, |search, mut child| {
                    child.config.done.take(slot);
                    search.work += search.found.insert(child);
                });
                self.expand(next, f.class, budget, |search, child| {
                    search.work += search.front.insert(child);
                })?;
            }
            next += 1;
        }
        self.writer_slots.free.push(f.slot);
        Ok(next)
    }

    /// One step may compare a child with thousands of nodes, so work is counted and the clock looked at
    /// inside the loops.
    #[inline]
    fn poll(&mut self, budget: &Budget) -> Result<(), Stop> {
        if self.work < WORK {
            return Ok(());
        }
        self.work = 0;
        budget.check(self.bytes())
    }

    /// All steps from a node of the front, but by operations of class `except`: of each class the operation
    /// that returns first, and where that one is optional also the first that is not.
    fn expand(
        &mut self,
        node: usize,
        except: u32,
        budget: &Budget,
        mut child: impl FnMut(&mut Self, Node<M>),
    ) -> Result<(), Stop> {
        let mut at = 0;
        while at < self.writers.len() {
            let class = self.writers[at].class;
            let mut seen_optional = class == except;
            let mut seen_missing = seen_optional;
            while at < self.writers.len() && self.writers[at].class == class {
                let open = self.writers[at];
                let config = &self.front.nodes[node].config;
                at += 1;
                if seen_missing || config.done.has(open.slot as usize) {
                    continue;
                }
                if config.optional.has(open.slot as usize) {
                    if seen_optional {
                        continue;
                    }
                    seen_optional = true;
                } else {
                    seen_missing = true;
                }
                self.step(node, open, &mut child);
                self.poll(budget)?;
            }
        }
        Ok(())
    }

    /// Lets `open` take effect at a node of the front, in every way it can.
    fn step(&mut self, node: usize, open: Open, mut child: impl FnMut(&mut Self, Node<M>)) {
        let from = &self.front.nodes[node];
        let (state, origin) = (from.config.state, from.origin);
        let outcome = self.machine.step(state, open.class);
        self.work += STEP;
        let mut index = 0;
        while let Some(after) = self.machine.nth_state(outcome, index) {
            index += 1;
            let mut config = self.front.nodes[node].config.clone();
            config.done.put(open.slot as usize);
            config.optional.take(open.slot as usize);
            let hidden = self.hidden(&config, state, open, after);
            config.optional.join(&hidden);
            config.state = after;
            let fresh = self.servable(after, &config.served);
            config.served.join(&fresh);
            child(
                self,
                Node { slot: open.slot, from: node as u32, hidden, fresh, ..Node::root(config, origin) },
            );
        }
    }

    /// The read-only operations that are not served yet and fit `state`.
    #[inline]
    fn servable(&mut self, state: u32, served: &M) -> M {
        let mut fresh = M::default();
        for reader in &self.readers {
            if !served.has(reader.slot as usize) && self.machine.step(state, reader.class) != REFUSED {
                fresh.put(reader.slot as usize);
            }
        }
        fresh
    }

    /// Open operations that may have taken effect, any of them, just before the step of `open` from `state`
    /// to `after`, without a trace. Operations are added one by one; `hiding_states` is every state that some
    /// of those so far lead to.
    fn hidden(&mut self, config: &Config<M>, state: u32, open: Open, after: u32) -> M {
        let mut hidden = M::default();
        let mut states = std::mem::take(&mut self.hiding_states);
        states.clear();
        states.push(state);
        for other in 0..self.writers.len() {
            let other = self.writers[other];
            let slot = other.slot as usize;
            if config.done.has(slot)
                || config.optional.has(slot) && !self.renew.has(slot)
                || other.id.as_pending().is_some()
            {
                continue;
            }
            let known = states.len();
            self.work += known as u32;
            let fits = known <= HIDING_STATES
                && (0..known).all(|at| {
                    let between = self.machine.step(states[at], other.class);
                    let Some(between) = self.machine.nth_state(between, 0) else { return false };
                    let end = self.machine.step(between, open.class);
                    if !states.contains(&between) {
                        states.push(between);
                    }
                    self.machine.states_of(end).any(|end| end == after)
                });
            if fits {
                hidden.put(slot);
            } else {
                states.truncate(known);
            }
        }
        self.hiding_states = states;
        hidden
    }

    /// Drops what another found configuration leads to by one step: it can be had later, if it is needed.
    fn drop_implied(&mut self, budget: &Budget) -> Result<(), Stop> {
        if self.found.nodes.iter().filter(|node| node.alive).count() < 2 {
            self.found.nodes.retain(|node| node.alive);
            return Ok(());
        }
        let mut implied = vec![false; self.found.nodes.len()];
        // `expand` works on the front: the found configurations change places with it, and come back after.
        std::mem::swap(&mut self.front, &mut self.found);
        for index in 0..implied.len() {
            if self.front.nodes[index].alive {
                self.expand(index, u32::MAX, budget, |search, child| {
                    for other in search.front.with_state(child.config.state) {
                        search.work += 1;
                        let node = &search.front.nodes[other];
                        if other != index && node.alive && child.config.covers(&node.config) {
                            implied[other] = true;
                        }
                    }
                })?;
            }
        }
        std::mem::swap(&mut self.front, &mut self.found);
        let mut implied = implied.into_iter();
        self.found.nodes.retain(|node| !implied.next().unwrap_or(false) && node.alive);
        Ok(())
    }

    /// The found configurations become the configurations.
    fn keep_found(&mut self, id: OpId) {
        let mut tips = Vec::with_capacity(self.found.nodes.len());
        let mut entries = Vec::new();
        for node in &self.found.nodes {
            entries.clear();
            self.entries_of(node, id, &mut entries);
            let tip = self.tips[node.origin as usize];
            tips.push(match entries.is_empty() {
                true => tip,
                false => self.paths.push(tip, entries.iter().copied()),
            });
        }
        self.tips = tips;
        self.configs.clear();
        self.configs.extend(self.found.nodes.drain(..).map(|node| node.config));
    }

    /// What happened since the node's origin, in order; `returning` is no longer among the open ones.
    fn entries_of(&self, node: &Node<M>, returning: OpId, entries: &mut Vec<Entry>) {
        if node.settles {
            entries.push(Entry::Settled(returning));
        }
        let mut chain = vec![node];
        while let Some(last) = chain.last()
            && last.from != Node::<M>::NONE
        {
            chain.push(&self.front.nodes[last.from as usize]);
        }
        for step in chain.into_iter().rev().filter(|step| step.slot != Node::<M>::NONE) {
            let hidden = self.writers.iter().filter(|w| step.hidden.has(w.slot as usize));
            entries.extend(hidden.map(|w| Entry::Hidden(w.id)));
            let writer = self.writers.iter().find(|w| w.slot == step.slot);
            entries.push(Entry::Effect(writer.map_or(returning, |w| w.id)));
            for slot in slots(&step.fresh) {
                let reader = self.readers.iter().find(|r| r.slot as usize == slot);
                entries.push(Entry::Effect(reader.map_or(returning, |r| r.id)));
            }
        }
    }

    /// Forgets what no configuration needs, when that is due, and writes what all of them share to `order`.
    pub fn collect(&mut self, order: &mut Vec<OpId>) {
        if self.machine.is_due() {
            let states = self.configs.iter_mut().map(|config| &mut config.state);
            let classes = self.writers.iter_mut().chain(&mut self.readers).map(|open| &mut open.class);
            self.machine.forget(states, classes);
            self.writers.sort_by_key(|w| (w.class, w.id.latest(), w.id));
        }
        if self.paths.is_due() {
            self.collect_paths(order);
        }
    }

    /// Writes what all configurations share to `order`.
    pub fn collect_paths(&mut self, order: &mut Vec<OpId>) {
        let writers = &self.writers;
        let hidden = |config: &Config<M>| {
            let open = writers.iter().filter(|w| w.id.as_pending().is_none());
            open.filter(|w| config.optional.has(w.slot as usize)).map(|w| w.id).collect()
        };
        let mut tips: Vec<_> =
            self.tips.iter_mut().zip(&self.configs).map(|(tip, config)| (tip, hidden(config))).collect();
        let wanted = self.paths.collect(&mut tips, order);
        self.renew = M::default();
        for open in writers.iter().filter(|w| wanted.contains(&w.id)) {
            self.renew.put(open.slot as usize);
        }
    }

    /// All returned: writes one of the orders found.
    pub fn finish(&mut self, order: &mut Vec<OpId>) {
        if let Some(&tip) = self.tips.first() {
            self.paths.write(tip, order);
        }
    }

    /// Are there so many configurations that each return takes long?
    pub fn is_crowded(&self) -> bool {
        self.configs.len() > 1 << 12
    }

    /// The states met in the search for the last return, each once.
    pub fn states_met(&self) -> Vec<u32> {
        let mut states: Vec<u32> = self.front.nodes.iter().map(|node| node.config.state).collect();
        states.sort_unstable();
        states.dedup();
        states
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let mask = self.configs.first().map_or(0, |config| config.done.heap_bytes());
        let nodes = self.front.nodes.len() + self.found.nodes.len();
        self.machine.bytes()
            + self.paths.bytes()
            + self.front.bytes()
            + self.found.bytes()
            + nodes * 5 * mask
            + self.configs.capacity() * (size_of::<Config<M>>() + 3 * mask)
            + self.tips.capacity() * 4
    }
}

impl<S: Spec> Search<S, u64> {
    /// The same search with room for any number of open operations.
    pub fn widen(self) -> Search<S, Wide> {
        let widen = |config: Config<u64>| Config {
            state: config.state,
            done: Wide::from_word(config.done),
            optional: Wide::from_word(config.optional),
            served: Wide::from_word(config.served),
        };
        Search {
            machine: self.machine,
            configs: self.configs.into_iter().map(widen).collect(),
            tips: self.tips,
            writers: self.writers,
            readers: self.readers,
            writer_slots: self.writer_slots,
            reader_slots: self.reader_slots,
            renew: Wide::from_word(self.renew),
            paths: self.paths,
            front: Pool::new(),
            found: Pool::new(),
            hiding_states: self.hiding_states,
            work: self.work,
            width: self.width,
        }
    }
}

//! A second decision procedure, plain enough to be believed: every configuration, event after event.
//!
//! A *configuration* is a state and the set of open operations that took effect on the way to it; what
//! returned took effect in all of them. Calls and returns are taken in order of their stamps, calls before
//! returns of the same stamp. At the return of f every sequence of open operations that ends in f is tried
//! from every configuration that lacks f (Lowe 2017: just in time). No more is done before the next return,
//! since an operation that is not needed yet may as well take effect later.
//!
//! Three rules besides, each a line to argue. An operation that can never change the state is placed as soon
//! as it fits. A pending operation that only looks is left out. Of two configurations that differ only in
//! that one used more pending operations, the other one is kept, since it may leave them out for good.
//!
//! **What it is for.** It shares no code with the engines and rechecks their violations where brute force
//! cannot. And it finds where a counterexample may start: whenever a single configuration is left, *every*
//! explanation of the history passes through it. So if what is then open and missing, and what comes later,
//! has no order from its state, the history has none (`docs/soundness.md`, "Starts").
//!
//! Real time is read from stamps as brute force does, the order of touching operations of one process
//! included.

mod table;

use linpoint_history::{Operation, Spec, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};

use self::table::Table;
use crate::engine::{Budget, Stop};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision<S> {
    /// There is an order.
    Linearizable,
    /// There is none.
    NotLinearizable(Refutation<S>),
}

/// Where explanations end, and the last moment at which they were all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation<S> {
    /// The row whose return finds no place.
    pub at: usize,
    /// The state of the last configuration that was the only one.
    pub state: S,
    /// The rows that took effect on the way to it, in an order that explains them.
    pub order: Vec<usize>,
}

/// Decides whether `rows`, all of one object, can be explained from the state `from`. Stops with
/// [`Stop::Unsupported`] where more than 128 operations are open at once.
pub fn decide<S: Spec>(
    spec: &S,
    from: &S::State,
    rows: &[Operation],
    symbols: &Symbols,
    budget: &Budget,
) -> Result<Decision<S::State>, Stop> {
    let mut frontier = Frontier {
        table: Table::new(spec, from.clone()),
        rows,
        symbols,
        budget,
        open: vec![None; SLOTS],
        opened: 0,
        pending: 0,
        configs: vec![Config { state: 0, done: 0, way: ROOT }],
        ways: Vec::new(),
        ways_due: 1 << 16,
        order: Vec::new(),
        start: from.clone(),
        steps: 0,
    };
    Ok(match frontier.run()? {
        None => Decision::Linearizable,
        Some(at) => {
            let order = frontier.order.iter().map(|&row| row as usize).collect();
            Decision::NotLinearizable(Refutation { at, state: frontier.start, order })
        }
    })
}

const SLOTS: usize = 128;
const ROOT: u32 = u32::MAX;

/// An operation called and not returned.
#[derive(Clone, Copy, Debug)]
struct Open {
    row: u32,
    /// Its class in the table.
    class: u32,
    only_looks: bool,
    /// The open operations of its process that returned at the stamp of its call: they come first.
    waits: u128,
}

#[derive(Clone, Copy, Debug)]
struct Config {
    state: u32,
    /// Open operations that took effect, by slot.
    done: u128,
    /// The last step on the way to it.
    way: u32,
}

/// A step: the one before it, and the row that took effect.
#[derive(Clone, Copy, Debug)]
struct Step {
    before: u32,
    row: u32,
}

struct Frontier<'a, S: Spec> {
    table: Table<'a, S>,
    rows: &'a [Operation],
    symbols: &'a Symbols,
    budget: &'a Budget,
    /// By slot.
    open: Vec<Option<Open>>,
    /// Slots in use.
    opened: u128,
    /// Slots of operations that never return.
    pending: u128,
    configs: Vec<Config>,
    /// Steps since the last single configuration; a step comes after the one before it.
    ways: Vec<Step>,
    ways_due: usize,
    order: Vec<u32>,
    start: S::State,
    steps: u64,
}

impl<S: Spec> Frontier<'_, S> {
    /// All events; the row whose return finds no place, if one does.
    fn run(&mut self) -> Result<Option<usize>, Stop> {
        let rows = self.rows;
        let mut calls: Vec<u32> = (0..rows.len() as u32).collect();
        calls.sort_by_key(|&i| (rows[i as usize].call, rows[i as usize].ret, i));
        let mut returns: Vec<u32> = calls.clone();
        returns.retain(|&i| !rows[i as usize].is_pending());
        returns.sort_by_key(|&i| (rows[i as usize].ret, i));
        let mut slots = vec![0u8; rows.len()];
        let mut calls = calls.into_iter().peekable();
        for row in returns {
            let ret = rows[row as usize].ret;
            while let Some(called) = calls.next_if(|&i| rows[i as usize].call <= ret) {
                slots[called as usize] = self.call(called)?;
            }
            if !self.explain(u32::from(slots[row as usize]))? {
                return Ok(Some(row as usize));
            }
            self.tidy();
        }
        Ok(None)
    }

    /// An operation is called; gives its slot.
    fn call(&mut self, row: u32) -> Result<u8, Stop> {
        let op = &self.rows[row as usize];
        let class = self.table.class(op, self.symbols);
        let only_looks = self.table.only_looks(class);
        if only_looks && op.is_pending() {
            return Ok(0);
        }
        let slot = self.opened.trailing_ones();
        if slot as usize == SLOTS {
            return Err(Stop::Unsupported("more than 128 operations are open at once".to_owned()));
        }
        let before = |other: &Open| {
            let first = &self.rows[other.row as usize];
            first.process() == op.process()
                && first.ret == op.call
                && (first.call, other.row) < (op.call, row)
        };
        let mut waits = 0;
        for other in ones(self.opened) {
            if self.open[other as usize].as_ref().is_some_and(before) {
                waits |= 1 << other;
            }
        }
        self.open[slot as usize] = Some(Open { row, class, only_looks, waits });
        self.opened |= 1 << slot;
        if op.is_pending() {
            self.pending |= 1 << slot;
        }
        if only_looks {
            let mut configs = std::mem::take(&mut self.configs);
            configs.iter_mut().for_each(|config| self.look(config));
            self.configs = configs;
        }
        Ok(slot as u8)
    }

    /// Places all operations that only look and fit now.
    fn look(&mut self, config: &mut Config) {
        loop {
            let before = config.done;
            for slot in ones(self.opened & !config.done) {
                let Some(open) = self.open[slot as usize] else { continue };
                if open.only_looks
                    && open.waits & !config.done == 0
                    && !self.table.step(config.state, open.class).is_empty()
                {
                    config.done |= 1 << slot;
                    config.way = self.way(config.way, open.row);
                }
            }
            if config.done == before {
                return;
            }
        }
    }

    fn way(&mut self, before: u32, row: u32) -> u32 {
        self.ways.push(Step { before, row });
        (self.ways.len() - 1) as u32
    }

    /// The operation in `slot` returns: keeps what explains it. Is there anything?
    fn explain(&mut self, slot: u32) -> Result<bool, Stop> {
        let bit = 1u128 << slot;
        let mut found: FxHashMap<(u32, u128), u32> = FxHashMap::default();
        let mut seen: FxHashSet<(u32, u128)> = FxHashSet::default();
        let mut queue = Vec::new();
        for config in std::mem::take(&mut self.configs) {
            if config.done & bit != 0 {
                found.entry((config.state, config.done & !bit)).or_insert(config.way);
            } else if seen.insert((config.state, config.done)) {
                queue.push(config);
            }
        }
        let mut next = 0;
        while let Some(&config) = queue.get(next) {
            next += 1;
            if self.steps.is_multiple_of(64) {
                self.budget.check(self.bytes() + queue.len() * 128)?;
            }
            self.steps += 1;
            for other in ones(self.opened & !config.done) {
                let Some(open) = self.open[other as usize] else { continue };
                if open.only_looks || open.waits & !config.done != 0 {
                    continue;
                }
                for index in 0..self.table.step(config.state, open.class).len() {
                    let state = self.table.step(config.state, open.class)[index];
                    let mut after = Config { state, done: config.done | 1 << other, way: config.way };
                    after.way = self.way(after.way, open.row);
                    self.look(&mut after);
                    if after.done & bit != 0 {
                        found.entry((after.state, after.done & !bit)).or_insert(after.way);
                    } else if seen.insert((after.state, after.done)) {
                        queue.push(after);
                    }
                }
            }
        }
        self.open[slot as usize] = None;
        self.opened &= !bit;
        self.open.iter_mut().flatten().for_each(|open| open.waits &= !bit);
        self.configs = found.into_iter().map(|((state, done), way)| Config { state, done, way }).collect();
        self.configs.sort_unstable_by_key(|config| (config.state, config.done));
        self.keep_frugal();
        Ok(!self.configs.is_empty())
    }

    /// Drops what used more pending operations than another that is equal to it otherwise.
    fn keep_frugal(&mut self) {
        if self.pending == 0 {
            return;
        }
        let rest = |config: &Config| (config.state, config.done & !self.pending);
        self.configs.sort_by_key(|config| (rest(config), (config.done & self.pending).count_ones()));
        let mut kept: Vec<Config> = Vec::with_capacity(self.configs.len());
        let mut group = 0;
        for config in &self.configs {
            if kept.get(group).is_none_or(|first| rest(first) != rest(config)) {
                group = kept.len();
            }
            if kept[group..].iter().all(|less| less.done & !config.done != 0) {
                kept.push(*config);
            }
        }
        self.configs = kept;
    }

    /// Writes down the way to a single configuration; forgets what nothing leads through any more.
    fn tidy(&mut self) {
        if let [only] = &mut self.configs[..] {
            let from = self.order.len();
            let mut way = only.way;
            while way != ROOT {
                self.order.push(self.ways[way as usize].row);
                way = self.ways[way as usize].before;
            }
            self.order[from..].reverse();
            only.way = ROOT;
            self.ways.clear();
            self.start.clone_from(self.table.state(only.state));
        }
        if self.ways.len() > self.ways_due {
            self.collect_ways();
        }
        if self.table.is_due() {
            self.table.forget(
                self.configs.iter_mut().map(|config| &mut config.state),
                self.open.iter_mut().flatten().map(|open| &mut open.class),
            );
        }
    }

    fn collect_ways(&mut self) {
        let mut live = vec![false; self.ways.len()];
        for config in &self.configs {
            let mut way = config.way;
            while way != ROOT && !std::mem::replace(&mut live[way as usize], true) {
                way = self.ways[way as usize].before;
            }
        }
        let mut number = vec![ROOT; self.ways.len()];
        let mut kept: Vec<Step> = Vec::new();
        for (index, step) in self.ways.iter().enumerate().filter(|(index, _)| live[*index]) {
            let before = if step.before == ROOT { ROOT } else { number[step.before as usize] };
            number[index] = kept.len() as u32;
            kept.push(Step { before, row: step.row });
        }
        for config in self.configs.iter_mut().filter(|config| config.way != ROOT) {
            config.way = number[config.way as usize];
        }
        self.ways = kept;
        self.ways_due = 2 * self.ways.len() + (1 << 16);
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + self.ways.capacity() * size_of::<Step>() + self.configs.len() * 128
    }
}

/// The places of the ones.
fn ones(mut word: u128) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let place = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (place < 128).then_some(place)
    })
}

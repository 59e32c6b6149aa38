//! Priority queues with repeated values: metastates over one shared bag.
//!
//! All configurations share the bag of what returned insertions put in and returned removals took out
//! ([`contents`]). A configuration is what it adds to that: which open insertions and which open removals
//! took effect, and what pending removals took. It does not depend on how much is in the queue.
//!
//! Insertions wait: they take effect at their return, or glued to a removal of their key that finds none
//! ([`steps`]). A removal that returns has one way to take effect or none: everything smaller goes first, by
//! the open removals of those keys. What multiplies configurations is which removals of larger keys went
//! before an insertion returns ([`branch`]). Keys are integers; the greatest first is the least first of the
//! complements. `docs/soundness.md` has the arguments.

mod branch;
pub mod contents;
mod dominance;
mod steps;
pub mod wildcards;

use linpoint_history::specs::codes::priority_queue as codes;
use linpoint_history::{Builtin, Kind, Operation, Value, ValueId};
use rustc_hash::FxHashSet;

use self::contents::{Contents, Mask};
use self::steps::Table;
use self::wildcards::{NONE, Wildcards};
use super::Crowd;
use super::ahead::Ahead;
use super::meter::Meter;
use super::one_by_one::{OneByOne, Progress};
use super::paths::{Paths, ROOT};
use crate::engine::{Context, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides histories of a priority queue, values repeated or not.
#[derive(Clone, Debug, Default)]
pub struct PriorityQueueMetastates {
    progress: Progress,
    greatest_first: bool,
    configs: Vec<Config>,
    contents: Contents,
    wildcards: Wildcards,
    /// The pending removals called so far, and how many of them every configuration used.
    wild: Vec<OpId>,
    folded: u32,
    paths: Paths<OpId>,
    pending: Ahead,
    present: FxHashSet<Key>,
    implied: FxHashSet<Key>,
    meter: Meter,
}

/// One way to explain the returns so far.
#[derive(Clone, Copy, Debug)]
struct Config {
    /// Open insertions that took effect.
    inserted: Mask,
    /// Open removals that took effect.
    removed: Mask,
    /// What pending removals took.
    wild: u32,
    path: u32,
}

/// All of a configuration that matters for its future.
type Key = (Mask, Mask, u32);

impl Config {
    #[inline]
    fn key(&self) -> Key {
        (self.inserted, self.removed, self.wild)
    }
}

impl PriorityQueueMetastates {
    /// An engine that has seen nothing.
    pub fn new() -> PriorityQueueMetastates {
        PriorityQueueMetastates::default()
    }

    /// How many configurations there were.
    pub fn crowd(&self) -> Crowd {
        self.progress.crowd
    }

    /// How many configurations there are now.
    pub(crate) fn width(&self) -> usize {
        self.configs.len()
    }

    /// The open operations that took effect in the configuration in which fewest did.
    pub(crate) fn least_taken(&self) -> Vec<OpId> {
        let size = |config: &&Config| config.inserted.count_ones() + config.removed.count_ones();
        let Some(least) = self.configs.iter().min_by_key(size) else { return Vec::new() };
        let classes = self.contents.classes().iter();
        let inserts = classes.clone().flat_map(|class| &class.inserts).map(|open| (open, least.inserted));
        let removes = classes.flat_map(|class| &class.removes).chain(self.contents.empties());
        let removes = removes.map(|open| (open, least.removed));
        let taken = inserts.chain(removes).filter(|(open, took)| open.bit() & took != 0);
        taken.map(|(open, _)| OpId(open.id)).collect()
    }

    #[inline]
    fn key_of(&self, n: i64) -> i64 {
        if self.greatest_first { !n } else { n }
    }

    #[inline]
    fn key(&self, cx: &Context<'_>, value: ValueId) -> Result<i64, Stop> {
        cx.symbols.int(value).map(|n| self.key_of(n)).ok_or_else(not_an_integer)
    }

    fn table<'a>(&'a mut self) -> (Table<'a>, &'a mut Vec<Config>) {
        let table = Table {
            contents: &self.contents,
            wildcards: &mut self.wildcards,
            paths: &mut self.paths,
            wild: &self.wild,
            folded: self.folded,
            meter: &mut self.meter,
        };
        (table, &mut self.configs)
    }

    /// The operations called between the returns `gap - 1` and `gap` become open.
    fn open(&mut self, cx: &Context<'_>, timeline: &Timeline, gap: u32) -> Result<(), Stop> {
        for id in timeline.called_in(gap) {
            self.call(cx, timeline.op(id), id)?;
        }
        while let Some(id) = self.pending.next(gap) {
            self.call(cx, timeline.op(id), id)?;
        }
        Ok(())
    }

    fn call(&mut self, cx: &Context<'_>, op: &Operation, id: OpId) -> Result<(), Stop> {
        let crowded = || Stop::Unsupported("more than 128 operations of one kind are open at once".into());
        match op.op() {
            codes::INSERT => {
                let key = self.key(cx, op.arg)?;
                self.contents.call_insert(id.0, key).ok_or_else(crowded)
            }
            codes::REMOVE if op.is_pending() => {
                self.wild.push(id);
                Ok(())
            }
            codes::REMOVE if op.result.is_null() => {
                let open = self.contents.call_empty(id.0).ok_or_else(crowded)?;
                let (table, configs) = self.table();
                for config in configs {
                    if table.first(config).is_none() {
                        config.removed |= open.bit();
                        config.path = table.paths.push(config.path, id);
                    }
                }
                Ok(())
            }
            codes::REMOVE => {
                let key = self.key(cx, op.result)?;
                self.contents.call_remove(id.0, key).ok_or_else(crowded)
            }
            _ => Err(Stop::Unsupported("priority queue metastates know insert and remove only".into())),
        }
    }

    /// Operation `id` returns: every configuration must have it.
    fn explain_return(&mut self, cx: &Context<'_>, op: &Operation, id: u32) -> Result<(), Stop> {
        match op.op() {
            codes::INSERT => {
                let key = self.key(cx, op.arg)?;
                self.return_insert(key, id);
            }
            _ if op.result.is_null() => self.return_empty(),
            _ => {
                let key = self.key(cx, op.result)?;
                self.return_remove(key);
            }
        }
        Ok(())
    }

    fn return_insert(&mut self, key: i64, id: u32) {
        let Some(open) = self.contents.class(key).and_then(|c| c.inserts.first().copied()) else { return };
        let (mut table, configs) = self.table();
        let before = configs.len();
        let mut found = Vec::new();
        for config in configs.iter().filter(|c| c.inserted & open.bit() == 0) {
            branch::before_insert(&mut table, config, key, &mut found);
        }
        if table.meter.is_full((configs.len() + found.len()) * size_of::<Config>()) {
            return;
        }
        configs.append(&mut found);
        for config in configs.iter_mut() {
            if config.inserted & open.bit() == 0 {
                config.path = table.paths.push(config.path, OpId(id));
            }
            config.inserted &= !open.bit();
        }
        let grown = configs.len() > before || before > 1;
        self.contents.return_insert(key);
        if grown {
            self.prune();
        }
    }

    fn return_remove(&mut self, key: i64) {
        let Some(open) = self.contents.class(key).and_then(|c| c.removes.first().copied()) else { return };
        let (mut table, configs) = self.table();
        configs.retain_mut(|config| {
            if config.removed & open.bit() == 0 && !table.meter.is_over(16, || 0) {
                match table.remove(config, key, open) {
                    Some(next) => *config = next,
                    None => return false,
                }
            }
            config.removed &= !open.bit();
            true
        });
        self.contents.return_remove(key);
        self.prune();
    }

    fn return_empty(&mut self) {
        let open = self.contents.empties()[0];
        let (mut table, configs) = self.table();
        configs.retain_mut(|config| {
            if config.removed & open.bit() == 0 && !table.meter.is_over(16, || 0) {
                match table.empty(config) {
                    Some(next) => *config = next,
                    None => return false,
                }
            }
            config.removed &= !open.bit();
            true
        });
        self.contents.return_empty();
        self.prune();
    }

    /// Drops configurations that others stand for.
    fn prune(&mut self) {
        let keys = 4 * self.configs.len() * (size_of::<Key>() + 1);
        if self.configs.len() < 2 || self.meter.is_full(keys) {
            return;
        }
        let mut present = std::mem::take(&mut self.present);
        let mut implied = std::mem::take(&mut self.implied);
        present.clear();
        implied.clear();
        let (table, configs) = self.table();
        configs.retain(|c| table.meter.is_over(4, || 0) || present.insert(c.key()));
        if configs.len() > 1 {
            let is_wild = !table.wild.is_empty();
            for config in configs.iter() {
                if table.meter.is_over(16 + table.contents.classes().len(), || 0) {
                    break;
                }
                let mut taken = None;
                table.moves(config, |inserted, removed, wild| match wild {
                    Some(key) => taken = Some(key),
                    None => {
                        let key = (inserted, removed, config.wild);
                        if present.contains(&key) {
                            implied.insert(key);
                        }
                    }
                });
                if let Some(key) = taken.filter(|_| is_wild) {
                    let wild = table.wildcards.with(config.wild, key);
                    let key = (config.inserted, config.removed, wild);
                    if present.contains(&key) {
                        implied.insert(key);
                    }
                }
            }
            if !implied.is_empty() {
                configs.retain(|c| !implied.contains(&c.key()));
            }
            dominance::keep_best(&mut self.configs, &self.contents, &mut self.meter);
        }
        (self.present, self.implied) = (present, implied);
    }

    /// What pending removals took in every configuration is gone from the bag for good.
    fn fold(&mut self) {
        let Some(wild) = self.configs.first().map(|c| c.wild) else { return };
        if wild == NONE || self.configs.iter().any(|c| c.wild != wild) {
            return;
        }
        for &key in self.wildcards.keys(wild) {
            self.contents.adjust(key, -1);
            self.folded += 1;
        }
        self.wildcards.clear();
        self.configs.iter_mut().for_each(|c| c.wild = NONE);
    }
}

/// Does such a queue give the greatest first? Only those without a bound, whose answers mean what they say,
/// are decided.
pub(super) fn gives_greatest_first(spec: &Builtin) -> Result<bool, Stop> {
    let kind_fits = matches!(spec.kind, Kind::PriorityQueue | Kind::PriorityQueueMax);
    if !kind_fits || spec.capacity.is_some() || spec.spurious {
        let why = "the priority queue is bounded, or answers may be spurious";
        return Err(Stop::Unsupported(why.into()));
    }
    Ok(spec.kind == Kind::PriorityQueueMax)
}

fn not_an_integer() -> Stop {
    Stop::Unsupported("a value is no integer".into())
}

impl OneByOne for PriorityQueueMetastates {
    const NAME: &'static str = "priority queue metastates";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn now(&self) -> u32 {
        self.progress.now
    }

    fn start(&mut self, cx: &Context<'_>) -> Result<(), Stop> {
        self.greatest_first = gives_greatest_first(cx.spec)?;
        if let Value::List(contents) = &cx.spec.initial {
            for value in contents.iter() {
                let key = value.as_int().map(|n| self.key_of(n)).ok_or_else(not_an_integer)?;
                self.contents.start_with(key);
            }
        }
        self.configs.push(Config { inserted: 0, removed: 0, wild: NONE, path: ROOT });
        Ok(())
    }

    fn load(&mut self, cx: &Context<'_>, timeline: &Timeline) {
        self.pending.load(timeline);
        self.meter.start(cx.budget);
    }

    fn explain(&mut self, cx: &Context<'_>, timeline: &Timeline, id: u32) -> Result<(), Stop> {
        self.open(cx, timeline, id)?;
        let op = timeline.op(OpId::completed(id));
        if op.op() == codes::INSERT && !op.result.is_null() {
            self.configs.clear();
            return Ok(());
        }
        self.explain_return(cx, op, id)?;
        self.meter.stop()
    }

    fn width(&self) -> usize {
        self.configs.len()
    }

    /// Hands out what is final and forgets what no configuration needs.
    fn settle(&mut self, witness: &mut Witness) {
        if let [only] = &mut self.configs[..] {
            self.paths.settle(&mut only.path, |op| witness.order.push(op));
        } else if self.paths.is_due() {
            let tips = self.configs.iter_mut().map(|c| &mut c.path);
            self.paths.collect(tips, |op| witness.order.push(op));
        }
        self.fold();
    }

    fn choose(&mut self, witness: &mut Witness) {
        self.configs.truncate(1);
        self.settle(witness);
    }

    fn bytes(&self) -> usize {
        self.contents.memory()
            + self.paths.memory()
            + self.configs.capacity() * size_of::<Config>()
            + (self.present.capacity() + self.implied.capacity()) * (size_of::<Key>() + 1)
    }
}

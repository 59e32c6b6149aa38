//! Priority queues whose keys change: metastates that are sets of open operations over one shared bag.
//!
//! What is in the queue after a set of operations does not depend on their order: what was there, plus what
//! insertions and changes put in, minus what removals and changes took out. So all configurations share the
//! *base*, the bag that returned operations leave, and a configuration is the set of open operations that
//! took effect (with what pending removals took): its contents follow from it. A changed key is thus an
//! insertion and a removal at one point (Dragicevic 2011, section 4.7.4, calls the insertion and the change
//! semi-redundant, and merges them); nothing is stored for it.
//!
//! Insertions here are not glued to removals as in [`super::priority_queue`]: a change may take an element
//! out from anywhere, and those arguments do not hold. Instead:
//! - *Lazy.* An operation takes effect when a return asks for it: at the return of f all sequences of open
//!   operations that end in f are tried, once for each set they lead to.
//! - *Related.* Only operations that f is related to are tried. s is related to a later t if t may need what
//!   s does, or may make s impossible; and then to what t is related to. A step that is not related to
//!   anything that follows can be moved behind f, so what it leads to is implied
//!   ([`open::Act::is_related_to`]).
//! - *Eager.* What only looks (a removal that finds nothing, a change that finds no such key or changes it
//!   into itself) is served as soon as the contents allow it.
//! - *Equal* operations take effect in the order of their returns.
//! - *Implied.* A configuration that another reaches by a step is dropped; so is one that differs from
//!   another only by insertions it did before they were asked for, or by insertions of the same keys that
//!   return later ([`prune`]).
//!
//! Keys are integers; the greatest first is the least first of the complements. `docs/soundness.md` has the
//! arguments.

mod open;
mod prune;

use std::collections::BTreeMap;

use linpoint_history::specs::codes::priority_queue as codes;
use linpoint_history::{Operation, Spec, Value, ValueId};
use rustc_hash::FxHashSet;

use self::open::{Act, Mask, Opens, bits};
use super::Crowd;
use super::ahead::Ahead;
use super::meter::Meter;
use super::one_by_one::{OneByOne, Progress};
use super::paths::{Paths, ROOT};
use super::priority_queue::wildcards::{NONE, Wildcards};
use crate::engine::{Context, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides histories of a priority queue, with or without changes of keys.
#[derive(Clone, Debug, Default)]
pub struct ChangingKeys {
    progress: Progress,
    greatest_first: bool,
    configs: Vec<Config>,
    /// What returned operations leave; a count may be negative while an operation that took effect is open.
    base: BTreeMap<i64, i32>,
    opens: Opens,
    wildcards: Wildcards,
    /// The pending removals called so far, and how many of them every configuration used.
    wild: Vec<OpId>,
    folded: usize,
    paths: Paths<OpId>,
    pending: Ahead,
    meter: Meter,
}

/// One way to explain the returns so far.
#[derive(Clone, Copy, Debug)]
struct Config {
    /// Open operations that took effect.
    done: Mask,
    /// What pending removals took.
    wild: u32,
    path: u32,
}

impl Config {
    fn key(&self) -> (Mask, u32) {
        (self.done, self.wild)
    }
}

impl ChangingKeys {
    /// An engine that has seen nothing.
    pub fn new() -> ChangingKeys {
        ChangingKeys::default()
    }

    /// How many configurations there were.
    pub fn crowd(&self) -> Crowd {
        self.progress.crowd
    }

    fn key(&self, value: &Value) -> Result<i64, Stop> {
        let number = value.as_int().ok_or_else(|| Stop::Unsupported("a value is no integer".into()))?;
        Ok(if self.greatest_first { !number } else { number })
    }

    fn key_of(&self, cx: &Context<'_>, value: ValueId) -> Result<i64, Stop> {
        match cx.symbols.int(value) {
            Some(number) => Ok(if self.greatest_first { !number } else { number }),
            None => Err(Stop::Unsupported("a value is no integer".into())),
        }
    }

    /// What an operation does; `None`: it answers what it never answers.
    fn act(&self, cx: &Context<'_>, op: &Operation) -> Result<Option<Act>, Stop> {
        let pending = op.is_pending();
        Ok(match op.op() {
            codes::INSERT if pending || op.result.is_null() => Some(Act::Insert(self.key_of(cx, op.arg)?)),
            codes::REMOVE if op.result.is_null() => Some(Act::Empty),
            codes::REMOVE => Some(Act::Remove(self.key_of(cx, op.result)?)),
            codes::CHANGE_KEY => {
                let both = cx.symbols.value(op.arg);
                let Some((from, to)) = both.as_pair() else { return Ok(None) };
                let (from, to) = (self.key(from)?, self.key(to)?);
                match op.result.as_bool() {
                    // One that is pending may as well not take effect.
                    Some(false) if !pending => Some(Act::Absent(from)),
                    Some(true) | None if from == to => Some(Act::Present(from)),
                    None if !pending => None,
                    _ => Some(Act::Change { from, to }),
                }
            }
            _ => None,
        })
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
        if op.is_pending() && op.op() == codes::REMOVE {
            self.wild.push(id);
            return Ok(());
        }
        // What never answers so is refused when it returns.
        let Some(act) = self.act(cx, op)? else { return Ok(()) };
        if op.is_pending() && act.only_looks() {
            return Ok(());
        }
        let Some(slot) = self.opens.call(id, act) else {
            return Err(Stop::Unsupported("more than 128 operations are open at once".into()));
        };
        if act.only_looks() {
            let mut configs = std::mem::take(&mut self.configs);
            for config in &mut configs {
                if self.allows(config, act) {
                    config.done |= 1 << slot;
                    config.path = self.paths.push(config.path, id);
                }
            }
            self.configs = configs;
        }
        Ok(())
    }

    /// How many elements have a key.
    fn count(&self, config: &Config, key: i64) -> i32 {
        self.base.get(&key).copied().unwrap_or(0) + self.opens.change(config.done, key)
            - self.wildcards.count(config.wild, key)
    }

    /// The smallest key.
    fn first(&self, config: &Config) -> Option<i64> {
        let added = bits(config.done & self.opens.adding())
            .filter_map(|slot| self.opens.act(slot).adds())
            .filter(|key| self.count(config, *key) > 0)
            .min();
        let below = |key: &i64| added.is_none_or(|added| *key < added);
        let shared = self.base.keys().copied().take_while(below).find(|key| self.count(config, *key) > 0);
        shared.or(added)
    }

    /// May it take effect now?
    fn allows(&self, config: &Config, act: Act) -> bool {
        match act {
            Act::Insert(_) => true,
            Act::Remove(key) => self.first(config) == Some(key),
            Act::Change { from, .. } | Act::Present(from) => self.count(config, from) > 0,
            Act::Absent(from) => self.count(config, from) == 0,
            Act::Empty => self.first(config).is_none(),
        }
    }

    /// An open operation takes effect, and what only looks is served.
    fn step(&mut self, config: &Config, slot: u32) -> Option<Config> {
        if !self.allows(config, self.opens.act(slot)) {
            return None;
        }
        let path = self.paths.push(config.path, self.opens.id(slot));
        Some(self.served(Config { done: config.done | 1 << slot, path, ..*config }))
    }

    /// A pending removal takes the smallest, if one is left.
    fn wild_step(&mut self, config: &Config) -> Option<Config> {
        let used = self.folded + self.wildcards.keys(config.wild).len();
        let id = *self.wild.get(used)?;
        let wild = self.wildcards.with(config.wild, self.first(config)?);
        let path = self.paths.push(config.path, id);
        Some(self.served(Config { wild, path, ..*config }))
    }

    fn served(&mut self, mut config: Config) -> Config {
        for slot in bits(self.opens.looking() & !config.done) {
            if self.allows(&config, self.opens.act(slot)) {
                config.done |= 1 << slot;
                config.path = self.paths.push(config.path, self.opens.id(slot));
            }
        }
        config
    }

    /// The operation in `slot` returns: every configuration must have it.
    fn explain_return(&mut self, slot: u32) {
        let one: Mask = 1 << slot;
        let configs = std::mem::take(&mut self.configs);
        let (mut found, waiting): (Vec<Config>, Vec<Config>) =
            configs.into_iter().partition(|config| config.done & one != 0);
        // What it may do together with wildcards is not worth knowing: all may matter.
        let related = if self.wild.len() > self.folded { Mask::MAX } else { self.opens.related_to(slot) };
        let steps = related & self.opens.changing() & !one;
        let mut seen: FxHashSet<(Mask, u32)> = waiting.iter().map(Config::key).collect();
        let mut stack = waiting;
        while let Some(config) = stack.pop() {
            let held = (stack.capacity() + found.capacity() + 2 * seen.capacity()) * size_of::<Config>();
            let bytes = || held + self.paths.memory();
            if self.meter.is_over(16 + 8 * config.done.count_ones() as usize, bytes) {
                return;
            }
            found.extend(self.step(&config, slot));
            let open = self.opens.first_of_equals(steps, config.done);
            let next = bits(open).map(Some).chain([None]);
            for slot in next {
                let next = match slot {
                    Some(slot) => self.step(&config, slot),
                    None => self.wild_step(&config),
                };
                // One that only looks is served on the way; what comes after it is implied.
                if let Some(next) = next.filter(|next| seen.insert(next.key())) {
                    if next.done & one == 0 { stack.push(next) } else { found.push(next) }
                }
            }
        }
        for config in &mut found {
            config.done &= !one;
        }
        let act = self.opens.returned(slot);
        if let Some(key) = act.takes() {
            change(&mut self.base, key, -1);
        }
        if let Some(key) = act.adds() {
            change(&mut self.base, key, 1);
        }
        self.configs = found;
        if self.configs.len() > 1 {
            self.prune();
        }
    }
}

fn change(bag: &mut BTreeMap<i64, i32>, key: i64, by: i32) {
    let count = bag.entry(key).or_default();
    *count += by;
    if *count == 0 {
        bag.remove(&key);
    }
}

/// Return `id` cannot be explained.
fn no_place(cx: &Context<'_>, op: &Operation, id: u32) -> Stop {
    if op.op() != codes::CHANGE_KEY {
        return super::no_place(cx, op, id);
    }
    let name = cx.spec.signature().decl(op.op()).name;
    let (arg, answer) = (cx.symbols.value(op.arg), cx.symbols.value(op.result));
    let reason =
        format!("{name}({arg}) -> {answer} is impossible at every moment between its call and its return");
    Stop::Violated(Violation { at: OpId::completed(id), core: Vec::new(), reason })
}

impl OneByOne for ChangingKeys {
    const NAME: &'static str = "changing-key metastates";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn now(&self) -> u32 {
        self.progress.now
    }

    fn start(&mut self, cx: &Context<'_>) -> Result<(), Stop> {
        self.greatest_first = super::priority_queue::gives_greatest_first(cx.spec)?;
        if let Value::List(contents) = &cx.spec.initial {
            for value in contents.iter() {
                let key = self.key(value)?;
                change(&mut self.base, key, 1);
            }
        }
        self.configs.push(Config { done: 0, wild: NONE, path: ROOT });
        Ok(())
    }

    fn load(&mut self, cx: &Context<'_>, timeline: &Timeline) {
        self.pending.load(timeline);
        self.meter.start(cx.budget);
    }

    fn explain(&mut self, cx: &Context<'_>, timeline: &Timeline, id: u32) -> Result<(), Stop> {
        self.open(cx, timeline, id)?;
        match self.opens.slot_of(OpId::completed(id)) {
            Some(slot) => self.explain_return(slot),
            None => self.configs.clear(),
        }
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
        // What pending removals took in every configuration is gone from the bag for good.
        let Some(wild) = self.configs.first().map(|c| c.wild) else { return };
        if wild == NONE || self.configs.iter().any(|c| c.wild != wild) {
            return;
        }
        for &key in self.wildcards.keys(wild) {
            change(&mut self.base, key, -1);
            self.folded += 1;
        }
        self.wildcards.clear();
        self.configs.iter_mut().for_each(|c| c.wild = NONE);
    }

    fn choose(&mut self, witness: &mut Witness) {
        self.configs.truncate(1);
        self.settle(witness);
    }

    fn bytes(&self) -> usize {
        self.base.len() * 24 + self.paths.memory() + self.configs.capacity() * size_of::<Config>()
    }

    fn no_place(&self, cx: &Context<'_>, op: &Operation, id: u32) -> Stop {
        no_place(cx, op, id)
    }
}

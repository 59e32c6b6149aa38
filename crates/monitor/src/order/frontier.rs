//! Every order of overlapping spans, event after event: the object's own online search (Lowe 2017, "just in
//! time").
//!
//! A *span* is the stretch of numbers in which an operation takes effect: a window, the whole interval, or a
//! single number. A *configuration* is a state of the specification and the set of open spans that took
//! effect on the way to it; spans that closed took effect in all configurations. When a span closes, every
//! sequence of open operations that ends in it is tried from every configuration that lacks it. No more is
//! done, since an operation that is not needed yet may as well take effect later.
//!
//! Three rules keep it small. Before an operation only such others are tried as depend on it or on one
//! already chosen ([`Model::concerns`]): what commutes with all that follows may come later. Of an operation
//! that stays open for ever (nobody knows whether it took effect) nothing is tried that changes nothing. And
//! of two configurations that are equal but for such operations, the one that used fewer is kept.
//!
//! With one configuration and one open span, which is the usual case for windows, the operation is applied in
//! place.

use linpoint_history::Value;
use rustc_hash::FxHashMap;

use crate::model::{Applied, Model};
use crate::order::search::Task;

/// The configurations.
pub(crate) struct Frontier {
    pub configs: Vec<Config>,
    open: Vec<Option<Span>>,
    /// Places in use.
    opened: u128,
    /// Those of operations that may stay open for ever.
    optional: u128,
    most: usize,
}

/// A state, and the open spans that took effect on the way to it.
pub(crate) struct Config {
    pub model: Box<dyn Model>,
    pub done: u128,
}

impl Config {
    fn fork(&self) -> Config {
        Config { model: self.model.fork(), done: self.done }
    }
}

struct Span {
    task: Task,
    part: Option<Value>,
}

/// Why a span could not be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// No order allows it; what the specification would have answered in the configurations there were.
    Refused { expected: String, state: String },
    /// Too many configurations.
    Many { open: usize, configurations: usize },
}

const PLACES: usize = 128;

impl Frontier {
    pub fn new(worlds: Vec<Box<dyn Model>>, most: usize) -> Frontier {
        let configs = worlds.into_iter().map(|model| Config { model, done: 0 }).collect();
        let open = (0..PLACES).map(|_| None).collect();
        Frontier { configs, open, opened: 0, optional: 0, most }
    }

    /// Is every span closed that will be?
    pub fn is_quiet(&self) -> bool {
        self.opened & !self.optional == 0
    }

    /// Is every span closed, and none open for ever?
    pub fn is_settled(&self) -> bool {
        self.opened == 0
    }

    /// A span opens; gives its place. One that is optional never closes.
    pub fn open(&mut self, task: Task, optional: bool) -> Result<u32, Stuck> {
        let place = self.opened.trailing_ones();
        if place as usize >= PLACES {
            return Err(Stuck::Many { open: PLACES, configurations: self.configs.len() });
        }
        let part = self.configs[0].model.concerns(task.call()).cloned();
        self.open[place as usize] = Some(Span { task, part });
        self.opened |= 1 << place;
        if optional {
            self.optional |= 1 << place;
        }
        Ok(place)
    }

    /// A span closes: its operation took effect. Adds to `touched` the keys of the view that may have
    /// changed.
    pub fn close(&mut self, place: u32, touched: &mut Vec<Value>) -> Result<(), Stuck> {
        let bit = 1u128 << place;
        if let ([only], Some(Some(span))) = (&mut self.configs[..], self.open.get(place as usize))
            && self.opened & !only.done == bit
            && let Some(result) = &span.task.result
        {
            let applied = only.model.apply(span.task.call(), result, touched);
            if let Applied::No { expected } = applied {
                return Err(Stuck::Refused { expected, state: only.model.show() });
            }
            self.free(place);
            return Ok(());
        }
        self.search(place, touched)?;
        self.free(place);
        Ok(())
    }

    /// Copies of the configurations, where there are operations that stay open for ever: for
    /// [`Frontier::further_before`].
    pub fn before(&self) -> Option<Vec<Config>> {
        (self.optional != 0).then(|| self.configs.iter().map(Config::fork).collect())
    }

    /// The configurations that operations lead to which stay open for ever, one or more of them. `None` where
    /// there are too many.
    pub fn further(&self, touched: &mut Vec<Value>) -> Option<Vec<Config>> {
        self.reach(self.configs.iter().map(Config::fork).collect(), touched)
    }

    /// The same from these configurations, and then `last`: nothing may come after it.
    pub fn further_before(
        &self,
        configs: Vec<Config>,
        last: &Task,
        touched: &mut Vec<Value>,
    ) -> Option<Vec<Config>> {
        let mut found = Table::default();
        for Config { model, done } in self.reach(configs, touched)? {
            for model in outcomes(last, &*model, touched, &mut String::new()) {
                found.insert(Config { model, done });
            }
        }
        Some(found.take())
    }

    fn reach(&self, mut queue: Vec<Config>, touched: &mut Vec<Value>) -> Option<Vec<Config>> {
        let mut found = Table::default();
        while let Some(config) = queue.pop() {
            for place in ones(self.optional & !config.done) {
                let Some(span) = &self.open[place as usize] else { continue };
                for model in outcomes(&span.task, &*config.model, touched, &mut String::new()) {
                    let after = Config { model, done: config.done | 1 << place };
                    if !after.model.same(&*config.model) && !found.contains(&after) {
                        queue.push(after.fork());
                        found.insert(after);
                    }
                }
            }
            if found.count > self.most {
                return None;
            }
        }
        Some(found.take())
    }

    /// Keeps only these configurations.
    pub fn keep(&mut self, indices: &[usize]) {
        let mut index = 0;
        self.configs.retain(|_| {
            index += 1;
            indices.contains(&(index - 1))
        });
    }

    fn free(&mut self, place: u32) {
        let bit = 1u128 << place;
        self.open[place as usize] = None;
        self.opened &= !bit;
        for config in &mut self.configs {
            config.done &= !bit;
        }
    }

    #[cold]
    fn search(&mut self, place: u32, touched: &mut Vec<Value>) -> Result<(), Stuck> {
        let bit = 1u128 << place;
        let mut found = Table::default();
        let mut seen = Table::default();
        let mut queue: Vec<Config> = Vec::new();
        let (mut expected, mut state) = (String::new(), String::new());
        for config in std::mem::take(&mut self.configs) {
            if config.done & bit != 0 {
                found.insert(config);
            } else if state.is_empty() {
                state = config.model.show();
                queue.push(config);
            } else {
                queue.push(config);
            }
        }
        let relevant = self.relevant(place);
        while let Some(config) = queue.pop() {
            if seen.contains(&config) {
                continue;
            }
            for other in ones(relevant & !config.done) {
                let Some(span) = &self.open[other as usize] else { continue };
                let before = touched.len();
                for model in outcomes(&span.task, &*config.model, touched, &mut expected) {
                    let unchanged = self.optional >> other & 1 != 0 && model.same(&*config.model);
                    if unchanged {
                        continue;
                    }
                    let after = Config { model, done: config.done | 1 << other };
                    if other == place { found.insert(after) } else { queue.push(after) }
                }
                if touched.len() > before + 4096 {
                    touched.sort();
                    touched.dedup();
                }
            }
            seen.insert(config);
            let configurations = found.count + seen.count + queue.len();
            if configurations > self.most {
                // Left without a configuration nothing more may be judged; the caller stops.
                self.configs = seen.take().into_iter().take(1).collect();
                return Err(Stuck::Many { open: self.opened.count_ones() as usize, configurations });
            }
        }
        if found.count == 0 {
            self.configs = seen.take();
            return Err(Stuck::Refused { expected, state });
        }
        self.configs = found.take();
        self.keep_frugal();
        Ok(())
    }

    /// Of two configurations that differ only in that one used more operations that stay open for ever, keeps
    /// the other: it may use them later, or never.
    fn keep_frugal(&mut self) {
        if self.optional == 0 || self.configs.len() < 2 {
            return;
        }
        let optional = self.optional;
        self.configs
            .sort_by_key(|config| (config.model.digest(), config.done & !optional, config.done.count_ones()));
        let mut kept: Vec<Config> = Vec::with_capacity(self.configs.len());
        for config in std::mem::take(&mut self.configs) {
            let key = |config: &Config| (config.model.digest(), config.done & !optional);
            let group = kept.iter().rev().take_while(|other| key(other) == key(&config));
            let wasteful =
                |other: &Config| other.done & !config.done == 0 && other.model.same(&*config.model);
            if !group.into_iter().any(wasteful) {
                kept.push(config);
            }
        }
        self.configs = kept;
    }

    /// The open spans that may matter for the one that closes: it, and what depends on one that matters.
    fn relevant(&self, place: u32) -> u128 {
        let mut relevant = 1u128 << place;
        loop {
            let before = relevant;
            for other in ones(self.opened & !relevant) {
                let depends = ones(relevant).any(|one| self.depend(one, other));
                if depends {
                    relevant |= 1 << other;
                }
            }
            if relevant == before {
                return relevant;
            }
        }
    }

    fn depend(&self, a: u32, b: u32) -> bool {
        match (&self.open[a as usize], &self.open[b as usize]) {
            (Some(Span { part: Some(a), .. }), Some(Span { part: Some(b), .. })) => a == b,
            _ => true,
        }
    }
}

fn outcomes(
    task: &Task,
    model: &dyn Model,
    touched: &mut Vec<Value>,
    expected: &mut String,
) -> Vec<Box<dyn Model>> {
    let Some(result) = &task.result else {
        // What an operation without an answer may have touched, a view must be asked about.
        let next = model.apply_pending(task.call());
        touched.extend(next.iter().flat_map(|next| next.entries()).map(|(key, _)| key));
        touched.extend(model.entries().into_iter().map(|(key, _)| key));
        return next;
    };
    let mut next = model.fork();
    match next.apply(task.call(), result, touched) {
        Applied::Yes => vec![next],
        Applied::No { expected: wanted } => {
            if expected.is_empty() {
                *expected = wanted;
            }
            Vec::new()
        }
    }
}

/// Configurations, each once.
#[derive(Default)]
struct Table {
    configs: FxHashMap<(u128, u64), Vec<Config>>,
    count: usize,
}

impl Table {
    fn contains(&self, config: &Config) -> bool {
        let key = (config.done, config.model.digest());
        let same = |other: &Config| other.model.same(&*config.model);
        self.configs.get(&key).is_some_and(|configs| configs.iter().any(same))
    }

    fn insert(&mut self, config: Config) {
        if !self.contains(&config) {
            self.count += 1;
            self.configs.entry((config.done, config.model.digest())).or_default().push(config);
        }
    }

    /// All of them, in an order that depends on nothing but them.
    fn take(self) -> Vec<Config> {
        let mut configs: Vec<_> = self.configs.into_iter().collect();
        configs.sort_by_key(|(key, _)| *key);
        configs.into_iter().flat_map(|(_, configs)| configs).collect()
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

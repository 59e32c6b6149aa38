//! The objects of one worker: batches come in, verdicts go out.
//!
//! Each object sees its rows only, and is looked at when one comes in: one touch of its memory a row. Objects that got no row since are looked at by [`Checker::sweep`] (for live
//! runs) and at the end.

use std::time::Instant;

use linpoint_history::specs;
use linpoint_history::{KeyId, Operation, ProcessId, Symbols, Unknown, Value, ValueId, Verdict};
use rustc_hash::FxHashMap;

use crate::clock::Clocks;
use crate::object::{Object, World};
use crate::report::{Example, Found, Report, What};
use crate::wire::{Batch, Notice};

/// Objects named in a report at the most.
const MOST_NAMED: usize = 100;

/// The objects of one worker.
pub struct Checker {
    world: World,
    spec_names: Vec<(String, Option<Value>)>,
    objects: Vec<Object>,
    names: Vec<Value>,
    table: FxHashMap<(u16, Value), u32>,
    sources: Vec<Remote>,
    by_number: FxHashMap<u32, usize>,
    /// Objects with rows that wait.
    waiting: Vec<u32>,
    /// Nothing is decided from here on, and why: a source broke off.
    horizon: Option<(i64, String)>,
    troubles: Vec<String>,
    /// Objects found violated so far.
    pub violations: u64,
    /// Rows taken.
    pub taken: u64,
}

/// What the numbers of a source stand for here.
struct Remote {
    name: String,
    spec: u16,
    /// Objects by the source's keys.
    keys: Vec<u32>,
    nameless: Option<u32>,
    processes: Vec<Option<ProcessId>>,
    values: Vec<Option<ValueId>>,
}

const UNSET: u32 = u32::MAX;

impl Checker {
    /// No objects yet.
    pub fn new(deadline: Option<Instant>, memory_bytes: Option<usize>) -> Checker {
        Checker {
            world: World {
                symbols: Symbols::new(),
                clocks: Clocks::default(),
                specs: Vec::new(),
                deadline,
                memory_bytes,
            },
            spec_names: Vec::new(),
            objects: Vec::new(),
            names: Vec::new(),
            table: FxHashMap::default(),
            sources: Vec::new(),
            by_number: FxHashMap::default(),
            waiting: Vec::new(),
            horizon: None,
            troubles: Vec::new(),
            violations: 0,
            taken: 0,
        }
    }

    /// Takes a batch; nothing that is still to come, its rows included, was called before `mark` in real time.
    pub fn take(&mut self, batch: Batch, mark: i64) {
        let source = match self.by_number.get(&batch.source) {
            Some(&source) => source,
            None => match self.meet(&batch) {
                Some(source) => source,
                None => return,
            },
        };
        self.learn(source, &batch);
        self.taken += batch.rows.0.len() as u64;
        let mark = self.horizon.as_ref().map_or(mark, |(at, _)| mark.min(*at));
        for row in batch.rows.0 {
            self.row(source, row, mark);
        }
        match batch.notice {
            Some(Notice::Lost { at, why }) => self.lose(source, at, &why),
            Some(Notice::Late { keys, at }) => self.late(source, &keys, at),
            _ => {}
        }
    }

    #[inline]
    fn row(&mut self, source: usize, mut row: Operation, mark: i64) {
        let remote = &self.sources[source];
        let slot = if row.key == KeyId::NONE {
            match remote.nameless {
                Some(slot) => slot,
                None => {
                    let slot = self.object(remote.spec, &Value::Null);
                    self.sources[source].nameless = Some(slot);
                    slot
                }
            }
        } else {
            remote.keys.get(row.key.0 as usize).copied().unwrap_or(UNSET)
        };
        let remote = &self.sources[source];
        let process = remote.processes.get(row.process().0 as usize).copied().flatten();
        let (Some(process), false) = (process, slot == UNSET) else {
            self.troubles.push(format!("{}: a row uses a number that was not explained", remote.name));
            return;
        };
        let value = |id: ValueId| {
            if id.0 < ValueId::INLINE || id.0 >= ValueId::TRUE.0 {
                Some(id)
            } else {
                remote.values.get((id.0 - ValueId::INLINE) as usize).copied().flatten()
            }
        };
        let (Some(arg), Some(result)) = (value(row.arg), value(row.result)) else {
            self.troubles.push(format!("{}: a row uses a value that was not explained", remote.name));
            return;
        };
        if process != row.process() {
            let mut renamed = Operation::new(process, row.op());
            (renamed.call, renamed.ret) = (row.call, row.ret);
            row = renamed;
        }
        (row.arg, row.result, row.key) = (arg, result, KeyId(source as u32));
        let object = &mut self.objects[slot as usize];
        let was_decided = object.is_decided();
        object.push(row, mark, &mut self.world);
        if !object.listed {
            object.listed = true;
            self.waiting.push(slot);
        }
        if !was_decided && matches!(object.verdict(), Some(Verdict::Violated(_))) {
            self.violations += 1;
        }
    }

    /// Looks at objects that wait, whether or not rows came in; how many still do.
    pub fn sweep(&mut self, mark: i64) -> usize {
        let mark = self.horizon.as_ref().map_or(mark, |(at, _)| mark.min(*at));
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&slot| {
            let object = &mut self.objects[slot as usize];
            let was_decided = object.is_decided();
            object.settle(mark, &mut self.world);
            if !was_decided && matches!(object.verdict(), Some(Verdict::Violated(_))) {
                self.violations += 1;
            }
            object.listed = object.waits();
            object.listed
        });
        self.waiting = waiting;
        self.waiting.len()
    }

    /// Objects so far.
    pub fn objects(&self) -> usize {
        self.objects.len()
    }

    /// Objects with rows that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Rows held now.
    pub fn held(&self) -> u64 {
        self.objects.iter().map(|object| object.held() as u64).sum()
    }

    /// The object with the most operations.
    pub fn hottest(&self) -> Option<(&Value, u64)> {
        let (slot, object) = self.objects.iter().enumerate().max_by_key(|(_, object)| object.operations)?;
        Some((&self.names[slot], object.operations))
    }

    /// Everything came: the verdicts. Where the run was stopped, nothing more is explained.
    pub fn finish(&mut self, stopped: bool) -> Report {
        let mut report = Report { stopped, troubles: self.troubles.clone(), ..Report::default() };
        report.hottest = self.hottest().map(|(name, count)| (crate::wire::Wire(name.clone()), count));
        for slot in 0..self.objects.len() {
            let object = &mut self.objects[slot];
            report.objects += 1;
            report.operations += object.operations;
            report.pending += object.pending();
            let verdict = match (&self.horizon, stopped) {
                _ if object.is_decided() => object.finish(&mut self.world),
                (_, true) => Verdict::Unknown(Unknown::Unsupported { why: "the run was stopped".into() }),
                (Some((at, why)), _) => {
                    object.settle(*at, &mut self.world);
                    object.give_up(why.clone());
                    object.finish(&mut self.world)
                }
                (None, _) => object.finish(&mut self.world),
            };
            let object = &self.objects[slot];
            let engine = object.engine();
            if !report.engines.iter().any(|known| known == engine) {
                report.engines.push(engine.to_owned());
            }
            let found = |what| Found {
                key: crate::wire::Wire(self.names[slot].clone()),
                spec: self.spec_names[object.spec()].0.clone(),
                operations: object.operations,
                engine: engine.to_owned(),
                what,
            };
            match verdict {
                Verdict::Holds(_) => report.explained += 1,
                Verdict::Violated(example) => {
                    report.violations += 1;
                    if report.violated.len() < MOST_NAMED {
                        let source = |key: KeyId| {
                            self.sources
                                .get(key.0 as usize)
                                .map(|remote| remote.name.clone())
                                .unwrap_or_default()
                        };
                        let example = Example::new(&example, &self.world.symbols, source);
                        report.violated.push(found(What::Violated(Box::new(example))));
                    }
                }
                Verdict::Unknown(why) => {
                    report.unknowns += 1;
                    if report.unknown.len() < MOST_NAMED {
                        report.unknown.push(found(What::Unknown(reason(&why))));
                    }
                }
            }
        }
        report
    }

    fn meet(&mut self, batch: &Batch) -> Option<usize> {
        let about = batch.about.as_ref()?;
        let initial = about.initial.as_ref().map(|wire| wire.0.clone());
        let named = (about.spec.clone(), initial.clone());
        let spec = match self.spec_names.iter().position(|known| *known == named) {
            Some(spec) => spec,
            None => {
                let parsed =
                    specs::parse(&about.spec).map_err(|error| error.to_string()).and_then(
                        |spec| match initial {
                            Some(initial) if spec.kind == linpoint_history::Kind::Kv => {
                                Ok(spec.with_initial(initial))
                            }
                            Some(initial) => spec.starting_from(initial).map_err(|error| error.to_string()),
                            None => Ok(spec),
                        },
                    );
                match parsed {
                    Ok(spec) => {
                        self.world.symbols.intern(&spec.initial);
                        if let Value::List(items) = &spec.initial {
                            items.iter().for_each(|item| {
                                self.world.symbols.intern(item);
                            });
                        }
                        self.world.specs.push(spec);
                        self.spec_names.push(named);
                        self.spec_names.len() - 1
                    }
                    Err(why) => {
                        self.troubles.push(format!("{}: {why}", about.name));
                        return None;
                    }
                }
            }
        };
        let source = self.sources.len();
        self.sources.push(Remote {
            name: about.name.clone(),
            spec: spec as u16,
            keys: Vec::new(),
            nameless: None,
            processes: Vec::new(),
            values: Vec::new(),
        });
        self.world.clocks.set(source as u32, about.epsilon);
        self.by_number.insert(batch.source, source);
        Some(source)
    }

    fn learn(&mut self, source: usize, batch: &Batch) {
        for (number, name) in &batch.keys {
            let slot = self.object(self.sources[source].spec, &name.0);
            set(&mut self.sources[source].keys, *number, slot, UNSET);
        }
        for (number, name) in &batch.processes {
            let process = self.world.symbols.process(&name.0);
            set(&mut self.sources[source].processes, *number, Some(process), None);
        }
        for (number, value) in &batch.values {
            let id = self.world.symbols.intern(&value.0);
            set(&mut self.sources[source].values, *number, Some(id), None);
        }
    }

    /// The object called `name`, made if new.
    fn object(&mut self, spec: u16, name: &Value) -> u32 {
        if let Some(&slot) = self.table.get(&(spec, name.clone())) {
            return slot;
        }
        let slot = self.objects.len() as u32;
        self.objects.push(Object::new(spec, &self.world));
        self.names.push(name.clone());
        self.table.insert((spec, name.clone()), slot);
        slot
    }

    /// A source broke off: it may have done anything to anything from `at` on.
    fn lose(&mut self, source: usize, at: i64, why: &str) {
        let name = &self.sources[source].name;
        let text =
            format!("source {name} broke off ({why}): nothing is known of what it did from stamp {at} on");
        self.troubles.push(text.clone());
        if self.horizon.as_ref().is_none_or(|(before, _)| at < *before) {
            self.horizon = Some((at, text));
        }
    }

    fn late(&mut self, source: usize, keys: &[u32], at: i64) {
        let name = self.sources[source].name.clone();
        for &key in keys {
            let slot = match key {
                UNSET => self.sources[source].nameless.unwrap_or(UNSET),
                key => self.sources[source].keys.get(key as usize).copied().unwrap_or(UNSET),
            };
            if let Some(object) = self.objects.get_mut(slot as usize) {
                object.give_up(format!("source {name} sent an operation called at {at} after it had promised that nothing earlier would come"));
            }
        }
    }
}

fn set<T: Copy>(table: &mut Vec<T>, number: u32, value: T, unset: T) {
    let number = number as usize;
    if number >= table.len() {
        table.resize(number + 1, unset);
    }
    table[number] = value;
}

fn reason(unknown: &Unknown) -> String {
    match unknown {
        Unknown::Time { .. } => "time limit reached".to_owned(),
        Unknown::Memory { .. } => "memory limit reached".to_owned(),
        Unknown::Unsupported { why } => why.clone(),
    }
}

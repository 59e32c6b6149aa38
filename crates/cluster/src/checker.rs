//! The objects of one worker: batches come in, verdicts go out.
//!
//! Each object sees its rows only, and is looked at when one comes in: one touch of its memory a row. Objects
//! that got no row since are looked at by [`Checker::sweep`] (for live runs) and at the end.
//!
//! **In order of time.** A batch holds nothing that was called before its time, and waits until the frontier
//! has passed that time, so that all batches of earlier times are here and were taken. The mark while it is
//! taken is its own time: whatever is not taken yet was called at it or later. So an object hardly ever has
//! more than a row that waits, however far the frontier lags and in whatever order batches of different hosts
//! come in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linpoint_history::{KeyId, Kind, Operation, ProcessId, Symbols, Unknown, Value, ValueId, Verdict};
use rustc_hash::FxHashMap;

use crate::clock::Clocks;
use crate::object::{Object, World};
use crate::progress::{Keeper, Snapshot};
use crate::report::{Example, Found, Report, What};
use crate::run::Resolve;
use crate::wire::{About, Batch, Notice, Wire};

/// The first turn of an object that takes long.
const FIRST_TURN: Duration = Duration::from_millis(200);
/// Turns do not grow beyond this.
const LAST_TURN: Duration = Duration::from_secs(1 << 20);

/// Objects named in a report at the most.
const MOST_NAMED: usize = 100;

/// The objects of one worker.
pub struct Checker {
    world: World,
    spec_names: Vec<(String, Option<Value>)>,
    /// What their names mean.
    resolve: Resolve,
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
    /// Batches that wait for the frontier, by their time and in the order they came in.
    inbox: BTreeMap<(i64, u64), Batch>,
    received: u64,
    /// Checkpoints to come.
    checkpoints: BTreeSet<i64>,
    /// What was found before the run was interrupted.
    restored: FxHashMap<u32, Found>,
    keeper: Option<Keeper>,
    /// Objects found violated so far.
    pub violations: u64,
    /// Rows taken.
    pub taken: u64,
    /// Set at the end when a worker of this process has found an object violated: others need not be decided
    /// any more.
    pub found: Arc<AtomicBool>,
}

/// What the numbers of a source stand for here.
struct Remote {
    number: u32,
    about: About,
    name: String,
    spec: u16,
    /// Objects by the source's keys.
    keys: Vec<u32>,
    nameless: Option<u32>,
    processes: Vec<Option<ProcessId>>,
    values: Vec<Option<ValueId>>,
}

/// Rows whose objects are fetched together.
const AHEAD: usize = 32;

const UNSET: u32 = u32::MAX;

impl Checker {
    /// No objects yet.
    pub fn new(resolve: Resolve, deadline: Option<Instant>, memory_bytes: Option<usize>) -> Checker {
        Checker {
            world: World {
                symbols: Symbols::new(),
                clocks: Clocks::default(),
                specs: Vec::new(),
                deadline,
                turn_ends: None,
                memory_bytes,
                keeps: false,
                spare: Default::default(),
            },
            resolve,
            spec_names: Vec::new(),
            objects: Vec::new(),
            names: Vec::new(),
            table: FxHashMap::default(),
            sources: Vec::new(),
            by_number: FxHashMap::default(),
            waiting: Vec::new(),
            horizon: None,
            troubles: Vec::new(),
            inbox: BTreeMap::new(),
            received: 0,
            checkpoints: BTreeSet::new(),
            restored: FxHashMap::default(),
            keeper: None,
            violations: 0,
            taken: 0,
            found: Arc::default(),
        }
    }

    /// A batch comes in.
    pub fn receive(&mut self, batch: Batch) {
        self.received += 1;
        self.inbox.insert((batch.at, self.received), batch);
    }

    /// Takes what the frontier has passed, and the checkpoints on the way.
    pub fn reach(&mut self, mark: i64) {
        while let Some(entry) = self.inbox.first_entry().filter(|entry| entry.key().0 < mark) {
            let ((time, _), batch) = entry.remove_entry();
            self.checkpoints(time);
            self.take(batch, time);
        }
        self.checkpoints(mark);
    }

    /// Takes the checkpoints up to `mark`.
    fn checkpoints(&mut self, mark: i64) {
        while let Some(due) = self.checkpoints.pop_first() {
            if due > mark {
                self.checkpoints.insert(due);
                return;
            }
            self.checkpoint(due);
        }
    }

    /// Takes a batch; nothing that is still to come, its rows included, was called before `mark` in real
    /// time.
    fn take(&mut self, batch: Batch, mark: i64) {
        if let Some(notice @ (Notice::Lost { .. } | Notice::Stopped)) = &batch.notice {
            self.lose(&batch, notice, mark);
            return;
        }
        let source = match self.by_number.get(&batch.source) {
            Some(&source) => source,
            None => match self.meet(&batch) {
                Some(source) => source,
                None => return,
            },
        };
        self.learn(source, &batch);
        self.taken += batch.rows.len() as u64;
        let mark = self.bounded(mark);
        let is_queue = self.world.specs[usize::from(self.sources[source].spec)].kind == Kind::Queue;
        let mut slots: Vec<u32> = Vec::with_capacity(AHEAD);
        batch.rows.chunks(AHEAD, |rows| {
            // Objects are all over memory: asking for several at once costs little more than for one.
            let keys = &self.sources[source].keys;
            slots.clear();
            slots.extend(rows.iter().map(|row| keys.get(row.key.0 as usize).copied().unwrap_or(UNSET)));
            let objects = slots.iter().filter_map(|&slot| self.objects.get(slot as usize));
            std::hint::black_box(objects.clone().fold(0, |all, object| all ^ object.touch()));
            if is_queue {
                std::hint::black_box(objects.fold(0, |all, object| all ^ object.touch_state()));
            }
            for (row, &slot) in rows.iter().zip(&slots) {
                self.row(source, slot, *row, mark);
            }
        });
        match batch.notice {
            Some(Notice::Late { keys, at }) => self.late(source, &keys, at),
            Some(Notice::Checkpoint(at)) if self.keeper.is_some() => {
                self.checkpoints.insert(at);
            }
            _ => {}
        }
    }

    /// How far objects may be looked at: not beyond what a lost source leaves open, nor beyond a checkpoint
    /// that is due.
    fn bounded(&self, mark: i64) -> i64 {
        let mark = self.horizon.as_ref().map_or(mark, |(at, _)| mark.min(*at));
        self.checkpoints.first().map_or(mark, |&due| mark.min(due))
    }

    fn checkpoint(&mut self, mark: i64) {
        // After a loss nothing is certain enough to be kept.
        let Some(keeper) = self.keeper.as_ref().filter(|_| self.horizon.is_none()) else { return };
        let mut objects = Vec::with_capacity(self.objects.len());
        for slot in 0..self.objects.len() {
            let mut kept = self.objects[slot].keep(mark, &mut self.world);
            let object = &self.objects[slot];
            let (spec, initial) = self.spec_names[object.spec()].clone();
            kept.spec = (spec, initial.map(Wire));
            kept.name = Wire(self.names[slot].clone());
            kept.found = match self.restored.get(&(slot as u32)) {
                Some(found) => Some(found.clone()),
                None => object.verdict().and_then(|verdict| self.found(slot, verdict)),
            };
            if kept.operations > 0 || kept.found.is_some() {
                objects.push(kept);
            }
        }
        let sources = self.sources.iter().map(|remote| (remote.number, remote.about.clone())).collect();
        let &Keeper { ref progress, worker, workers, homes } = keeper;
        let snapshot = Snapshot { of: progress.of.clone(), mark, worker, workers, homes, sources, objects };
        if let Err(error) = keeper.progress.write(&snapshot) {
            self.troubles.push(format!("cannot keep progress in {}: {error}", keeper.progress.dir.display()));
            self.keeper = None;
        }
    }

    /// Keeps progress from here on, and begins with the checkpoint at `mark`, if there is one. How many
    /// operations that were.
    pub(crate) fn resume(&mut self, keeper: Keeper, mark: Option<i64>) -> u64 {
        self.world.keeps = true;
        let snapshot = mark.and_then(|mark| keeper.progress.read(keeper.worker, mark));
        self.keeper = Some(keeper);
        let Some(snapshot) = snapshot else { return 0 };
        for (number, about) in snapshot.sources {
            let batch = Batch { source: number, about: Some(about), ..Batch::default() };
            self.meet(&batch);
        }
        let mut operations = 0;
        for kept in &snapshot.objects {
            operations += kept.operations;
            let name = (kept.spec.0.clone(), kept.spec.1.as_ref().map(|wire| wire.0.clone()));
            let Some(spec) = self.spec_names.iter().position(|known| *known == name) else { continue };
            let slot = self.object(spec as u16, &kept.name.0);
            self.objects[slot as usize] = Object::restored(spec as u16, kept, &mut self.world);
            if let Some(found) = &kept.found {
                self.violations += u64::from(matches!(found.what, What::Violated(_)));
                self.restored.insert(slot, found.clone());
            }
        }
        operations
    }

    /// A row of the object `slot`, or of the one without a name.
    #[inline]
    fn row(&mut self, source: usize, mut slot: u32, mut row: Operation, mark: i64) {
        if row.key == KeyId::NONE {
            slot = self.nameless(source);
        }
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
        let mark = self.bounded(mark);
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
        let (slot, object) = self.objects.iter().enumerate().max_by_key(|(_, object)| object.operations())?;
        Some((&self.names[slot], object.operations()))
    }

    /// Everything came: the verdicts. Where the run was stopped, nothing more is explained.
    pub fn finish(&mut self, stopped: bool) -> Report {
        assert!(self.inbox.is_empty(), "the frontier is past everything, so everything was taken");
        let mut report = Report { stopped, troubles: self.troubles.clone(), ..Report::default() };
        report.specs = self.spec_names.iter().map(|(name, _)| name.clone()).collect();
        report.hottest = self.hottest().map(|(name, count)| (Wire(name.clone()), count));
        for (slot, verdict) in self.verdicts(stopped).into_iter().enumerate() {
            let object = &self.objects[slot];
            report.objects += 1;
            report.operations += object.operations();
            report.pending += object.pending();
            let engine = object.engine();
            if !report.engines.iter().any(|known| known == engine) {
                report.engines.push(engine.to_owned());
            }
            let found = match self.restored.get(&(slot as u32)) {
                Some(found) => Some(found.clone()),
                None => self.found(slot, &verdict),
            };
            match found {
                None => report.explained += 1,
                Some(found) if matches!(found.what, What::Violated(_)) => {
                    report.violations += 1;
                    if report.violated.len() < MOST_NAMED {
                        report.violated.push(found);
                    }
                }
                Some(found) => {
                    report.unknowns += 1;
                    if report.unknown.len() < MOST_NAMED {
                        report.unknown.push(found);
                    }
                }
            }
        }
        report
    }

    /// The verdicts of all objects. Objects that take long have turns, which grow, so that one that is hard
    /// does not keep others from being decided; and once one is violated, those that are still open stay so.
    fn verdicts(&mut self, stopped: bool) -> Vec<Verdict> {
        let open = || Verdict::Unknown(Unknown::Time { decided: 0, widest: 0 });
        let mut verdicts: Vec<Verdict> = self.objects.iter().map(|_| open()).collect();
        let mut left: Vec<usize> = (0..self.objects.len()).collect();
        let mut turn = FIRST_TURN;
        while !left.is_empty() {
            for &slot in &left {
                self.world.turn_ends = Some(Instant::now() + turn);
                verdicts[slot] = self.verdict(slot, stopped);
            }
            let is_late = self.world.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let is_violated = |slot: &usize| matches!(verdicts[*slot], Verdict::Violated(_));
            if left.iter().any(is_violated) {
                self.found.store(true, Ordering::Relaxed);
            }
            if is_late || self.found.load(Ordering::Relaxed) {
                break;
            }
            // Who gave up for good has no further turn.
            let is_open = |slot: usize| matches!(verdicts[slot], Verdict::Unknown(Unknown::Time { .. }));
            left.retain(|&slot| is_open(slot) && !self.objects[slot].is_decided());
            turn = turn.saturating_mul(4).min(LAST_TURN);
        }
        self.world.turn_ends = None;
        verdicts
    }

    /// What is said of an object at the end.
    fn verdict(&mut self, slot: usize, stopped: bool) -> Verdict {
        let object = &mut self.objects[slot];
        match (&self.horizon, stopped) {
            _ if object.is_decided() => object.finish(&mut self.world),
            (_, true) => Verdict::Unknown(Unknown::Unsupported { why: "the run was stopped".into() }),
            (Some((at, why)), _) => {
                object.settle(*at, &mut self.world);
                object.give_up(why.clone(), &mut self.world);
                object.finish(&mut self.world)
            }
            (None, _) => object.finish(&mut self.world),
        }
    }

    /// What is to be told of an object, unless it is explained.
    fn found(&self, slot: usize, verdict: &Verdict) -> Option<Found> {
        let object = &self.objects[slot];
        let source = |key: KeyId| {
            self.sources.get(key.0 as usize).map(|remote| remote.name.clone()).unwrap_or_default()
        };
        let what = match verdict {
            Verdict::Holds(_) => return None,
            Verdict::Violated(example) => {
                What::Violated(Box::new(Example::new(example, &self.world.symbols, source)))
            }
            Verdict::Unknown(why) => What::Unknown(reason(why)),
        };
        Some(Found {
            key: Wire(self.names[slot].clone()),
            spec: self.spec_names[object.spec()].0.clone(),
            operations: object.operations(),
            engine: object.engine().to_owned(),
            what,
        })
    }

    fn meet(&mut self, batch: &Batch) -> Option<usize> {
        let about = batch.about.as_ref()?;
        let initial = about.initial.as_ref().map(|wire| wire.0.clone());
        let named = (about.spec.clone(), initial.clone());
        let spec = match self.spec_names.iter().position(|known| *known == named) {
            Some(spec) => spec,
            None => {
                let parsed = (self.resolve)(&about.spec).and_then(|spec| match initial {
                    Some(initial) if spec.kind == linpoint_history::Kind::Kv => {
                        Ok(spec.with_initial(initial))
                    }
                    // No contents, in the form that all have who begin with none.
                    Some(initial) if initial == spec.initial => Ok(spec),
                    Some(initial) => spec.starting_from(initial).map_err(|error| error.to_string()),
                    None => Ok(spec),
                });
                match parsed {
                    Ok(spec) => {
                        self.world.symbols.intern(&spec.initial);
                        if let Value::List(items) = &spec.initial {
                            items.iter().for_each(|item| {
                                self.world.symbols.intern(item);
                            });
                        }
                        self.world.specs.push(spec.until(self.world.deadline));
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
            number: batch.source,
            about: about.clone(),
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
        let object = Object::new(spec, &mut self.world);
        self.objects.push(object);
        self.names.push(name.clone());
        self.table.insert((spec, name.clone()), slot);
        slot
    }

    /// A source ended before its time: it may have done anything to anything from `at` on.
    fn lose(&mut self, batch: &Batch, notice: &Notice, at: i64) {
        let text = match notice {
            Notice::Lost { why } => {
                let known =
                    self.by_number.get(&batch.source).map(|&source| self.sources[source].name.as_str());
                let name =
                    known.or(batch.about.as_ref().map(|about| about.name.as_str())).unwrap_or_default();
                let since = if at == i64::MIN { "at all".to_owned() } else { format!("from stamp {at} on") };
                let text =
                    format!("source {name} broke off ({why}): nothing is known of what it did {since}");
                self.troubles.push(text.clone());
                text
            }
            _ => "the run was stopped".to_owned(),
        };
        if self.horizon.as_ref().is_none_or(|(before, _)| at < *before) {
            self.horizon = Some((at, text));
        }
    }

    /// Operations on these keys were left out: whatever else is said of them is not the whole.
    fn late(&mut self, source: usize, keys: &[u32], at: i64) {
        let name = self.sources[source].name.clone();
        for &key in keys {
            let slot = match key {
                UNSET => self.nameless(source),
                key => self.sources[source].keys.get(key as usize).copied().unwrap_or(UNSET),
            };
            let text = format!(
                "source {name} sent an operation called at {at} after it had promised that nothing earlier would come"
            );
            match self.objects.get_mut(slot as usize) {
                Some(object) => object.give_up(text, &mut self.world),
                None => self.troubles.push(text),
            }
        }
    }

    /// The object without a name, made if new.
    fn nameless(&mut self, source: usize) -> u32 {
        if let Some(slot) = self.sources[source].nameless {
            return slot;
        }
        let slot = self.object(self.sources[source].spec, &Value::Null);
        self.sources[source].nameless = Some(slot);
        slot
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
        Unknown::Nothing { pending } => Unknown::nothing_to_check(*pending),
        Unknown::Unsupported { why } => why.clone(),
    }
}

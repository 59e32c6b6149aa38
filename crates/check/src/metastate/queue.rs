//! Queues with repeated values: metastates in which the order of enqueues stays open.
//!
//! A configuration is four numbers: the position of the first enqueue, by return, that it has not consumed;
//! which of those open at that return it has consumed; which open dequeues took effect; how many pending
//! dequeues did. It does not depend on how long the queue is, and concurrent enqueues never multiply
//! configurations, since their order is fixed only by who is consumed first ([`frontier`], [`order`]).
//!
//! An enqueue may be consumed next iff no unconsumed enqueue precedes it. Of several with the wanted value,
//! the one that returns first is the best choice: it leaves the least that must come before others, and the
//! least in the way of "empty". So a dequeue does one thing in a configuration, and what multiplies
//! configurations is only which open dequeues went before a return. A pending dequeue may take anything; it
//! is a wildcard that is used when some return needs it. `docs/soundness.md` has the lemmas.

mod dominance;
pub mod frontier;
pub mod order;
mod search;

use linpoint_history::specs::codes::queue as codes;
use linpoint_history::{Kind, Operation, Value, ValueId};

use self::frontier::{Frontier, Mask};
use self::order::{Order, Step};
use self::search::{Goal, Search};
use super::Crowd;
use super::ahead::Ahead;
use super::one_by_one::{OneByOne, Progress};
use super::paths::{Paths, ROOT};
use crate::engine::{Context, Stop, Witness};
use crate::timeline::{OpId, Timeline};

/// Decides histories of a queue, values repeated or not.
#[derive(Clone, Debug, Default)]
pub struct QueueMetastates {
    progress: Progress,
    /// Elements the queue started with: times are numbers of returns plus this.
    initial: u32,
    configs: Vec<Config>,
    frontier: Frontier,
    removals: Removals,
    paths: Paths<Step>,
    order: Order,
    pending: Ahead,
    search: Search,
}

/// One way to explain the returns so far.
#[derive(Clone, Copy, Debug)]
struct Config {
    /// The first returned enqueue not consumed.
    position: u32,
    /// Pending dequeues used.
    wild: u32,
    /// Consumed enqueues among the candidates at `position`.
    taken: Mask,
    /// Open dequeues that took effect.
    done: Mask,
    path: u32,
}

/// All of a configuration that matters for its future.
type Key = (u32, u32, Mask, Mask);

impl Config {
    #[inline]
    fn key(&self) -> Key {
        (self.position, self.wild, self.taken, self.done)
    }
}

/// A dequeue that is open.
#[derive(Clone, Copy, Debug)]
struct Removal {
    id: u32,
    value: u32,
    slot: u8,
}

impl Removal {
    #[inline]
    fn bit(&self) -> Mask {
        1 << self.slot
    }
}

/// The open dequeues.
#[derive(Clone, Debug, Default)]
struct Removals {
    /// Those that give an element, by return.
    takes: Vec<Removal>,
    /// Those that find the queue empty, by return.
    empties: Vec<Removal>,
    slots: Mask,
    /// The slots of `empties`.
    empty_slots: Mask,
    /// The pending ones, by call.
    wild: Vec<OpId>,
}

impl QueueMetastates {
    /// An engine that has seen nothing.
    pub fn new() -> QueueMetastates {
        QueueMetastates::default()
    }

    /// How many configurations there were.
    pub fn crowd(&self) -> Crowd {
        self.progress.crowd
    }

    /// The operations called between the returns `gap - 1` and `gap` become open.
    fn open(&mut self, timeline: &Timeline, gap: u32) -> Result<(), Stop> {
        for id in timeline.called_in(gap) {
            self.call(timeline.op(id), id, gap)?;
        }
        while let Some(id) = self.pending.next(gap) {
            self.call(timeline.op(id), id, gap)?;
        }
        Ok(())
    }

    fn call(&mut self, op: &Operation, id: OpId, gap: u32) -> Result<(), Stop> {
        let time = if id.as_pending().is_some() { id.0 } else { id.0 + self.initial };
        if op.op() == codes::ENQUEUE {
            if op.arg.is_null() {
                return Err(Stop::Unsupported("null is enqueued".into()));
            }
            if !self.frontier.call(time, gap + self.initial, op.arg.0) {
                return Err(Stop::Unsupported("more than 128 enqueues are open at once".into()));
            }
        } else if op.is_pending() {
            self.removals.wild.push(id);
        } else {
            if self.removals.slots == Mask::MAX {
                return Err(Stop::Unsupported("more than 128 dequeues are open at once".into()));
            }
            let slot = self.removals.slots.trailing_ones() as u8;
            let removal = Removal { id: id.0, value: op.result.0, slot };
            self.removals.slots |= removal.bit();
            let list =
                if op.result.is_null() { &mut self.removals.empties } else { &mut self.removals.takes };
            let at = list.partition_point(|other| other.id < id.0);
            list.insert(at, removal);
            if op.result.is_null() {
                self.removals.empty_slots |= removal.bit();
                self.serve(removal, gap);
            }
        }
        Ok(())
    }

    /// An empty dequeue was called: where the queue is empty it takes effect at once.
    fn serve(&mut self, removal: Removal, gap: u32) {
        for config in self.configs.iter_mut().filter(|c| c.position == self.frontier.end()) {
            config.done |= removal.bit();
            let step = Step { gap: gap + self.initial, op: OpId(removal.id), element: Step::NOTHING };
            config.path = self.paths.push(config.path, step);
        }
    }

    /// Operation `id` returns: every configuration must have it.
    fn explain_return(&mut self, cx: &Context<'_>, op: &Operation, id: u32) {
        if op.op() == codes::ENQUEUE {
            self.return_enqueue(cx, id);
        } else {
            self.return_dequeue(cx, op, id);
        }
    }

    fn return_enqueue(&mut self, cx: &Context<'_>, id: u32) {
        let time = id + self.initial;
        let element = self.frontier.returning(time);
        let unserved = self.removals.empty_slots;
        if unserved != 0 {
            // Once it has returned, the queue is not empty until it was consumed; so the open dequeues may
            // have emptied the queue before.
            let before = self.configs.len();
            self.search.begin(time);
            for index in 0..before {
                let config = self.configs[index];
                if unserved & !config.done != 0
                    && !self.frontier.is_taken(&element, config.position, config.taken)
                {
                    self.search.run(
                        config,
                        Goal::Empty,
                        &mut self.frontier,
                        &self.removals,
                        &mut self.paths,
                        cx.budget,
                    );
                }
            }
            // Where it was consumed on the way, its return changes nothing, and emptying can wait.
            let not_taken = |c: &Config| c.taken >> element.slot & 1 == 0;
            self.configs.extend(self.search.take_found().filter(not_taken));
        }
        let grown = unserved != 0 && self.configs.len() > 1;
        let end = self.frontier.end();
        self.frontier.returns();
        for config in self.configs.iter_mut().filter(|c| c.position == end) {
            if config.taken >> element.slot & 1 == 1 {
                config.taken &= !(1 << element.slot);
                config.position += 1;
            }
        }
        self.order.returns(time);
        if grown {
            self.prune(time);
        }
    }

    fn return_dequeue(&mut self, cx: &Context<'_>, op: &Operation, id: u32) {
        let time = id + self.initial;
        let empty = op.result.is_null();
        let list = if empty { &mut self.removals.empties } else { &mut self.removals.takes };
        debug_assert_eq!(list[0].id, id);
        let removal = list[0];
        let goal = if empty { Goal::Empty } else { Goal::Take(removal) };
        let mut kept = std::mem::take(&mut self.configs);
        self.search.begin(time);
        kept.retain(|config| {
            let done = config.done & removal.bit() != 0;
            if !done {
                self.search.run(
                    *config,
                    goal,
                    &mut self.frontier,
                    &self.removals,
                    &mut self.paths,
                    cx.budget,
                );
            }
            done
        });
        kept.extend(self.search.take_found());
        for config in &mut kept {
            config.done &= !removal.bit();
        }
        self.configs = kept;
        let list = if empty { &mut self.removals.empties } else { &mut self.removals.takes };
        list.remove(0);
        self.removals.slots &= !removal.bit();
        self.removals.empty_slots &= !removal.bit();
        if self.configs.len() > 1 {
            self.prune(time);
        }
    }

    /// Drops configurations that others stand for.
    fn prune(&mut self, time: u32) {
        if self.search.stopped().is_err() {
            return;
        }
        self.search.begin(time);
        self.search.drop_implied(&mut self.configs, &mut self.frontier, &self.removals);
        if self.configs.len() > 1 {
            for index in 0..self.configs.len() {
                self.frontier.reach(self.configs[index].position);
            }
            dominance::keep_best(&mut self.configs, &self.frontier, self.removals.empty_slots);
        }
    }
}

impl OneByOne for QueueMetastates {
    const NAME: &'static str = "queue metastates";

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn now(&self) -> u32 {
        self.progress.now
    }

    fn start(&mut self, cx: &Context<'_>) -> Result<(), Stop> {
        let spec = cx.spec;
        if spec.kind != Kind::Queue || spec.capacity.is_some() || spec.spurious {
            return Err(Stop::Unsupported("the queue is bounded, or answers may be spurious".into()));
        }
        if let Value::List(contents) = &spec.initial {
            // Contents that no row mentions have no id; nobody can ask for them, so they share one.
            let id = |value| cx.symbols.find(value).unwrap_or(ValueId::NULL).0;
            self.initial = contents.len() as u32;
            self.frontier.start(contents.iter().map(id));
        }
        self.order = Order::starting_with(self.initial);
        self.configs.push(Config { position: 0, wild: 0, taken: 0, done: 0, path: ROOT });
        Ok(())
    }

    fn load(&mut self, _cx: &Context<'_>, timeline: &Timeline) {
        self.pending.load(timeline);
    }

    fn explain(&mut self, cx: &Context<'_>, timeline: &Timeline, id: u32) -> Result<(), Stop> {
        self.open(timeline, id)?;
        let op = timeline.op(OpId::completed(id));
        if op.op() == codes::ENQUEUE && !op.result.is_null() {
            self.configs.clear();
            return Ok(());
        }
        self.explain_return(cx, op, id);
        self.search.stopped()
    }

    fn width(&self) -> usize {
        self.configs.len()
    }

    /// Hands out what is final and forgets what no configuration needs.
    fn settle(&mut self, witness: &mut Witness) {
        if let [only] = &mut self.configs[..] {
            self.paths.settle(&mut only.path, |step| self.order.step(step));
            self.order.settle_before(self.progress.now + self.initial);
            self.order.drain(&mut witness.order);
        } else if self.paths.is_due() {
            let tips = self.configs.iter_mut().map(|c| &mut c.path);
            self.paths.collect(tips, |step| self.order.step(step));
            self.order.drain(&mut witness.order);
        }
        let lowest = self.configs.iter().map(|c| c.position).min();
        self.frontier.forget_below(lowest.unwrap_or(0));
    }

    fn choose(&mut self, witness: &mut Witness) {
        self.configs.truncate(1);
        self.settle(witness);
        self.order.finish();
        self.order.drain(&mut witness.order);
    }

    fn bytes(&self) -> usize {
        self.frontier.memory()
            + self.order.memory()
            + self.paths.memory()
            + self.search.memory()
            + self.configs.capacity() * size_of::<Config>()
    }
}

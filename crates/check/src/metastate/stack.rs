//! Stack with repeated values: configurations that leave everything open that no return has forced.
//!
//! One forward pass keeps, for each set of open operations that may have taken effect, the set of possible
//! contents as one shared graph ([`words`]). What happens at a return is in [`step`]. A witness needs one way
//! through these sets: they are kept for each return since the last settled moment, or, when they take too
//! much room, only every so often and computed again on the way back ([`path`], [`order`]).
//!
//! The argument why nothing is lost is in `docs/soundness.md`, "Stack metastates".

mod cache;
mod needless;
mod open;
mod order;
mod path;
mod place;
mod step;
mod words;

use linpoint_history::specs::codes::stack;
use linpoint_history::{Kind as SpecKind, Spec, ValueId, specs::State};

use super::Crowd;
use crate::engine::{Context, Engine, Stop, Violation, Witness};
use crate::timeline::{OpId, Timeline};

use open::{Kind, Open, Row};
use order::Order;
use path::{Choice, Path};
use step::{Config, Stepper};
use words::{EMPTY, Words};

/// Decides histories of a stack in which values may repeat.
#[derive(Debug)]
pub struct StackMetastates {
    words: Words,
    stepper: Stepper,
    now: Option<Now>,
    log: Log,
    /// Nodes and configurations are kept for the way back up to this many bytes.
    room: usize,
    /// The node count at which nodes are collected.
    collect_at: usize,
    steps: u64,
    crowd: Crowd,
}

/// The present moment.
#[derive(Debug)]
struct Now {
    /// The next return to explain.
    gap: u32,
    open: Open,
    configs: Vec<Config>,
    /// Pending operations not called yet, the next one last.
    pending: Vec<u32>,
    /// How many pending operations were seen.
    pending_seen: usize,
    /// For each slot, its row in the log.
    row_of_slot: [u32; 64],
}

/// What happened since the last settled moment.
#[derive(Debug, Default)]
struct Log {
    /// The first return in it.
    base: u32,
    /// The settled configuration, and what was open then.
    start: Option<(Config, Open)>,
    /// Calls, in order; first those that were open at the start.
    rows: Vec<Row>,
    carried: usize,
    /// For each return its row.
    returns: Vec<u32>,
    /// For each return the configurations just before it, if they are kept.
    before: Vec<Option<Box<[Config]>>>,
    /// For every so many returns what was open then, and how many rows there were.
    moments: Vec<(Open, usize)>,
    /// Pending pops in the order of their calls, from the beginning of the history.
    wild_ids: Vec<OpId>,
    /// How many configurations are kept.
    kept: usize,
}

/// Configurations of every so many returns are kept even when room is short.
const STRIDE: usize = 256;
/// Returns are given away from this many on.
const SETTLE: usize = 128;
/// The usual room.
const ROOM: usize = 256 << 20;

impl Engine for StackMetastates {
    fn name(&self) -> &'static str {
        "stack metastates"
    }

    fn advance(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
    ) -> Result<(), Stop> {
        let mut now = match self.now.take() {
            Some(now) => now,
            None => self.begin(cx)?,
        };
        let result = self.run(cx, timeline, upto, witness, &mut now);
        self.now = Some(now);
        result
    }

    fn finish(&mut self, cx: &Context<'_>, timeline: &Timeline, witness: &mut Witness) -> Result<(), Stop> {
        self.advance(cx, timeline, timeline.end(), witness)?;
        match self.now.take() {
            Some(mut now) => self.settle(cx, &mut now, witness),
            None => Ok(()),
        }
    }

    fn explained(&self) -> Option<u32> {
        self.now.as_ref().map(|now| now.gap)
    }

    fn memory(&self) -> usize {
        self.words.memory() + self.log.memory()
    }
}

impl Default for StackMetastates {
    fn default() -> StackMetastates {
        StackMetastates::new()
    }
}

impl StackMetastates {
    /// A new engine.
    pub fn new() -> StackMetastates {
        StackMetastates::with_room(ROOM)
    }

    /// An engine that keeps at most about this many bytes for the way back, and computes what it did not keep
    /// a second time.
    pub fn with_room(room: usize) -> StackMetastates {
        StackMetastates {
            words: Words::default(),
            stepper: Stepper::default(),
            now: None,
            log: Log::default(),
            room,
            collect_at: room / 256,
            steps: 0,
            crowd: Crowd::default(),
        }
    }

    /// How many configurations were kept.
    pub fn crowd(&self) -> Crowd {
        self.crowd
    }

    fn begin(&mut self, cx: &Context<'_>) -> Result<Now, Stop> {
        let unsupported = |why: &str| Err(Stop::Unsupported(why.into()));
        if cx.spec.kind != SpecKind::Stack {
            return unsupported("not a stack");
        }
        if cx.spec.capacity.is_some() || cx.spec.spurious {
            return unsupported("the stack is bounded, or answers may be spurious");
        }
        let mut words = EMPTY;
        if let State::Sequence(items) = cx.spec.initial() {
            for item in &items {
                // A value no operation names can be told from all others by any number none of them has.
                let value = cx.symbols.find(item).map_or(u32::MAX - 1, |id| id.0);
                words = self.words.push(value, 0, words);
            }
        }
        let start = Config { done: 0, wild: 0, words };
        self.log.start = Some((start, Open::new()));
        Ok(Now {
            gap: 0,
            open: Open::new(),
            configs: vec![start],
            pending: Vec::new(),
            pending_seen: 0,
            row_of_slot: [0; 64],
        })
    }

    fn run(
        &mut self,
        cx: &Context<'_>,
        timeline: &Timeline,
        upto: u32,
        witness: &mut Witness,
        now: &mut Now,
    ) -> Result<(), Stop> {
        if now.pending_seen != timeline.pending().len() {
            now.pending.extend(now.pending_seen as u32..timeline.pending().len() as u32);
            now.pending.sort_by_key(|&j| std::cmp::Reverse((timeline.earliest(OpId::pending(j)), j)));
            now.pending_seen = timeline.pending().len();
        }
        self.words.start(cx.budget);
        while now.gap < upto {
            let gap = now.gap;
            for id in timeline.called_in(gap) {
                self.call(timeline, id, now)?;
            }
            while let Some(&j) = now.pending.last()
                && timeline.earliest(OpId::pending(j)) <= gap
            {
                now.pending.pop();
                self.call(timeline, OpId::pending(j), now)?;
            }
            self.stepper.serve(&now.open, &mut now.configs);
            let Some(slot) = (0..64).find(|&slot| now.open.holds(slot, OpId::completed(gap))) else {
                return Err(Stop::Unsupported("a return without a call".into()));
            };
            let row = *now.open.row(slot);
            self.log.remember(now, slot);
            self.stepper.step(&mut self.words, &now.open, row, &mut now.configs);
            self.words.stop()?;
            if now.configs.is_empty() {
                return Err(Stop::Violated(violation(cx, timeline, row)));
            }
            now.open.close(row);
            now.gap += 1;
            self.tidy(cx, now, witness)?;
        }
        Ok(())
    }

    fn call(&mut self, timeline: &Timeline, id: OpId, now: &mut Now) -> Result<(), Stop> {
        let op = timeline.op(id);
        let pending = id.as_pending().is_some();
        let (kind, value) = match op.op() {
            stack::PUSH => (Kind::Push, op.arg),
            _ if pending => (Kind::Wild, ValueId::NULL),
            _ if op.result.is_null() => (Kind::Empty, ValueId::NULL),
            _ => (Kind::Pop, op.result),
        };
        if kind == Kind::Push && value.is_null() {
            return Err(Stop::Unsupported("null is pushed".into()));
        }
        let slot = match (kind, now.open.free_slot()) {
            (Kind::Wild, _) => 0,
            (_, Some(slot)) => slot,
            (_, None) => return Err(Stop::Unsupported("more than 64 operations are open at once".into())),
        };
        let row = Row { earliest: now.gap, id, value: value.0, kind, slot };
        if kind == Kind::Wild {
            self.log.wild_ids.push(id);
        } else {
            now.row_of_slot[usize::from(slot)] = self.log.rows.len() as u32;
        }
        self.log.rows.push(row);
        now.open.call(row);
        Ok(())
    }

    /// Gives away what is settled, and keeps memory in bounds.
    fn tidy(&mut self, cx: &Context<'_>, now: &mut Now, witness: &mut Witness) -> Result<(), Stop> {
        self.steps += now.configs.len() as u64;
        self.crowd.note(now.configs.len());
        if self.steps >= 256 {
            self.steps = 0;
            cx.budget.check(self.words.memory() + self.log.memory())?;
        }
        if self.log.returns.len() >= SETTLE
            && let [config] = now.configs[..]
            && self.words.is_single(config.words)
            && self.words.edges(config.words).first().is_none_or(|top| top.stamp == 0)
        {
            self.settle(cx, now, witness)?;
        }
        let room = cx.budget.memory_bytes.map_or(self.room, |limit| self.room.min(limit / 4));
        if self.words.len() > self.collect_at && self.words.memory() + self.log.memory() > room {
            self.collect(&mut now.configs);
        }
        Ok(())
    }

    /// Forgets configurations on the way back but every [`STRIDE`]th, and the nodes nobody needs then.
    fn collect(&mut self, configs: &mut [Config]) {
        for (index, before) in self.log.before.iter_mut().enumerate() {
            if index % STRIDE != 0
                && let Some(dropped) = before.take()
            {
                self.log.kept -= dropped.len();
            }
        }
        let mut live = vec![false; self.words.len()];
        let start = self.log.start.iter_mut().map(|start| &mut start.0);
        let kept = self.log.before.iter_mut().flatten().flat_map(|kept| kept.iter_mut());
        let mut roots: Vec<&mut Config> = start.chain(kept).chain(configs.iter_mut()).collect();
        roots.iter().for_each(|config| live[config.words as usize] = true);
        let moved = self.words.collect(live);
        roots.iter_mut().for_each(|config| config.words = moved[config.words as usize]);
        self.collect_at = (self.words.len() * 2).max(self.room / 256);
    }

    /// Chooses one way through what happened since the last settled moment, and writes it down.
    fn settle(&mut self, cx: &Context<'_>, now: &mut Now, witness: &mut Witness) -> Result<(), Stop> {
        let Some((start, start_open)) = self.log.start.clone() else { return Ok(()) };
        let Some(&end) = now.configs.first() else { return Ok(()) };
        let mut path = Path::ending_in(&self.words, end);
        let mut open = now.open.clone();
        let mut choices: Vec<Choice> = Vec::with_capacity(self.log.returns.len());
        let mut rows = self.log.rows.len();
        for index in (0..self.log.returns.len()).rev() {
            if self.log.before[index].is_none() {
                self.recompute(index, &mut now.configs, &mut path);
                self.words.stop()?;
                cx.budget.check(self.words.memory() + self.log.memory())?;
            }
            let row = self.log.rows[self.log.returns[index] as usize];
            let gap = self.log.base + index as u32;
            // Calls after this return are taken back first.
            while rows > self.log.carried && self.log.rows[rows - 1].earliest > gap {
                rows -= 1;
                open.close(self.log.rows[rows]);
            }
            open.call(row);
            let before = self.log.before[index].as_deref().unwrap_or(&[]);
            let choice = path.before_return(&self.words, &open, row, before);
            choices.push(choice.expect("each kept configuration has one it came from"));
            let mut empties = 0;
            for row in self.log.rows[self.log.carried..rows].iter().rev().take_while(|r| r.earliest == gap) {
                empties |= if row.kind == Kind::Empty { 1 << row.slot } else { 0 };
            }
            path.before_calls(empties);
        }
        let mut order = Order::new(path.height(), start_open, start.done, start.wild, &self.log.wild_ids);
        let mut rows = self.log.rows[self.log.carried..].iter().peekable();
        for (index, choice) in choices.iter().rev().enumerate() {
            let gap = self.log.base + index as u32;
            while let Some(&&row) = rows.peek()
                && row.earliest <= gap
            {
                rows.next();
                order.call(row);
            }
            order.ret(self.log.rows[self.log.returns[index] as usize], choice);
        }
        order.write(&mut witness.order);
        self.log.restart(end, now);
        Ok(())
    }

    /// Computes the configurations before return `index` and its neighbours again, from the last that were
    /// kept.
    fn recompute(&mut self, index: usize, configs: &mut [Config], path: &mut Path) {
        self.log.before.truncate(index + 1);
        if self.words.len() > self.collect_at {
            self.collect(configs);
            path.forget_nodes();
        }
        let from = index / STRIDE * STRIDE;
        let (mut open, mut rows) = self.log.moments[index / STRIDE].clone();
        let mut current: Vec<Config> = self.log.before[from].as_deref().unwrap_or(&[]).to_vec();
        for at in from..=index {
            if at > from {
                let gap = self.log.base + at as u32;
                while rows < self.log.rows.len() && self.log.rows[rows].earliest <= gap {
                    open.call(self.log.rows[rows]);
                    rows += 1;
                }
                self.stepper.serve(&open, &mut current);
                self.log.keep(at, &current);
            }
            let row = self.log.rows[self.log.returns[at] as usize];
            if at < index {
                self.stepper.step(&mut self.words, &open, row, &mut current);
                open.close(row);
            }
        }
    }
}

impl Log {
    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
            + self.returns.capacity() * 4
            + self.before.capacity() * 16
            + self.kept * size_of::<Config>()
            + self.moments.len() * (size_of::<Open>() + 64 * size_of::<Row>())
    }

    /// Writes down that the operation in `slot` is about to return.
    fn remember(&mut self, now: &Now, slot: u32) {
        let index = self.returns.len();
        self.returns.push(now.row_of_slot[slot as usize]);
        self.before.push(None);
        self.keep(index, &now.configs);
        if index.is_multiple_of(STRIDE) {
            self.moments.push((now.open.clone(), self.rows.len()));
        }
    }

    fn keep(&mut self, index: usize, configs: &[Config]) {
        self.kept += configs.len();
        self.before[index] = Some(configs.into());
    }

    /// A new log, from the settled moment `now` on.
    fn restart(&mut self, config: Config, now: &mut Now) {
        self.base = now.gap;
        self.start = Some((config, now.open.clone()));
        self.rows.clear();
        for slot in open::bits(now.open.pushes | now.open.pops | now.open.empties) {
            now.row_of_slot[slot as usize] = self.rows.len() as u32;
            self.rows.push(*now.open.row(slot));
        }
        self.carried = self.rows.len();
        self.returns.clear();
        self.before.clear();
        self.moments.clear();
        self.kept = 0;
    }
}

fn violation(cx: &Context<'_>, timeline: &Timeline, row: Row) -> Violation {
    let op = timeline.op(row.id);
    let reason = match row.kind {
        Kind::Push => format!("push {} finds no place", cx.symbols.value(op.arg)),
        Kind::Pop => {
            format!(
                "pop -> {0} is impossible: {0} cannot be on top before it returns",
                cx.symbols.value(op.result)
            )
        }
        Kind::Empty | Kind::Wild => {
            "pop -> empty is impossible: the stack cannot be empty before it returns".into()
        }
    };
    Violation { at: row.id, core: Vec::new(), reason }
}
